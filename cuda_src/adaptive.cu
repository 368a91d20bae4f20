// adaptive: the whole search in one launch, each level in the way that suits it.
//
//   cluster  small frontiers: one thread-block cluster, queues in its shared memory (adaptive_cluster.cuh)
//   push     middling ones: all blocks, a queue in global memory (adaptive_push.cuh)
//   pull     large ones: all blocks, bitmaps instead of a queue (adaptive_pull.cuh)
//
// All blocks are resident and meet at a barrier in global memory after each level of push and pull, and after each
// run of levels in the cluster, during which the others wait. What comes next is decided by each block for itself,
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

// A block is in one regime at a time. So that each has room in 48 KB, wide offsets come with queues and shares half as
// long.
union workspace {
    cluster_queues cluster;
    push_buffers push;
    pull_lists pull;
};

// Leave the bitmaps as the next search is to find them, and give those that have not been reached their level. For all
// blocks, once all levels are complete. Done at the end because it costs less there: only few levels are to be written,
// and the first levels of a search wait for nothing.
__device__ __noinline__ void end_search(const search &search, const unsigned *reached, unsigned *visited) {
    const unsigned words = search.words(), lane = threadIdx.x % 32;
    for (unsigned w = global_thread(); w - lane < words; w += grid_threads()) {
        const unsigned beyond = w == words - 1 ? tail_bits(search.num_vertices) : 0;
        unsigned missing = 0;
        if (w < words) {
            missing = ~(reached[w] | beyond);  // what a bitmap holds before the first search is unknown
            visited[w] = beyond;
            search.open[w] = ALL_LANES;
        }
        for (unsigned lanes = __ballot_sync(ALL_LANES, missing != 0); lanes; lanes &= lanes - 1) {
            const unsigned other = __ffs(lanes) - 1, its = __shfl_sync(ALL_LANES, missing, other);
            if (its >> lane & 1) search.levels[(w - lane + other) * 32 + lane] = UNREACHED;
        }
    }
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

// Edges from which on one of so many blocks queues nothing more, since the next level will be pulled.
__device__ __forceinline__ unsigned most_edges_to_queue(float worth_pulling, unsigned blocks,
                                                        const thresholds &when) {
    return when.may_pull ? (unsigned)fminf(QUEUE_BEYOND * worth_pulling / (float)blocks, (float)MOST_EDGES) : ~0u;
}

// Whether one cluster is to go on: the frontier is of few parts, in its measure. If they turn out not to fit its queues
// it hands them back.
__device__ __forceinline__ bool fits_cluster(const frontier &now, unsigned small) {
    return now.found.edges / QUAD + now.queued <= small;
}

__device__ __forceinline__ frontier read_frontier(const search_state *state, int step) {
    const frontier *now = &state->frontiers[step % 3];
    return frontier{{__ldcg(&now->found.edges), __ldcg(&now->found.vertices)},
                    __ldcg(&now->queued),
                    __ldcg(&now->must_pull),
                    __ldcg(&now->unqueued)};
}

// What all blocks are to know after a step. They read it alike, one thread for each block: so many reads of one
// address would take long.
struct outcome {
    frontier now;
    int level;
    bool all_came;
};

__device__ __forceinline__ const outcome &wait_for_outcome(search_state *state, outcome &shown, unsigned &phase,
                                                           int step, int max_polls) {
    arrive_at_barrier(&state->barrier);
    if (threadIdx.x == 0) {
        const bool all_came = wait_at_barrier(&state->barrier, phase, max_polls);
        if (!all_came) state->failed = 1;
        shown.now = read_frontier(state, step);
        shown.level = __ldcg(&state->level);
        shown.all_came = all_came && !__ldcg(&state->failed);  // what a failed search leaves is no beginning
    }
    __syncthreads();
    if (global_thread() == 0) state->frontiers[(step + 2) % 3] = frontier{{0, 0}, 0, 0, 0};
    return shown;
}

// The search, step by step. For all threads of all blocks, which decide alike. With no source it only shows whether all
// blocks are resident, and makes the bitmaps what a search is to find.
__device__ __forceinline__ void run(const search &search, unsigned *visited, unsigned *visited_then,
                                    level_record *records, const thresholds &when, int max_polls, int source) {
    __shared__ workspace shared;
    __shared__ outcome shown;
    unsigned *const first_visited = visited;
    unsigned phase = threadIdx.x == 0 ? barrier_phase(&search.state->barrier) : 0;
    long long unreached = search.num_vertices, unexplored = search.num_edges;
    int level = 0;
    frontier now = {{0, 0}, 0, 0, 0};
    enum { QUEUED, PULLED, REQUEUED, RAN_LEVELS } last = QUEUED;  // how the frontier came about
    for (int step = 0;; ++step) {
        if (step > 0) {
            const outcome &after = wait_for_outcome(search.state, shown, phase, step, max_polls);
            if (!after.all_came) return;
            now = after.now;
            if (last == RAN_LEVELS) level = after.level;
            if (now.queued == 0 && !now.must_pull && !now.unqueued) {  // none is left, or only some without arcs
                if (global_thread() == 0 && now.found.vertices > 0)
                    note_level(records, level, now.found.vertices, LAYER_PUSH);
                if (global_thread() == 0) search.state->frontiers[step % 3].found = {0, 0};  // late readers end, too
                break;
            }
        }
        if (last != REQUEUED) {  // roughly: a cluster counts parts for vertices, and not what it has expanded
            unreached -= now.found.vertices;
            unexplored -= now.found.edges;
        }
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
        } else if (last != RAN_LEVELS && fits_cluster(now, when.small)) {  // which it may have given back
            if (blockIdx.x < CLUSTER_SIZE && source >= 0)
                run_small_levels(search, visited, shared.cluster, records, step, level, now.queued, source, when.small,
                                 most_edges_to_queue(worth_pulling, CLUSTER_SIZE, when));
            last = RAN_LEVELS;
        } else {
            if (global_thread() == 0) note_level(records, level, now.found.vertices, LAYER_PUSH);
            push_level(search, visited, shared.push, step, level++, now.queued,
                       most_edges_to_queue(worth_pulling, gridDim.x, when));
            last = QUEUED;
        }
    }
    end_search(search, visited, first_visited);
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
