// many: breadth-first searches from up to BITS sources at once, with a bit for each source (Then et al.
// 2014). One launch is one pass.
//
// Each vertex has a row of BITS bits in three arrays. The bits of `seen` are the searches that have reached the
// vertex. The bits of `frontier` are the searches that reached it in the last level, and the bits of `next` are
// the searches that reach it in this level. WORDS threads work on a vertex, each on one word of its rows. No
// thread needs the word of another thread. All blocks are resident. A level has two steps, and a barrier of all
// blocks ends each:
//
// 1. Expand. If few arcs leave the frontier, the level is pushed: its vertices give their rows to their
// out-neighbours. Otherwise it is pulled: each vertex that some search has not reached collects the rows of
// its in-neighbours until its row is complete.
// 2. Settle. The threads count the vertices that each search has found. They clear the rows of the old
// frontier, because the old `frontier` array becomes `next`.
//
// Races. In a pushed level several threads add bits to a word of `seen`. atomicOr gives each new bit to
// exactly one thread, which adds it to `next`. A read before the atomic may return an old word, in which bits
// are missing. Then the atomic decides. Marks and rows of the frontier are not written while they are read,
// because marks and queues alternate between two arrays.
//
// Capacities. Only the thread that marks a vertex appends it to the queue. So a queue of num_vertices entries
// suffices.
#include "atomics.cuh"
#include "barrier.cuh"
#include "graph.cuh"

#define WORDS (BITS / 64)  // words of a row; the host defines BITS, DISTANCES and PULL_SHARE

typedef unsigned long long word_t;

// The results of one search: the number of reached vertices, the sum of their distances, the sum of the
// inverse distances, and the largest distance.
struct measures {
    long long reached, distance_sum;
    double harmonic;
    long long eccentricity;
};

// Sizes and arcs of the frontiers. Level l uses index l % 3. A level adds to the values of the next level,
// and clears the values of the level after that.
struct many_state {
    unsigned long long leaving[3];  // number of arcs that leave the frontier
    int sizes[3];                   // number of vertices in the frontier
    int failed;                     // a block waited too long at the barrier
    grid_barrier barrier;
};

struct many_graph {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;
    const int *row_indices;
    long long num_edges;
    int num_vertices;
};

struct many_rows {
    word_t *seen, *even, *odd;    // num_vertices * WORDS; even and odd alternate as frontier and next
    int *even_marks, *odd_marks;  // last level in which the vertex was in this array's frontier
    int *even_queue, *odd_queue;
    unsigned *counts;  // BITS entries: vertices that each search reached in the level

    __device__ __forceinline__ word_t *rows(int level) const { return level % 2 ? odd : even; }
    __device__ __forceinline__ int *marks(int level) const { return level % 2 ? odd_marks : even_marks; }
    __device__ __forceinline__ int *queue(int level) const { return level % 2 ? odd_queue : even_queue; }
};

// Returns the bits of word w that stand for sources, in a pass with `number` sources.
__device__ __forceinline__ word_t whole_word(int number, int w) {
    const int bits = number - w * 64;
    return bits >= 64 ? ~0ull : bits <= 0 ? 0 : (1ull << bits) - 1;
}

// Puts a vertex into the queue of a level, unless the queue already has the vertex.
__device__ __forceinline__ void enter(const many_rows &rows, many_state *state, int v, int level) {
    int *const mark = &rows.marks(level)[v];
    if (load_relaxed(mark) != level && atomicExch(mark, level) != level)
        rows.queue(level)[atomicAdd(&state->sizes[level % 3], 1)] = v;
}

__device__ __forceinline__ void push(const many_graph &graph, const many_rows &rows, many_state *state, int level) {
    const unsigned size = state->sizes[level % 3], w = global_thread() % WORDS;
    for (unsigned i = global_thread() / WORDS; i < size; i += grid_threads() / WORDS) {
        const int v = rows.queue(level)[i];
        const word_t row = rows.rows(level)[(size_t)v * WORDS + w];
        if (row == 0) continue;
        const edge_t end = graph.row_offsets[v + 1];
        for (edge_t e = graph.row_offsets[v]; e < end; ++e) {
            const int u = graph.column_indices[e];
            const size_t place = (size_t)u * WORDS + w;
            if (!(row & ~load_relaxed(&rows.seen[place]))) continue;
            const word_t fresh = row & ~atomicOr(&rows.seen[place], row);
            if (!fresh) continue;
            atomicOr(&rows.rows(level + 1)[place], fresh);
            enter(rows, state, u, level + 1);
        }
    }
}

__device__ __forceinline__ void pull(const many_graph &graph, const many_rows &rows, many_state *state, int level,
                                     int number) {
    const unsigned w = global_thread() % WORDS;
    const word_t whole = whole_word(number, w);
    for (unsigned v = global_thread() / WORDS; v < graph.num_vertices; v += grid_threads() / WORDS) {
        const size_t place = (size_t)v * WORDS + w;
        const word_t lacks = whole & ~rows.seen[place];
        if (lacks == 0) continue;
        word_t found = 0;
        const edge_t end = graph.column_offsets[v + 1];
        for (edge_t e = graph.column_offsets[v]; e < end && (lacks & ~found); ++e) {
            const int u = graph.row_indices[e];
            if (rows.marks(level)[u] == level) found |= rows.rows(level)[(size_t)u * WORDS + w];
        }
        found &= lacks;
        if (found == 0) continue;
        rows.seen[place] |= found;
        rows.rows(level + 1)[place] = found;
        enter(rows, state, v, level + 1);
    }
}

// Counts the vertices that each search has reached in a level, and clears the rows of the level before. All
// threads of the block must call it.
__device__ __forceinline__ void settle(const many_graph &graph, const many_rows &rows, many_state *state, int level,
                                       int *distances, int pitch) {
    __shared__ unsigned counts[BITS];
    for (unsigned bit = threadIdx.x; bit < BITS; bit += blockDim.x) counts[bit] = 0;
    __syncthreads();
    const unsigned w = global_thread() % WORDS, step = grid_threads() / WORDS;
    const unsigned before = level > 0 ? state->sizes[(level + 2) % 3] : 0, size = state->sizes[level % 3];
    for (unsigned i = global_thread() / WORDS; i < before; i += step)
        rows.rows(level - 1)[(size_t)rows.queue(level - 1)[i] * WORDS + w] = 0;
    unsigned long long leaving = 0;
    for (unsigned i = global_thread() / WORDS; i < size; i += step) {
        const int v = rows.queue(level)[i];
        for (word_t row = rows.rows(level)[(size_t)v * WORDS + w]; row; row &= row - 1) {
            const int bit = w * 64 + __ffsll((long long)row) - 1;
            atomicAdd(&counts[bit], 1u);
#if DISTANCES
            distances[(size_t)bit * pitch + v] = level;
#endif
        }
        if (w == 0) leaving += graph.row_offsets[v + 1] - graph.row_offsets[v];
    }
    if (leaving) atomicAdd(&state->leaving[level % 3], leaving);
    __syncthreads();
    for (unsigned bit = threadIdx.x; bit < BITS; bit += blockDim.x)
        if (counts[bit]) atomicAdd(&rows.counts[bit], counts[bit]);
}

// Adds the counts of a level to the results, with one thread per search. Clears the sizes that the level
// after the next one needs.
__device__ __forceinline__ void measure(const many_rows &rows, many_state *state, measures *found, int level) {
    for (unsigned bit = global_thread(); bit < BITS; bit += grid_threads()) {
        const unsigned count = rows.counts[bit];
        if (count == 0) continue;
        rows.counts[bit] = 0;
        measures &mine = found[bit];
        mine.reached += count;
        mine.distance_sum += (long long)count * level;
        if (level > 0) mine.harmonic += (double)count / level;
        mine.eccentricity = level;
    }
    if (global_thread() == 0) state->sizes[(level + 2) % 3] = 0, state->leaving[(level + 2) % 3] = 0;
}

// Runs a pass from sources[first] to sources[first + number - 1]. All blocks must be resident. With
// DISTANCES, row first + i of `distances` gets the distances from source first + i.
extern "C" __global__ void many(many_graph graph, many_rows rows, many_state *state, const int *__restrict__ sources,
                                measures *found, int *distances, int pitch, unsigned max_polls, int first, int number) {
    const size_t words = (size_t)graph.num_vertices * WORDS;
    for (size_t i = global_thread(); i < words; i += grid_threads()) rows.seen[i] = rows.even[i] = rows.odd[i] = 0;
    for (unsigned v = global_thread(); v < graph.num_vertices; v += grid_threads())
        rows.even_marks[v] = rows.odd_marks[v] = -1;
    for (unsigned bit = global_thread(); bit < BITS; bit += grid_threads()) rows.counts[bit] = 0;
    for (unsigned bit = global_thread(); bit < number; bit += grid_threads()) found[first + bit] = measures{};
    if (global_thread() < 3) state->sizes[global_thread()] = 0, state->leaving[global_thread()] = 0;
    bool together = wait_for_all_blocks(&state->barrier, max_polls);
    for (unsigned bit = global_thread(); bit < number && together; bit += grid_threads()) {
        const int v = sources[first + bit];
        const size_t place = (size_t)v * WORDS + bit / 64;
        atomicOr(&rows.seen[place], 1ull << bit % 64);
        atomicOr(&rows.even[place], 1ull << bit % 64);
        enter(rows, state, v, 0);
    }
    together = together && wait_for_all_blocks(&state->barrier, max_polls);
    for (int level = 0; together; ++level) {
        settle(graph, rows, state, level, distances + (size_t)first * pitch, pitch);
        together = wait_for_all_blocks(&state->barrier, max_polls);
        if (!together || state->sizes[level % 3] == 0) break;
        measure(rows, state, found + first, level);
        if (state->leaving[level % 3] * PULL_SHARE > graph.num_edges)
            pull(graph, rows, state, level, number);
        else
            push(graph, rows, state, level);
        together = wait_for_all_blocks(&state->barrier, max_polls);
    }
    if (!together && threadIdx.x == 0) state->failed = 1;  // benign race: every thread stores the same value
}
