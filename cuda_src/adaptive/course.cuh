// The steps of a search, the state that each block keeps between two steps, and the
// decision on the next step. The first thread of each block decides. All blocks
// make the same decision, because all of them get equal counts from the barrier.
#pragma once

#include "arc_spread.cuh"
#include "search.cuh"

// The cost of a QUEUE step, and the additional cost of each vertex that the step queues. The unit of costs
// is the time to read one bit of the bitmap of reached vertices. The costs were measured on an H200.
constexpr float QUEUE_LOOKS = 8e5f, QUEUE_LOOKS_OF_VERTEX = 5.0f;
// In a pulled level, a thread reads the whole row of a vertex that has no reached parent. The cost of reading
// these rows is estimated in reads of one bit. The estimate is at most the smaller of two values: MISS_LOOKS,
// and MISS_LOOKS_OF_ARC times the number of arcs of unreached vertices.
constexpr float MISS_LOOKS = 8e6f, MISS_LOOKS_OF_ARC = 10.0f;
// If the frontier has fewer than `worth` / FAR_BELOW edges, decide() does not compute `worth` again. `worth` is
// the number of edges above which pulling costs less than pushing.
constexpr int FAR_BELOW = 2;
constexpr float UNSURE = 1.6f;  // a factor on `worth`, until a level has shown how arcs are spread
constexpr int MIXED = 64;       // a queue is mixed if it has more than 1 + 1 / MIXED entries per vertex

// The kinds of steps. PUSH: all blocks push a level. LIST: all blocks push a level, but only list its
// vertices, because the next level is likely to be pulled. QUEUE: all blocks queue a frontier that was not
// queued. PULL: all blocks pull a level. PULL_RESTS: all blocks together read the rows of a pulled level that
// are too long for one warp. RUN_LEVELS: the first cluster runs several levels. END: all blocks prepare the
// bitmaps for the next search. FAIL: a block has waited too long at the barrier. BEGIN stands for the time
// before the first step. Only PUSH, LIST and QUEUE use the blocks' lists of claimed vertices.
enum step_kind { PUSH, LIST, QUEUE, PULL, PULL_RESTS, RUN_LEVELS, END, FAIL, BEGIN };

// The state of the search that each block keeps in shared memory. The first thread of the block writes this
// state between two barriers of the block.
struct course {
    arc_spread left;
    float worth;      // the number of edges above which pulling costs less than pushing, as last computed
    frontier now;     // the frontier that the next step expands
    edge_t expanded;  // edges of the frontier that the last level expanded
    int swapped;      // true if `visited_then` is the bitmap of reached vertices
    int pulled;       // true if this search has pulled a level
    int step, level;
    step_kind last, next;
    int unlearned;     // true if after_step() must still update the estimates with the last level's results
    int mixed;         // true if the queue holds short rows and hubs, see parts_are_mixed()
    edge_share share;  // the share of a block in the edges that the next step may queue

    __device__ __forceinline__ bool pushed() const { return last == PUSH || last == LIST; }
    // Returns whether the next step counts the unreached vertices and their arcs. A PULL step after a LIST
    // step counts them, because a LIST step counts no edges.
    __device__ __forceinline__ bool recounts() const { return next == PULL && last == LIST; }
    __device__ __forceinline__ bool uses_lists() const { return next <= QUEUE; }
    // Returns whether the next step queues the vertices on the blocks' lists. In this case the block must
    // keep its list.
    __device__ __forceinline__ bool queues_list() const { return next == QUEUE && pushed(); }
};

// Returns the number of edges of a frontier above which pulling costs less than pushing. The unit of costs is
// one read of the bitmap. Pushing costs `pushed_edge` reads per edge that leads to a new vertex, and a
// quarter of this number per other edge. If the frontier is not queued, pushing also costs a QUEUE step.
// Pulling costs one read per unreached vertex, one pass over the bitmaps, and further reads in rows whose
// first entries have no parent. Pulling also costs the time to read long rows without a parent to their ends.
__device__ __forceinline__ float edges_worth_pulling(const bfs &search, const course &at) {
    const arc_spread &left = at.left;
    const float leading_on = left.spread * __fdividef(left.arcs(), (float)search.num_edges);
    const float cost = (float)search.when.pushed_edge * (0.25f + 0.75f * leading_on);
    const float miss = 1 - left.cover * left.met_by(at.now.found.edges, search.num_edges);
    const float chain = left.cover > 0 ? fminf(miss * miss * MISS_LOOKS, miss * left.arcs() * MISS_LOOKS_OF_ARC) : 0;
    const bool queued = !at.now.unqueued || at.now.found.edges / QUAD <= search.when.small;
    const float queue = queued ? 0 : QUEUE_LOOKS + QUEUE_LOOKS_OF_VERTEX * (float)at.now.found.vertices;
    const float others = left.rows() + (float)search.num_vertices / 4 + chain - queue;
    // If the search may not pull, the result is so large that no level is pulled.
    return search.when.may_pull && cost > 0 ? left.edges_meeting(cost, fmaxf(others, 1)) : 1e30f;
}

// Estimates how many edges the next level will find if it is pushed. Returns true if
// these are so many that the level after it is likely to be pulled. Until the first
// pushed or pulled level ends, `cover` is unknown, and the estimate is divided by UNSURE.
__device__ __forceinline__ bool next_is_pulled(const bfs &search, const course &at) {
    const arc_spread &left = at.left;
    const float met = left.met_by(at.now.found.edges, search.num_edges);
    return left.rows() * met * left.spread > (float)search.when.listed &&
           left.arcs() * met * (left.cover > 0 ? left.cover : 1 / UNSURE) > at.worth;
}

// Returns how many edges each of `blocks` blocks may queue. If the blocks find more edges, they stop
// queueing, because the next level is likely to be pulled.
__device__ __forceinline__ edge_share share_of(const bfs &search, float worth_pulling, unsigned blocks) {
    return search.when.may_pull ? edge_share::of(worth_pulling, blocks) : edge_share::unlimited();
}

// Returns whether the queue is likely to hold both short rows and rows of hubs. A short row fills one queue
// entry, and a long row fills several. So the result is true if the queue has more than 1 + 1 / MIXED entries
// per vertex. After a RUN_LEVELS step, the number of vertices is unknown. The result is then true if the
// entries have more than QUAD * 17 / 16 arcs on average. A cluster's own entries have at most QUAD arcs, so
// longer entries come from rows that did not fit the cluster's queues.
__device__ __forceinline__ bool parts_are_mixed(const course &at) {
    if (at.last == RUN_LEVELS) return at.now.found.edges > QUAD * (at.now.queued + at.now.queued / 16);
    return at.now.queued > at.now.found.vertices + at.now.found.vertices / MIXED;
}

// Updates the estimates with the results of the last step. Subtracts the found vertices and arcs from the unreached
// vertices and their arcs. After RUN_LEVELS the new estimates are rough, because the cluster reports only its last
// frontier. Each queue entry of this frontier counts as a vertex.
__device__ __forceinline__ void learn(course &at, const expected_find &expected) {
    if (at.pushed() || at.last == PULL || at.last == PULL_RESTS) at.left.learn(at.now.found, expected);
    if (at.last == QUEUE) return;
    at.left.unreached -= at.last == RUN_LEVELS ? at.now.queued : at.now.found.vertices;
    at.left.unexplored -= at.now.found.edges;
}

// Decides on the next step, and on how many edges each block may queue in it. All threads of
// the block wait for the decision, so the function avoids long computations. It leaves `worth`
// unchanged if the frontier was not pulled and has far fewer edges than `worth`. If such a
// small frontier lies between a PUSH step and a PUSH or LIST step, it also leaves the estimates
// and `share` unchanged. after_step() then updates them while the block waits for other blocks.
__device__ __forceinline__ void decide(const bfs &search, course &at, const expected_find &expected) {
    const bool pulled = at.last == PULL || at.last == PULL_RESTS;
    const bool far_below = !pulled && !at.now.must_pull && (float)at.now.found.edges * FAR_BELOW < at.worth;
    // True if the cluster can run the next level: the frontier has few queue entries and few edges, and does not
    // grow fast. After RUN_LEVELS, `few` is false, because the cluster itself has just stopped at this frontier.
    const bool few = at.last != RUN_LEVELS && at.now.found.edges / QUAD + at.now.queued <= search.when.small &&
                     !outgrows((float)at.now.found.edges, (float)at.expanded, (float)search.when.small * QUAD);
    at.unlearned = far_below && at.last == PUSH && !at.now.unqueued && !few;
    if (!at.unlearned) learn(at, expected);
    if (!far_below) at.worth = edges_worth_pulling(search, at);
    if (at.now.must_pull || (float)at.now.found.edges > at.worth) {
        at.next = PULL;
    } else if (at.now.unqueued) {
        at.next = QUEUE;
        at.share = edge_share::unlimited();
    } else if (few) {
        at.next = RUN_LEVELS;
        at.share = share_of(search, at.worth, CLUSTER_SIZE);
    } else {
        // LIST needs more than `listed` found vertices, and a level finds at most as many vertices as its
        // frontier has edges. So a frontier with few edges needs no call of next_is_pulled().
        at.next = at.now.found.edges > search.when.listed && next_is_pulled(search, at) ? LIST : PUSH;
        at.mixed = parts_are_mixed(at);
        if (!at.unlearned) at.share = share_of(search, at.left.cover > 0 ? at.worth : at.worth * UNSURE, gridDim.x);
    }
}

// Waits until all blocks have ended the step, reads the sums of their counts, and decides on the next step.
// Returns the new state. The first thread of each block calls this function.
__device__ __forceinline__ course after_step(const bfs &search, int max_polls, course at) {
    search_state &state = *search.state;
    const next_frontier &now = state.frontiers[++at.step];
    const frontier before = at.now;
    if (at.unlearned) {  // decide() put off this work until the wait for other blocks
        learn(at, at.left.expected(at.expanded, search.num_edges));
        at.worth = edges_worth_pulling(search, at);
        at.share = share_of(search, at.worth, gridDim.x);
    }
    // PULL_RESTS and QUEUE leave `expanded` unchanged: PULL_RESTS continues the level of the previous step, and
    // QUEUE expands no frontier.
    if (at.next != PULL_RESTS && at.next != QUEUE) at.expanded = before.found.edges;
    // `expected` is computed before the wait for other blocks, because the computation takes long.
    expected_find expected = at.left.expected(at.expanded, search.num_edges);
    bool notice = false, failed = false, recounted = at.recounts();
    const bool all_came = now.barrier.wait(at.now, notice, max_polls);
    at.last = at.next;
    if (notice) {
        at.now.must_pull = at.now.unqueued && load_relaxed(&now.unlisted);
        at.now.rests = load_relaxed(&now.rests);
        // A block may read this flag before another block sets it, and continue. The block that continued
        // then fails at the next barrier, at which the other block does not arrive.
        failed = load_relaxed(&state.failed);
        if (recounted)
            at.left.unreached = load_relaxed(&state.unreached[at.step].vertices),
            at.left.unexplored = load_relaxed(&state.unreached[at.step].edges),
            expected = at.left.expected(at.expanded, search.num_edges);
    }
    if (at.last == RUN_LEVELS) at.level = at.now.found.vertices, at.now.found.vertices = 0;
    if (at.last == LIST) at.now.found.edges = at.left.edges_of(at.now.found.vertices);
    // After a LIST step, learn() subtracted an estimate of the frontier's edges. A QUEUE step counts the edges, so
    // this line replaces the estimate by the exact number.
    if (at.last == QUEUE) at.left.unexplored += (long long)before.found.edges - at.now.found.edges;
    if (at.pushed() || at.last == PULL) ++at.level;
    // PULL and PULL_RESTS find one level together, so their sums are added. `queued` becomes 0, because a
    // QUEUE step will queue the whole frontier from the bitmaps, including the vertices that PULL has queued.
    if (at.last == PULL_RESTS) {
        const tally sum = {before.found.edges + at.now.found.edges, before.found.vertices + at.now.found.vertices};
        at.now = frontier{sum, 0, sum.vertices > 0, 0, 0};
    }
    at.swapped ^= at.last == PULL, at.pulled |= at.last == PULL;
    if (!all_came) store_relaxed(&state.failed, 1);
    if (!all_came || failed)
        at.next = FAIL;
    else if (at.now.rests > 0)
        at.next = PULL_RESTS;
    else if (at.now.queued == 0 && !at.now.must_pull && !at.now.unqueued)
        at.next = END;  // the frontier has no vertex with arcs
    else
        decide(search, at, expected);
    return at;
}

// Prepares the step that begins now. Records the step's first level, and empties the frontier that the following
// step fills. For example, at the start of step 5 it empties the frontier that step 6 fills. Step 4 has read this
// frontier, because three frontiers are used in turn. All blocks read its counts before the barrier that ended step
// 4. One thread of the grid calls this function.
__device__ __forceinline__ void prepare_step(const bfs &search, level_record *records, const course &at) {
    if (at.next == PULL) note_level(records, at.level, at.now.found.vertices, layers::pull);
    if (at.next == PUSH || at.next == LIST || (at.next == END && at.now.found.vertices > 0))
        note_level(records, at.level, at.now.found.vertices, layers::push);
    search.state->frontiers[at.step + 2] = next_frontier{};
    if (at.next == LIST) search.state->unreached[at.step + 2] = tally{0, 0};
    if (at.next == END) search.state->first_step = at.step % 3;
}
