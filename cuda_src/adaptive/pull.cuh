// The regime of large frontiers: every vertex that has not been reached looks for a parent among its in-neighbours.
//
// Parents. All earlier levels are complete, so an in-neighbour that has been reached before this level began is in the
// frontier; otherwise its out-neighbours would have been reached already. One bitmap of reached vertices thus serves
// as the frontier's, also on directed graphs. Vertices found now must not show in it before the level ends: they go to
// the other bitmap, which becomes the current one.
//
// Balance. Vertices are shared out among blocks by words of the bitmap, in turns. Most rows end after a
// window or two, a few go on for long; so a lane that is done takes the next vertex rather than wait for its warp.
// Vertices wait for lanes in a list of the warp, their offsets already read, side by side. When it is empty, lanes
// without a row look at the next windows of the rows that are left. A row that is undecided after PATIENCE rounds is
// set aside, for all lanes of a warp together. Vertices without in-neighbours are not among the open ones, unless the
// grid is a single cluster; then they are passed over.
//
// First looks. With LIKELY_FIRST the host has ordered in-neighbours so that the likeliest parent comes first
// (likely_parents.cu), and has put the first ones together besides: one access of a warp brings those of 32 vertices,
// another two their offsets, and one look at the bitmap each is all that most need. Only the others read their rows.
#pragma once

#include "search.cuh"

#define WAITING 64     // vertices in the list of a warp: a power of two, at least two words
#define FRESH (2048 >> WIDE_OFFSETS)  // words of the bitmap that a block works on between two barriers
#define LOOKS 4        // that a thread makes together: a divisor of WINDOW
#define PATIENCE 8     // rounds of windows
#define LONG_ROWS 256  // that a block sets aside
#define PIECE (32 * WINDOW)  // arcs of such a row that a warp looks at together
#define WARP_PIECES 4  // that a warp looks at before it leaves the rest to all blocks, if it is as long
#define LOOK_WORDS 4   // words of the bitmap whose vertices take their first look together
#define FEW_FOUND 64   // vertices of a block that are queued at once, so that a small level needs no step of its own for it

struct pull_lists {
    offset_t begins[MAX_WARPS][WAITING];
    edge_t degrees[MAX_WARPS][WAITING];
    unsigned slots[MAX_WARPS][WAITING];  // bit of the block's share of the bitmap
    unsigned fresh[FRESH];               // vertices found
    unsigned long_slots[LONG_ROWS];
    offset_t long_rests[LONG_ROWS];      // where what has not been looked at begins
    unsigned num_long;
    block_tally found;
};

// What a block works on at a time: words of the bitmaps, from the `first`-th of its own on. A slot is a bit of it. All
// blocks take turns by words.
struct share {
    unsigned first, words;

    // How many words of a bitmap are the block's own.
    __device__ __forceinline__ static unsigned own(unsigned words) {
        return (words + gridDim.x - 1 - blockIdx.x) / gridDim.x;
    }
    __device__ __forceinline__ unsigned word(unsigned k) const { return (first + k) * gridDim.x + blockIdx.x; }
    __device__ __forceinline__ int vertex(unsigned slot) const { return word(slot / 32) * 32 + slot % 32; }
};

// Whether a vertex of this window of a row has been reached; with TREE, also which. They are looked at bit by bit,
// since looks are what a large level is bound by, and only a few together, since the first ones are likely to be enough.
__device__ __forceinline__ bool has_parent(const search &search, const unsigned *visited, edge_t begin, edge_t end,
                                           int &parent) {
    int rows[WINDOW];
    const part window = {(offset_t)begin, (int)(end - begin)};
    const unsigned mine = load_window(search.row_indices, search.row_indices_end, window, rows);
#pragma unroll
    for (int first = 0; first < WINDOW; first += LOOKS) {
        bool any = false;
#pragma unroll
        for (int k = first; k < first + LOOKS; ++k)
            if (mine >> k & 1) {
                const unsigned reached = visited[rows[k] / 32u] >> rows[k] % 32 & 1;
                any |= reached;
                if (TREE && reached) parent = rows[k];
            }
        if (any) return true;
    }
    return false;
}

// Where the window ends with which the rest of a row begins.
__device__ __forceinline__ edge_t window_end(edge_t at, edge_t end) {
    return min((at & ~(edge_t)(WINDOW - 1)) + WINDOW, end);
}

// Whether the rest of a row begins with a window or several that have a parent, for few rows: each is of one of the
// lanes `active`, and that many lanes look at a window each. For whole warps whose list is empty, which tells them of the
// rows.
__device__ __forceinline__ bool has_parent_together(const search &search, const unsigned *visited, pull_lists &lists,
                                                    edge_t at, edge_t end, unsigned active, unsigned lanes,
                                                    int &its_parent) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, rank = __popc(active & (1u << lane) - 1);
    if (at < end) {
        lists.begins[warp][rank] = at;
        lists.degrees[warp][rank] = end - at;
    }
    __syncwarp();
    bool found = false;
    int parent = 0;
    if (lane / lanes < __popc(active)) {
        const edge_t begin = lists.begins[warp][lane / lanes], its_end = begin + lists.degrees[warp][lane / lanes];
        const edge_t mine = lane % lanes == 0 ? begin : window_end(begin, its_end) + (lane % lanes - 1) * WINDOW;
        if (mine < its_end) found = has_parent(search, visited, mine, window_end(mine, its_end), parent);
    }
    const unsigned finders = __ballot_sync(ALL_LANES, found);
    if (TREE) {
        const unsigned first = at < end ? rank * lanes : 0;
        its_parent = __shfl_sync(ALL_LANES, parent, (first + __ffs(finders >> first | 1u << 31) - 1) % 32);
    }
    return at < end && (finders >> rank * lanes & ALL_LANES >> (32 - lanes));
}

__device__ __forceinline__ void reach(const search &search, pull_lists &lists, const share &share, unsigned slot,
                                      int level, int parent, edge_t degree, tally &found) {
    atomicOr(&lists.fresh[slot / 32], 1u << slot % 32);
    search.answer.level(share.vertex(slot), level + 1);
    search.answer.parent(share.vertex(slot), parent);
    found.edges += degree;
    ++found.vertices;
}

// The vertices that a warp looks for parents of, a word of the bitmap at a time, the offsets read one word ahead.
struct candidates {
    const search &of;
    const unsigned *visited;
    const pull_lists &lists;
    const share &own;
    unsigned batch;    // of 32 words, one in each lane
    unsigned words;    // this lane's
    unsigned pending;  // lanes with a word yet to come
    unsigned current;  // the word that has been taken; 0 when there is none left
    unsigned slot;     // of this lane's vertex in it
    offset_t begin, end;  // its row, if it is one

    __device__ __forceinline__ unsigned nth_word(unsigned lane) const {
        const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
        return (batch * 32 + lane) * warps + warp;
    }
    __device__ __forceinline__ bool read_batch() {
        const unsigned k = nth_word(threadIdx.x % 32);
        words = k < own.words ? of.open[own.word(k)] & ~visited[own.word(k)] : 0;
        if (LIKELY_FIRST && words != 0) words &= ~lists.fresh[k];
        pending = __ballot_sync(ALL_LANES, words != 0);
        return __any_sync(ALL_LANES, k < own.words);
    }
    // Take a pending word, and tell whether this lane's vertex in it is a candidate.
    __device__ __forceinline__ bool take_word() {
        const int next = __ffs(pending) - 1;
        pending &= pending - 1;
        current = __shfl_sync(ALL_LANES, words, next);
        slot = nth_word(next) * 32 + threadIdx.x % 32;
        return current >> threadIdx.x % 32 & 1;
    }
    __device__ __forceinline__ void advance() {
        while (pending == 0) {
            ++batch;
            if (!read_batch()) {
                current = 0;
                return;
            }
        }
        take_word();
        const int v = min(own.vertex(slot), of.num_vertices - 1);
        begin = __ldg(&of.column_offsets[v]);
        end = __ldg(&of.column_offsets[v + 1]);
    }
    // Take a first word. The offsets of the very first are read before it is known which of them will be asked for: a
    // small graph has no more than one word for each warp.
    __device__ __forceinline__ void start() {
        batch = 0;
        const int v = min(own.vertex(nth_word(0) * 32 + threadIdx.x % 32), of.num_vertices - 1);
        begin = __ldg(&of.column_offsets[v]);
        end = __ldg(&of.column_offsets[v + 1]);
        read_batch();
        if (pending & 1)
            take_word();
        else
            advance();
    }
};

// Let the vertices of a block's share look at their first in-neighbours: for all its warps. Each has words of its own,
// the same ones as in pull_rows. What a few words need is asked for together.
__device__ __forceinline__ void look_at_first(const search &search, const unsigned *visited, pull_lists &lists,
                                              const share &share, int level, tally &found) {
    candidates next = {search, visited, lists, share};
    for (next.batch = 0; next.read_batch(); ++next.batch) {
        __syncwarp();  // what is read of `fresh` has been read
        while (next.pending) {
            unsigned slots[LOOK_WORDS], parent_words[LOOK_WORDS];
            int parents[LOOK_WORDS];
            offset_t begins[LOOK_WORDS], ends[LOOK_WORDS];
#pragma unroll
            for (int i = 0; i < LOOK_WORDS; ++i) {
                const bool mine = next.pending && next.take_word();
                const int v = share.vertex(slots[i] = next.slot);
                parents[i] = mine ? __ldg(&search.likely()[v]) : -1;
                begins[i] = mine ? __ldg(&search.column_offsets[v]) : 0;
                ends[i] = mine ? __ldg(&search.column_offsets[v + 1]) : 0;
            }
#pragma unroll
            for (int i = 0; i < LOOK_WORDS; ++i) parent_words[i] = parents[i] < 0 ? 0 : visited[parents[i] / 32];
#pragma unroll
            for (int i = 0; i < LOOK_WORDS; ++i) {
                const bool hit = parent_words[i] >> (parents[i] & 31) & 1;
                const unsigned hits = __ballot_sync(ALL_LANES, hit);
                if (!hit) continue;
                if (threadIdx.x % 32 == __ffs(hits) - 1) lists.fresh[slots[i] / 32] = hits;
                search.answer.level(share.vertex(slots[i]), level + 1);
                search.answer.parent(share.vertex(slots[i]), parents[i]);
                found.edges += ends[i] - begins[i];
                ++found.vertices;
            }
        }
    }
    __syncwarp();
}

// Append to a warp's list those of a taken word that have in-neighbours. Returns how many.
__device__ __forceinline__ unsigned append_candidates(pull_lists &lists, const candidates &next, unsigned tail) {
    const bool wanted = (next.current >> threadIdx.x % 32 & 1) && next.begin < next.end;
    const unsigned lanes = __ballot_sync(ALL_LANES, wanted), warp = threadIdx.x / 32;
    const unsigned place = (tail + __popc(lanes & (1u << threadIdx.x % 32) - 1)) % WAITING;
    if (wanted) {
        lists.begins[warp][place] = next.begin;
        lists.degrees[warp][place] = next.end - next.begin;
        lists.slots[warp][place] = next.slot;
    }
    return __popc(lanes);
}

// One pass over the short rows of a block's share: for all its warps.
__device__ __forceinline__ void pull_rows(const search &search, const unsigned *visited, pull_lists &lists,
                                          const share &share, int level, tally &found) {
    const unsigned warp = threadIdx.x / 32, below = (1u << threadIdx.x % 32) - 1;
    unsigned head = 0, tail = 0;  // of the list
    candidates next = {search, visited, lists, share};
    next.start();
    edge_t at = 0, end = 0;
    unsigned slot = 0;
    edge_t degree = 0;
    int rounds = 0;
    for (;;) {
        while (tail - head <= WAITING - 32 && next.current) {
            tail += append_candidates(lists, next, tail);
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
        if (active == 0) return;  // only if the list is empty and no word is left
        const bool list_empty = head == tail && next.current == 0;
        const unsigned lanes = list_empty ? 32 >> (32 - __clz(__popc(active) - 1)) : 1;  // for each row
        int parent = 0;
        const bool reached =
            lanes == 1 ? at < end && has_parent(search, visited, at, window_end(at, end), parent)
                       : has_parent_together(search, visited, lists, at, end, active, lanes, parent);
        if (at == end) continue;
        if (reached) {
            reach(search, lists, share, slot, level, parent, degree, found);
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

// Leave the rest of a row to all blocks, as the step that comes next: for a whole warp. A piece is (vertex, nth piece
// of its row). They lie in the queue of this step, which a pulled level does not read.
__device__ __forceinline__ void put_off(const search &search, int v, edge_t begin, edge_t rest, edge_t end, int step) {
    const edge_t origin = begin & ~(edge_t)(WINDOW - 1);
    const unsigned lane = threadIdx.x % 32, first = (unsigned)((rest - origin) / PIECE);
    const unsigned pieces = (unsigned)((end - origin + PIECE - 1) / PIECE) - first;
    unsigned place = 0;
    if (lane == 0) place = atomicAdd(&search.state->frontiers[(step + 1) % 3].rests, pieces);
    place = __shfl_sync(ALL_LANES, place, 0);
#pragma unroll 1
    for (unsigned i = lane; i < pieces; i += 32)
        search.queues[step % 2][place + i] = part{(offset_t)v, (int)(first + i)};
}

// The rows set aside, a warp for each; but the longest are put off.
__device__ __noinline__ tally pull_long_rows(const search &search, const unsigned *visited, pull_lists &lists,
                                             const share &share, int step, int level) {
    const unsigned lane = threadIdx.x % 32;
    tally found = {0, 0};
#pragma unroll 1
    for (unsigned i = threadIdx.x / 32; i < min(lists.num_long, (unsigned)LONG_ROWS); i += blockDim.x / 32) {
        const unsigned slot = lists.long_slots[i];
        const edge_t begin = search.column_offsets[share.vertex(slot)];
        const edge_t end = search.column_offsets[share.vertex(slot) + 1];
        bool reached = false;
        int pieces = 0, parent = 0;
        for (edge_t rest = lists.long_rests[i]; rest < end && !reached; rest += PIECE) {  // whole windows
            if (++pieces > WARP_PIECES && end - rest > WARP_PIECES * PIECE) {
                put_off(search, share.vertex(slot), begin, rest, end, step);
                break;
            }
            const edge_t at = min(rest + lane * WINDOW, end);
            reached = any_parent(has_parent(search, visited, at, min(at + WINDOW, end), parent), parent);
        }
        if (reached && lane == 0) reach(search, lists, share, slot, level, parent, end - begin, found);
    }
    return found;
}

// Look at the pieces of rows that have been put off, a warp at each: for all blocks. Several may find parents of one
// vertex, and the first to set its bit has found it.
__device__ __noinline__ void pull_rests(const search &search, const unsigned *visited_before, unsigned *visited,
                                        pull_lists &lists, int step, int level, unsigned pieces) {
    const unsigned lane = threadIdx.x % 32;
    tally found = {0, 0};
    if (threadIdx.x == 0) lists.found.reset();
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x / 32 * gridDim.x + blockIdx.x; i < pieces; i += grid_threads() / 32) {
        const part piece = search.queues[(step + 1) % 2][i];
        const int v = (int)piece.begin;
        const edge_t begin = search.column_offsets[v], end = search.column_offsets[v + 1];
        const edge_t at = (begin & ~(edge_t)(WINDOW - 1)) + (edge_t)piece.length * PIECE + lane * WINDOW;
        const edge_t first = max(at, begin), last = min(at + WINDOW, end);
        int parent = 0;
        const bool reached = first < last && has_parent(search, visited_before, first, last, parent);
        if (!any_parent(reached, parent) || lane > 0) continue;
        if (set_bits(true, &visited[v / 32], 1u << v % 32) >> v % 32 & 1) continue;
        search.answer.level(v, level);
        search.answer.parent(v, parent);
        found.edges += end - begin;
        ++found.vertices;
    }
    lists.found.add(found);
    __syncthreads();
    if (threadIdx.x == 0) lists.found.publish(&search.state->frontiers[(step + 1) % 3].found);
}

// Queue the vertices that a block has found in a level.
__device__ __noinline__ void queue_found(const search &search, const pull_lists &lists, const share &share, int step) {
#pragma unroll 1
    for (unsigned k = threadIdx.x / 32; k < share.words; k += blockDim.x / 32) {
        if (lists.fresh[k] == 0) continue;
        const bool mine = lists.fresh[k] >> threadIdx.x % 32 & 1;
        row row = {0, 0};
        if (mine) row = search.row_of(share.vertex(k * 32 + threadIdx.x % 32));
        append_rows(search, row, mine ? row.parts() : 0, step);
    }
}

// Find what a block's share has of the next level, as `fresh` of its lists: for all threads of the block.
__device__ __forceinline__ void pull_share(const search &search, const unsigned *visited, pull_lists &lists,
                                           const share &share, int step, int level, tally &found) {
    __syncthreads();
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < share.words; k += blockDim.x) lists.fresh[k] = 0;
    if (threadIdx.x == 0) lists.num_long = 0;
    __syncthreads();
    if (LIKELY_FIRST) look_at_first(search, visited, lists, share, level, found);
    pull_rows(search, visited, lists, share, level, found);
    __syncthreads();
    if (lists.num_long > 0) lists.found.add(pull_long_rows(search, visited, lists, share, step, level));
    __syncthreads();
}

// Find the vertices of the next level: for all blocks. Makes the other bitmap the complete one.
__device__ __forceinline__ void pull_level(const search &search, const unsigned *visited, unsigned *visited_then,
                                           pull_lists &lists, int step, int level) {
    tally found = {0, 0};
    const unsigned own_words = share::own(search.words());
    if (threadIdx.x == 0) lists.found.reset();
    for (unsigned first = 0; first < own_words; first += FRESH) {
        const share share = {first, min(FRESH, own_words - first)};
        pull_share(search, visited, lists, share, step, level, found);
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < share.words; k += blockDim.x)
            visited_then[share.word(k)] = visited[share.word(k)] | lists.fresh[k];
    }
    lists.found.add(found);
    __syncthreads();
    const unsigned vertices = lists.found.sum.vertices;
    const bool few = vertices <= FEW_FOUND && own_words <= FRESH;
    if (threadIdx.x == 0) {
        frontier &next = search.state->frontiers[(step + 1) % 3];
        lists.found.publish(&next.found);
        if (!few && vertices > 0) store_relaxed(&next.unqueued, 1);
    }
    if (few && vertices > 0) queue_found(search, lists, share{0, own_words}, step + 1);
}
