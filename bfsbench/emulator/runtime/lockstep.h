// Lanes of a warp in lockstep, as far as accesses to memory and barriers go: these are a lane's steps.
//
// A lane runs ahead through plain loads, whose steps are kept in its trace, and on behind stores, whose values are in
// its warp's store buffer, as far as its next load. It waits at any other step: an atomic, a volatile load, a barrier,
// and a load of which counting.h says so. When no thread of the block can go on, every warp issues one step: that of the
// lane that is behind all others, with those at the same instruction. So lanes that have left a branch or a loop early
// wait for the others behind it, as on a GPU. When the trace of a lane that waits is done, it goes on.
//
// Lanes that have come to the same place on the same way are a group, which has one position. When their next entries
// differ, the group is divided; groups that issue a step together become one.
//
// No lane of a warp stores before the others have made the loads that come first. Where threads race, a load may be as
// old as the last step that its lane has waited at.
//
// Lanes that leave a loop early, in different iterations, go on by themselves, up to where lanes are that have not.
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

// One warp: its lanes and what it has done lately.
struct WarpRun {
    unsigned traced;    // lanes whose traces are not done, or whose last steps are not
    unsigned waiting;   // those that are at a step, which has left the trace
    unsigned together;  // others, which are one group
    unsigned awaits;    // those that go on when their traces are done
    unsigned put_off;   // those that have stores in the buffer
    unsigned stores;    // and those that go on when these are made
    unsigned empty;     // those whose traces are done; of some of them the last step is not
    bool runs;          // a lane is to go on before another step is issued
    uint64_t issued;

    unsigned groups;          // bits of those in use
    unsigned groups_waiting;  // of those whose lanes are at a step
    unsigned groups_issued;   // of those whose step is being issued
    unsigned common;          // the group of those that are together
    // The group that has issued the last step alone, as a bit, and of those that waited then the one behind the others.
    unsigned leads, others, next_behind;
    Group group[kWarpSize];

    Entry now[kWarpSize];               // of each lane that is at a step
    uint64_t stores_before[kWarpSize];  // by others, when the first of its trace was done

    // The last reads, by instruction and place. A warp that makes these again and again polls.
    static constexpr unsigned kReads = 4;
    uint64_t reads[kReads];  // 0: no read
    unsigned last_read;      // index
    unsigned repeats;

    // The steps that it has made in the level of `epoch`, and those among them whose end it has to wait for: loads of
    // sectors that it has not had lately (far) or has (near), accesses to shared memory, atomics, barriers.
    uint32_t epoch;
    struct Steps {
        uint64_t all = 0, far = 0, near = 0, shared = 0, atomics = 0, barriers = 0;
    } steps;
    uint64_t length;  // of them, in accesses to near memory

    // Sectors of global memory that it has loaded, as far as a part of a first-level cache would hold them.
    static constexpr size_t kRecent = 512;
    std::vector<uint32_t> recent;
    // The sector of this index in a region, of which all in memory have numbers.
    static bool had_lately(uint32_t* recent, uint32_t index, uint32_t number) {
        uint32_t& slot = recent[index % kRecent];
        bool had = slot == number;
        slot = number;
        return had;
    }

    void begin(unsigned lanes);  // another block's
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
    // Some lanes of a group become one of their own.
    unsigned divide(unsigned from, unsigned lanes);
};

// What is to be done for a lane when its warp has made a step: a store of its buffer, and whether its trace is done.
class Turn {
  public:
    Turn(unsigned rank, unsigned stores, unsigned goes_on) : bits_(rank << 2 | stores << 1 | goes_on) {}
    unsigned rank() const { return bits_ >> 2; }
    bool stores() const { return bits_ & 2; }
    bool goes_on() const { return bits_ & 1; }

  private:
    uint32_t bits_;
};

// Whether a block should hand over to others, because it had its turn or because it waits for them.
enum class Leave { no, turn_over, waits };

// The lanes of one block.
class Lockstep {
  public:
    Lockstep(Counting& counting, Loops& loops) : counting(counting), loops_(loops) {}
    // Another block of this number of threads, on this multiprocessor.
    void begin(unsigned threads, unsigned multiprocessor);

    Counting& counting;
    unsigned multiprocessor = 0;

    // The lane runs now.
    void take_up(Trace& trace, unsigned rank, const void* place, const char* stack);
    // A trace is empty no more.
    void note_first(unsigned rank, uint32_t stores) {
        WarpRun& warp = warps_[rank / kWarpSize];
        unsigned bit = 1u << rank % kWarpSize;
        // A step that has left the trace may have yet to be issued: others let its lane go on from a collective.
        if (!(warp.traced & bit)) ++traced_;
        warp.traced |= bit;
        warp.empty &= ~bit;
        traced_warps_ |= 1u << rank / kWarpSize;
        changed_warps_ |= 1u << rank / kWarpSize;
        warp.stores_before[rank % kWarpSize] = stores;
    }
    bool any_traced() const { return traced_ > 0; }
    // Entries in the trace of a lane.
    unsigned traced(unsigned rank) const {
        const Traces& traces = traces_[rank / kWarpSize];
        return static_cast<unsigned>(traces.end[rank % kWarpSize] - traces.begin[rank % kWarpSize]);
    }
    // It goes on when its trace is done.
    void await(unsigned rank) { warps_[rank / kWarpSize].awaits |= 1u << rank % kWarpSize; }
    // A store that it puts off, behind its others; null if there is no room.
    StoreBuffer::Store* add_store(unsigned rank) {
        StoreBuffer::Store* store = stores_[rank / kWarpSize].add(rank % kWarpSize);
        if (store) warps_[rank / kWarpSize].put_off |= 1u << rank % kWarpSize;
        return store;
    }
    bool has_stores(unsigned rank) const { return warps_[rank / kWarpSize].put_off >> rank % kWarpSize & 1; }
    // The first one, of which there is one; and it leaves, until others are added.
    const StoreBuffer::Store& first_store(unsigned rank) const {
        return stores_[rank / kWarpSize].first(rank % kWarpSize);
    }
    StoreBuffer::Store& take_store(unsigned rank) {
        StoreBuffer& buffer = stores_[rank / kWarpSize];
        StoreBuffer::Store& store = buffer.take(rank % kWarpSize);
        if (buffer.empty(rank % kWarpSize)) warps_[rank / kWarpSize].put_off &= ~(1u << rank % kWarpSize);
        return store;
    }
    // It goes on when these are made, of which there are some; and whether it does now.
    void await_stores(unsigned rank) { warps_[rank / kWarpSize].stores |= 1u << rank % kWarpSize; }
    bool awaits_stores(unsigned rank) const { return warps_[rank / kWarpSize].stores >> rank % kWarpSize & 1; }
    bool ends_wait_for_stores(unsigned rank);
    // Its trace begins with what is left of it.
    void begin_trace_anew(unsigned rank, uint32_t stores);

    WarpRun& warp(unsigned index) { return warps_[index]; }
    const WarpRun& warp(unsigned index) const { return warps_[index]; }
    unsigned warps() const { return num_warps_; }

    // A warp is going to issue a step, soon or at once.
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
    // Before a round of issues, and whether a warp can issue a step then.
    void begin_round();
    bool can_issue(unsigned warp) const { return warps_[warp].traced && !warps_[warp].runs; }
    // Bits of warps with traces.
    unsigned traced_warps() const { return traced_warps_; }
    // Lanes of a warp whose step is the next, if there is one; and what they do when it is done.
    unsigned take(unsigned warp);
    void release(unsigned warp, unsigned lanes);
    // Lanes that go on now.
    bool has_next() const { return next_ < turns_.size(); }
    Turn next() { return turns_[next_++]; }
    // The one that comes so many later; null if there is none.
    const Turn* upcoming(size_t later) const {
        return next_ + later <= turns_.size() ? &turns_[next_ + later - 1] : nullptr;
    }

    // How often its warps have made a step.
    uint64_t time = 0;

    // It has met other blocks: for a while they take turns after every round.
    void meet() { close_until_ = time + kClose; }
    // A round of issues has ended. When all warps poll, or the block has had its turn, others should have theirs.
    void end_round(bool all_poll);
    bool leaves() const { return leave_ != Leave::no; }
    // Whether the turn is over; begins another one if so.
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
    std::vector<WarpRun> warps_;   // these and the next may be more than the block has
    std::vector<Traces> traces_;   // by warp
    std::vector<StoreBuffer> stores_;
    std::vector<Turn> turns_;
    size_t next_ = 0;              // index of the first of them that has not been
    unsigned traced_ = 0, traced_warps_ = 0;
    unsigned changed_warps_ = 0;  // those with lanes that have begun a trace, or go on, since the last round
    static_assert(32 * kWarpSize >= 1024);  // warps have bits
    unsigned rounds_ = 0;  // of the turn
    uint64_t close_until_ = 0;
    Leave leave_ = Leave::no;
};

inline void Trace::begin_anew() { of_->note_first(rank_, changes_->stores); }

}  // namespace emu
