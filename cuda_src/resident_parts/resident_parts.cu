// resident_parts: a search that runs several levels between two barriers, on parts
// of the graph in shared memory. The algorithm was designed for this project.
//
// The graph has been divided into parts (grow_parts.cu). A ghost of a part is a vertex of another part from
// which at most K arcs lead to a vertex of this part (pack_parts.cu). A step is the work between two barriers
// of all blocks: K levels. Each block runs these levels alone, in shared memory, for the parts that it holds.
// Then it stores the state of the vertices that these parts own. All blocks meet at a barrier and read the
// state of their ghosts.
//
// Why the levels are exact: let all levels up to L be right. Let a part own v, at level t with L < t <= L +
// K. The last t - L arcs of a shortest path to v begin at a vertex of level L. This vertex is at most K arcs
// from v, and later vertices of the path are closer. So the part knows all vertices of these arcs, and finds
// each vertex at its level. The part finds no vertex too early, because a vertex found at level l ends a path
// of l arcs. So own vertices get their right levels. A ghost may get too high a level, because its path may
// lead through vertices that the part does not know. So every step reads the ghosts' state again: whether
// they were reached before L, and whether they are at L.
//
// Active parts: a part is active in a step if one of its own vertices or ghosts is at level L. Each part has a list
// of its readers: the parts that have one of its vertices as own vertex or ghost. When a part finds a vertex at
// level L + K, its block sets the bits of the vertex's readers in the next step's bitmap. If the list was too short
// for all readers, the block sets the bits of all parts. All blocks read this bitmap. If no block holds an active
// part, the part goes to a block, and the blocks get such parts in turn. All blocks compute an equal distribution,
// so no block has to claim a part. As the frontier passes, parts stop in about the order in which they became
// active, so blocks have similar numbers of parts. A block gives up a part when the part has been inactive for two
// steps. If a block has more parts than its shared memory can hold, it runs them in several rounds per step.
//
// Parts ahead: loading a part takes as long as ten levels. So when a part becomes active, its block announces the
// part's readers in a second bitmap. If no block has ever held an announced part, the part also goes to the next
// block in turn. The block loads the part after it has arrived at the barrier, while other blocks still run. Only
// parts that were not announced in time are loaded while other blocks wait.
//
// The search ends when no part is active. Then the kernel copies the levels from the order of the parts to the order
// of the vertex ids.
//
// Capacities: the shared memory of a block has room for `slots` parts and for FEW entries of each list of parts.
// Further entries go to global memory, with room for all parts. The host makes only parts that fit a slot of shared
// memory.
//
// Races: blocks exchange state by relaxed accesses. The state of vertices has a copy for even steps and a
// copy for odd steps. A step reads one copy and writes the other copy, and the barrier separates steps. A
// part that is no longer active runs for another step, so that both copies get all that it has found. Of the
// three bitmaps, a step reads one, writes one, and clears one.
#include "block_search.cuh"

namespace layers {
enum { parts };
}

// Stores level 0 for the source. Activates the part that owns the source, and each part in which the source is a
// ghost. The first warp of the first block calls the function.
__device__ __forceinline__ void begin_at(const partition &parts, const exchange &others, int *place_levels, int source) {
    const int place = parts.places[source], p = parts.part_at[place / PLACES];
    const unsigned lane = threadIdx.x, readers = parts.words[parts.parts[p].first + place - parts.parts[p].first_place];
    if (lane == 0) {
        place_levels[place] = 0;
        store_relaxed(&others.at_level[place / PLACES], 1ull << (32 + place % PLACES));
    }
    if (readers >> lane & 1) wake(parts.readers[p * READERS + lane], others.bitmaps, parts.number);
}

// Copies the levels to the answer `levels`, which is in the order of the vertex ids. `place_levels` has the levels in
// the order of the places (new numbers of vertices). Resets `place_levels` and the exchanged state for the next search.
__device__ __forceinline__ void finish(const partition &parts, const exchange &others, int *place_levels, int *levels) {
    for (unsigned i = global_thread(); i < parts.num_places; i += grid_threads()) {
        const int v = parts.vertices[i];
        if (v == NO_VERTEX) continue;
        levels[v] = place_levels[i];
        place_levels[i] = UNREACHED;
    }
    for (unsigned i = global_thread(); i < parts.num_places / PLACES * 2; i += grid_threads())
        // A late block may still read the old value. This has no effect, because no part is active.
        store_relaxed(&others.at_level[i], 0ull);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    resident_parts(partition parts, slot_layout layout, int *place_levels, exchange others, int *waiting, int *levels,
                   search_state *state, level_record *records, unsigned long long *counts, unsigned max_polls,
                   int source) {
    extern __shared__ uint4 memory[];
    __shared__ block_state own;
    const block_memory in = carve(memory, layout);
    unsigned phase = 0;
    if (threadIdx.x == 0) {
        phase = barrier_phase(&state->barrier);
        own.clear(waiting + (size_t)3 * blockIdx.x * parts.number, parts.number);
    }
    for (unsigned i = threadIdx.x; i < layout.bitmap_words; i += blockDim.x)
        in.active[i] = in.running[i] = in.held[i] = in.known[i] = 0;
    for (unsigned i = threadIdx.x; i < layout.groups(); i += blockDim.x)
        in.reached[i] = in.found[i] = in.found[layout.groups() + i] = 0, in.homes[i] = NO_PLACE;
    if (blockIdx.x == 0 && threadIdx.x < WARP) begin_at(parts, others, place_levels, source);
    block_search search = {{{parts, layout, in, others, own, place_levels, {counts, parts.hops}}}};
    for (;; ++search.step) {
        const int step = search.step;
        long long began = search.watch.now();
        arrive_at_barrier(&state->barrier);
        search.look_ahead();
        if (threadIdx.x == 0 && !wait_at_barrier(&state->barrier, phase, max_polls)) own.failed = true;
        __syncthreads();
        if (own.failed) {
            if (threadIdx.x == 0) state->failed = 1;
            return;
        }
        if (search.busy) search.watch.most(counted::wait_cycles, step - 1, began);
        began = search.watch.now();
        search.level = step * parts.hops;
        if (!search.begin_step()) break;
        if (global_thread() == 0) note_level(records, search.level, 1, layers::parts);
        search.run_step(began);
    }
    finish(parts, others, place_levels, levels);
}
