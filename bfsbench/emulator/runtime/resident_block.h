// A block that has been started: its threads, and the barriers and collectives at which they wait.
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

enum class Wait : unsigned char { none, block, cluster, grid, warp };

struct alignas(64) Fiber : Thread {
    Context context;  // where to continue
    Kept kept;        // the thread's part of the stack, if threads share a stack
    char* stack;      // null until the first run
    Wait waits_at;
    bool exited;
    // In a machine that counts: the thread has returned, but its last stores have not been made.
    bool has_returned;
    bool arrived_at_cluster;  // the thread has arrived, but has not yet waited for other threads
    CallSite waits_from;      // call of the barrier where it waits
    unsigned cluster_phase;   // phase of the cluster at its last arrival

    const void* place;  // in a machine that counts: the place where the thread has stopped

    // The thread's arrival at the barrier of its block.
    struct Arrival {
        bool due, vote;
        CallSite from;
    } arrival;

    // The remaining members are used when the emulator watches memory accesses.
    uint32_t clock;  // number of steps of synchronisation
    Moment moment;   // the thread's current moment, if it belongs to this era
    bool alone;      // the thread has met no other thread in this era, so no other thread's access is over for it
    Past last;       // last access, at last_address
    const char* last_address;
};

// Lanes that wait in one collective with one mask. Several groups of a warp may wait at once.
struct LaneGroup {
    unsigned mask, arrived;
    Collective kind;
    CallSite from;
};

struct Warp {
    unsigned present;  // lanes that exist
    unsigned exited;
    unsigned groups;
    unsigned asking;  // lanes that wait in __activemask()
    LaneGroup group[kWarpSize];
    uint64_t deposit[kWarpSize];
    unsigned char source[kWarpSize];
    uint64_t result[kWarpSize];
};

// Blocks that share a barrier and can reach each other's shared memory. A block without a cluster is a
// cluster of one. All blocks of a cluster run on one worker.
struct Cluster {
    unsigned live = 0;     // threads that have not exited
    unsigned arrived = 0;  // live threads that have arrived at the barrier
    unsigned phase = 0;    // number of completed barriers
    std::vector<ResidentBlock*> blocks;

    // The detection of races needs these members. `meeting` has the accesses that the arrived threads know to
    // be over. `met` has the accesses that the threads knew to be over at the last completed barrier.
    std::shared_ptr<Knowledge> meeting;
    Known last_known, met;

    void complete_if_all_arrived();
};

struct ResidentBlock : Block {
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<unsigned> start_order;  // ranks of threads in the order in which they begin
    unsigned started = 0;
    unsigned live = 0;      // threads that have not exited
    unsigned position = 0;  // rank at which the search for the next ready thread begins
    unsigned turns = 0;     // threads that gave way since the worker last left the block

    ThreadSet ready;          // suspended threads that may continue
    ThreadSet at_barrier[3];  // by Wait::block, cluster and grid, minus one
    unsigned votes[2] = {};   // votes at the current and at the previous block barrier, by parity of `barriers`
    unsigned voters[2] = {};
    unsigned barriers = 0;    // number of completed block barriers
    unsigned grid_phase = 0;  // phase of the grid barrier where its threads wait
    bool arrived_at_grid = false;

    std::shared_ptr<Cluster> cluster;
    std::vector<char> arena;
    size_t arena_bytes = 0;
    char* arena_begin = nullptr;

    // The detection of races and other faults of memory accesses needs these.
    std::vector<ThreadClock> clocks;  // by rank
    bool clocks_used = false;         // true if any of the clocks differs from a new ThreadClock
    FamilyPlace place{};
    std::unique_ptr<Shadow> shadow;   // of the shared memory

    // Used when the emulator counts the costs of memory accesses.
    std::unique_ptr<Lockstep> lockstep;
    // The parts of a shared stack that suspended threads have, side by side. Longer parts lie in kept_apart.
    std::vector<char> kept;
    std::vector<std::unique_ptr<char[]>> kept_apart;

    void begin(const Grid& grid, uint3 place, std::shared_ptr<Cluster> owner, Random* shuffle);

    // Returns the variable, or the dynamic part, to which a byte records the accesses to the block's shared
    // memory belongs.
    Extent variable_at(const Grid& grid, size_t offset) const;

    bool runnable() const {
        return ready.count() > 0 || started < fibers.size() ||
               (lockstep && (lockstep->has_next() || lockstep->any_traced()));
    }
    // Returns whether the block has ended. In lockstep, threads may have exited before their warps have made
    // their last steps.
    bool has_ended() const { return live == 0 && !runnable(); }
    // Returns whether no thread can run before a warp makes its next access.
    bool must_issue() const {
        return !lockstep->has_next() && lockstep->any_traced() && ready.count() == 0 && started == fibers.size();
    }
    ThreadSet& waiting(Wait where) { return at_barrier[static_cast<int>(where) - 1]; }
    const ThreadSet& waiting(Wait where) const { return at_barrier[static_cast<int>(where) - 1]; }

    // Takes the next thread to run: a ready thread or a thread that has not started. Returns null if there is
    // none.
    Fiber* pick(Random* random);

    // Gives a thread room for its part of the shared stack. make_more_room() enlarges this room.
    void make_room(Fiber& fiber);
    void make_more_room(Fiber& fiber, size_t bytes);

    // Lets a thread wait at a barrier. The thread that completes the barrier releases all waiting threads.
    void park(Fiber& fiber, Wait where, CallSite from);
    void release(Wait where);
    void release_block_barrier();
    // arrive() adds a thread's vote and lets it wait at the block's barrier. is_at_other_barrier() returns
    // true if threads already wait at another __syncthreads of the source. It must return false before a call
    // of arrive().
    void arrive(Fiber& fiber);
    bool is_at_other_barrier(const Fiber& fiber) const;
    // Makes ready the lanes of a warp that waited in a collective.
    void release_lanes(unsigned warp, unsigned lanes);

    // Lets lanes that wait in __activemask() continue, when no other lane can join them. Returns whether any
    // lane was waiting.
    bool answer_lanes();
    bool lanes_ask = false;  // some lanes may wait in __activemask()

    // Handles the exit of a thread, which may complete a barrier or a collective.
    void exit_thread(Fiber& fiber);

    // Returns a text that says where the block's threads wait, for error messages.
    std::string describe_waits() const;
    // Returns one waiting thread, or null.
    const Fiber* waiting_thread() const;

  private:
    std::string describe_missing(Wait where) const;
    std::string describe_groups() const;
    void resize(dim3 shape);
    void lay_out_shared(const Grid& grid);
    Fiber* start_next();
};

// Calls visit(lane) for the lanes whose bits are set.
template <class Visit>
void each_lane(unsigned lanes, Visit visit) {
    for (; lanes; lanes &= lanes - 1) visit(static_cast<unsigned>(__builtin_ctz(lanes)));
}

// Returns the running thread.
inline Fiber& here() { return *static_cast<Fiber*>(current); }

inline ResidentBlock& block_of(const Thread& thread) { return static_cast<ResidentBlock&>(*thread.block); }

// Completes collectives of a warp that no longer wait for any lane, because a lane has exited.
void complete_collectives(ResidentBlock& block, unsigned warp);

}  // namespace emu
