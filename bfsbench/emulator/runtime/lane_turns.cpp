// Decides which CUDA thread runs next when the emulator counts memory accesses. A thread continues when its
// warp has performed the accesses that the thread has recorded. If fiber.cpp has assembly code for the
// processor, all threads share one stack: when a thread begins to wait, its part of the stack is copied to a
// buffer, and it is copied back before the thread continues.

#include "machine.h"
#include "worker.h"

namespace emu {

__thread Trace trace;

namespace {

// Further blocks may begin only while the blocks in progress have fewer threads than this number. A GPU runs
// more threads at a time, but more threads would need much memory in the emulator.
constexpr size_t kSideBySide = 16384;

// Prefetches the members of a thread that the switch to this thread reads.
void fetch_thread(const Fiber& fiber) {
    prefetch(&fiber);
    prefetch(&fiber.stack);
    prefetch(&fiber.arrival);
}

// Prefetches the word to which a thread's next delayed store will write, and the copy of the thread's part of
// the stack.
void fetch_turn(const ResidentBlock& block, Turn turn) {
    const Lockstep& lockstep = *block.lockstep;
    if (turn.stores()) lockstep.counting.fetch_store(lockstep, turn.rank());
    if (!turn.goes_on() && !lockstep.awaits_stores(turn.rank())) return;
    const Fiber& fiber = block.fibers[turn.rank()];
    if (fiber.has_returned) return;
    constexpr size_t kLine = 64, kMost = 4 * kLine;  // the processor itself prefetches the rest of a longer copy
    for (size_t at = 0; at < kMost; at += kLine) prefetch(fiber.kept.place + at);
}

// Prefetches data of the threads that will run soon.
void fetch_upcoming(const ResidentBlock& block) {
    const Lockstep& lockstep = *block.lockstep;
    constexpr size_t kSoon = 6, kLater = 10;
    if (const Turn* turn = lockstep.upcoming(kLater)) fetch_thread(block.fibers[turn->rank()]);
    if (const Turn* turn = lockstep.upcoming(kSoon)) fetch_turn(block, *turn);
}

// Makes room in the thread's buffer for a copy of its part of the stack, plus the bytes that the switch of
// threads adds.
void make_enough_room(Fiber& fiber, const char* top) {
    constexpr size_t kOfSwitch = 192;
    size_t bytes = static_cast<size_t>(top - static_cast<const char*>(__builtin_frame_address(0))) + kOfSwitch;
    if (bytes > fiber.kept.room) block_of(fiber).make_more_room(fiber, bytes);
}

}  // namespace

// Makes a CUDA thread the running thread. If `fiber` is null, the worker's loop runs.
void set_current(Fiber* fiber) {
    if (trace.runs()) here().place = trace.place();
    current = fiber;
    Lockstep* lockstep = fiber ? block_of(*fiber).lockstep.get() : nullptr;
    if (!lockstep) return trace.leave();
    lockstep->take_up(trace, fiber->rank, fiber->place, fiber->stack);
}

// Returns the next thread in the queue whose code must continue, or null if the queue becomes empty. The
// function also handles the threads that precede this thread in the queue, without running their code: it
// performs a delayed store of such a thread, ends the thread, or lets the thread arrive at the block's
// barrier.
Fiber* Worker::next_lane(ResidentBlock& block) {
    Lockstep& lockstep = *block.lockstep;
    while (lockstep.has_next()) {
        Turn turn = lockstep.next();
        Fiber& fiber = block.fibers[turn.rank()];
        fetch_upcoming(block);
        if (turn.stores()) lockstep.counting.make_store(lockstep, turn.rank());
        if (!turn.goes_on() && !(turn.stores() && lockstep.ends_wait_for_stores(turn.rank()))) continue;
        if (fiber.has_returned) {
            end(fiber);
        } else if (fiber.arrival.due && !block.is_at_other_barrier(fiber)) {
            block.arrive(fiber);
        } else {
            if (!turn.stores()) lockstep.counting.go_on(lockstep, fiber.rank);
            return &fiber;
        }
    }
    return nullptr;
}

void Worker::exchange(Fiber& from, Fiber& to) {
    char* top = shared_top(shared_);
    make_enough_room(from, top);
    emu_exchange(&from.kept, &to.kept, top);
}

void Worker::leave(Fiber& fiber) {
    char* top = shared_top(shared_);
    make_enough_room(fiber, top);
    emu_leave(&fiber.kept, loop_, top);
}

void Worker::await_steps(Fiber& fiber) {
    block_of(fiber).lockstep->await(fiber.rank);
    await_turn(fiber);
}

void Worker::await_stores(Fiber& fiber) {
    Lockstep& lockstep = *block_of(fiber).lockstep;
    lockstep.await_stores(fiber.rank);
    await_turn(fiber);
    lockstep.begin_trace_anew(fiber.rank, lockstep.counting.stores());
}

void Worker::await_turn(Fiber& fiber) {
    ResidentBlock& block = block_of(fiber);
    Lockstep& lockstep = *block.lockstep;
    lockstep.counting.leave_thread();
    // Switching directly to the next thread of the block saves a switch to the worker's loop.
    if (lockstep.has_next()) {
        Fiber* to = next_lane(block);
        if (!to) return suspend(fiber);
        set_current(to);
        if (shared_) return exchange(fiber, *to);
        return emu_switch(&fiber.context, to->context);
    }
    if (!ends_turn(block)) return suspend(fiber);
    go(&fiber.context, nullptr);
}

bool Worker::ends_turn(ResidentBlock& block) {
    Leave leave = block.lockstep->take_leave();
    if (leave == Leave::no) return false;
    // If `gave_way_` is true, the worker may begin further blocks. If this block waits for other blocks,
    // the worker always may, because the awaited blocks may not have begun. Otherwise it may only while
    // the blocks in progress have few threads.
    gave_way_ = leave == Leave::waits || resident_.size() * block.fibers.size() < kSideBySide;
    return true;
}

void await_steps(Fiber& fiber) { worker->await_steps(fiber); }

void await_room(Fiber& fiber) {
    if (block_of(fiber).lockstep->has_stores(fiber.rank)) return worker->await_stores(fiber);
    worker->await_steps(fiber);
}

void await_stores(Fiber& fiber) {
    const Lockstep* lockstep = block_of(fiber).lockstep.get();
    if (lockstep && lockstep->has_stores(fiber.rank)) worker->await_stores(fiber);
}

}  // namespace emu
