// adaptive: runs a whole breadth-first search in one launch. For each level, the blocks choose one of four
// regimes by the size of the frontier. BLOCK: one block runs tiny levels alone. CLUSTER: one thread-block cluster
// runs small levels, with queues in shared memory. PUSH: all blocks expand the arcs of a medium frontier, with a
// queue in global memory. PULL: in large levels, all blocks look for parents of the unreached vertices.
//
//   source
//     |     RUN_LEVELS: the first cluster                  all blocks
//     |    +-------------------------------------+        +--------------------+
//     +--> | CLUSTER         1  BLOCK            |   2    | PUSH               |
//          | queues in the  --> one block of the | -----> | a queue in global  |
//          | shared memory  <-- cluster, its own | <----- | memory             |
//          | of its blocks   3  queue            |   4    |                    |
//          +-------------------------------------+        +--------------------+
//                    2 |      ^ 4                               5 |      ^ 6
//                      v      |                                   v      |
//          +-------------------------------------------------------------------+
//          | PULL   all blocks, bitmaps: unreached vertices look for a parent  |
//          +-------------------------------------------------------------------+
//
//   A part is a run of arcs in one row, (offset, length): at most 4 arcs in a cluster, 32 in global memory.
//   E is `worth`: a frontier with more edges is expected to cost less to pull than to push. SMALL_PARTS is
//   `when.small`, and TINY_PARTS is `when.tiny`. The regime changes along an arrow if its condition holds:
//
//   1  Five levels in a row had at most TINY_PARTS parts. The first level of RUN_LEVELS counts as two.
//   2  CLUSTER has just expanded, or BLOCK has found, more than SMALL_PARTS parts. Or CLUSTER is likely to find more
//      than 4 * SMALL_PARTS, a queue is full, or 2^20 levels have run. If 5 holds too, PULL follows, else PUSH.
//   3  BLOCK has found more than TINY_PARTS parts.
//   4  The frontier has at most E edges, its edges / 4 + queue entries are at most SMALL_PARTS, and it grows slowly.
//   5  The frontier has more than E edges, or some of its vertices are only in the bitmap.
//   6  The frontier has at most E edges, but 4 does not hold.
//   QUEUE comes before 4, 6 and another PUSH if the frontier was not queued. Any regime may end the search.
//
// All blocks are resident and run a loop of steps. A step is a level, part of one, or a run of small levels.
//
//   step = RUN_LEVELS, from the source
//   repeat
//       RUN_LEVELS  the first cluster runs levels in CLUSTER and BLOCK; others wait    small.cuh, cluster.cuh
//                   (in the first step, others find vertices without in-neighbours)    close_unreachable()
//       PUSH, LIST  all blocks claim neighbours of the frontier; LIST only lists them  push.cuh
//       QUEUE       all blocks queue a frontier that was not queued                    push.cuh
//       PULL        all blocks find parents of vertices; PULL_RESTS: in long rows      pull.cuh
//       add this block's counts to the words of the barrier, and wait for all blocks   counted_barrier.cuh
//       step = decide(sums of all blocks): equal sums, so each block decides alike     course.cuh
//   until step is END, in which all blocks clear the bitmaps for the next search       end_search()
//
// Claim: PUSH, LIST, RUN_LEVELS and PULL_RESTS claim a vertex by an atomic OR on its bit in the bitmap of reached
//   vertices. The claim succeeds if the bit was clear. A lane may claim for neighbouring lanes, and then the earliest
//   lane that wants the vertex wins it. PULL needs no claim, because each word of the bitmap belongs to one warp, and
//   each vertex to one lane.
// Level: the winning lane stores it in CLUSTER, BLOCK and LIST, and in PUSH if the block's list is full. Otherwise,
//   in PUSH, the thread that takes the vertex from the block's list stores it. A later QUEUE step stores it again. In
//   PULL, the lane that has the vertex stores it, or lane 0 of the warp that reads a long row. In PULL_RESTS, lane 0
//   of the winning warp stores it. No block reads levels, so a claim and its level need no order. Blocks read bits
//   and parts of other blocks after a barrier, which releases on arrival and acquires on leaving.
// Benign races: before a claim, a pushing thread looks up the bit by a weak load. A lookup is at most as old as the
//   last barrier. A set bit is always right. If a lookup misses a bit, the claim decides. Warps also race on
//   `limit.passed`: a warp that misses the new value queues rows that no step reads. `limit.told` is only a hint. All
//   other simultaneous accesses are atomic or relaxed.
// Queues hold parts instead of vertices. The thread that queues a vertex reads the offsets of its row, so the next
//   level begins with column indices. A hub's row becomes many parts, so no thread waits for it.
// A row of 100,000 arcs: RUN_LEVELS spills it. In PUSH, one warp cuts it into 3,125 or 3,126 parts, and all blocks
//   expand them in the next step. In PULL, a lane reads at least 57 arcs, a warp 1,024 more, and all blocks the rest.
//   Reading ends at the first parent, except in PULL_RESTS.
// Overflow: if a block's queue in the cluster is full, the row goes to global memory and the cluster stops. If a
//   pushing block's list is full, its warps queue rows at once. No vertex is lost. But blocks stop queueing at E
//   edges and in a LIST step. If a list or queue was full and a block has stopped, some vertices are only in the
//   bitmap, and PULL follows. The global queue has room for all rows (search.cuh).
// Barriers of all blocks: each step but the last costs one. A pushed level is one step, PUSH or LIST, and a second
//   step if QUEUE follows. A pulled level has up to three steps: PULL, PULL_RESTS and QUEUE. RUN_LEVELS is one step.
//   Within it, a level in CLUSTER costs one barrier of the cluster, or two if the level is counted first. A level in
//   BLOCK costs one __syncthreads. In the cluster, each block adds up the queue sizes of all blocks of the cluster,
//   so they decide alike.
// Clearing: END resets `visited` and, without MANY_VERTICES, `open`. A pulled level writes all words of the bitmap
//   that it fills. Each step empties the counters of the frontier after the next (prepare_step). With SHORT_ROWS,
//   RUN_LEVELS claims in a bitmap in shared memory, which it first clears or loads.
// Options: with 64-bit offsets, a part has 16 bytes, and tables sized by WIDE_OFFSETS or CLUSTER_PARTS are smaller.
//   SHORT_ROWS is not possible, and a warp alone cuts a row of over 2^31 - 1 arcs. Without clusters, block 0 is the
//   cluster. With TREE (--tree 1), parents are stored instead of levels: in PUSH by the winning lane, and otherwise
//   by the lane that would store the level. TREE reads the sources of arcs from an array, and excludes SHORT_ROWS.
//   See adaptive.md for details.

#include "course.cuh"
#include "mark_rows.cuh"
#include "pull.cuh"
#include "push.cuh"
#include "small.cuh"

// The limit of static shared memory, in bytes, if SHORT_ROWS is set. In this case
// the host also allocates dynamic shared memory, for the bitmap of reached vertices.
constexpr int STATIC_SHARED = 42 << 10;

// The shared memory of a block. The regimes share this memory, because a block is in one regime at a time.
// The list of claimed vertices stays valid after a push, because the next step may be QUEUE, which reads the
// list. The union must fit 48 KB together with the block's other variables.
union workspace {
    cluster_queues cluster;
    push_buffers push;
    pull_lists pull;
};
static_assert(!SHORT_ROWS || sizeof(workspace) + sizeof(asked_here) + sizeof(course) + sizeof(step_result) <=
                                 STATIC_SHARED, "so that the bitmap has room");

// Prepares the bitmaps for the next search: clears `visited` and, without MANY_VERTICES, sets all bits of
// `open`. Also stores "unreached" for vertices without a level, unless `have_it` says that the first pulled
// level has stored it. All threads of all blocks must call this function, in the step END. The end of the launch orders
// these stores before the next search. Before the first search, a launch with source -1 prepares the bitmaps.
// `visited_then` needs no clearing, because a pulled level writes all its words.
__device__ __noinline__ void end_search(const bfs &search, const unsigned *reached, unsigned *visited, bool have_it) {
    const auto clear = [&](const unsigned &w, bool there) {
        if (!there) return 0u;
        const unsigned beyond = w == search.words() - 1 ? tail_bits(search.num_vertices) : 0;
        const unsigned missing = have_it ? 0 : (MANY_VERTICES ? ALL_LANES : search.open[w]) & ~(reached[w] | beyond);
        // `visited` and `reached` may be the same bitmap, so this store comes after the read of `reached`.
        visited[w] = beyond;
        if (!MANY_VERTICES) search.open[w] = ALL_LANES;
        return missing;
    };
    visit_bitmap(search.words(), clear, [&](bool set, int v) { if (set) search.answer.unreached(v); });
}

// Stores "unreached" for vertices without in-neighbours, and clears their bits in `open`. All blocks outside
// the first cluster must call this function, while the first cluster runs the first levels. The function
// reads the offsets of in-neighbours, which puts them into the L2 cache for pulled levels. If the graph has
// many vertices (MANY_VERTICES), the first pulled level does this work instead.
__device__ __noinline__ void close_unreachable(const bfs &search, unsigned source) {
    const unsigned busy = CLUSTER_SIZE * blockDim.x / 32, warp = global_thread() / 32, warps = grid_threads() / 32;
    mark_rows(search.column_offsets, search.num_vertices, search.open, warp - busy, warps - busy,
              [&](unsigned v) { if (v != source) search.answer.unreached(v); });
}

// Searches from the vertex `source`. If `source` is -1, the kernel only checks that all blocks are resident,
// and prepares the bitmaps for the first search.
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
        begin.last = QUEUE;  // so that decide() updates no estimates; it chooses RUN_LEVELS for the empty frontier
        at = begin;
        result = {};
        decide(search, at, {});
        at.last = BEGIN;
        // If the previous search failed, it did not prepare the bitmaps and frontiers, so this search fails,
        // too.
        if (failed) at.next = FAIL;
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
        // The vertices on the block's list have the level `level` in a QUEUE step, and the level `level + 1`
        // in a PUSH or LIST step.
        if (at.uses_lists())
            queue_claimed(search, shared.push, step + 1, at.next == QUEUE ? level : level + 1, at.next == LIST, result);
        __syncthreads();
        if (threadIdx.x == 0) {
            search.state->frontiers[step + 1].barrier.arrive(result);
            result = {};
            at = after_step(search, max_polls, at);
            if (at.uses_lists()) clear(shared.push, at.share, at.queues_list());
        }
        __syncthreads();
        // The grid's last warp has the least work, so one of its threads prepares the next step.
        if (global_thread() == grid_threads() - 1) prepare_step(search, records, at);
    }
}
