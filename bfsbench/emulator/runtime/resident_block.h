// A running block: its threads, and the barriers and warp functions at which the threads wait.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emu/block.h"
#include "emu/kernel.h"
#include "clocks.h"
#include "emu/warp.h"
#include "fiber.h"
#include "lockstep.h"
#include "random.h"
#include "thread_set.h"

namespace emu {

class Grid;
struct ResidentBlock;

bool same_place(const CallSite& a, const CallSite& b);
std::string to_string(const CallSite& place);
// Returns the index of a thread or a block as text. If the block or grid has more than one dimension,
// returns coordinates such as (3,1,0) instead.
std::string number_or_coordinates(unsigned index, dim3 extents);
ThreadPlace place_in_grid(const Thread& thread);

enum class Wait : unsigned char { none, block, cluster, grid, named, warp };

struct alignas(64) Fiber : Thread {
    Context context;  // saved stack pointer and registers of the suspended thread
    Kept kept;        // copy of the thread's part of the stack, if all threads share a stack
    char* stack;      // lowest address of the thread's stack; null before the thread runs and after it ends
    Wait waits_at;
    bool exited;
    // True if the thread has returned, but its delayed stores have not been performed. Used only when the
    // emulator counts memory accesses.
    bool has_returned;
    // True if the thread has arrived at the cluster's barrier, but has not yet waited there.
    bool arrived_at_cluster;
    CallSite waits_from;      // source line of the barrier at which the thread waits
    unsigned cluster_phase;   // number of completed cluster barriers when the thread last arrived

    // The instruction at which the thread has stopped. Used only when the emulator counts memory accesses.
    const void* place;

    // The thread's arrival at the barrier of its block. `due` is true while the arrival has not been counted.
    struct Arrival {
        bool due, vote;
        CallSite from;
    } arrival;

    // The race detector uses the following members.
    uint32_t clock;  // number of synchronisations of the thread
    Moment moment;   // number under which the thread's accesses are recorded (clocks.h), or 0
    // True if the thread has never synchronised with another thread, except at grid barriers. In this case,
    // no access of another thread since the last grid barrier happens before the accesses of this thread.
    bool alone;
    Past last;       // the thread's last access, to the address `last_address`
    const char* last_address;
};

// Lanes that wait in the same warp function with the same mask. Several groups of a warp may wait at the same
// time.
struct LaneGroup {
    unsigned mask, arrived;
    Collective kind;
    CallSite from;
};

struct Warp {
    unsigned present;  // bit mask of the lanes that exist
    unsigned exited;
    unsigned groups;
    unsigned asking;  // bit mask of the lanes that wait in __activemask()
    LaneGroup group[kWarpSize];
    uint64_t deposit[kWarpSize];
    unsigned char source[kWarpSize];
    uint64_t result[kWarpSize];
};

// A cluster: blocks that share a barrier and can access each other's shared memory. A block without a cluster
// forms a cluster of one block. All blocks of a cluster run on one worker.
struct Cluster {
    unsigned live = 0;     // number of threads that have not exited
    unsigned arrived = 0;  // number of these threads that have arrived at the cluster's barrier
    unsigned phase = 0;    // number of completed barriers of the cluster
    std::vector<ResidentBlock*> blocks;

    // Members for the race detector. `meeting` holds the accesses that happened before the arrivals at the
    // current barrier. `met` holds the accesses that happened before the last completed barrier.
    std::shared_ptr<Knowledge> meeting;
    Known last_known, met;

    void complete_if_all_arrived();
};

// A barrier of a block that threads select by its number (`bar.sync` in PTX). The barrier is complete when
// `expected` threads have arrived. Threads that exit do not change this count.
struct NamedBarrier {
    unsigned expected = 0;
    unsigned arrived = 0;           // number of threads that have arrived since the barrier was last complete
    std::vector<unsigned> waiting;  // ranks of the threads that wait at the barrier
};
constexpr unsigned kNamedBarriers = 16;

struct ResidentBlock : Block {
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<unsigned> start_order;  // ranks of threads in the order in which they begin
    unsigned started = 0;
    unsigned live = 0;      // number of threads that have not exited
    unsigned position = 0;  // rank at which the search for the next ready thread begins
    unsigned turns = 0;     // number of threads that gave way since the worker last ran another block
    // True if pick() should start a new thread although other threads are ready. All ready threads have
    // yielded, and they may be waiting for a thread that has not started yet.
    bool must_start = false;

    ThreadSet ready;          // suspended threads that may continue
    // The threads that wait at the barrier of the block (index 0), of the cluster (1) and of the grid (2).
    ThreadSet at_barrier[3];
    NamedBarrier named[kNamedBarriers];
    // The votes at the current and at the previous block barrier. `votes` is the number of threads that
    // passed true, and `voters` is the number of threads that arrived. The index is the parity of `barriers`.
    unsigned votes[2] = {};
    unsigned voters[2] = {};
    unsigned barriers = 0;    // number of completed block barriers
    // Number of grid barriers that were completed when the block arrived at the current grid barrier.
    unsigned grid_phase = 0;
    bool arrived_at_grid = false;

    std::shared_ptr<Cluster> cluster;
    std::vector<char> arena;
    size_t arena_bytes = 0;
    char* arena_begin = nullptr;

    // The race detector uses the following members.
    std::vector<ThreadClock> clocks;  // by thread rank: the thread's clock
    bool clocks_used = false;         // true if any clock may differ from a newly created ThreadClock
    FamilyPlace place{};
    std::unique_ptr<Shadow> shadow;   // record of the accesses to the block's shared memory

    // Runs the block's warps in lockstep. The member is null unless the emulator counts memory accesses.
    std::unique_ptr<Lockstep> lockstep;
    // Copies of the suspended threads' parts of the shared stack, one after another. A copy of more than
    // Kept::kRoom bytes is stored in kept_apart.
    std::vector<char> kept;
    std::vector<std::unique_ptr<char[]>> kept_apart;

    void begin(const Grid& grid, uint3 place, std::shared_ptr<Cluster> owner, Random* shuffle);

    // Returns the shared variable that contains the byte at `offset` of the block's shared memory. If no
    // variable contains this byte, returns the variable before it. Dynamic shared memory counts as one
    // variable.
    Extent variable_at(const Grid& grid, size_t offset) const;

    bool runnable() const {
        return ready.count() > 0 || started < fibers.size() ||
               (lockstep && (lockstep->has_next() || lockstep->any_traced()));
    }
    // Returns whether the block has ended. When the emulator counts memory accesses, threads may exit before
    // their warps have performed their last accesses. In this case the block has not ended yet.
    bool has_ended() const { return live == 0 && !runnable(); }
    // Returns true if no thread of the block can run now, so that a warp must perform its next memory access
    // before any thread can continue.
    bool must_issue() const {
        return !lockstep->has_next() && lockstep->any_traced() && ready.count() == 0 && started == fibers.size();
    }
    ThreadSet& waiting(Wait where) { return at_barrier[static_cast<int>(where) - 1]; }
    const ThreadSet& waiting(Wait where) const { return at_barrier[static_cast<int>(where) - 1]; }

    // Takes the next thread to run: a ready thread or a thread that has not started. Returns null if no
    // thread can run.
    Fiber* pick(Random* random);

    // make_room() gives a thread room for a copy of its part of the shared stack. make_more_room() enlarges
    // this room.
    void make_room(Fiber& fiber);
    void make_more_room(Fiber& fiber, size_t bytes);

    // park() makes a thread wait at a barrier. The thread that completes the barrier calls release() to let
    // all waiting threads continue.
    void park(Fiber& fiber, Wait where, CallSite from);
    void release(Wait where);
    void release_block_barrier();
    // arrive() adds a thread's vote and makes the thread wait at the block's barrier. The last thread to
    // arrive completes the barrier. is_at_other_barrier() returns whether threads already wait at a different
    // __syncthreads call of the source code. arrive() may be called only if is_at_other_barrier() returns
    // false.
    void arrive(Fiber& fiber);
    bool is_at_other_barrier(const Fiber& fiber) const;
    // Lets the lanes `lanes` of a warp run again. They have waited in a warp function.
    void release_lanes(unsigned warp, unsigned lanes);

    // Computes the results of __activemask() for the lanes of a warp that wait in this function. A lane's
    // result contains the lanes that wait at the same source line. Returns the waiting lanes, which the
    // caller must release.
    unsigned answer_warp(unsigned index);
    // Lets all lanes that wait in __activemask() continue. Returns whether any lane was waiting.
    bool answer_lanes();
    bool lanes_ask = false;    // true if some lanes may wait in __activemask()
    unsigned turns_asked = 0;  // number of times that threads gave way while lanes waited in __activemask()

    // Handles the exit of a thread. The exit may complete a barrier or a warp function for the other threads.
    void exit_thread(Fiber& fiber);

    // Returns a text for error messages that tells where the block's threads wait.
    std::string describe_waits() const;
    // Returns one waiting thread, or null if no thread waits.
    const Fiber* waiting_thread() const;
    // Returns the source line of the barrier or warp function at which a thread waits.
    CallSite place_of_wait(const Fiber& fiber) const;
    // Returns a thread that waits at another source line than `fiber`, or null if there is none.
    const Fiber* waiting_elsewhere(const Fiber& fiber) const;

  private:
    std::string describe_missing(Wait where) const;
    std::string describe_named() const;
    std::string describe_groups() const;
    void resize(dim3 shape);
    void lay_out_shared(const Grid& grid);
    Fiber* start_next();
};

// Calls visit(lane) for each lane whose bit is set in `lanes`.
template <class Visit>
void each_lane(unsigned lanes, Visit visit) {
    for (; lanes; lanes &= lanes - 1) visit(static_cast<unsigned>(__builtin_ctz(lanes)));
}

// Returns the running CUDA thread.
inline Fiber& here() { return *static_cast<Fiber*>(current); }

inline ResidentBlock& block_of(const Thread& thread) { return static_cast<ResidentBlock&>(*thread.block); }

// A lane of the warp has exited. Completes the warp functions that waited only for this lane.
void complete_collectives(ResidentBlock& block, unsigned warp);

}  // namespace emu
