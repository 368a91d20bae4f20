// Which accesses happen before which others, by barriers, by fences with atomics, and by the order of
// launches.
//
// Each thread counts its steps (`clock`), and each block counts its barriers (`phase`). All that a thread
// does between two changes of its clock and phase belongs to one moment. Moments are numbered. Launches of
// the host, tail launches and grid barriers begin an era. An access of an earlier era is over for every
// thread. An access of the current era is over for a thread in these cases:
// - It was made in the thread's block, and the block has passed a barrier since.
// - It was made in the thread's warp, and __syncwarp has followed. Each lane keeps the clocks of the other
// lanes of its warp (`row`).
// - The thread has learnt of it (`known`). A thread passes on what it knew at its last fence with its next
// atomic. A thread that reads this word atomically and then fences knows it, too.
// A barrier may come between the fence and the atomic. So threads that meet at a barrier also exchange what
// their fences have released and what their atomics have read.
//
// A child kernel begins with what its launching thread knew at the launch. Accesses of the child and later
// accesses of its parent are unordered, although the emulator runs the child after the parent. Each child that
// a block launches into its default stream knows all earlier children of that stream.
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

// The position of a block among all grids that one launch of the host has led to.
struct FamilyPlace {
    uint32_t grid, block, first_warp;
};

// The knowledge of a thread about the progress of other blocks, warps and grids.
struct Knowledge {
    struct Lanes {
        uint32_t phase;  // phase of the block when the thread learnt this
        std::array<uint32_t, kWarpSize> clock;
    };
    std::map<uint32_t, uint32_t> phases;  // by block: all accesses of earlier phases are over
    std::map<uint32_t, Lanes> warps;      // by warp: accesses up to these clocks are over
    std::set<uint32_t> grids;             // all accesses of these grids are over
};
using Known = std::shared_ptr<const Knowledge>;

// The thread that made the accesses of a moment, and the clock and phase at which it made them.
struct Instant {
    uint32_t grid;          // among the grids that a launch of the host has led to
    uint32_t block;         // among the blocks of all these grids
    uint32_t thread;        // index in the block
    uint32_t clock, phase;  // counters of the thread and of its block
};

// Joins the knowledge of several threads. Most threads share one Knowledge object, and Gathering joins each
// object only once.
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
    bool used = false;  // true if this clock differs from a new ThreadClock
    Known known;              // what happened before the thread's next access
    Known released[2];        // by scope, minus one: what the thread's next atomic passes on
    Known acquired[2];        // by scope, minus one: what the thread's next fence makes known
    // What the thread took up most recently, after a fence or at once, so that a poll does not repeat the work.
    Known taken_up[2][2];
    // The parts of a thread's knowledge that threads exchange at a barrier.
    static constexpr unsigned kShared = 5;
    std::array<Known*, kShared> shared() { return {&known, released, released + 1, acquired, acquired + 1}; }
    Known arrived;            // what the thread knew on arrival at the cluster's barrier
    std::array<uint32_t, kWarpSize> row{};  // clocks of the lanes of the thread's warp when they last met
};

class Clocks {
  public:
    void begin_era() {
        era_ += instants_.size();
        instants_.clear();
        words_.clear();
    }
    // The `stream` of a grid that waits for no other grid. The host launched it, or a kernel launched it into a
    // stream other than the default stream of its block.
    static constexpr uint32_t kNoStream = ~0u;
    // Begins a launch of the host and forgets all grids of the previous launch.
    void begin_family() {
        begin_era();
        shapes_.clear();
        streams_.clear();
    }
    // Begins a grid. For a launch of the host, `parent` is 0 and `known` is empty. For a launch of a kernel,
    // `parent` is the number of the launching grid. `known` then has the accesses that the launching thread
    // knew to be over. Grids with equal `stream` run in order. `stream` is the number of the block that
    // launches into its default stream, or kNoStream.
    void begin_grid(const Grid& grid, uint32_t parent, const Known& known, uint32_t stream);
    void begin_block(ResidentBlock& block) const;

    // Called when the current thread launches a child kernel. Returns the accesses that the child knows to be
    // over, and advances the thread's clock.
    Known launch();

    // Returns whether a moment belongs to an earlier era, as the moments of most accesses do.
    bool before_era(Moment moment) const { return moment < era_; }
    // Returns the number that the next new moment gets.
    Moment next_moment() const { return era_ + instants_.size(); }
    // Gives the current thread a new moment: the number under which its next accesses are recorded.
    Moment begin_moment(Fiber& fiber);
    // Returns whether an access of this era happened before what the current thread does now.
    bool over(const Past& past) const;
    const Instant& instant(const Past& past) const { return instants_[past.moment() - era_]; }
    // Returns the index, in its grid, of the block that made an access of this era.
    uint32_t index_of_block(const Past& past) const {
        const Instant& then = instant(past);
        return then.block - shapes_[then.grid].first_block;
    }

    void fence(Scope scope);
    // Handles an atomic access of the current thread to a word. Attaches to the word the knowledge that the
    // thread has released. Gives the thread the knowledge that earlier releases have attached to the word.
    void atomic(const void* word, Act act, Scope scope, Order order);

    static void meet_lanes(ResidentBlock& block, unsigned warp, unsigned lanes);
    static void meet_block(ResidentBlock& block);
    static void arrive_at_cluster();
    static void leave_cluster();

  private:
    void take_up(const void* word, Scope scope, bool now);
    void pass_on(const void* word, bool replaces, Scope scope, const Known& block, const Known& device);

    struct Word {
        Known passed_on[2];  // by scope, minus one
        uint32_t block;      // the block that passed on passed_on[0]
    };
    struct Shape {
        uint32_t first_block, first_warp, blocks, threads, warps, parent;
    };
    std::vector<Shape> shapes_;              // shapes of the grids of this launch
    std::map<uint32_t, uint32_t> streams_;  // last grid of each stream
    Known at_launch_;                        // what the running grid begins with
    std::unordered_map<const void*, Word> words_;
    Moment era_ = 1;                 // number of the first moment of the era
    std::vector<Instant> instants_;  // the moments of the era
};

}  // namespace emu
