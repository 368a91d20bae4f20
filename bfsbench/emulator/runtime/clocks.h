// The race detector's logical clocks. The clocks show whether an access happens before another access.
// Barriers, fences with atomics, and the order of launches put accesses in this order.
//
// Each thread has a counter of its synchronisations (`clock`), and each block has a counter of its barriers
// (`phase`). The accesses that a thread makes at one clock and phase share a number, their moment. Launches
// of the host, tail launches and grid barriers begin an era.
//
// An access of an earlier era is over for every thread: it happens before all that the thread does now. An
// access of the current era is over for a thread in these cases:
// - The access was made in the thread's block, and the block has passed a barrier since then.
// - The access was made in the thread's warp, and __syncwarp has followed. Each lane keeps the clocks of the
// other lanes of its warp (`row`).
// - The thread has learnt of the access (`known`). At a fence, a thread records what it knows. Its next
// atomic attaches this record to the atomic's word. Another thread learns the record by reading the word
// atomically and then executing a fence.
//
// A barrier may come between a fence and an atomic. So threads that meet at a barrier also exchange what
// their fences have recorded and what their atomics have read.
//
// A child kernel begins with what its launching thread knew at the launch. Accesses of the child and later
// accesses of its parent are unordered, although the emulator runs the child after the parent. A child in the
// default stream of its block knows all earlier children in this stream.
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

// The position of a block in a tree of launches: a launch of the host, and all child launches that follow
// from it. `grid` is the number of the block's grid in the tree. `block` and `first_warp` are the numbers of
// the block and of its first warp, counted over all grids of the tree.
struct FamilyPlace {
    uint32_t grid, block, first_warp;
};

// The accesses of other blocks, warps and grids that happen before a thread's next access. Threads share
// Knowledge objects.
struct Knowledge {
    struct Lanes {
        uint32_t phase;  // phase (number of barriers) of the block when the thread learnt the clocks
        std::array<uint32_t, kWarpSize> clock;
    };
    // Maps a block to a phase. All accesses of the block before this phase happen before the thread's next
    // access.
    std::map<uint32_t, uint32_t> phases;
    // Maps a warp to the clocks of its lanes. All accesses of a lane up to its clock happen before the
    // thread's next access.
    std::map<uint32_t, Lanes> warps;
    // Numbers of grids. All accesses of these grids happen before the thread's next access.
    std::set<uint32_t> grids;
};
using Known = std::shared_ptr<const Knowledge>;

// A thread, and the values of its clock and of its block's phase. The race detector creates one Instant for
// each moment: the accesses of one thread between two synchronisations.
struct Instant {
    uint32_t grid;          // number of the grid in its tree of launches (see FamilyPlace)
    uint32_t block;         // number of the block, counted over all grids of its tree of launches
    uint32_t thread;        // index of the thread in its block
    uint32_t clock, phase;  // number of synchronisations of the thread, and number of barriers of its block
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
    bool used = false;  // true if this object differs from a newly created ThreadClock
    Known known;              // accesses of other threads that happen before this thread's next access
    // The accesses that happen before the thread's last fence. The thread's later atomics pass them on to
    // threads that read the atomic's word. Index 0 is the last fence of any scope, and index 1 is the last
    // fence of device scope.
    Known released[2];
    // Knowledge of other threads' accesses that the thread gets with its next fence. Index 0 is for block
    // scope, and index 1 is for device scope.
    Known acquired[2];
    // The knowledge that the thread has taken from atomics last, so that a waiting loop need not take it
    // again. The first index is 1 for acquiring atomics, which take it at once, and 0 for atomics that need a
    // fence. The second index is 0 for block scope, and 1 for device scope.
    Known taken_up[2][2];
    // shared() returns pointers to the kShared members that threads exchange at a barrier.
    static constexpr unsigned kShared = 5;
    std::array<Known*, kShared> shared() { return {&known, released, released + 1, acquired, acquired + 1}; }
    Known arrived;            // knowledge of the thread when it arrived at the cluster's barrier
    // Clocks of the lanes of the thread's warp at their last __syncwarp.
    std::array<uint32_t, kWarpSize> row{};
};

class Clocks {
  public:
    void begin_era() {
        era_ += instants_.size();
        instants_.clear();
        words_.clear();
    }
    // The value of `stream` for a grid that waits for no other grid. The host launched the grid, or a kernel
    // launched it into a stream other than its block's default stream.
    static constexpr uint32_t kNoStream = ~0u;
    // Begins a launch of the host, and forgets all grids of the previous launch.
    void begin_family() {
        begin_era();
        shapes_.clear();
        streams_.clear();
    }
    // Begins a grid. If the host launches the grid, `parent` is 0 and `known` is empty. If a kernel launches
    // it, `parent` is the number of the launching grid. `known` then holds the accesses that happen before
    // the launch. Grids with equal `stream` run in order. `stream` is the number of the block that launches
    // into its default stream, or kNoStream.
    void begin_grid(const Grid& grid, uint32_t parent, const Known& known, uint32_t stream);
    void begin_block(ResidentBlock& block) const;

    // The runtime calls launch() when the current thread launches a child kernel. Returns the accesses that
    // happen before the child, and advances the thread's clock.
    Known launch();

    // Returns whether an access with this moment is older than the last grid barrier, host launch or tail
    // launch. Most accesses are older.
    bool before_era(Moment moment) const { return moment < era_; }
    // Returns the number of the next new moment. A moment is the accesses of a thread between two
    // synchronisations.
    Moment next_moment() const { return era_ + instants_.size(); }
    // Gives the current thread a new moment: the number under which its next accesses are recorded. Returns
    // the number.
    Moment begin_moment(Fiber& fiber);
    // Returns whether a recorded access happens before the present access of the current thread. The access
    // must be newer than the last grid barrier, host launch and tail launch.
    bool over(const Past& past) const;
    const Instant& instant(const Past& past) const { return instants_[past.moment() - era_]; }
    // Returns the index, in its grid, of the block that made a recorded access. The access must be newer than
    // the last grid barrier, host launch and tail launch.
    uint32_t index_of_block(const Past& past) const {
        const Instant& then = instant(past);
        return then.block - shapes_[then.grid].first_block;
    }

    void fence(Scope scope);
    // Handles an atomic access of the current thread to a word. Attaches to the word what the thread's last
    // fence has recorded. The thread takes over what earlier atomics have attached to the word.
    void atomic(const void* word, Act act, Scope scope, Order order);

    static void meet_lanes(ResidentBlock& block, unsigned warp, unsigned lanes);
    static void meet_block(ResidentBlock& block);
    static void arrive_at_cluster();
    static void leave_cluster();

  private:
    void take_up(const void* word, Scope scope, bool now);
    void pass_on(const void* word, bool replaces, Scope scope, const Known& block, const Known& device);

    struct Word {
        Known passed_on[2];  // knowledge for atomics of block scope (index 0) and device scope (index 1)
        uint32_t block;      // number of the block that attached passed_on[0]
    };
    struct Shape {
        uint32_t first_block, first_warp, blocks, threads, warps, parent;
    };
    std::vector<Shape> shapes_;              // shapes of the grids in the current tree of launches
    std::map<uint32_t, uint32_t> streams_;  // maps a stream to the number of the last grid in the stream
    Known at_launch_;                        // accesses that happen before the running grid
    std::unordered_map<const void*, Word> words_;
    // Number of the first moment after the last grid barrier, host launch or tail launch.
    Moment era_ = 1;
    std::vector<Instant> instants_;  // the moments from number era_ on, in order
};

}  // namespace emu
