// Lanes of a warp in lockstep, as far as accesses to memory and barriers go: these are a lane's steps.
//
// A lane runs ahead through plain loads, whose steps are kept in its trace. It waits at any other step: a store, an
// atomic, a volatile load, a barrier, and a load of which counting.h says so. When no thread of the block can go on,
// every warp issues one step: that of the lane that is behind all others, with those at the same instruction. So lanes
// that have left a branch or a loop early wait for the others behind it, as on a GPU. When the trace of a lane that
// waits is done, it goes on.
//
// Lanes that have always done the same have one position, `common`, and what they do next need not be compared while it
// is the path that they have followed. When they part, each gets a trace and a position of its own.
//
// No lane of a warp stores before the others have made the loads that come first. Where threads race, a load may be as
// old as the last step that its lane has waited at.
//
// Who is behind? Code is laid out as in the source: what comes later stands higher. A jump backwards begins another
// iteration of a loop, which reaches from where it leads to the highest place that it has been made from. Lanes are
// compared by their iterations, from the outermost loop that they share, then by where they are.
//
// Lanes that leave a loop early, in different iterations, go on by themselves, up to where lanes are that have not.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emu/state.h"
#include "trace.h"

namespace emu {

class Counting;

// From its first basic block to the highest place from which a lane has jumped back to that.
struct Loop {
    const void *first, *last;
    bool has(const void* place) const { return place >= first && place <= last; }
};
// By their first blocks; of all lanes, launches and modules.
using Loops = std::unordered_map<const void*, Loop>;

// Where a lane is.
class Position {
  public:
    void begin() { place_ = parted_at_ = nullptr, parted_ = 0, depth_ = 0; }
    // It has come to a basic block, or to a step.
    void move(Loops& loops, const void* place) {
        if (place <= parted_at_) parted_ = 0, parted_at_ = nullptr;  // another iteration of an outer loop
        if (place <= place_) jump_back(loops, place);
        while (depth_ && !iterations_[depth_ - 1].loop->has(place)) --depth_;
        place_ = place;
    }
    // It has jumped backwards.
    void jump(Loops& loops, const void* from, const void* to) {
        if (from > place_) move(loops, from);
        move(loops, to);
    }
    bool is_behind(const Position& other) const;
    // It leaves a loop early, with those that do so behind the same step of their warp.
    void part(Loops& loops, const void* place, uint64_t step) {
        if (place > place_) move(loops, place);
        parted_ = step, parted_at_ = place;
    }
    void join(const Position& other) { parted_ = other.parted_; }
    // At the same place, in the same iterations, and not after different exits from a loop.
    bool is_with(const Position& other) const {
        if (place_ != other.place_ || depth_ != other.depth_) return false;
        if (parted_ != other.parted_ && other.parted_) return false;
        for (unsigned i = depth_; i-- > 0;) {
            if (iterations_[i].number != other.iterations_[i].number) return false;
            if (iterations_[i].loop != other.iterations_[i].loop) return false;
        }
        return true;
    }

  private:
    static constexpr unsigned kDepth = 8;  // deeper loops are not told apart
    struct Iteration {
        Loop* loop;
        unsigned number;
    };
    void jump_back(Loops& loops, const void* place);
    const void* place_ = nullptr;
    const void* parted_at_ = nullptr;
    uint64_t parted_ = 0;  // behind which step; 0: it has not
    unsigned depth_ = 0;
    Iteration iterations_[kDepth];  // of the loops that it is in, outermost first; 0th ones are left out
};

struct WarpRun {
    unsigned traced = 0;    // lanes whose traces are not done, or whose last steps are not
    unsigned waiting = 0;   // those that are at a step, which has left the trace
    unsigned together = 0;  // others, which are where `common` is
    Position common;
    // Of the path, what the lanes that are together have yet to do; kept in their traces only when it is done.
    unsigned row = 0, rows_end = 0;
    bool runs = false;      // a lane is to go on before another step is issued
    uint64_t issued = 0;
    // The last reads, by instruction and place. A warp that makes these again and again polls.
    struct Read {
        const void *site, *address;
        bool operator==(const Read& other) const { return site == other.site && address == other.address; }
    };
    static constexpr unsigned kReads = 4;
    Read reads[kReads] = {};
    unsigned repeats = 0;

    // The steps that it has made in the level of `epoch`, and those among them whose end it has to wait for: loads of
    // sectors that it has not had lately (far) or has (near), accesses to shared memory, atomics, barriers.
    uint32_t epoch = 0;
    struct Steps {
        uint64_t all = 0, far = 0, near = 0, shared = 0, atomics = 0, barriers = 0;
        // In accesses to near memory, of which one to far memory takes about seven times the time.
        uint64_t length() const { return 7 * (far + atomics) + near + shared + barriers; }
    } steps;

    // Sectors of global memory that it has loaded, as far as a part of a first-level cache would hold them.
    static constexpr size_t kRecent = 512;
    std::vector<const char*> recent;
    bool had_lately(const char* sector, size_t index);

    void begin();  // another block's
    bool polls() const { return repeats >= 2 * kReads; }
    void remember(const Step& step);
};

// Whether a block should hand over to others, because it had its turn or because it waits for them.
enum class Leave { no, turn_over, waits };

// The lanes of one block.
class Lockstep {
  public:
    Lockstep(Counting& counting, Loops& loops) : counting(counting), loops_(loops) {}
    // Another block of this number of threads.
    void begin(unsigned threads);

    Counting& counting;

    Trace& trace(unsigned rank) { return traces_[rank]; }
    // A trace is empty no more.
    void note_first(unsigned rank);
    bool any_traced() const { return traced_ > 0; }

    const Step& step(unsigned rank) const { return steps_[rank]; }
    WarpRun& warp(unsigned index) { return warps_[index]; }
    unsigned warps() const { return static_cast<unsigned>(warps_.size()); }

    // Before a round of issues, and whether a warp can issue a step then.
    void begin_round();
    bool can_issue(unsigned warp) const { return warps_[warp].traced && !warps_[warp].runs; }
    // Lanes of a warp whose step is the next, if there is one; and what they do when it is done.
    unsigned take(unsigned warp);
    void release(unsigned warp, unsigned lanes);
    // Lanes that go on now.
    bool has_next() const { return next_ < turns_.size(); }
    unsigned next() { return turns_[next_++]; }

    // How often its warps have made a step.
    uint64_t time = 0;

    // It has met other blocks: for a while they take turns after every round.
    void meet() { close_until_ = time + kClose; }
    // A round of issues has ended. When all warps poll, or the block has had its turn, others should have theirs.
    void end_round(bool all_poll);
    // Whether the turn is over; begins another one if so.
    Leave take_leave();

  private:
    static constexpr unsigned kClose = 16;  // rounds
    unsigned take_together(unsigned warp);
    unsigned take_row(unsigned warp);
    unsigned take_alike(unsigned warp);
    bool begin_rows(unsigned warp);
    void end_rows(unsigned warp);
    void scatter(unsigned warp);
    bool step_to(Position& position, const WarpRun& warp, const Step& entry);
    void advance(unsigned rank);
    void end(unsigned rank);
    unsigned next_lane(unsigned warp) const;  // its rank

    Loops& loops_;
    std::vector<Step> steps_;  // by rank
    std::vector<Position> positions_;
    std::vector<Trace> traces_;
    std::vector<Path> paths_;  // by warp
    std::vector<WarpRun> warps_;
    std::vector<unsigned> turns_;  // ranks
    size_t next_ = 0;              // index of the first of them that has not gone on
    unsigned traced_ = 0;
    unsigned rounds_ = 0;  // of the turn
    uint64_t close_until_ = 0;
    Leave leave_ = Leave::no;
};

inline void Trace::begin_to_follow() {
    of_->note_first(rank_);
    follows_ = path_->open;
}

}  // namespace emu
