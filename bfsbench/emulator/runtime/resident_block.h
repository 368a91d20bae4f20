// A block that has been started: its threads, and all barriers and collectives where they can wait.
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
    Context context;  // where to go on
    Kept kept;        // the same, where threads share a stack
    char* stack;      // null until first run
    Wait waits_at;
    bool exited;
    bool has_returned;        // in a machine that counts: its stores are still to be made, then it exits
    bool arrived_at_cluster;  // but has not waited for the others yet
    CallSite waits_from;      // the call of the barrier it waits at
    unsigned cluster_phase;   // of its last arrival

    const void* place;  // in a machine that counts, where it was last, unless it runs

    // At the barrier of its block.
    struct Arrival {
        bool due, vote;
        CallSite from;
    } arrival;

    // In a machine that watches.
    uint32_t clock;  // steps of synchronisation
    Moment moment;   // if it is one of this era
    bool alone;      // it has met nobody: of this era, nothing that others did is over for it
    Past last;       // its last access, and where that was
    const char* last_address;
};

// Lanes that wait in the same collective with the same mask. Several groups of one warp may wait at a time.
struct LaneGroup {
    unsigned mask, arrived;
    Collective kind;
    CallSite from;
};

struct Warp {
    unsigned present;  // lanes that exist
    unsigned exited;
    unsigned groups;
    LaneGroup group[kWarpSize];
    uint64_t deposit[kWarpSize];
    unsigned char source[kWarpSize];
    uint64_t result[kWarpSize];
};

// Blocks that share a barrier and can reach each other's shared memory; a block without a cluster is one
// alone. All of them run on one worker.
struct Cluster {
    unsigned live = 0;     // threads that have not exited
    unsigned arrived = 0;  // of those, at the barrier
    unsigned phase = 0;    // barriers completed
    std::vector<ResidentBlock*> blocks;

    // In a machine that watches: what those that have arrived know, and what those knew that met last.
    std::shared_ptr<Knowledge> meeting;
    Known last_known, met;

    void complete_if_all_arrived();
};

struct ResidentBlock : Block {
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<unsigned> start_order;  // ranks in the order in which threads begin
    unsigned started = 0;
    unsigned live = 0;      // threads that have not exited
    unsigned position = 0;  // rank at which the search for the next ready thread begins
    unsigned turns = 0;     // threads that gave way since the block was last left

    ThreadSet ready;          // suspended, may go on
    ThreadSet at_barrier[3];  // indexed by Wait::block, cluster, grid less one
    unsigned votes[2] = {};   // of the current and the last block barrier, by parity
    unsigned voters[2] = {};
    unsigned barriers = 0;    // completed block barriers
    unsigned grid_phase = 0;  // of the grid barrier its threads wait at
    bool arrived_at_grid = false;

    std::shared_ptr<Cluster> cluster;
    std::vector<char> arena;
    size_t arena_bytes = 0;
    char* arena_begin = nullptr;

    // In a machine that watches.
    std::vector<ThreadClock> clocks;  // by rank
    bool clocks_used = false;         // one of them is not as it was made
    FamilyPlace place{};
    std::unique_ptr<Shadow> shadow;   // of the arena

    // In a machine that counts.
    std::unique_ptr<Lockstep> lockstep;
    // Of threads that share a stack, what they have there, side by side; and of those that have more.
    std::vector<char> kept;
    std::vector<std::unique_ptr<char[]>> kept_apart;

    void begin(const Grid& grid, uint3 place, std::shared_ptr<Cluster> owner, Random* shuffle);

    // The variable of the kernel, or dynamic part, that has this byte of the arena.
    Extent variable_at(const Grid& grid, size_t offset) const;

    bool runnable() const {
        return ready.count() > 0 || started < fibers.size() ||
               (lockstep && (lockstep->has_next() || lockstep->any_traced()));
    }
    // Lanes in lockstep may have ended before their warps have made their last steps.
    bool has_ended() const { return live == 0 && !runnable(); }
    // Whether nothing is left to run before lanes in lockstep go on.
    bool must_issue() const {
        return !lockstep->has_next() && lockstep->any_traced() && ready.count() == 0 && started == fibers.size();
    }
    ThreadSet& waiting(Wait where) { return at_barrier[static_cast<int>(where) - 1]; }
    const ThreadSet& waiting(Wait where) const { return at_barrier[static_cast<int>(where) - 1]; }

    // Takes the thread to run next out of `ready` or of those not started; null if there is none.
    Fiber* pick(Random* random);

    // Room for a thread's part of the stack that threads share, or more of it.
    void make_room(Fiber& fiber);
    void make_more_room(Fiber& fiber, size_t bytes);

    // Parks a thread at a barrier. The thread that completes the barrier releases all.
    void park(Fiber& fiber, Wait where, CallSite from);
    void release(Wait where);
    void release_block_barrier();
    // A thread does what it is to do at a barrier of the block, which it then waits at. Others may not wait at another one.
    void arrive(Fiber& fiber);
    bool is_at_other_barrier(const Fiber& fiber) const;
    // Makes lanes of a warp that waited in a collective ready.
    void release_lanes(unsigned warp, unsigned lanes);

    // Bookkeeping for a thread that has left the kernel; may complete what others wait for.
    void exit_thread(Fiber& fiber);

    // A description of where its threads wait, for reports.
    std::string describe_waits() const;
    // A representative thread that waits.
    const Fiber* waiting_thread() const;

  private:
    std::string describe_missing(Wait where) const;
    std::string describe_groups() const;
    void resize(dim3 shape);
    void lay_out_shared(const Grid& grid);
    Fiber* start_next();
};

// Visits the lanes of a warp whose bits are set.
template <class Visit>
void each_lane(unsigned lanes, Visit visit) {
    for (; lanes; lanes &= lanes - 1) visit(static_cast<unsigned>(__builtin_ctz(lanes)));
}

// The thread that is running.
inline Fiber& here() { return *static_cast<Fiber*>(current); }

inline ResidentBlock& block_of(const Thread& thread) { return static_cast<ResidentBlock&>(*thread.block); }

// Completes the collectives of a warp that no longer wait for anyone; called when one of its lanes has
// exited.
void complete_collectives(ResidentBlock& block, unsigned warp);

}  // namespace emu
