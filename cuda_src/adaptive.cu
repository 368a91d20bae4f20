// adaptive: the whole search in one launch, each level in the way that suits it.
//
//   cluster  small frontiers: one thread-block cluster, queues in its shared memory (adaptive_cluster.cuh)
//   push     middling ones: all blocks, a queue in global memory (adaptive_push.cuh)
//   pull     large ones: all blocks, bitmaps instead of a queue (adaptive_pull.cuh)
//
// All blocks are resident and meet at a barrier in global memory after each level of push and pull, and after each
// run of levels in the cluster, while which the others wait. What comes next is decided by each block for itself,
// from numbers that are the same for all. See cuda_src/adaptive.md.
#define LAYER_CLUSTER 0
#define LAYER_PUSH 1
#define LAYER_PULL 2

// A block that has found its share of the edges from which on pulling pays, times this, queues nothing more.
#define QUEUE_BEYOND 1.5f

#include "adaptive_cluster.cuh"
#include "adaptive_pull.cuh"
#include "adaptive_push.cuh"

// When to do what. See choose().
struct thresholds {
    unsigned small;
    int pushed_edge;
    int may_pull;
};

// A block is in one regime at a time.
union workspace {
    cluster_queues cluster;
    push_buffers push;
    pull_lists pull;
};

// Give the arrays that belong to a search their initial values, and queue the source. For all blocks.
__device__ __forceinline__ void begin_search(const search &search, unsigned *visited, int source) {
    const unsigned thread = global_thread(), threads = grid_threads();
    const unsigned quads = search.num_vertices / 4, words = (search.num_vertices + 31u) / 32;
    for (unsigned i = thread; i < quads; i += threads) {
        const int v = i * 4;
        reinterpret_cast<int4 *>(search.levels)[i] =
            make_int4(v == source ? 0 : UNREACHED, v + 1 == source ? 0 : UNREACHED, v + 2 == source ? 0 : UNREACHED,
                      v + 3 == source ? 0 : UNREACHED);
    }
    for (unsigned v = quads * 4 + thread; v < search.num_vertices; v += threads)
        search.levels[v] = v == source ? 0 : UNREACHED;
    for (unsigned w = thread; w < words; w += threads) {
        const unsigned bits = min(search.num_vertices - w * 32, 32u);  // those beyond count as visited
        visited[w] = (bits < 32 ? ALL_LANES << bits : 0) | (source / 32 == w ? 1u << source % 32 : 0);
        search.open[w] = ALL_LANES;
    }
    if (blockIdx.x != gridDim.x - 1) return;
    const row row = search.row_of(source);
    for (unsigned i = threadIdx.x; i < row.parts(); i += blockDim.x) search.queues[0][i] = row.nth(i);
    if (threadIdx.x != 0) return;
    search.state->frontiers[0] = frontier{{row.end - row.begin, 1}, row.parts(), 0, 0};
    search.state->frontiers[1] = search.state->frontiers[2] = frontier{{0, 0}, 0, 0, 0};
}

// Whether looking for parents is expected to cost less than pushing this level. An unreached vertex looks at its
// arcs until one leads to the frontier; if frontier arcs are spread evenly over what is unexplored, that takes
// unexplored / frontier edges looks, but never more than it has arcs.
//
// The result is the number of edges from which on that is so: with c for the cost of pushing one in looks, the solution
// of  edges * c = looks at bitmaps + unreached * unexplored / edges.
__device__ __forceinline__ float edges_worth_pulling(const search &search, long long unreached, long long unexplored,
                                                     const thresholds &when) {
    if (!when.may_pull) return 1e30f;
    const float c = (float)when.pushed_edge, rows = fmaxf((float)unreached, 0);  // parts may have been counted for some
    const float fixed = rows + (float)search.num_vertices / 4;
    return (fixed + sqrtf(fixed * fixed + 4 * c * rows * fmaxf((float)unexplored, 0))) / (2 * c);
}

// Edges from which on a block that pushes queues nothing more, since the next level will be pulled.
__device__ __forceinline__ unsigned most_edges_to_queue(float worth_pulling, const thresholds &when) {
    return when.may_pull ? (unsigned)fminf(QUEUE_BEYOND * worth_pulling / (float)gridDim.x, (float)MOST_EDGES) : ~0u;
}

// Whether one cluster is to go on: its queues have room for all parts, however unevenly they are cut, and the parts
// are few. Of CLUSTER_SIZE parts in a row, a block of it gets PART / QUAD + 1 at most, when cut: each is dealt out to
// all blocks from another one on, unless it is so short that this one gets it whole.
__device__ __forceinline__ bool fits_cluster(const frontier &now, unsigned small) {
    const bool has_room = now.queued <= CLUSTER_SIZE * CLUSTER_PARTS / (PART / QUAD + 1);
    return has_room && now.found.edges / QUAD + now.queued <= small;
}

__device__ __forceinline__ frontier read_frontier(const search_state *state, int step) {
    const frontier *now = &state->frontiers[step % 3];
    return frontier{{__ldcg(&now->found.edges), __ldcg(&now->found.vertices)},
                    __ldcg(&now->queued),
                    __ldcg(&now->must_pull),
                    __ldcg(&now->unqueued)};
}

// The search, step by step. For all threads of all blocks, which decide alike.
__device__ __forceinline__ void run(const search &search, unsigned *visited, unsigned *visited_then,
                                    level_record *records, const thresholds &when, int max_polls, int source) {
    __shared__ workspace shared;
    __shared__ frontier shown;
    __shared__ int shown_level;
    if (source >= 0) begin_search(search, visited, source);
    long long unreached = search.num_vertices, unexplored = search.num_edges;
    int level = 0;
    enum { QUEUED, PULLED, REQUEUED, RAN_LEVELS } last = QUEUED;  // how the frontier came about
    for (int step = 0;; ++step) {
        if (!wait_for_all_blocks(&search.state->barrier, max_polls)) {
            if (threadIdx.x == 0) search.state->failed = 1;
            return;
        }
        if (source < 0) return;  // only to see whether all blocks are resident
        if (threadIdx.x == 0) {  // for all of the block: so many reads of one address would take long
            shown = read_frontier(search.state, step);
            shown_level = __ldcg(&search.state->level);
        }
        __syncthreads();
        const frontier now = shown;
        if (now.queued == 0 && now.found.vertices == 0) return;
        if (last == RAN_LEVELS) level = shown_level;
        if (last != REQUEUED) {
            unreached -= now.found.vertices;
            unexplored -= now.found.edges;
        }
        if (global_thread() == 0) search.state->frontiers[(step + 2) % 3] = frontier{{0, 0}, 0, 0, 0};

        const float worth_pulling = edges_worth_pulling(search, unreached, unexplored, when);
        if (now.must_pull || (last != REQUEUED && (float)now.found.edges > worth_pulling)) {
            if (global_thread() == 0) note_level(records, level, now.found.vertices, LAYER_PULL);
            pull_level(search, visited, visited_then, shared.pull, step, level++);
            unsigned *const complete = visited_then;
            visited_then = visited, visited = complete;
            last = PULLED;
        } else if (last == PULLED && now.unqueued) {
            queue_frontier(search, visited, visited_then, shared.push, step, now.found);
            last = REQUEUED;
        } else if (fits_cluster(now, when.small)) {
            if (blockIdx.x < CLUSTER_SIZE)
                run_small_levels(search, visited, shared.cluster, records, step, level, now.queued, when.small);
            last = RAN_LEVELS;
        } else {
            if (global_thread() == 0) note_level(records, level, now.found.vertices, LAYER_PUSH);
            push_level(search, visited, shared.push, step, level++, now.queued,
                       most_edges_to_queue(worth_pulling, when));
            last = QUEUED;
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
#if CLUSTER_SIZE > 1
    __cluster_dims__(CLUSTER_SIZE, 1, 1)
#endif
    adaptive(const offset_t *row_offsets, const int *column_indices, const offset_t *column_offsets,
             const int *row_indices, offset_t column_indices_end, offset_t row_indices_end, int num_vertices,
             offset_t num_edges, int *levels, unsigned *visited, unsigned *visited_then, unsigned *open,
             part *even_queue, part *odd_queue, search_state *state, level_record *records, int small_parts,
             int pushed_edge, int may_pull, int max_polls, int source) {
    const search search = {row_offsets,
                           column_indices,
                           column_offsets,
                           row_indices,
                           column_indices_end,
                           row_indices_end,
                           num_vertices,
                           num_edges,
                           levels,
                           open,
                           {even_queue, odd_queue},
                           state};
    const unsigned small = min((unsigned)small_parts, CLUSTER_SIZE * CLUSTER_PARTS);
    run(search, visited, visited_then, records, thresholds{small, pushed_edge, may_pull}, max_polls, source);
}
