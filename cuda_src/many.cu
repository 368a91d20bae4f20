// many: breadth-first searches from up to BITS sources at once, with one bit for each source (Then et al.
// 2014). One launch is one pass.
//
// In each of three arrays, each vertex has a row: a bit vector with one bit for each source. The bits of
// `seen` are the searches that have reached the vertex. The bits of `frontier` are the searches that reached
// it in the last level. The bits of `next` are the searches that reach it in this level. WORDS threads work
// together as a team on one vertex at a time, and each of these threads works on one word of the rows. No
// thread needs the word of another thread of the team. A bitmap has the vertices whose row of the frontier is
// not empty.
//
// All blocks are resident. A level has two phases, and a barrier of all blocks ends each phase:
//
// 1. Expand. If few arcs leave the frontier, the level is pushed: its vertices give their rows to their
// out-neighbours. Otherwise it is pulled: each vertex that some active search has not reached collects the
// rows of its in-neighbours, until no active search lacks the vertex. A search is active if it reached a
// vertex in the last level. Searches in small components end soon, and would otherwise keep all rows open.
// 2. Settle. The threads count the vertices that each search has found. They clear the rows of the old
// frontier, because the old `frontier` array becomes `next`.
//
// Vertices of high degree: the host cuts each adjacency list of more than PIECE arcs into pieces, because one
// team would take too long. Teams take whole short lists first, and then pieces.
//
// Races: several threads may add bits to a word of `seen`. atomicOr gives each new bit to exactly one thread,
// which adds it to `next`. A read before the atomic may return an old word, in which bits are missing. Then
// the atomic decides. The rows and the bitmap of the frontier are not written while threads read them,
// because each alternates between two arrays.
#include "atomics.cuh"
#include "barrier.cuh"
#include "graph.cuh"

// Number of 64-bit words of a row; the host defines BITS, DISTANCES, PULL_SHARE and PIECE.
#define WORDS (BITS / 64)
#define AT_ONCE 4          // number of arcs of a pulled vertex whose loads overlap
#define PLANES 6           // number of bits of a counter; a thread empties its counters after 63 words

typedef unsigned long long word_t;

// The results of the search from one source. `harmonic` is the sum of the inverse distances, and `eccentricity` is
// the largest distance.
struct measures {
    long long reached, distance_sum;
    double harmonic;
    long long eccentricity;
};

// The state that all blocks share: the sizes of frontiers, and the arcs that leave them. Phase 2 of level l adds to
// the values at index l % 3. Afterwards the kernel clears the values of level l - 1.
struct many_state {
    unsigned long long leaving[3];  // number of arcs that leave the frontier
    unsigned sizes[3];              // number of vertices in the frontier
    int failed;                     // true if a block waited too long at the barrier
    grid_barrier barrier;
};

struct many_graph {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;
    const int *row_indices;
    // For each piece of a long adjacency list: the vertex, and the number of the piece within the list.
    const int2 *out_pieces, *in_pieces;
    long long num_edges;
    int num_vertices, num_out_pieces, num_in_pieces;
};

struct many_rows {
    // Three arrays of num_vertices * WORDS words. The arrays `even` and `odd` alternate as frontier and next.
    word_t *seen, *even, *odd;
    unsigned *even_bitmap, *odd_bitmap;  // a bit per vertex: true if its row in even or odd may hold bits
    // Twice BITS counts, for even and odd levels. A count is the number of vertices that a search has reached
    // in the level.
    unsigned *level_counts;

    __device__ __forceinline__ word_t *rows(int level) const { return level % 2 ? odd : even; }
    __device__ __forceinline__ unsigned *counts(int level) const { return level_counts + level % 2 * BITS; }
    __device__ __forceinline__ unsigned *bitmap(int level) const { return level % 2 ? odd_bitmap : even_bitmap; }
    __device__ __forceinline__ bool in_frontier(int level, int v) const {
        return bitmap(level)[v / WARP] >> v % WARP & 1;
    }

    // Adds the bits `given` to word w of vertex v, for the searches that have not reached v yet. These
    // searches reach v in `level`.
    __device__ __forceinline__ void reach(int level, int v, unsigned w, word_t given) const {
        const size_t place = (size_t)v * WORDS + w;
        const word_t fresh = given & ~atomicOr(&seen[place], given);
        if (!fresh) return;
        atomicOr(&rows(level)[place], fresh);
        unsigned *const word = &bitmap(level)[v / WARP];
        const unsigned bit = 1u << v % WARP;
        if (!(load_relaxed(word) & bit)) atomicOr(word, bit);
    }
};

// The arcs of a vertex, or of a piece of a long adjacency list, as a range of indices.
struct arcs {
    edge_t begin, end;

    __device__ __forceinline__ arcs(const offset_t *offsets, int v) : begin(offsets[v]), end(offsets[v + 1]) {}
    __device__ __forceinline__ arcs(const offset_t *offsets, int2 piece) : arcs(offsets, piece.x) {
        begin += (edge_t)piece.y * PIECE;
        if (end - begin > PIECE) end = begin + PIECE;
    }
    __device__ __forceinline__ bool is_long() const { return end - begin > PIECE; }
};

__device__ __forceinline__ unsigned my_word() { return threadIdx.x % WORDS; }
__device__ __forceinline__ unsigned my_team() { return global_thread() / WORDS; }
__device__ __forceinline__ unsigned grid_teams() { return grid_threads() / WORDS; }

// Gives a word of vertex v's row to the targets of some of its arcs.
__device__ __forceinline__ void give(const many_graph &graph, const many_rows &rows, int level, int v, arcs some) {
    const unsigned w = my_word();
    const word_t row = rows.rows(level)[(size_t)v * WORDS + w];
    if (row == 0) return;
    for (edge_t e = some.begin; e < some.end; ++e) {
        const int u = graph.column_indices[e];
        if (row & ~load_relaxed(&rows.seen[(size_t)u * WORDS + w])) rows.reach(level + 1, u, w, row);
    }
}

__device__ __forceinline__ void push(const many_graph &graph, const many_rows &rows, int level) {
    // A team is WORDS threads. `teams` is the number of teams in the warp, and `first` is the index of the
    // thread's team.
    const unsigned teams = WARP / WORDS, first = threadIdx.x % WARP / WORDS;
    const unsigned words = (graph.num_vertices + WARP - 1u) / WARP;
    for (unsigned i = global_thread() / WARP; i < words; i += grid_threads() / WARP) {
        const unsigned bits = rows.bitmap(level)[i];
        for (unsigned k = first; k < WARP && bits >> k; k += teams) {
            if (!(bits >> k & 1)) continue;
            const arcs row(graph.row_offsets, i * WARP + k);
            if (!row.is_long()) give(graph, rows, level, i * WARP + k, row);
        }
    }
    for (unsigned i = my_team(); i < graph.num_out_pieces; i += grid_teams()) {
        const int2 piece = graph.out_pieces[i];
        if (rows.in_frontier(level, piece.x)) give(graph, rows, level, piece.x, arcs(graph.row_offsets, piece));
    }
}

// Collects a word of vertex v's row from the sources of some of its in-arcs, until the word has all bits of
// `active`. The loads of AT_ONCE arcs overlap.
__device__ __forceinline__ void collect(const many_graph &graph, const many_rows &rows, int level, int v, arcs some,
                                        word_t active) {
    const unsigned w = my_word();
    const word_t lacks = active & ~load_relaxed(&rows.seen[(size_t)v * WORDS + w]);
    word_t found = 0;
    for (edge_t e = some.begin; e < some.end && (lacks & ~found); e += AT_ONCE) {
        int neighbours[AT_ONCE];
        bool filled[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) neighbours[i] = graph.row_indices[min(e + i, some.end - 1)];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) filled[i] = rows.in_frontier(level, neighbours[i]);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
            if (filled[i]) found |= rows.rows(level)[(size_t)neighbours[i] * WORDS + w];
    }
    found &= lacks;
    if (found) rows.reach(level + 1, v, w, found);
}

// Returns the word of the calling thread with the bits of the searches that have reached a vertex in the
// level. All threads of the block must call the function.
__device__ __forceinline__ word_t active_searches(const many_rows &rows, int level) {
    __shared__ unsigned halves[BITS / WARP];
    for (unsigned bit = threadIdx.x; bit < BITS; bit += blockDim.x) {
        const unsigned half = __ballot_sync(ALL_LANES, rows.counts(level)[bit] != 0);
        if (bit % WARP == 0) halves[bit / WARP] = half;
    }
    __syncthreads();
    return halves[2 * my_word()] | (word_t)halves[2 * my_word() + 1] << 32;
}

__device__ __forceinline__ void pull(const many_graph &graph, const many_rows &rows, int level) {
    const word_t active = active_searches(rows, level);
    for (unsigned v = my_team(); v < graph.num_vertices; v += grid_teams()) {
        const arcs row(graph.column_offsets, v);
        if (!row.is_long()) collect(graph, rows, level, v, row, active);
    }
    for (unsigned i = my_team(); i < graph.num_in_pieces; i += grid_teams()) {
        const int2 piece = graph.in_pieces[i];
        collect(graph, rows, level, piece.x, arcs(graph.column_offsets, piece), active);
    }
}

// Counts how often each bit was set in the words that one thread has added. The counters are stored in PLANES
// words: bit b of planes[i] has the value 2^i in the counter of bit b.
struct bit_counters {
    word_t planes[PLANES] = {};
    unsigned added = 0;

    // Adds 1 to the counter of each bit that is set in `word`. Before the counters can overflow, they are added to
    // `counts`, the block's 64 counters in shared memory.
    __device__ __forceinline__ void add(word_t word, unsigned *counts) {
#pragma unroll
        for (int i = 0; i < PLANES; ++i) {
            const word_t carry = planes[i] & word;
            planes[i] ^= word;
            word = carry;
        }
        if (++added == (1u << PLANES) - 1) flush(counts);
    }
    __device__ __forceinline__ void flush(unsigned *counts) {
        for (int bit = 0; bit < 64; ++bit) {
            unsigned count = 0;
#pragma unroll
            for (int i = 0; i < PLANES; ++i) count += (unsigned)(planes[i] >> bit & 1) << i;
            if (count) atomicAdd(&counts[bit], count);
        }
        *this = bit_counters{};
    }
};

// Counts the vertices that each search has reached in a level, and clears rows and bitmap of the previous
// level. All threads of the block must call the function.
__device__ __forceinline__ void settle(const many_graph &graph, const many_rows &rows, many_state *state, int level,
                                       int *distances, int pitch) {
    __shared__ unsigned counts[BITS];
    for (unsigned bit = threadIdx.x; bit < BITS; bit += blockDim.x) counts[bit] = 0;
    __syncthreads();
    const unsigned w = my_word(), teams = WARP / WORDS, first = threadIdx.x % WARP / WORDS;
    const unsigned words = (graph.num_vertices + WARP - 1u) / WARP;
    unsigned long long leaving = 0;
    unsigned size = 0;
    bit_counters counters;
    for (unsigned i = global_thread() / WARP; i < words; i += grid_threads() / WARP) {
        const unsigned old = rows.bitmap(level - 1)[i], bits = rows.bitmap(level)[i];
        __syncwarp();  // all lanes have read the old word before one lane clears it
        if (threadIdx.x % WARP == 0 && old) rows.bitmap(level - 1)[i] = 0;
        for (unsigned k = first; k < WARP && (old | bits) >> k; k += teams) {
            const unsigned v = i * WARP + k;
            if (old >> k & 1) rows.rows(level - 1)[(size_t)v * WORDS + w] = 0;
            if (!(bits >> k & 1)) continue;
            const word_t row = rows.rows(level)[(size_t)v * WORDS + w];
            counters.add(row, counts + w * 64);
#if DISTANCES
            for (word_t rest = row; rest; rest &= rest - 1)
                distances[(size_t)(w * 64 + __ffsll((long long)rest) - 1) * pitch + v] = level;
#endif
            if (w == 0) ++size, leaving += graph.row_offsets[v + 1] - graph.row_offsets[v];
        }
    }
    counters.flush(counts + w * 64);
    if (size) {
        atomicAdd(&state->sizes[level % 3], size);
        atomicAdd(&state->leaving[level % 3], leaving);
    }
    __syncthreads();
    for (unsigned bit = threadIdx.x; bit < BITS; bit += blockDim.x)
        if (counts[bit]) atomicAdd(&rows.counts(level)[bit], counts[bit]);
}

// Adds the counts of a level to the results, with one thread per search. Clears the counts and sizes of the
// previous level.
__device__ __forceinline__ void measure(const many_rows &rows, many_state *state, measures *found, int level) {
    for (unsigned bit = global_thread(); bit < BITS; bit += grid_threads()) {
        rows.counts(level + 1)[bit] = 0;  // the counts of the previous level
        const unsigned count = rows.counts(level)[bit];
        if (count == 0) continue;
        measures &mine = found[bit];
        mine.reached += count;
        mine.distance_sum += (long long)count * level;
        if (level > 0) mine.harmonic += (double)count / level;
        mine.eccentricity = level;
    }
    if (global_thread() == 0) state->sizes[(level + 2) % 3] = 0, state->leaving[(level + 2) % 3] = 0;
}

// Runs one pass, with searches from sources[first] to sources[first + number - 1]. All blocks must be
// resident. With DISTANCES, row first + i of `distances` gets the distances from source first + i.
extern "C" __global__ void many(many_graph graph, many_rows rows, many_state *state, const int *__restrict__ sources,
                                measures *found, int *distances, int pitch, unsigned max_polls, int first, int number) {
    const size_t words = (size_t)graph.num_vertices * WORDS;
    for (size_t i = global_thread(); i < words; i += grid_threads()) rows.seen[i] = rows.even[i] = rows.odd[i] = 0;
    for (unsigned i = global_thread(); i < (graph.num_vertices + WARP - 1u) / WARP; i += grid_threads())
        rows.even_bitmap[i] = rows.odd_bitmap[i] = 0;
    for (unsigned i = global_thread(); i < 2 * BITS; i += grid_threads()) rows.level_counts[i] = 0;
    for (unsigned bit = global_thread(); bit < number; bit += grid_threads()) found[first + bit] = measures{};
    if (global_thread() < 3) state->sizes[global_thread()] = 0, state->leaving[global_thread()] = 0;
    bool together = wait_for_all_blocks(&state->barrier, max_polls);
    for (unsigned bit = global_thread(); bit < number && together; bit += grid_threads())
        rows.reach(0, sources[first + bit], bit / 64, 1ull << bit % 64);
    together = together && wait_for_all_blocks(&state->barrier, max_polls);
    for (int level = 0; together; ++level) {
        settle(graph, rows, state, level, distances + (size_t)first * pitch, pitch);
        together = wait_for_all_blocks(&state->barrier, max_polls);
        if (!together || state->sizes[level % 3] == 0) break;
        measure(rows, state, found + first, level);
        if (state->leaving[level % 3] * PULL_SHARE > graph.num_edges)
            pull(graph, rows, level);
        else
            push(graph, rows, level);
        together = wait_for_all_blocks(&state->barrier, max_polls);
    }
    if (!together && threadIdx.x == 0) state->failed = 1;  // benign race: every thread stores the same value
}
