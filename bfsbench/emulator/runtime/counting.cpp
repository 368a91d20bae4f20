#include "counting.h"

#include <algorithm>
#include <cstring>

#include "machine.h"
#include "worker.h"

namespace emu {

namespace {

size_t shared_bytes(const Grid& grid) {
    return grid.kernel.shared_bytes() + grid.kernel.functions->shared_bytes() + grid.dynamic_shared;
}

// Returns the size in bytes of the first-level cache. A multiprocessor divides one memory between this cache
// and the shared memory of all resident blocks. The array below lists the possible sizes of the shared memory
// (CUDA programming guide, compute capability 9.0).
size_t cache_beside(size_t shared, unsigned threads, const Limits& limits) {
    constexpr size_t kAll = 256 << 10, kReserved = 1 << 10;  // the system reserves kReserved bytes per block
    size_t blocks = std::min(limits.threads_per_multiprocessor / threads, limits.blocks_per_multiprocessor);
    for (size_t size : {32, 64, 100, 132, 164, 196}) {
        if (std::max<size_t>(1, blocks) * (shared + kReserved) <= size << 10) return kAll - (size << 10);
    }
    return kAll - (228 << 10);
}

}  // namespace

void Counting::begin_launch(const Grid& grid, const Limits& limits) {
    grid_ = &grid;
    stored_ = nullptr;  // a failed launch may have left the address of a store here
    multiprocessors_ = limits.multiprocessors;
    views_.begin_launch(multiprocessors_, cache_beside(shared_bytes(grid), volume(grid.threads), limits));
    ++launch_;
    phase_ = -1;
    polls_ = 0;
    begin_epoch();
}

void Counting::begin_block(ResidentBlock& block) {
    if (!block.lockstep) block.lockstep = std::make_unique<Lockstep>(*this, loops);
    block.lockstep->begin(block.live, linear(block.index, block.grid) % multiprocessors_);
}

void Counting::begin_epoch() {
    ++epoch_;
    before_epoch_ = execution_;
    longest_ = 0;
    phases_.push_back({grid_->kernel.name, launch_, phase_, volume(grid_->blocks), volume(grid_->threads),
                       shared_bytes(*grid_), {}});
}

void Counting::add_module(const char* begin, size_t bytes) { modules_[begin] = bytes; }

void Counting::note_phases_at(const char* begin, size_t bytes, size_t element) {
    notes_ = begin, notes_bytes_ = bytes, notes_element_ = element;
}

void Counting::forget() {
    counts_.clear();
    phases_.clear();
    ++epoch_;
}

// Records an access or a barrier of the current thread. The thread then waits until its warp has
// performed the operation for all participating lanes. Some stores only mark a phase, such as a level of
// a search. At these stores the thread waits only if its trace (its list of recorded operations) is full.
void Counting::step(Fiber& fiber, const char* address, const void* site, size_t bytes, Kind kind) {
    leave_thread();
    if (is_note(address)) kind = Kind::note;
    bool full = trace.come_to(site, ops.at(site, Ops::shape(bytes, kind, false)), address);
    if (full || kind != Kind::note) return worker->await_steps(fiber);
    views_.changes.put_aside = block_of(fiber).lockstep->has_stores(fiber.rank);
}

// Records a store of the current thread. Usually the emulator puts the stored value into a store buffer,
// and the thread continues. The thread waits for its warp instead if the store has more than 8 bytes, or
// if a load usually follows this instruction. It also waits if the store buffer or the thread's list of
// recorded operations is full. step() handles stores that only mark a phase, such as a level of a search.
void Counting::store(Fiber& fiber, const char* address, const void* site, size_t bytes) {
    const Ops::Slot& op = ops.at(site, Ops::shape(bytes, Kind::write, false));
    Site& instruction = site_of(op.entry.op());
    if (is_note(address) || bytes > StoreBuffer::kMostBytes || instruction.is_before_loads()) {
        return step(fiber, address, site, bytes, Kind::write);
    }
    leave_thread();
    bool full = trace.come_to(site, op, address);
    stored_ = full ? nullptr : block_of(fiber).lockstep->add_store(fiber.rank);
    if (!stored_) return emu::await_steps(fiber);
    stored_->entry = op.entry.at(address);
    memcpy(stored_->value, address, bytes);
    views_.changes.put_aside = true;
    ++instruction.put_off;
    last_put_off_ = &instruction;
}

// Removes the current thread's effects from memory before other threads run. The value that the thread has
// just stored moves to the store buffer, and memory gets its old value back. If Views::show() has put old
// values into memory for a load, memory gets its newest values back.
void Counting::leave_memory_alone() {
    views_.put_back();
    views_.changes.put_aside = false;
    if (!stored_) return;
    stored_->exchange(ops[stored_->entry.op()].bytes);
    stored_ = nullptr;
}

bool Counting::has_stores(const Fiber& fiber) const {
    return views_.changes.put_aside && block_of(fiber).lockstep->has_stores(fiber.rank);
}

// Waits until the delayed stores of the current thread have been written to memory. The thread calls this
// function before a load.
void Counting::finish_stores(Fiber& fiber) {
    leave_thread();
    if (!block_of(fiber).lockstep->has_stores(fiber.rank)) return;
    ++last_put_off_->before_loads;
    emu::await_stores(fiber);
}

void Counting::make_store(Lockstep& lockstep, unsigned rank) {
    StoreBuffer::Store& store = lockstep.take_store(rank);
    log_store(lockstep, store.entry);
    store.exchange(ops[store.entry.op()].bytes);
}

void Counting::go_on(const Lockstep& lockstep, unsigned rank) {
    Entry last = lockstep.warp(rank / kWarpSize).now[rank % kWarpSize];
    const Op& op = ops[last.op()];
    const char* address = last.address();
    if (op.plain && views_.may_be_old(address, op.bytes)) show_old(lockstep, rank, address, op.bytes);
    if (op.kind == Kind::write || op.kind == Kind::update) log_store(lockstep, last);
}

// Records that a lane is about to change memory. For a while, loads on other multiprocessors may still return
// the old value.
void Counting::log_store(const Lockstep& lockstep, Entry entry) {
    const Op& op = ops[entry.op()];
    const char* address = entry.address();
    Place place = site_of(entry.op()).place;
    if (!place.has(address)) place = find_global(address);
    if (!place.buffer) return;
    views_.store(lockstep.multiprocessor, lockstep.time, address, op.bytes);
    if (op.kind == Kind::write) return;
    views_.drop(lockstep.multiprocessor, place.buffer->place + static_cast<size_t>(address - place.begin));
}

// Prefetches the counters of the words that lanes are about to access, because these counters lie scattered
// in memory.
void Counting::fetch_words(const Execution& execution, const Site& site) const {
    const uint32_t* sectors = site.touched->sectors.data();
    const Touched::Word* words = site.touched->words.data();
    for (unsigned i = 0; i < execution.number; ++i) {
        size_t offset = execution.offset[i];
        prefetch(&sectors[offset / kSector]);
        if (execution.op->kind == Kind::update) prefetch(&words[offset / sizeof(uint32_t)]);
        views_.fetch_store(site.place.begin + offset);
    }
}

// Puts into memory the value that the thread's next load must return. This may be an old value from the cache
// of the thread's multiprocessor. The function estimates the time of the load from the number of accesses
// that the warp must perform first.
void Counting::show_old(const Lockstep& lockstep, unsigned rank, const char* address, size_t bytes) {
    uint64_t time = lockstep.time + lockstep.traced(rank);
    auto [begin, buffer] = buffers_.at(address);
    if (!buffer) return;
    size_t place = buffer->place + static_cast<size_t>(address - begin);
    views_.show(lockstep.multiprocessor, time, const_cast<char*>(address), bytes, place);
}

void Counting::begin_phase(const char* note) {
    auto phase = static_cast<int>(static_cast<size_t>(note - notes_) / notes_element_);
    if (phase == phase_) return;
    phase_ = phase;
    begin_epoch();
}

void Counting::issue(ResidentBlock& block) {
    Lockstep& lockstep = *block.lockstep;
    do {
        lockstep.begin_round();
        ++lockstep.time;
        bool all_poll = true;
        unsigned warps = lockstep.traced_warps();
        each_lane(warps, [&](unsigned warp) {
            if (unsigned later = warps & ~1u << warp) {
                lockstep.fetch_next(static_cast<unsigned>(__builtin_ctz(later)));
                if (later &= later - 1) lockstep.fetch_soon(static_cast<unsigned>(__builtin_ctz(later)));
            }
            unsigned lanes = lockstep.take(warp);
            if (!lanes) return;
            count_group(block, warp, lanes);
            lockstep.release(warp, lanes);
            all_poll &= lockstep.warp(warp).polls();
        });
        lockstep.end_round(all_poll);
    } while (!lockstep.has_next() && lockstep.any_traced() && !lockstep.leaves() && !worker->grid->aborted());
}

void meet(const void* site) {
    if (!trace.runs()) return;
    worker->machine.counting->step(here(), nullptr, site, 0, Kind::barrier);
}

}  // namespace emu
