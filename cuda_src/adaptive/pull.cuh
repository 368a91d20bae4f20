// Pulls levels with large frontiers (the regime PULL): every vertex that has not been reached looks for a
// parent among its in-neighbours.
//
// All earlier levels are complete. So a reached in-neighbour of an unreached vertex is in the frontier. An
// in-neighbour from an earlier level would have reached the vertex already. The bitmap of reached vertices thus
// serves as the frontier, on directed graphs too. Vertices found in this level must not appear in the bitmap before
// the level ends. So blocks set their bits in a second bitmap, and the two bitmaps swap after the level.
//
// A window is a group of up to 8 arcs that a lane reads at a time. Most vertices find a parent in the first or
// second window of their rows, but a few need many windows. So a lane that has finished a row takes the next vertex
// at once, from a list of its warp. The list holds the next vertices and their offsets. When the list is empty,
// lanes without a row read further windows of the remaining rows. After PATIENCE rounds without a parent, a lane
// sets its row aside, and later a whole warp reads the rest of the row. If the block has already set LONG_ROWS rows
// aside, the lane reads its row to the end. If a row is very long, all blocks together read its rest in the step
// PULL_RESTS.
#pragma once

#include "first_looks.cuh"
#include "has_parent.cuh"
#include "pull_lists.cuh"

// A lane sets its row aside after PATIENCE rounds without a parent. In a round the lane reads one window of
// arcs.
constexpr int PATIENCE = 8;
constexpr int PIECE = 32 * WINDOW;  // arcs of a row that a warp reads together
constexpr int WARP_PIECES = 4;      // pieces that a warp reads before all blocks share a row's rest
// A block that finds at most FEW_FOUND vertices in a level queues them itself, if it owns at most FRESH words of
// the bitmap. If all blocks do so, no QUEUE step follows.
constexpr int FEW_FOUND = 64;

// Marks a found vertex as reached: sets bit number `slot` of fresh(), and stores `level` + 1 as the
// vertex's level. No claim is needed, because only one lane calls this function for a vertex: the lane
// that has the vertex's row, or lane 0 of the warp that reads a long row. Other lanes only help to look
// for the parent. If LIKELY_FIRST is set, pull_rows skips the vertices that look_at_first() has marked.
__device__ __forceinline__ void reach_slot(const bfs &search, pull_lists &lists, const word_share &share, unsigned slot,
                                           int level, int parent, edge_t degree, tally &found) {
    atomicOr(&lists.fresh()[slot / 32], 1u << slot % 32);
    search.reach(share.vertex(slot), level + 1, parent);
    found.count(degree);
}

// Finds parents for the unreached vertices in the block's words of the bitmap, and sets long rows aside. All
// warps of the block must call this function.
__device__ __forceinline__ void pull_rows(const bfs &search, const unsigned *visited, pull_lists &lists,
                                          const word_share &share, int level, bool first, tally &found,
                                          tally &unreached) {
    const unsigned warp = threadIdx.x / 32, below = (1u << threadIdx.x % 32) - 1;
    unsigned head = 0, tail = 0;  // the warp's list is a ring with entries head to tail - 1
    candidates next = {search, visited, lists, share, first && !LIKELY_FIRST};
    next.at.batch = ~0u;
    next.advance();
    edge_t at = 0, end = 0;
    unsigned slot = 0;
    edge_t degree = 0;
    int rounds = 0;
    for (;;) {
        while (tail - head <= WAITING - 32 && next.at.current) {
            tail += append_candidates(lists, next, tail, unreached);
            next.advance();
        }
        __syncwarp();
        const unsigned idle = __ballot_sync(ALL_LANES, at == end), turn = __popc(idle & below);
        if (at == end && turn < tail - head) {
            const unsigned place = (head + turn) % WAITING;
            at = lists.begins[warp][place], degree = lists.degrees[warp][place], slot = lists.slots[warp][place];
            end = at + degree;
            rounds = 0;
        }
        head += min((unsigned)__popc(idle), tail - head);
        __syncwarp();
        const unsigned active = __ballot_sync(ALL_LANES, at < end);
        if (active == 0) return;  // no lane has a row, the list is empty, and no word is left
        const bool list_empty = head == tail && next.at.current == 0;
        // The number of lanes for each row is 32 / (number of rows), rounded down to a power of two.
        const unsigned lanes = list_empty ? 32 >> (32 - __clz(__popc(active) - 1)) : 1;
        int parent = 0;
        const bool reached =
            lanes == 1 ? at < end && has_parent(search, visited, at, window_end(at, end), parent)
                       : has_parent_together(search, visited, lists.begins[warp], lists.degrees[warp], at, end, active,
                                             lanes, parent);  // the list is empty, so its memory is free
        if (at == end) continue;
        if (reached) {
            reach_slot(search, lists, share, slot, level, parent, degree, found);
            at = end;
        } else {
            at = min(window_end(at, end) + (lanes - 1) * WINDOW, end);
            if (++rounds == PATIENCE && at < end) {
                const unsigned place = atomicAdd(&lists.num_long, 1u);
                if (place < LONG_ROWS) {
                    lists.long_slots[place] = slot;
                    lists.long_rests[place] = at;
                    at = end;
                }
            }
        }
    }
}

// Defers the rest of a row to the step PULL_RESTS, in which all blocks share the work. Cuts the rest into
// pieces of PIECE arcs, and stores each piece as (vertex, number of the piece in its row). The pieces go to
// the queue of this step, which a pulled level does not read. The pieces are numbered from the window in
// which the row begins. So the first piece may begin before `rest`, with arcs that the warp has read. All
// lanes of a warp must call this function.
__device__ __forceinline__ void put_off(const bfs &search, int v, edge_t begin, edge_t rest, edge_t end, int step,
                                        step_result &result) {
    const edge_t origin = begin & ~(edge_t)(WINDOW - 1);
    const unsigned lane = threadIdx.x % 32, first = (unsigned)((rest - origin) / PIECE);
    const unsigned pieces = (unsigned)((end - origin + PIECE - 1) / PIECE) - first;
    unsigned place = 0;
    if (lane == 0) {
        place = atomicAdd(&search.state->frontiers[step + 1].rests, pieces);
        store_relaxed(&result.notice, 1u);  // several warps may store this flag at once
    }
    place = __shfl_sync(ALL_LANES, place, 0);
    for (unsigned i = lane; i < pieces; i += 32) search.queue(step)[place + i] = part{(offset_t)v, (int)(first + i)};
}

// Looks for parents in the rows that lanes of the block have set aside, one row per warp. Defers
// the rest of a very long row to the step PULL_RESTS. Returns the number of vertices that this
// lane has reached, and the number of their arcs. All warps of the block must call this function.
__device__ __noinline__ tally pull_long_rows(const bfs &search, const unsigned *visited, pull_lists &lists,
                                             const word_share &share, int step, int level, step_result &result) {
    const unsigned lane = threadIdx.x % 32;
    tally found = {0, 0};
    for (unsigned i = threadIdx.x / 32; i < min(lists.num_long, (unsigned)LONG_ROWS); i += blockDim.x / 32) {
        const unsigned slot = lists.long_slots[i];
        const edge_t begin = search.column_offsets[share.vertex(slot)];
        const edge_t end = search.column_offsets[share.vertex(slot) + 1];
        bool reached = false;
        int pieces = 0, parent = 0;
        // `rest` is a multiple of WINDOW, so each lane begins at the start of a window.
        for (edge_t rest = lists.long_rests[i]; rest < end && !reached; rest += PIECE) {
            if (++pieces > WARP_PIECES && end - rest > WARP_PIECES * PIECE) {
                put_off(search, share.vertex(slot), begin, rest, end, step, result);
                break;
            }
            const edge_t at = min(rest + lane * WINDOW, end);
            reached = any_parent(has_parent(search, visited, at, min(at + WINDOW, end), parent), parent);
        }
        if (reached && lane == 0) reach_slot(search, lists, share, slot, level, parent, end - begin, found);
    }
    return found;
}

// Looks for parents in pieces of very long rows, one piece per warp. The pieces are in queue(step + 1): two
// queues alternate, and the previous step, PULL, has stored the pieces in its own queue. All blocks must call
// this function. Warps do not check whether another piece of the row has a parent. So several warps may find
// a parent of one vertex. Lane 0 of the warp that first sets the vertex's bit stores `level` for the vertex.
__device__ __noinline__ void pull_rests(const bfs &search, const unsigned *visited_before, unsigned *visited,
                                        int step, int level, unsigned pieces, step_result &result) {
    const unsigned lane = threadIdx.x % 32;
    tally found = {0, 0};
    for (unsigned i = threadIdx.x / 32 * gridDim.x + blockIdx.x; i < pieces; i += grid_threads() / 32) {
        const part piece = search.queue(step + 1)[i];
        const int v = (int)piece.begin;
        const edge_t begin = search.column_offsets[v], end = search.column_offsets[v + 1];
        const edge_t at = (begin & ~(edge_t)(WINDOW - 1)) + (edge_t)piece.length * PIECE + lane * WINDOW;
        const edge_t first = max(at, begin), last = min(at + WINDOW, end);
        int parent = 0;
        const bool reached = first < last && has_parent(search, visited_before, first, last, parent);
        if (!any_parent(reached, parent) || lane > 0) continue;
        if (set_bit(true, visited, v) >> v % 32 & 1) continue;
        search.reach(v, level, parent);
        found.count(end - begin);
    }
    result.found.add(found);
}

// Queues the vertices that this block has found in this level. All warps of the block must call this
// function.
__device__ __noinline__ void queue_found(const bfs &search, pull_lists &lists, const word_share &own, int step) {
    for (unsigned k = threadIdx.x / 32; k < own.words; k += blockDim.x / 32) {
        if (lists.fresh()[k] == 0) continue;
        const bool mine = lists.fresh()[k] >> threadIdx.x % 32 & 1;
        const queue_row row = mine ? search.row_of(own.vertex(k * 32 + threadIdx.x % 32)) : queue_row{0, 0};
        append_rows(search, row, mine ? row.parts() : 0, step);
    }
}

// Finds the vertices of the next level. All blocks must call this function. Writes all words of
// `visited_then`, so the caller need not clear this bitmap. After this step, and a PULL_RESTS step if one
// follows, `visited_then` is the bitmap of reached vertices. With `recount`, adds the unreached vertices and
// their arcs to search.state->unreached.
__device__ __forceinline__ void pull_level(const bfs &search, const unsigned *visited, unsigned *visited_then,
                                           pull_lists &lists, int step, int level, bool first_pulled, bool recount,
                                           step_result &result) {
    tally found = {0, 0}, unreached = {0, 0};
    const unsigned own_words = word_share::own(search.words());
    for (unsigned first = 0; first < own_words; first += FRESH) {
        const word_share share = {first, min(FRESH, own_words - first)};
        __syncthreads();
        for (unsigned k = threadIdx.x; k < share.words; k += blockDim.x) lists.fresh()[k] = 0;
        if (threadIdx.x == 0) lists.num_long = 0, lists.unreached.reset();
        __syncthreads();
        if (LIKELY_FIRST) look_at_first(search, visited, lists, share, level, first_pulled, found, unreached);
        pull_rows(search, visited, lists, share, level, first_pulled, found, unreached);
        __syncthreads();
        if (lists.num_long > 0) result.found.add(pull_long_rows(search, visited, lists, share, step, level, result));
        __syncthreads();
        for (unsigned k = threadIdx.x; k < share.words; k += blockDim.x)
            visited_then[share.word(k)] = visited[share.word(k)] | lists.fresh()[k];
    }
    result.found.add(found);
    recount &= own_words > 0;
    if (recount) lists.unreached.add(unreached);
    __syncthreads();
    if (recount && threadIdx.x == 0) lists.unreached.add_to(search.state->unreached[step + 1]), result.notice = 1;
    const unsigned vertices = result.found.sum.vertices;
    const bool few = vertices <= FEW_FOUND && own_words <= FRESH;
    if (threadIdx.x == 0) result.unqueued = !few && vertices > 0;
    if (few && vertices > 0) queue_found(search, lists, word_share{0, own_words}, step + 1);
}
