// adaptive: a whole breadth-first search in one launch. Each level runs in one of four regimes.
//
//                           source
//                             |
//                             v
//    +--------------+    +--------------+          2         +--------------+
//    | BLOCK        | 1  | CLUSTER      | -----------------> | PUSH         |
//    | one block of | <- | one cluster, |                    | all blocks,  |
//    | the cluster, | -> | queues in    |                    | a queue in   |
//    | its own      | 3  | its shared   |          4         | global       |
//    | queue        |    | memory       | <----------------- | memory       |
//    +--------------+    +--------------+                    +--------------+
//                             |      ^                          |      ^
//                           5 |      | 4                      5 |      | 6
//                             v      |                          v      |
//                        +--------------------------------------------------+
//                        | PULL   all blocks, bitmaps: each vertex that is  |
//                        |        not reached looks for a parent            |
//                        +--------------------------------------------------+
//
//   1  Four or five levels in a row had at most TINY_PARTS parts of 4 arcs.
//   2  The frontier has more than SMALL_PARTS parts, a queue overflows, or far more than SMALL_PARTS is likely to be
//      found. If the queue of one block alone overflows, BLOCK goes to PUSH or PULL, too.
//   3  A level has more than TINY_PARTS parts.
//   4  The frontier has at most E edges and SMALL_PARTS parts, and does not grow too fast.
//   5  The frontier has more than E edges. E is the number above which pulling is expected to cost less than pushing.
//      A frontier that is in no queue or list, but in the bitmap alone, is pulled whatever E is.
//   6  The frontier has at most E edges, but is too large for the cluster.
//
// The loop of the kernel below. All blocks are resident. A step is a level, or a run of levels in the cluster:
//
//   step = RUN_LEVELS, from the source
//   repeat
//       RUN_LEVELS   the first cluster runs levels, in CLUSTER and BLOCK; other blocks wait     small.cuh, cluster.cuh
//       PUSH, LIST   all blocks claim neighbours of the frontier; LIST does not queue them      push.cuh
//       QUEUE        all blocks queue a frontier that was not queued                            push.cuh
//       PULL         all blocks find parents of vertices; PULL_RESTS: of those with long rows   pull.cuh
//       add what this block found to the words of the barrier, and wait for all blocks          counted_barrier.cuh
//       step = decide(sums of all blocks): the same sums and the same code give the same step   course.cuh
//   until step is END, which leaves the bitmaps as the next search must find them
//
// A claim is an atomic or on a vertex' bit in the bitmap of reached vertices. An element of a queue is a part of a row,
// (offset, length). adaptive.md, in the repository, has tables of steps, overflows, memory order and benign races, and an order to read in.

#include "course.cuh"
#include "mark_rows.cuh"
#include "pull.cuh"
#include "push.cuh"
#include "small.cuh"

constexpr int STATIC_SHARED = 42 << 10;  // bytes; with SHORT_ROWS the host adds dynamic memory for the bitmap

// A block is in one regime at a time, so the regimes share memory. The list of a push must survive until the next step,
// which may be QUEUE. All must fit 48 KB.
union workspace {
    cluster_queues cluster;
    push_buffers push;
    pull_lists pull;
};
static_assert(!SHORT_ROWS || sizeof(workspace) + sizeof(asked_here) + sizeof(course) + sizeof(step_result) <=
                                 STATIC_SHARED, "so that the bitmap has room");

// Leave the bitmaps as the next search must find them. Store "unreached", unless `have_it` says that a pulled level has
// stored it. All blocks must call it.
__device__ __noinline__ void end_search(const bfs &search, const unsigned *reached, unsigned *visited, bool have_it) {
    const auto clear = [&](const unsigned &w, bool there) {
        if (!there) return 0u;
        const unsigned beyond = w == search.words() - 1 ? tail_bits(search.num_vertices) : 0;
        const unsigned missing = have_it ? 0 : (MANY_VERTICES ? ALL_LANES : search.open[w]) & ~(reached[w] | beyond);
        visited[w] = beyond;  // may be the bitmap `reached`, so it is written last
        if (!MANY_VERTICES) search.open[w] = ALL_LANES;
        return missing;
    };
    visit_bitmap(search.words(), clear, [&](bool set, int v) { if (set) search.answer.unreached(v); });
}

// Store "unreached" for vertices without in-neighbours, and clear their bits in `open`. All blocks outside the first
// cluster must call it, while the first cluster runs the first levels. Reading the offsets also brings them
// into the L2 cache for pulled levels. With MANY_VERTICES, open_word does this work.
__device__ __noinline__ void close_unreachable(const bfs &search, unsigned source) {
    const unsigned busy = CLUSTER_SIZE * blockDim.x / 32, warp = global_thread() / 32, warps = grid_threads() / 32;
    mark_rows(search.column_offsets, search.num_vertices, search.open, warp - busy, warps - busy,
              [&](unsigned v) { if (v != source) search.answer.unreached(v); });
}

// Search from `source`. With source -1, only check that all blocks are resident, and prepare the bitmaps for the first
// search.
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
        course begin = {};
        begin.left = {search.num_entered, search.num_edges, 1, 0};
        begin.step = first_step;
        begin.last = QUEUE;  // only for the next call of decide(), which learns nothing from a QUEUE step
        at = begin;
        result = {};
        decide(search, at, {});
        at.last = BEGIN;
        if (failed) at.next = FAIL;  // a failed search has not prepared the bitmaps and frontiers
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
        if (at.uses_lists())  // after QUEUE, `level` is already the level of the listed vertices
            queue_claimed(search, shared.push, step + 1, at.next == QUEUE ? level : level + 1, at.next == LIST, result);
        __syncthreads();
        if (threadIdx.x == 0) {
            search.state->frontiers[step + 1].barrier.arrive(result);
            result = {};
            at = after_step(search, max_polls, at);
            if (at.uses_lists()) clear(shared.push, at.share, at.queues_list());
        }
        __syncthreads();
        // The grid's last warp has the least work.
        if (global_thread() == grid_threads() - 1) prepare_step(search, records, at);
    }
}
