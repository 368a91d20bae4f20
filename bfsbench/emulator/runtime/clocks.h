// The race detector's logical clocks. They tell whether one access happens before another access in CUDA's memory
// model. Barriers, launches, and fences together with atomics establish this order.
//
// Each thread counts its synchronisations (`clock`), and each block counts its barriers (`phase`). While both counts
// stay the same, all accesses of the thread share one number, their moment. An era begins at each grid barrier, at
// each tail launch, and at each operation of the host, such as a launch or a copy.
//
// Accesses of earlier eras happen before all accesses of the current era, unless they belong to an operation of
// another stream that may run at the same time (streams.h). An access of the current era happens before a thread's
// next access in these cases:
// - The thread itself made the access.
// - A thread of the same block made the access, and the block has passed a barrier since then.
// - A lane of the same warp made the access, and __syncwarp has followed. Each lane keeps the clocks of the
// other lanes of its warp (`row`).
// - The access is in `known`, the thread's set of accesses. Fences and atomics pass sets between threads. A
// fence stores the thread's set. The thread's later atomics attach this set to their words. Another thread adds
// the set to its own if it reads the word atomically and then executes a fence. Releasing and acquiring atomics
// need no fence.
//
// A barrier may come between a fence and an atomic. So threads at a barrier also exchange the sets that their
// fences have stored, and the sets that their atomics have found.
//
// A child kernel begins with the set `known` of the launching thread. Accesses of the child and later
// accesses of its parent are unordered, although the emulator runs the child after the parent. A child in the
// default stream of its block runs after all earlier children in this stream, so their accesses happen before
// its own.
#pragma once

#include <algorithm>
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

// A thread in its grid: the indices of its block and of the thread in the block, and the extents of the grid
// (`blocks`) and of a block (`threads`).
struct ThreadPlace {
    unsigned block, thread;
    dim3 blocks, threads;
};

// The position of a block in a tree of launches. A tree has one launch of the host and all child launches
// that follow from it. `grid` is the number of the block's grid in the tree. `block` and `first_warp` are
// the numbers of the block and of its first warp. They count the blocks and warps of all grids of the tree.
struct FamilyPlace {
    uint32_t grid, block, first_warp;
};

// A set of accesses that happen before a thread's next access. The members describe parts of the set by
// block, by warp and by grid. Several threads may share one Knowledge object.
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
    // The ids of the grids whose accesses all happen before the thread's next access, in the sense of the
    // memory model.
    std::set<uint32_t> grids;
};
using Known = std::shared_ptr<const Knowledge>;

// Identifies a moment of a thread: the time between two consecutive synchronisations of the thread. All
// accesses that the thread makes in this time share one Instant.
struct Instant {
    uint32_t grid;          // number of the grid in its tree of launches (see FamilyPlace)
    uint32_t block;         // number of the block, counted over all grids of its tree of launches
    uint32_t thread;        // index of the thread in its block
    uint32_t clock, phase;  // number of synchronisations of the thread, and number of barriers of its block
};

// Joins the Knowledge objects (sets of accesses) of several threads. Most threads share one object, and
// Gathering joins each object only once.
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
    bool used = false;  // true if this object may differ from a newly created ThreadClock
    Known known;              // accesses of other threads that happen before this thread's next access
    // The accesses that happen before the thread's last fence. The thread's later atomics attach these
    // accesses to their words, where other threads find them. Index 0 is for the last fence of any scope, and
    // index 1 is for the last fence of device scope.
    Known released[2];
    // Sets of accesses that the thread's next fence adds to `known`. Other threads have attached these
    // sets to atomic words (see atomic()), and this thread has read the words. Index 0 is for block
    // scope, and index 1 is for device scope.
    Known acquired[2];
    // The set of accesses that was attached to the atomic word that the thread read last. A loop that
    // polls a word reads the same set in each iteration, and need not merge it again. The first index is
    // 1 for acquiring atomics, which need no fence, and 0 for other atomics. The second index is 0 for
    // block scope, and 1 for device scope.
    Known taken_up[2][2];
    // shared() returns pointers to the kShared members that threads exchange at a barrier.
    static constexpr unsigned kShared = 5;
    std::array<Known*, kShared> shared() { return {&known, released, released + 1, acquired, acquired + 1}; }
    Known arrived;            // copy of `known` from the thread's arrival at the cluster's barrier
    // The clocks of the lanes of the thread's warp, as of the last __syncwarp. All accesses of a lane up to
    // its clock happen before this thread's next access.
    std::array<uint32_t, kWarpSize> row{};
};

class Clocks {
  public:
    void begin_era() {
        era_ += instants_.size();
        settled_ = std::min(era_, beside_);
        instants_.clear();
        words_.clear();
    }
    // The value of `stream` for a grid outside the default streams of blocks. The host has launched this
    // grid, or a block has launched it into a stream other than its default stream.
    static constexpr uint32_t kNoStream = ~0u;
    // Begins a launch of the host, and forgets all grids of the previous launch.
    void begin_family() {
        begin_era();
        shapes_.clear();
        streams_.clear();
    }
    // Begins a grid. If the host launches the grid, `parent` is 0 and `known` is empty. If a kernel
    // launches it, `parent` is the number of the launching grid, and `known` holds the accesses that
    // happen before the launch. If a block launches the grid into its default stream, `stream` is the
    // number of this block, and otherwise kNoStream. The grids in the default stream of one block run in
    // order.
    void begin_grid(const Grid& grid, uint32_t parent, const Known& known, uint32_t stream);
    void begin_block(ResidentBlock& block) const;

    // Handles the launch of a child kernel by the current thread. Returns the accesses that happen before the
    // child's accesses, and advances the thread's clock.
    Known launch();

    // Returns whether the accesses of a moment came before the last grid barrier, tail launch or operation of
    // the host, such as a launch or a copy. This is true for most recorded accesses.
    bool before_era(Moment moment) const { return moment < era_; }
    // Begins an operation that the host has issued to a stream. Earlier operations of other streams may run
    // at the same time. `earliest` is the first moment of the earliest of these operations, or the largest
    // Moment if there is none.
    void begin_operation(Moment earliest) {
        beside_ = earliest;
        begin_era();
    }
    // Returns whether every earlier operation ends before the current operation begins.
    bool runs_alone() const { return beside_ == ~Moment{0}; }
    // Returns the moment that all accesses of the current operation share. The operation must not be a
    // launch.
    Moment moment_of_operation() {
        if (instants_.empty()) instants_.emplace_back();
        return era_;
    }
    // Returns whether the accesses of a moment happen before all accesses since the last grid barrier, tail
    // launch or operation of the host. Returns false for accesses of an earlier operation that may run at the
    // same time as the current operation.
    bool settled(Moment moment) const { return moment < settled_; }
    // Returns the number of the next new moment.
    Moment next_moment() const { return era_ + instants_.size(); }
    // Begins a new moment for the current thread, and returns the moment's number. The thread's next accesses
    // are recorded under this number.
    Moment begin_moment(Fiber& fiber);
    // Returns whether a recorded access happens before the access that the current thread makes now. The
    // recorded access must be newer than the last grid barrier, tail launch and operation of the host.
    bool over(const Past& past) const;
    const Instant& instant(const Past& past) const { return instants_[past.moment() - era_]; }
    // Returns the thread that made a recorded access. The recorded access must be newer than the last grid
    // barrier, host launch and tail launch.
    ThreadPlace thread_of(const Past& past) const {
        const Instant& then = instant(past);
        const Shape& shape = shapes_[then.grid];
        return {then.block - shape.first_block, then.thread, shape.blocks, shape.threads};
    }

    void fence(Scope scope);
    // Handles an atomic access of the current thread to a word. A write attaches a set of accesses to the
    // word. For a releasing write, the set contains all accesses that happen before the write. For any other
    // write, it is the set that the thread's last fence has stored. A read collects the sets that other
    // threads have attached to the word. If the read is acquiring, the accesses in these sets happen before
    // all later accesses of this thread. Otherwise they happen before the accesses that follow this thread's
    // next fence. An update is both a read and a write.
    void atomic(const void* word, Act act, Scope scope, Order order);

    static void meet_lanes(ResidentBlock& block, unsigned warp, unsigned lanes);
    static void meet_block(ResidentBlock& block);
    static void arrive_at_cluster();
    static void leave_cluster();

  private:
    void take_up(const void* word, Scope scope, bool now);
    void pass_on(const void* word, bool replaces, Scope scope, const Known& block, const Known& device);

    struct Word {
        // The sets of accesses that are attached to the word. The set with index 0 is for readers in the
        // block `block`. The set with index 1 is for readers in any block.
        Known passed_on[2];
        uint32_t block;      // number of the block that attached passed_on[0]
    };
    struct Shape {
        uint32_t first_block, first_warp, warps, parent;
        dim3 blocks, threads;
    };
    std::vector<Shape> shapes_;              // shapes of the grids in the current tree of launches
    std::map<uint32_t, uint32_t> streams_;  // maps a stream to the number of the last grid in the stream
    Known at_launch_;                        // accesses that happen before the running grid
    std::unordered_map<const void*, Word> words_;
    // Number of the first moment after the last grid barrier, tail launch or operation of the host, such as a
    // launch or a copy.
    Moment era_ = 1;
    Moment beside_ = ~Moment{0}, settled_ = 1;
    std::vector<Instant> instants_;  // the moments from number era_ on, in order
};

}  // namespace emu
