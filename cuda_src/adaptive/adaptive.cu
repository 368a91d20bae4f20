// adaptive: the whole search in one launch, each level in the way that suits it: by one block or a cluster of blocks
// (small.cuh, cluster.cuh), pushed by all blocks (push.cuh) or pulled (pull.cuh). adaptive.md begins with a table.
//
// All blocks are resident and meet at a barrier in global memory after each step, which is mostly a level or a run of
// levels in the cluster (enum step_kind). What comes next each decides for itself, from the same numbers: course.cuh.

#include "course.cuh"
#include "mark_rows.cuh"
#include "pull.cuh"
#include "push.cuh"
#include "small.cuh"

// A block is in one regime at a time; QUEUE may read the list of a push a step later. With wide offsets queues are half
// as long, so that all fits 48 KB.
union workspace {
    cluster_queues cluster;
    push_buffers push;
    pull_lists pull;
};
static_assert(!SHORT_ROWS || sizeof(workspace) + sizeof(asked_here) + sizeof(course) + sizeof(step_result) <=
                                 STATIC_SHARED, "beside which the host gives a block the bitmap");

// Leave the bitmaps as a search is to find them, and give vertices not reached their level, if need be: for all blocks.
__device__ __noinline__ void end_search(const bfs &search, const unsigned *reached, unsigned *visited, bool have_it) {
    const auto clear = [&](const unsigned &w, bool there) {
        if (!there) return 0u;
        const unsigned beyond = w == search.words() - 1 ? tail_bits(search.num_vertices) : 0;
        const unsigned missing = have_it ? 0 : (MANY_VERTICES ? ALL_LANES : search.open[w]) & ~(reached[w] | beyond);
        visited[w] = beyond;  // which may be `reached`
        if (!MANY_VERTICES) search.open[w] = ALL_LANES;
        return missing;
    };
    visit_bitmap(search.words(), clear, [&](bool set, int v) { if (set) search.answer.unreached(v); });
}

// Give the vertices that no arc leads to their level, and take them out of the open ones: for all blocks but those of
// the first cluster, which begins with the source. What is read is in the L2 cache then. MANY_VERTICES: see open_word.
__device__ __noinline__ void close_unreachable(const bfs &search, unsigned source) {
    const unsigned busy = CLUSTER_SIZE * blockDim.x / 32, warp = global_thread() / 32, warps = grid_threads() / 32;
    mark_rows(search.column_offsets, search.num_vertices, search.open, warp - busy, warps - busy,
              [&](unsigned v) { if (v != source) search.answer.unreached(v); });
}

// The search, step by step. For all threads of all blocks, which decide alike. With no source, -1, it shows whether all
// blocks are resident, and makes the bitmaps what a search is to find.
extern "C" __global__ void __launch_bounds__(1024, 1)
#if CLUSTER_SIZE > 1
    __cluster_dims__(CLUSTER_SIZE, 1, 1)
#endif
    adaptive(const __grid_constant__ bfs search, unsigned *visited, unsigned *visited_then, level_record *records,
             int max_polls, int source) {
    __shared__ workspace shared;
    __shared__ asked_here asked;
    __shared__ course at;
    __shared__ step_result result;
    asked.reset();
    if (threadIdx.x == 0) {
        const int first_step = search.state->first_step, failed = search.state->failed;
        // `last` is QUEUE for this call alone: then decide() learns nothing.
        at = {{search.num_entered, search.num_edges, 1, 0}, 0, {}, 0, 0, 0, first_step, 0, QUEUE};
        result = {};
        decide(search, at, {});
        at.last = BEGIN;
        if (failed) at.next = FAIL;  // what a failed search leaves is no beginning
    }
    __syncthreads();
    for (;;) {
        const int step = at.step, level = at.level;
        unsigned *const complete = at.swapped ? visited_then : visited;
        unsigned *const other = at.swapped ? visited : visited_then;
        switch (at.next) {
        case PULL:
            pull_level(search, complete, other, shared.pull, step, level, !at.pulled, at.recounts(), result);
            break;
        case PULL_RESTS: pull_rests(search, other, complete, step, level, at.now.rests, result); break;
        case QUEUE:
            if (!at.queues_list()) list_frontier(search, complete, other, shared.push, step, level);
            break;
        case RUN_LEVELS:
            if (source < 0) break;
            if (blockIdx.x < CLUSTER_SIZE)
                run_small_levels(search, complete, shared.cluster, records, step, level, at.now.queued,
                                 at.last == BEGIN ? source : -1, at.share, result);
            else if (!MANY_VERTICES && at.last == BEGIN && search.when.may_pull)
                close_unreachable(search, source);
            break;
        case PUSH: case LIST:
            push_level(search, complete, shared.push, asked, step, level, at.now.queued, at.mixed, at.next == LIST);
            break;
        case END: end_search(search, complete, visited, MANY_VERTICES && at.pulled); return;
        case FAIL: return;
        }
        if (at.uses_lists())  // of QUEUE the level has been counted already
            queue_claimed(search, shared.push, step + 1, at.next == QUEUE ? level : level + 1, at.next == LIST, result);
        __syncthreads();
        if (threadIdx.x == 0) {
            search.state->frontiers[step + 1].barrier.arrive(result);
            result = {};
            at = after_step(search, max_polls, at);
            if (at.uses_lists()) clear(shared.push, at.share, at.queues_list());
        }
        __syncthreads();
        if (global_thread() == grid_threads() - 1) prepare_step(search, records, at);  // of a warp with the least to do
    }
}
