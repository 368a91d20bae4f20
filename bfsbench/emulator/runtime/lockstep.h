// Lanes of a warp in lockstep. Only memory accesses and barriers count: they are the steps of a lane.
//
// A lane runs ahead of its warp. It runs through plain loads, whose steps are kept in its trace. It runs on
// past plain stores, whose values are kept in its warp's store buffer, up to its next load. At any other step
// it waits: an atomic, a volatile load, a barrier, and some loads (see counting.h). When no thread of the
// block can run, every warp issues one step. The warp issues the step of the lane whose position is behind all
// other lanes. All lanes at that position take part. So lanes that leave a branch or a loop early wait behind
// the branch or loop for the other lanes, as on a GPU. When the trace of a waiting lane is empty, the lane
// continues.
//
// Lanes that have come to one place on one path form a group with one position. When their next entries
// differ, the group is divided. Groups that issue a step together are merged.
//
// No lane of a warp stores before the other lanes have made their earlier loads. In a data race, a load may
// return a value as old as the last step at which its lane has waited.
//
// Lanes that leave a loop early, in different iterations, continue separately. They continue up to the place
// where the lanes that stayed in the loop wait.
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

// One warp: the state of its lanes, their groups, and the warp's recent accesses.
struct WarpRun {
    unsigned traced;    // lanes with entries in their traces, or whose last step is not issued
    unsigned waiting;   // lanes at a step, which has left the trace
    unsigned together;  // lanes that form one group
    unsigned awaits;    // lanes that continue when their traces are empty
    unsigned put_off;   // lanes with stores in the buffer
    unsigned stores;    // lanes that continue when their stores have been written to memory
    unsigned empty;     // lanes with empty traces, even if the warp has not yet issued their last step
    bool runs;          // a lane must continue before the next step is issued
    uint64_t issued;

    unsigned groups;          // bits of the groups in use
    unsigned groups_waiting;  // bits of groups whose lanes are at a step
    unsigned groups_issued;   // bits of groups whose step is being issued
    unsigned common;          // index of the group that the lanes of `together` form
    // `leads` is the bit of the group that issued the warp's previous step, or 0 if several groups issued that
    // step together. While one group leads, `others` caches the bits of the other waiting groups. `next_behind`
    // is the index of the group of `others` whose position is behind the rest of them.
    unsigned leads, others, next_behind;
    Group group[kWarpSize];

    Entry now[kWarpSize];               // by lane: the entry of the step at which the lane waits
    uint64_t stores_before[kWarpSize];  // by lane: number of stores made before the first entry of the lane's trace

    // The warp's most recent reads, as hashes of instruction and place. A warp that only repeats these reads
    // polls.
    static constexpr unsigned kReads = 4;
    uint64_t reads[kReads];  // 0 in an element without a read
    unsigned last_read;      // index
    unsigned repeats;

    // The number of the warp's steps in the phase of `epoch`. `all` counts every step. The other members count
    // the steps whose end the warp must wait for. `far` counts loads of sectors that the warp has not loaded
    // recently, and `near` counts loads of sectors that it has.
    uint32_t epoch;
    struct Steps {
        uint64_t all = 0, far = 0, near = 0, shared = 0, atomics = 0, barriers = 0;
    } steps;
    uint64_t length;  // time of these steps, in accesses to near memory

    // Recently loaded sectors of global memory, as many as a warp's share of a first-level cache holds.
    static constexpr size_t kRecent = 512;
    std::vector<uint32_t> recent;
    // Returns whether a sector was loaded recently, and adds the sector to `recent`. `index` is its index in
    // the region, and `number` its number in memory.
    static bool had_lately(uint32_t* recent, uint32_t index, uint32_t number) {
        uint32_t& slot = recent[index % kRecent];
        bool had = slot == number;
        slot = number;
        return had;
    }

    void begin(unsigned lanes);  // begins a warp of another block
    bool polls() const { return repeats >= 2 * kReads; }
    void remember(Kind kind, Entry entry) {
        uint64_t now = kind == Kind::read ? entry.bits() : 0;
        bool again = false;
        for (uint64_t read : reads) again |= read == now;
        if (now && again) {
            ++repeats;
            return;
        }
        last_read = (last_read + 1) % kReads;
        reads[last_read] = now;
        repeats = 0;
    }
    // Moves some lanes of a group to a new group. Returns that group.
    unsigned divide(unsigned from, unsigned lanes);
};

// The actions for a lane after its warp has made a step: write a store from its buffer to memory, let it
// continue, or both.
class Turn {
  public:
    Turn(unsigned rank, unsigned stores, unsigned goes_on) : bits_(rank << 2 | stores << 1 | goes_on) {}
    unsigned rank() const { return bits_ >> 2; }
    bool stores() const { return bits_ & 2; }
    bool goes_on() const { return bits_ & 1; }

  private:
    uint32_t bits_;
};

// Says whether a block lets other blocks run, and why: the block's turn is over, or the block waits for other
// blocks.
enum class Leave { no, turn_over, waits };

// Runs the warps of one block in lockstep.
class Lockstep {
  public:
    Lockstep(Counting& counting, Loops& loops) : counting(counting), loops_(loops) {}
    // Begins another block with `threads` threads on a multiprocessor.
    void begin(unsigned threads, unsigned multiprocessor);

    Counting& counting;
    unsigned multiprocessor = 0;

    // Makes `trace` record the accesses of the lane with this rank, which runs now.
    void take_up(Trace& trace, unsigned rank, const void* place, const char* stack);
    // Notes the first entry of a lane's trace.
    void note_first(unsigned rank, uint32_t stores) {
        WarpRun& warp = warps_[rank / kWarpSize];
        unsigned bit = 1u << rank % kWarpSize;
        // The lane may have a step that has left its trace and is not issued yet. This happens if another
        // lane has released it from a collective. The lane is counted already then.
        if (!(warp.traced & bit)) ++traced_;
        warp.traced |= bit;
        warp.empty &= ~bit;
        traced_warps_ |= 1u << rank / kWarpSize;
        changed_warps_ |= 1u << rank / kWarpSize;
        warp.stores_before[rank % kWarpSize] = stores;
    }
    bool any_traced() const { return traced_ > 0; }
    // Returns the number of entries in a lane's trace.
    unsigned traced(unsigned rank) const {
        const Traces& traces = traces_[rank / kWarpSize];
        return static_cast<unsigned>(traces.end[rank % kWarpSize] - traces.begin[rank % kWarpSize]);
    }
    // Lets the lane wait until its trace is empty.
    void await(unsigned rank) { warps_[rank / kWarpSize].awaits |= 1u << rank % kWarpSize; }
    // Puts off a store of a lane, behind its earlier stores. Returns null if there is no room.
    StoreBuffer::Store* add_store(unsigned rank) {
        StoreBuffer::Store* store = stores_[rank / kWarpSize].add(rank % kWarpSize);
        if (store) warps_[rank / kWarpSize].put_off |= 1u << rank % kWarpSize;
        return store;
    }
    bool has_stores(unsigned rank) const { return warps_[rank / kWarpSize].put_off >> rank % kWarpSize & 1; }
    // first_store() returns the first store of a lane, which must have one. take_store() also removes it. The
    // object stays valid until the next add_store().
    const StoreBuffer::Store& first_store(unsigned rank) const {
        return stores_[rank / kWarpSize].first(rank % kWarpSize);
    }
    StoreBuffer::Store& take_store(unsigned rank) {
        StoreBuffer& buffer = stores_[rank / kWarpSize];
        StoreBuffer::Store& store = buffer.take(rank % kWarpSize);
        if (buffer.empty(rank % kWarpSize)) warps_[rank / kWarpSize].put_off &= ~(1u << rank % kWarpSize);
        return store;
    }
    // Lets the lane wait until its stores have been written to memory. The lane must have stores.
    // ends_wait_for_stores() returns whether that wait is over.
    void await_stores(unsigned rank) { warps_[rank / kWarpSize].stores |= 1u << rank % kWarpSize; }
    bool awaits_stores(unsigned rank) const { return warps_[rank / kWarpSize].stores >> rank % kWarpSize & 1; }
    bool ends_wait_for_stores(unsigned rank);
    // Moves the remaining entries of a lane's trace to its beginning.
    void begin_trace_anew(unsigned rank, uint32_t stores);

    WarpRun& warp(unsigned index) { return warps_[index]; }
    const WarpRun& warp(unsigned index) const { return warps_[index]; }
    unsigned warps() const { return num_warps_; }

    // fetch_soon() prefetches the state of a warp that issues a step soon. fetch_next() prefetches the next
    // entries of a warp.
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
    // Prepares the warps for a round of issues. In the round, can_issue() says whether a warp can issue a
    // step.
    void begin_round();
    bool can_issue(unsigned warp) const { return warps_[warp].traced && !warps_[warp].runs; }
    // Returns one bit per warp, set if some lane of the warp has a trace.
    unsigned traced_warps() const { return traced_warps_; }
    // Takes the next step of a warp. Returns the lanes of the step, or 0 if the warp has no step to issue.
    // After the step the caller must call release().
    unsigned take(unsigned warp);
    void release(unsigned warp, unsigned lanes);
    // has_next() returns whether lanes have turns now, and next() takes one of these turns.
    bool has_next() const { return next_ < turns_.size(); }
    Turn next() { return turns_[next_++]; }
    // Returns the turn that is `later` turns ahead, or null.
    const Turn* upcoming(size_t later) const {
        return next_ + later <= turns_.size() ? &turns_[next_ + later - 1] : nullptr;
    }

    // Number of rounds of issues so far.
    uint64_t time = 0;

    // Notes that the block has met other blocks at a barrier. For the next kClose rounds it lets other blocks
    // run after every round.
    void meet() { close_until_ = time + kClose; }
    // Ends a round of issues. If all warps poll, or the block has had its turn, other blocks should run.
    void end_round(bool all_poll);
    bool leaves() const { return leave_ != Leave::no; }
    // Returns why the block should let other blocks run, and begins the block's next turn.
    Leave take_leave();

  private:
    static constexpr unsigned kClose = 16;  // rounds
    unsigned take_together(unsigned warp);
    inline unsigned take_leading(WarpRun& warp);
    unsigned take_last(WarpRun& warp);
    unsigned most_behind(const WarpRun& warp, unsigned groups, bool furthest) const;
    void scatter(unsigned warp);
    unsigned next_group(const WarpRun& warp) const;
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
    std::vector<WarpRun> warps_;   // warps_ and traces_ may be longer than the block has warps
    std::vector<Traces> traces_;   // by warp
    std::vector<StoreBuffer> stores_;
    std::vector<Turn> turns_;
    size_t next_ = 0;              // index of the next turn
    unsigned traced_ = 0, traced_warps_ = 0;
    unsigned changed_warps_ = 0;  // warps with lanes that have begun a trace or continued since the last round
    static_assert(32 * kWarpSize >= 1024);  // a bit for each warp
    unsigned rounds_ = 0;  // rounds of the current turn
    uint64_t close_until_ = 0;
    Leave leave_ = Leave::no;
};

inline void Trace::begin_anew() { of_->note_first(rank_, changes_->stores); }

}  // namespace emu
