// What happens before what: barriers, fences with atomics, and the order of launches.
//
// Every thread counts its own steps (clock) and every block its barriers (phase). From one of these to the next, all
// that a thread does is of one moment, and moments are numbered. The host's launches, tail launches and grid barriers
// begin an era: whatever is of an earlier moment is over. Within an era, an access is over for a thread
//   - of the same block, if a block barrier came between;
//   - of the same warp, if __syncwarp came between: each lane knows how far the others had come (row);
//   - of any block, if the thread has learnt of it: what one had done at a fence it passes on with its next
//     atomic, and whoever reads that word atomically and then fences knows it too (known).
// A barrier may come between the fence and the atomic: fences have one order for all threads, so one thread's atomic
// passes on what the fences of those have ordered that it has met, and their fences take up what it has read.
//
// A child kernel begins with what the thread that launched it knew then. What it does, and what its parent does after
// the launch, is in no order, though here one runs after the other. Of the children that a block launches into its
// default stream, each knows all of those before it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "shadow.h"

namespace emu {

struct Fiber;
struct ResidentBlock;
class Grid;

// Where a block is among those that a launch of the host has led to.
struct FamilyPlace {
    uint32_t grid, block, first_warp;
};

// The known progress of other warps.
struct Knowledge {
    struct Lanes {
        uint32_t phase;  // of the block when it was learnt; later phases say more
        std::array<uint32_t, kWarpSize> clock;
    };
    std::map<uint32_t, uint32_t> phases;  // by block: all accesses of earlier phases
    std::map<uint32_t, Lanes> warps;      // by warp: accesses up to these clocks
    std::set<uint32_t> grids;             // all accesses of these
};
using Known = std::shared_ptr<const Knowledge>;

// Whose a moment is, and when it was.
struct Instant {
    uint32_t grid;          // of those that a launch of the host has led to
    uint32_t block;         // of all these grids
    uint32_t thread;        // of the block
    uint32_t clock, phase;  // of the thread and of the block
};

// Adds up what several know; most of them know the same.
class Gathering {
  public:
    void add(const Known& known);
    Known all() const { return own_ ? own_ : first_; }

  private:
    std::set<const Knowledge*> seen_;
    Known first_;
    std::shared_ptr<Knowledge> own_;
};

struct ThreadClock {
    bool used = false;  // it is not as it was made
    Known known;              // has happened before whatever this thread does now
    Known released[2];        // by Scope less one: what its next atomic passes on
    Known acquired[2];        // by Scope less one: read from atomics, and known after the next fence
    Known taken_up[2][2];     // the last of what was acquired, or known at once: a poll finds the same again
    // All that threads tell each other at a barrier.
    static constexpr unsigned kShared = 5;
    std::array<Known*, kShared> shared() { return {&known, released, released + 1, acquired, acquired + 1}; }
    Known arrived;            // what it knew when it arrived at the cluster's barrier
    std::array<uint32_t, kWarpSize> row{};  // how far the lanes of its warp had come when last met
};

class Clocks {
  public:
    void begin_era() {
        era_ += instants_.size();
        instants_.clear();
        words_.clear();
    }
    // A launch of the host, or else one of a kernel with what its launcher knew, and its stream: that of a block, or
    // nobody's.
    static constexpr uint32_t kNoStream = ~0u;
    void begin_family() {
        begin_era();
        shapes_.clear();
        streams_.clear();
    }
    void begin_grid(const Grid& grid, uint32_t parent, const Known& known, uint32_t stream);
    void begin_block(ResidentBlock& block) const;

    // What a child knows that the current thread launches.
    Known launch();

    // Whether a moment is of an earlier era, as those of most accesses are, or none at all.
    bool before_era(Moment moment) const { return moment < era_; }
    // That of whatever comes next.
    Moment next_moment() const { return era_ + instants_.size(); }
    // A new one of the current thread.
    Moment begin_moment(Fiber& fiber);
    // Whether one of this era is over for the current thread.
    bool over(const Past& past) const;
    const Instant& instant(const Past& past) const { return instants_[past.moment() - era_]; }
    // The block of such an access, in its grid.
    uint32_t index_of_block(const Past& past) const {
        const Instant& then = instant(past);
        return then.block - shapes_[then.grid].first_block;
    }

    void fence(Scope scope);
    // An atomic access to a word passes on what was released and takes up what others have.
    void atomic(const void* word, Act act, Scope scope, Order order);

    static void meet_lanes(ResidentBlock& block, unsigned warp, unsigned lanes);
    static void meet_block(ResidentBlock& block);
    static void arrive_at_cluster();
    static void leave_cluster();

  private:
    void take_up(const void* word, Scope scope, bool now);
    void pass_on(const void* word, bool replaces, Scope scope, const Known& block, const Known& device);

    struct Word {
        Known passed_on[2];  // by Scope less one
        uint32_t block;      // that the one of the block's scope belongs to
    };
    struct Shape {
        uint32_t first_block, first_warp, blocks, threads, warps, parent;
    };
    std::vector<Shape> shapes_;              // of grids
    std::map<uint32_t, uint32_t> streams_;  // the last grid in each
    Known at_launch_;                        // of the grid that runs
    std::unordered_map<const void*, Word> words_;
    Moment era_ = 1;                 // the first of the era
    std::vector<Instant> instants_;  // of the moments of the era
};

}  // namespace emu
