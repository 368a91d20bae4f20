// Emulates warps whose lanes run in lockstep, in order to count their memory accesses. An operation of a lane
// is a memory access or a barrier. A lane executes an operation on its own. Later its warp performs the
// operation: the emulator counts it for all participating lanes at once.
//
// A lane runs ahead of its warp and records its operations in a list, its trace. It does not wait at ordinary
// loads. Ordinary stores go to a store buffer, and the lane runs on to its next load. At all other operations the
// lane waits: atomics, volatile loads, barriers, and some loads (see counting.h).
//
// When no thread of the block can run, every warp performs one operation. The warp chooses the lane that is
// behind all other lanes in the program. All lanes at the same place take part in this lane's operation. So lanes
// that leave a branch or a loop early wait after its end for the other lanes, as on a GPU. When the trace of
// a waiting lane is empty, the lane continues.
//
// Lanes that have come to the same place on the same path form a group with one position. When the next entries
// of their traces differ, the group is divided. Groups that perform an operation together are merged.
//
// No lane of a warp stores before the other lanes have performed the loads that precede this store in the
// program. In a data race, a load may return an old value: the value at the time when its lane last waited.
//
// Lanes that leave a loop early in different iterations continue separately, up to the place where the lanes
// that stayed in the loop wait.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emu/state.h"
#include "position.h"
#include "store_buffer.h"
#include "trace.h"

namespace emu {

class Counting;

struct Group {
    unsigned lanes;
    Position position;
};

// The state of one warp while the emulator counts memory accesses: its lanes, their groups, and the warp's
// recent accesses. Lockstep creates one object per warp of a block.
struct WarpRun {
    unsigned traced;    // lanes that have recorded operations which the warp has not performed
    unsigned waiting;   // lanes whose next operation was taken from their trace, but not yet performed
    unsigned together;  // lanes that run together, at one place of the kernel
    unsigned awaits;    // lanes that run again when their traces are empty
    unsigned put_off;   // lanes with delayed stores
    unsigned stores;    // lanes that run again when their delayed stores have been written to memory
    unsigned empty;     // lanes with empty traces, even if their last operation is not yet performed
    bool runs;          // true if a lane must run before the warp performs its next operation
    uint64_t issued;

    unsigned groups;          // a bit for each index of `group` that is in use
    unsigned groups_waiting;  // bits of groups whose lanes wait at an access or barrier
    unsigned groups_issued;   // bits of groups that perform the current operation
    unsigned common;          // index in `group` of the lanes that run together
    // `leads` is the bit of the group of lanes that performed the warp's previous operation, or 0 if several
    // groups performed it together. `others` caches the bits of the other waiting groups while `leads` is
    // set. `next_behind` is the index of the group in `others` that is furthest behind in the program.
    unsigned leads, others, next_behind;
    Group group[kWarpSize];

    Entry now[kWarpSize];               // by lane: the operation at which the lane waits
    // Has one element per lane: the number of stores that all threads of the launch had made when the lane
    // recorded the first entry of its trace.
    uint64_t stores_before[kWarpSize];

    // The warp's most recent accesses. If a warp only repeats them, it spins in a wait loop. Each element encodes
    // the operation and the address that the first lane accesses (Entry::bits).
    static constexpr unsigned kLately = 4;
    uint64_t lately[kLately];  // 0 in an element without an access
    unsigned last;             // index of the most recent access in `lately`
    // `repeats` is the number of operations in a row that repeat an element of `lately`. `only_reads` is the
    // number of operations since the last operation that was not a read.
    unsigned repeats, only_reads;
    unsigned ahead;  // number of operations for which the lanes that are furthest ahead still run first

    // The members of `steps` count the warp's operations in the phase with the number `epoch`. `all` counts
    // every operation. The other members leave out stores to global memory, because the warp need not wait
    // for these. `far` counts loads of sectors (32 bytes) that the warp has not loaded recently, and `near`
    // counts loads of other sectors.
    uint32_t epoch;
    struct Steps {
        uint64_t all = 0, far = 0, near = 0, shared = 0, atomics = 0, barriers = 0;
    } steps;
    uint64_t length;  // estimated time of these operations; the unit is a load of a recently loaded sector

    // The sectors of global memory that the warp has recently loaded. The list has room for as many sectors
    // as the warp's share of a first-level cache.
    static constexpr size_t kRecent = 512;
    std::vector<uint32_t> recent;
    // Returns whether a sector of global memory was loaded recently, and adds the sector to `recent`. `index`
    // is the sector's index in its buffer, and `number` is its number in the whole memory.
    static bool had_lately(uint32_t* recent, uint32_t index, uint32_t number) {
        uint32_t& slot = recent[index % kRecent];
        bool had = slot == number;
        slot = number;
        return had;
    }

    void begin(unsigned lanes);  // resets the object for a warp of another block
    bool spins() const { return repeats >= 2 * kLately; }
    bool polls() const { return spins() && only_reads >= 2 * kLately; }
    void remember(Kind kind, Entry entry) {
        uint64_t now = kind == Kind::barrier ? 0 : entry.bits();
        only_reads = kind == Kind::read ? only_reads + 1 : 0;
        bool again = false;
        for (uint64_t access : lately) again |= access == now;
        if (now && again) {
            ++repeats;
            return;
        }
        last = (last + 1) % kLately;
        lately[last] = now;
        repeats = 0;
    }
    // Moves `lanes` of the group `from` to a new group. Returns the index of the new group. If `lanes` are
    // all lanes of the group, the function moves nothing and returns `from`.
    unsigned divide(unsigned from, unsigned lanes);
};

// The actions of a lane after its warp has performed an operation: the lane writes a delayed store to memory,
// runs again, or does both.
class Turn {
  public:
    Turn(unsigned rank, unsigned stores, unsigned goes_on) : bits_(rank << 2 | stores << 1 | goes_on) {}
    unsigned rank() const { return bits_ >> 2; }
    bool stores() const { return bits_ & 2; }
    bool goes_on() const { return bits_ & 1; }

  private:
    uint32_t bits_;
};

// Tells whether a block should let other blocks run, and why. `turn_over`: the block has run for as many
// rounds as a block may run at a time. `waits`: the block waits for other blocks.
enum class Leave { no, turn_over, waits };

// Runs the warps of one block in lockstep, to count their memory accesses. A ResidentBlock owns one Lockstep
// object.
class Lockstep {
  public:
    Lockstep(Counting& counting, Loops& loops) : counting(counting), loops_(loops) {}
    // Prepares the object for another block with `threads` threads on a multiprocessor.
    void begin(unsigned threads, unsigned multiprocessor);

    Counting& counting;
    unsigned multiprocessor = 0;

    // Makes `trace` record the accesses of the lane with this rank, which is about to run.
    void take_up(Trace& trace, unsigned rank, const void* place, const char* stack);
    // Records that a lane's empty trace receives its first entry.
    void note_first(unsigned rank, uint32_t stores) {
        WarpRun& warp = warps_[rank / kWarpSize];
        unsigned bit = 1u << rank % kWarpSize;
        // Do not count a lane twice. `traced_` may already include this lane, if the lane waited in a warp
        // function and now runs again. The last operation of the lane was taken from its trace, which is now
        // empty, but the warp has not performed this operation yet.
        if (!(warp.traced & bit)) ++traced_;
        warp.traced |= bit;
        warp.empty &= ~bit;
        traced_warps_ |= 1u << rank / kWarpSize;
        changed_warps_ |= 1u << rank / kWarpSize;
        warp.stores_before[rank % kWarpSize] = stores;
    }
    bool any_traced() const { return traced_ > 0; }
    // Returns the number of operations in the lane's trace.
    unsigned traced(unsigned rank) const {
        const Traces& traces = traces_[rank / kWarpSize];
        return static_cast<unsigned>(traces.end[rank % kWarpSize] - traces.begin[rank % kWarpSize]);
    }
    // Makes the lane wait until its trace is empty.
    void await(unsigned rank) { warps_[rank / kWarpSize].awaits |= 1u << rank % kWarpSize; }
    // Adds a store of a lane to the store buffer, after the lane's earlier stores. Returns null if the store
    // buffer is full.
    StoreBuffer::Store* add_store(unsigned rank) {
        StoreBuffer::Store* store = stores_[rank / kWarpSize].add(rank % kWarpSize);
        if (store) warps_[rank / kWarpSize].put_off |= 1u << rank % kWarpSize;
        return store;
    }
    bool has_stores(unsigned rank) const { return warps_[rank / kWarpSize].put_off >> rank % kWarpSize & 1; }
    // first_store() returns the oldest delayed store of a lane. take_store() also removes the store. The lane
    // must have a delayed store. The result stays valid until the next add_store().
    const StoreBuffer::Store& first_store(unsigned rank) const {
        return stores_[rank / kWarpSize].first(rank % kWarpSize);
    }
    StoreBuffer::Store& take_store(unsigned rank) {
        StoreBuffer& buffer = stores_[rank / kWarpSize];
        StoreBuffer::Store& store = buffer.take(rank % kWarpSize);
        if (buffer.empty(rank % kWarpSize)) warps_[rank / kWarpSize].put_off &= ~(1u << rank % kWarpSize);
        return store;
    }
    // await_stores() makes a lane wait until its delayed stores have been written to memory. The lane must
    // have delayed stores. ends_wait_for_stores() ends this wait and returns true if the lane has no delayed
    // stores left.
    void await_stores(unsigned rank) { warps_[rank / kWarpSize].stores |= 1u << rank % kWarpSize; }
    bool awaits_stores(unsigned rank) const { return warps_[rank / kWarpSize].stores >> rank % kWarpSize & 1; }
    bool ends_wait_for_stores(unsigned rank);
    // Moves the remaining entries of a lane's trace to the beginning of the trace.
    void begin_trace_anew(unsigned rank, uint32_t stores);

    WarpRun& warp(unsigned index) { return warps_[index]; }
    const WarpRun& warp(unsigned index) const { return warps_[index]; }
    unsigned warps() const { return num_warps_; }

    // fetch_soon() prefetches the state of a warp that will soon perform an operation. fetch_next()
    // prefetches the next entries of its lanes' traces.
    void fetch_soon(unsigned warp) const {
        prefetch(&warps_[warp]);
        prefetch(traces_[warp].begin);
    }
    void fetch_next(unsigned warp) const {
        const Traces& traces = traces_[warp];
        auto lane = static_cast<unsigned>(__builtin_ctz(warps_[warp].traced));
        const Entry* row = traces.rows[traces.begin[lane] % Traces::kRoom];
        constexpr unsigned kInLine = 64 / sizeof(Entry);
        for (unsigned first = 0; first < kWarpSize; first += kInLine) prefetch(row + first);
    }
    // begin_round() prepares the warps for a round, in which each warp performs one operation. In the round,
    // can_issue() returns whether a warp can perform an operation.
    void begin_round();
    bool can_issue(unsigned warp) const { return warps_[warp].traced && !warps_[warp].runs; }
    // Returns one bit per warp. The bit is set if a lane of the warp has recorded operations that the warp
    // has not performed.
    unsigned traced_warps() const { return traced_warps_; }
    // Takes the next operation of a warp. Returns the participating lanes, or 0 if the warp cannot perform an
    // operation. After the operation the caller must call release().
    unsigned take(unsigned warp);
    void release(unsigned warp, unsigned lanes);
    // The queue contains the lanes that may now write a delayed store or run again. has_next() returns
    // whether the queue is not empty. next() takes the next lane from the queue.
    bool has_next() const { return next_ < turns_.size(); }
    Turn next() { return turns_[next_++]; }
    // Returns what the `later`-th further call of next() will return (1: the very next call), without taking
    // anything from the queue. Returns null if the queue is shorter.
    const Turn* upcoming(size_t later) const {
        return next_ + later <= turns_.size() ? &turns_[next_ + later - 1] : nullptr;
    }

    // Number of rounds so far. In a round, each warp of the block performs one operation.
    uint64_t time = 0;

    // Records that the block has passed a barrier with other blocks. For the next kClose rounds, the block
    // lets other blocks run after every round.
    void meet() { close_until_ = time + kClose; }
    // Ends a round of this block. The block then lets other blocks run in two cases: all its warps wait in
    // loops, or it has run for as many rounds as a block may run at a time.
    void end_round(bool all_poll);
    bool leaves() const { return leave_ != Leave::no; }
    // Returns why the block should let other blocks run, and resets the reason.
    Leave take_leave();

  private:
    static constexpr unsigned kClose = 16;  // number of rounds after a barrier with other blocks, see meet()
    unsigned take_together(unsigned warp);
    inline unsigned take_leading(WarpRun& warp);
    unsigned take_last(WarpRun& warp);
    unsigned most_behind(const WarpRun& warp, unsigned groups, bool furthest) const;
    void scatter(unsigned warp);
    unsigned next_group(WarpRun& warp) const;
    bool pop_row(unsigned warp, unsigned& done);
    unsigned pop_entries(unsigned warp, unsigned lanes, unsigned& done);
    inline bool pop_to_step(unsigned warp, unsigned group, unsigned lane);
    inline void wait(WarpRun& warp, unsigned group, unsigned lanes);
    inline bool step_to(Position& position, const WarpRun& warp, const Op& op);
    unsigned advance(unsigned warp, unsigned group, unsigned lanes);
    inline unsigned advance_one(unsigned warp, unsigned group, unsigned lane);
    unsigned arrive(unsigned warp, unsigned from, unsigned lanes, unsigned done);
    inline bool come_to_step(unsigned warp, unsigned group, unsigned lanes);
    void end(unsigned warp, unsigned lanes, unsigned stores = 0);

    Loops& loops_;
    unsigned num_warps_ = 0;
    std::vector<WarpRun> warps_;   // by warp of the block; the vector may be longer than the block has warps
    std::vector<Traces> traces_;   // by warp of the block; the vector may be longer than the block has warps
    std::vector<StoreBuffer> stores_;
    std::vector<Turn> turns_;
    size_t next_ = 0;              // index in turns_ of the next action
    unsigned traced_ = 0, traced_warps_ = 0;
    unsigned changed_warps_ = 0;  // bits of warps with lanes that have recorded or run since the last round
    static_assert(32 * kWarpSize >= 1024);  // changed_warps_ has a bit for each warp
    unsigned rounds_ = 0;  // number of rounds since other blocks ran
    uint64_t close_until_ = 0;
    Leave leave_ = Leave::no;
};

inline void Trace::begin_anew() { of_->note_first(rank_, changes_->stores); }

}  // namespace emu
