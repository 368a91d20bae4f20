#include "worker.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "faults.h"
#include "machine.h"

namespace emu {

__thread Thread* current = nullptr;
__thread Worker* worker = nullptr;

namespace {

// Number of yield_point() calls after which other threads run. A large number makes switches rare, and a
// small number keeps waits short.
constexpr int kPatience = 1024;

// Lanes that wait in __activemask() stop waiting for other lanes when the threads of the block have
// yielded kTurnsAsked times on average.
constexpr unsigned kTurnsAsked = 4;

// Number of blocks that a schedule with a seed keeps in progress. Now and then the worker starts a further
// block, because all blocks in progress may wait for a block that has not begun.
constexpr size_t kInterleaved = 4;
constexpr unsigned kOneInStarts = 2, kOneInStartsMore = 64;

// The emulator divides time into intervals. If it checks accesses and the schedule has a seed, it interrupts
// threads at every access in one of kOneInSpells intervals.
constexpr unsigned kOneInSpells = 8;

// If the schedule has a seed, one in kOneInLeaves interruptions switches to another block.
constexpr unsigned kOneInLeaves = 4;

// Touches some memory of the stack before a switch of threads. If the stack is full, the fault must come
// here, while `current` still names the thread that owns the stack.
__attribute__((noinline)) void touch_stack() {
    constexpr size_t kRoom = 2048;
    volatile char room[kRoom];
    room[0] = 0;
}
bool near_its_end(const char* stack) {
    constexpr size_t kNear = 4096;
    return static_cast<size_t>(static_cast<char*>(__builtin_frame_address(0)) - stack) < kNear;
}

Fiber& current_fiber() { return *static_cast<Fiber*>(current); }

}  // namespace

std::string place_of(const Grid& grid, const Thread& thread) {
    const uint3 b = thread.block->index, t = thread.index;
    char text[160];
    snprintf(text, sizeof text, "kernel '%s', block (%u,%u,%u), thread (%u,%u,%u): ", grid.kernel.name, b.x,
             b.y, b.z, t.x, t.y, t.z);
    return text;
}

void end_launch(bool is_found, const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    worker->grid->abort(place_of(*worker->grid, *current) + text, is_found);
    worker->abandon();
}

void fail_thread(const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!watching || !watching->goes_on) end_launch(watching != nullptr, "%s", text);
    ++watching->ended_threads;
    worker->grid->note(place_of(*worker->grid, *current) + text);
    worker->end_early(current_fiber());
}

void fail(const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!current) {  // the host has called a function for host and device
        fprintf(stderr, "%s\n", text);
        ::abort();
    }
    end_launch(false, "%s", text);
}

void give_way() { worker->give_way(current_fiber()); }

void finish_thread() { worker->finish(current_fiber()); }

// Returns the number of yield_point() calls after which other threads run.
//
// Without race detection, seven of eight launches with a seed interrupt every thread at every yield point.
// This exposes races that need an exact moment. In the eighth launch, threads run far ahead of each other. If one
// launch mixed interrupted and uninterrupted threads, the uninterrupted threads would win every race.
//
// Race detection does not need an exact moment to find a race, and a switch takes as long as ten accesses. So
// with race detection, threads are seldom interrupted after few accesses. Only every third seed interrupts
// them at every access, in an eighth of the time intervals.
int Worker::draw_patience() {
    if (!random_) return kPatience;
    constexpr int64_t kSpell = 1024;  // length of a time interval, in basic blocks
    if (restless_ && (!machine.watch || steps_left / kSpell % kOneInSpells == spell_)) return 1;
    constexpr unsigned kBits = 9;
    unsigned fewest = machine.watch ? 2 : 0;
    // The low kBits bits of `draw` are random. The bits above them choose how many of the low bits are used.
    unsigned draw = random_->below((kBits + 1 - fewest) << kBits);
    return static_cast<int>(1 + (draw & ((1u << (fewest + (draw >> kBits))) - 1)));
}

Fiber* Worker::pick(ResidentBlock& block) {
    if (grid->aborted()) return nullptr;
    if (Lockstep* lockstep = block.lockstep.get()) {
        lockstep->counting.leave_thread();
        for (;;) {
            if (Fiber* lane = next_lane(block)) return lane;
            if (!block.must_issue()) break;
            if (ends_turn(block)) return nullptr;
            lockstep->counting.issue(block);
            if (grid->aborted()) return nullptr;
        }
    }
    return block.pick(random_);
}

// Prepares a CUDA thread to run on a stack. If `stack` is null, the function aborts the grid and returns
// false.
bool Worker::begin(Fiber& fiber, char* stack) {
    fiber.stack = stack;
    if (!stack) grid->abort(place_of(*grid, fiber) + "no room for the stack of another thread");
    if (!stack) return false;
    if (shared_) {
        block_of(fiber).make_room(fiber);
        prepare(fiber.kept, grid->entry);
    } else {
        fiber.context = prepare(stack, grid->entry);
    }
    return true;
}

// Continues `to`, or the worker's loop if `to` is null. Returns when another switch continues *save.
void Worker::go(Context* save, Fiber* to) {
    auto* from = static_cast<Fiber*>(current);
    bool begins = to && !to->stack;
    if (begins && !begin(*to, shared_ ? shared_ : stacks_.take())) to = nullptr;
    if (from && near_its_end(from->stack)) touch_stack();
    set_current(to);
    if (to) to->patience = draw_patience() + begins;
    if (save == &loop_) {
        if (to && shared_) return emu_enter(save, &to->kept, shared_top(shared_));
        if (to) emu_switch(save, to->context);
    } else if (to && shared_) {
        exchange(*from, *to);
    // Copies the thread's part of the stack. If `save` does not point to the thread's context, the thread
    // has ended, and no copy is needed.
    } else if (shared_ && save == &from->context) {
        leave(*from);
    } else {
        emu_switch(save, to ? to->context : loop_);
    }
}

void Worker::suspend(Fiber& fiber) {
    Fiber* to = pick(block_of(fiber));
    if (to == &fiber) {
        fiber.patience = draw_patience();
        return;
    }
    go(&fiber.context, to);
}

void Worker::give_way(Fiber& fiber) {
    if (grid->aborted()) abandon();
    emu::await_stores(fiber);
    if (machine.counting) machine.counting->leave_thread();
    ResidentBlock& block = block_of(fiber);
    // The threads that yield may be waiting for a lane that waits in __activemask(), for example because this
    // lane holds a lock.
    if (block.lanes_ask && ++block.turns_asked > kTurnsAsked * block.live) block.answer_lanes();
    bool alone = !block.runnable();
    block.ready.insert(fiber.rank);
    bool leave = alone || (random_ ? random_->below(kOneInLeaves) == 0 : ++block.turns > block.live);
    if (!leave) return suspend(fiber);
    block.turns = 0;
    block.must_start = !random_;
    gave_way_ = true;
    if (!random_) return go(&fiber.context, nullptr);
    running_ = next_block();  // not null, because this block can run
    Fiber* to = pick(*running_);
    if (to != &fiber) return go(&fiber.context, to);
    fiber.patience = draw_patience();
}

void Worker::finish(Fiber& fiber) {
    ResidentBlock& block = block_of(fiber);
    if (machine.watch) machine.watch->end_thread(fiber);
    char* stack = std::exchange(fiber.stack, nullptr);
    if (machine.counting && machine.counting->has_stores(fiber)) {
        fiber.has_returned = true;
        block.lockstep->await_stores(fiber.rank);
    } else {
        end(fiber);
    }
    Fiber* to = pick(block);
    if (to && !to->stack) {  // the next thread begins on the stack that has just become free
        to->stack = stack;
        if (shared_) block.make_room(*to);
        to->patience = draw_patience() + 1;
        set_current(to);
        return;
    }
    if (!shared_) stacks_.give(stack);
    Context nowhere;
    go(&nowhere, to);
}

void Worker::end(Fiber& fiber) {
    ResidentBlock& block = block_of(fiber);
    block.exit_thread(fiber);
    unsigned waiters = block.waiting(Wait::grid).count();
    if (waiters && waiters == block.live && !block.arrived_at_grid) arrive_at_grid(block);
}

void Worker::abandon() {
    Context nowhere;
    go(&nowhere, nullptr);
    __builtin_unreachable();
}

void Worker::end_early(Fiber& fiber) {
    char* stack = std::exchange(fiber.stack, nullptr);
    end(fiber);
    // The function must now switch to the worker's loop, which has its own stack, and not directly to another
    // thread. A new thread could begin on the stack that was just given back, and overwrite the frame of this
    // function.
    stacks_.give(stack);
    abandon();
}

void Worker::run(Grid& launched) {
    grid = &launched;
    worker = this;
    watching = machine.watch.get();
    if (kSharesStacks && machine.counting) shared_ = stacks_.take();
    grid->join();
    restless_ = random_ && (machine.watch ? machine.dense : random_->below(8) != 0);
    if (restless_) spell_ = random_->below(kOneInSpells);
    while ((running_ = next_block())) {
        gave_way_ = false;
        if (Fiber* first = pick(*running_)) go(&loop_, first);
        set_current(nullptr);
        if (grid->aborted()) break;
        if (running_->has_ended()) {  // threads may have switched to another block than the first
            retire(*running_);
        } else if (!running_->runnable()) {
            if (!running_->answer_lanes()) check_progress(*running_);
        }
    }
    drop_everything();
    watching = nullptr;
    worker = nullptr;
}

// Returns a message about a block whose threads wait for ever. Reports the deadlock if the emulator checks
// accesses.
std::string Worker::describe_deadlock(const ResidentBlock& block) const {
    const Fiber& fiber = *block.waiting_thread();
    std::string waits = block.describe_waits();
    if (machine.watch) machine.watch->report_wait(Fault::deadlock, fiber, block.place_of_wait(fiber), block.waiting_elsewhere(fiber), waits);
    return place_of(*grid, fiber) + "deadlock: " + waits;
}

// Aborts the grid if the block is deadlocked. The caller has found that no thread of the block can run. If
// none of them waits at a barrier with other blocks, the threads would wait for ever.
void Worker::check_progress(const ResidentBlock& block) {
    if (block.waiting(Wait::grid).count() || block.waiting(Wait::cluster).count()) return;
    grid->abort(describe_deadlock(block), machine.watch != nullptr);
}

ResidentBlock* Worker::next_block() {
    while (!grid->aborted()) {
        wake_grid_waiters();
        ResidentBlock* runnable = find_runnable();
        if (!runnable || wants_new_block()) {
            if (ResidentBlock* fresh = start_cluster()) return fresh;
        }
        if (runnable) {
            // If all blocks of this worker have run once and are still waiting, this thread of the operating
            // system lets another worker use the core.
            if (gave_way_ && !random_ && runnable == resident_.front()) std::this_thread::yield();
            return runnable;
        }
        if (!grid->wait_for_work(*this)) return nullptr;
    }
    return nullptr;
}

bool Worker::wants_new_block() {
    if (!random_) return gave_way_;
    return random_->below(resident_.size() < kInterleaved ? kOneInStarts : kOneInStartsMore) == 0;
}

// Returns the next block that can run, or null. The search starts after the block that ran last. With a seed
// it starts at a random block.
ResidentBlock* Worker::find_runnable() {
    size_t count = resident_.size();
    size_t candidate = random_ && count ? random_->below(static_cast<unsigned>(count)) : last_ + 1;
    for (size_t i = 0; i < count; ++i, ++candidate) {
        if (candidate >= count) candidate = 0;
        if (!resident_[candidate]->runnable()) continue;
        last_ = candidate;
        return resident_[candidate];
    }
    return nullptr;
}

ResidentBlock* Worker::start_cluster() {
    uint3 place;
    if (!grid->take(place)) return nullptr;
    auto cluster = std::make_shared<Cluster>();
    dim3 shape = grid->kernel.cluster;
    for (unsigned rank = 0; rank < volume(shape); ++rank) {
        if (spare_.empty()) spare_.push_back(std::make_unique<ResidentBlock>());
        ResidentBlock* block = spare_.back().release();
        spare_.pop_back();
        uint3 index = {place.x * shape.x + rank % shape.x, place.y * shape.y + rank / shape.x % shape.y,
                       place.z * shape.z + rank / shape.x / shape.y};
        block->begin(*grid, index, cluster, random_);
        if (machine.watch) machine.watch->begin_block(*block);
        if (machine.counting) machine.counting->begin_block(*block);
        cluster->blocks.push_back(block);
        cluster->live += block->live;
        resident_.push_back(block);
    }
    last_ = resident_.size() - cluster->blocks.size();
    return cluster->blocks.front();
}

bool Worker::released() const {
    for (const ResidentBlock* block : resident_) {
        if (block->arrived_at_grid && block->grid_phase != grid->phase()) return true;
    }
    return false;
}

void Worker::arrive_at_grid(ResidentBlock& block) {
    block.grid_phase = grid->phase();
    block.arrived_at_grid = true;
    ++at_grid_barrier_;
    if (!grid->arrive()) return;
    if (machine.watch) machine.watch->clocks.begin_era();
    wake_grid_waiters();
}

void Worker::wake_grid_waiters() {
    if (!at_grid_barrier_) return;
    for (ResidentBlock* block : resident_) {
        if (!block->arrived_at_grid || block->grid_phase == grid->phase()) continue;
        block->arrived_at_grid = false;
        --at_grid_barrier_;
        block->release(Wait::grid);
    }
}

// Removes the blocks of a cluster when all of them have ended. Until then other blocks of the cluster may use
// their shared memory.
void Worker::retire(ResidentBlock& block) {
    std::shared_ptr<Cluster> cluster = block.cluster;
    for (const ResidentBlock* member : cluster->blocks) {
        if (!member->has_ended()) return;
    }
    for (ResidentBlock* member : cluster->blocks) {
        for (size_t i = 0; i < resident_.size(); ++i) {
            if (resident_[i] != member) continue;
            resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(i));
            if (last_ >= i && last_ > 0) --last_;
            break;
        }
        member->cluster = nullptr;
        spare_.emplace_back(member);
    }
    grid->end_blocks(static_cast<unsigned>(cluster->blocks.size()));
}

// Releases all blocks. After an abort, the function also takes back the stacks of threads that have not
// ended.
void Worker::drop_everything() {
    for (ResidentBlock* block : resident_) {
        for (unsigned i = 0; i < block->started; ++i) {
            Fiber& fiber = block->fibers[block->start_order[i]];
            if (!fiber.exited && fiber.stack && !shared_) stacks_.give(fiber.stack);
        }
        block->cluster = nullptr;
        spare_.emplace_back(block);
    }
    resident_.clear();
    at_grid_barrier_ = 0;
    last_ = 0;
    gave_way_ = false;
    constexpr size_t kSpareBlocks = 64;
    if (spare_.size() > kSpareBlocks) spare_.resize(kSpareBlocks);
    if (shared_) stacks_.give(shared_);
    shared_ = nullptr;
    constexpr size_t kKept = 4 << 10;
    stacks_.trim(kKept);
}

std::string Worker::describe_waits() const {
    for (const ResidentBlock* block : resident_) {
        if (block->waiting_thread()) return describe_deadlock(*block);
    }
    return "";
}

}  // namespace emu
