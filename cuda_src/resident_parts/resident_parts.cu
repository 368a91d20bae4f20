// resident_parts: several levels between two barriers, in parts of the graph that lie in shared memory.
//
// The graph has been cut into parts (grow_parts.cu), each with its ghosts: the vertices from which at most K arcs
// lead to an own vertex (pack_parts.cu). A step runs K levels. Each block does so by itself for the parts that it
// has, in its shared memory, and tells of their own vertices; then all blocks meet, and read what others tell of
// their ghosts.
//
// Why it is exact. Let all levels up to L be right, and let v, which a part owns, have a level t with L < t <= L + K.
// The last t - L arcs of a shortest path to v begin at a vertex of level L. That is at most K arcs from v, and the
// vertices after it fewer, so all of them are local: the part finds each of them no later than at its level. Nothing
// is found earlier either, since whatever is found is at the end of a path of that length. So own vertices get their
// levels. A ghost may get too high a level, as its path may lead through vertices that are not local; so ghosts are
// read anew in every step: whether they were reached before L, and whether they are at L.
//
// Active parts. A part has something to do in a step if one of its local vertices is at level L. Its owner knows for
// which parts that is so, the readers of the vertex, and sets their bits in the next bitmap. All blocks read the
// bitmap and deal out in turn the parts that nobody has, so all know which they are and nothing has to be claimed. As
// a front passes, parts become active about in the order in which they end: so all blocks have about equally many. A
// block gives a part up when it is no longer active; if it has more than have room, it runs them one after the other
// in every step.
//
// Parts ahead. To load a part takes as long as ten levels. So a part that becomes active announces its readers in a
// second bitmap: those that nobody ever had are dealt out as well, and a block loads them when it has arrived at the
// barrier, while others still run. Only a part that nobody announced in time is loaded while all others wait.
//
// The search ends when no part is active. Then levels go from places to vertices.
//
// Memory. What blocks tell each other has a copy for even steps and one for odd ones: in a step one is read, the
// other is written, and the barrier is between. A part that is not active any more runs for one step more, so both
// copies have all that it has found. Bitmaps are three: one is read, one is written, one is cleared. All of these are
// relaxed accesses.
#include "block_search.cuh"

// Mark the parts that read the source as active, and give it its level. By the first warp of one block.
__device__ __forceinline__ void begin_at(const partition &parts, const exchange &others, int *place_levels, int source) {
    const int place = parts.places[source], p = parts.part_at[place / PLACES];
    const unsigned lane = threadIdx.x, readers = parts.words[parts.parts[p].first + place - parts.parts[p].first_place];
    if (lane == 0) {
        place_levels[place] = 0;
        store_relaxed(&others.at_level[place / PLACES], 1ull << (32 + place % PLACES));
    }
    if (readers >> lane & 1) wake(parts.readers[p * READERS + lane], others.bitmaps, parts.number);
}

// Levels from places to vertices; all places are left unreached, for the next search.
__device__ __forceinline__ void finish(const partition &parts, const exchange &others, int *place_levels, int *levels) {
    for (unsigned i = global_thread(); i < parts.num_places; i += grid_threads()) {
        const int v = parts.vertices[i];
        if (v == NO_VERTEX) continue;
        levels[v] = place_levels[i];
        place_levels[i] = UNREACHED;
    }
    for (unsigned i = global_thread(); i < parts.num_places / PLACES * 2; i += grid_threads())
        store_relaxed(&others.at_level[i], 0ull);  // blocks behind may still look at it, for nothing
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
        if (global_thread() == 0) note_level(records, search.level, 1, LAYER_PARTS);
        search.run_step(began);
    }
    finish(parts, others, place_levels, levels);
}
