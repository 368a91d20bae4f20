// Lanes of a warp in lockstep, as far as accesses to memory and barriers go: these are a lane's steps.
//
// A lane that has come to a step waits until no thread of its block can go on without one. Then every warp issues
// one: the lane that is behind all others goes on, with those at the same instruction. So lanes that have left a
// branch or a loop early wait for the others behind it, as on a GPU.
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

namespace emu {

class Counting;

enum class Kind : int { read, write, update, barrier };

// What one lane is about to do.
struct Step {
    const void* site;
    const char* address;
    unsigned bytes;
    Kind kind;
    bool plain = false;  // a load that may find an old value
};

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
    // It has come to a basic block, or to a step.
    void move(Loops& loops, const void* place);
    bool is_behind(const Position& other) const;
    // At the same place, in the same iterations, and not after different exits from a loop.
    bool is_with(const Position& other) const;
    // It leaves a loop early, with those that do so behind the same step of their warp.
    void part(uint64_t step) { parted_ = step, parted_at_ = place_; }
    void join(const Position& other) { parted_ = other.parted_; }

  private:
    static constexpr unsigned kDepth = 8;  // deeper loops are not told apart
    struct Iteration {
        Loop* loop;
        unsigned number;
    };
    const void* place_ = nullptr;
    const void* parted_at_ = nullptr;
    uint64_t parted_ = 0;  // behind which step; 0: it has not
    unsigned depth_ = 0;
    Iteration iterations_[kDepth];  // of the loops that it is in, outermost first; 0th ones are left out
};

struct WarpRun {
    unsigned waiting = 0;  // lanes at a step
    uint64_t issued = 0;
    unsigned may_be_old = 0;  // lanes of the last step whose loads may find old values
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

    bool polls() const { return repeats >= 2 * kReads; }
    void remember(const Step& step);
};

// Whether a block should hand over to others, because it had its turn or because it waits for them.
enum class Leave { no, turn_over, waits };

// The lanes of one block.
class Lockstep {
  public:
    Lockstep(Counting& counting, Loops& loops, unsigned threads);

    Counting& counting;

    bool any_waiting() const { return waiting_ > 0; }
    void move(unsigned rank, const void* place) { positions_[rank].move(loops_, place); }
    void part(unsigned rank) { positions_[rank].part(warps_[rank / kWarpSize].issued); }
    void wait(unsigned rank, const Step& step);
    const Step& step(unsigned rank) const { return steps_[rank]; }
    WarpRun& warp(unsigned index) { return warps_[index]; }
    unsigned warps() const { return static_cast<unsigned>(warps_.size()); }

    // Lanes of a warp that go on next; they wait no more, and their turns come in order.
    unsigned take(unsigned warp);
    bool has_next() const { return next_ < turns_.size(); }
    unsigned next() { return turns_[next_++]; }

    // How often its warps have made a step, since its first block began.
    uint64_t time = 0;

    // A round of issues has ended. When all warps poll, or the block has had its turn, others should have theirs.
    void end_round(bool all_poll);
    // Whether the turn is over; begins another one if so.
    Leave take_leave();

  private:
    unsigned next_lane(unsigned warp) const;  // its rank

    Loops& loops_;
    std::vector<Step> steps_;  // by rank
    std::vector<Position> positions_;
    std::vector<WarpRun> warps_;
    std::vector<unsigned> turns_;  // ranks
    size_t next_ = 0;              // index of the first of them that has not gone on
    unsigned waiting_ = 0;
    unsigned rounds_ = 0;  // of the turn
    Leave leave_ = Leave::no;
};

}  // namespace emu
