// The course of a search: its steps, what each block knows between two steps, and the decision on the next step. The
// first thread of each block decides. All blocks make the same decision, because the barrier gives all of them
// the same numbers.
#pragma once

#include "arc_spread.cuh"
#include "search.cuh"

// Prices, in looks at the bitmap. They were chosen by times on an H200.
// Price of a QUEUE step, and of each vertex in the step.
constexpr float QUEUE_LOOKS = 8e5f, QUEUE_LOOKS_OF_VERTEX = 5.0f;
// Price of a pulled level's longest rows, if no row has a parent.
constexpr float MISS_LOOKS = 8e6f, MISS_LOOKS_OF_ARC = 10.0f;
constexpr int FAR_BELOW = 2;           // see decide(): how many times smaller than `worth`
constexpr float UNSURE = 1.6f;         // factor on `worth` until a level has shown how arcs are spread
constexpr int MIXED = 64;              // parts are mixed if there is more than one further part per MIXED vertices

// The kinds of steps. PUSH, LIST and QUEUE use the blocks' lists of claimed vertices. PUSH: a level pushed by all
// blocks. LIST: a pushed level whose vertices are only listed, since the next level is likely to be pulled. QUEUE: a
// frontier that was not queued is queued. PULL: a pulled level. PULL_RESTS: the rest of the longest rows of a pulled
// level. RUN_LEVELS: several levels in the first cluster. BEGIN stands for the time before the first step.
enum step_kind { PUSH, LIST, QUEUE, PULL, PULL_RESTS, RUN_LEVELS, END, FAIL, BEGIN };

// The knowledge of a block about the search, in shared memory. The first thread of the block writes it between two
// barriers of the block.
struct course {
    arc_spread left;
    float worth;        // the number of edges above which pulling a level costs less than pushing it, as last computed
    frontier now;       // the frontier that the next step expands
    edge_t expanded;    // edges of the frontier that the last level expanded
    int swapped;        // true if the complete bitmap is `visited_then`
    int pulled;         // true if this search has pulled a level
    int step, level;
    step_kind last, next;
    int unlearned;      // true if after_step() must still learn from what the last level found
    int mixed;          // true if the queue has parts of short rows and of hubs
    edge_share share;   // a block's share of the edges that the next step may queue

    __device__ __forceinline__ bool pushed() const { return last == PUSH || last == LIST; }
    // Returns whether the next step, a PULL after a LIST, counts unreached vertices and their arcs, because LIST does
    // not count edges.
    __device__ __forceinline__ bool recounts() const { return next == PULL && last == LIST; }
    __device__ __forceinline__ bool uses_lists() const { return next <= QUEUE; }
    // Returns whether the next step queues from the lists of the last push, which must then be kept.
    __device__ __forceinline__ bool queues_list() const { return next == QUEUE && pushed(); }
};

// Returns E: a frontier with more edges is cheaper to pull. A pushed edge costs `pushed_edge` looks if it leads
// to a new vertex, and otherwise a quarter of `pushed_edge` looks. Pulling costs one look per unreached vertex,
// and a walk over the bitmaps. It also costs further looks until rows meet the frontier, and the wait for rows
// that never meet it. Pushing an unqueued frontier also costs a QUEUE step.
__device__ __forceinline__ float edges_worth_pulling(const bfs &search, const course &at) {
    const arc_spread &left = at.left;
    const float leading_on = left.spread * __fdividef(left.arcs(), (float)search.num_edges);
    const float cost = (float)search.when.pushed_edge * (0.25f + 0.75f * leading_on);
    const float miss = 1 - left.cover * left.met_by(at.now.found.edges, search.num_edges);
    const float chain = left.cover > 0 ? fminf(miss * miss * MISS_LOOKS, miss * left.arcs() * MISS_LOOKS_OF_ARC) : 0;
    const bool queued = !at.now.unqueued || at.now.found.edges / QUAD <= search.when.small;
    const float queue = queued ? 0 : QUEUE_LOOKS + QUEUE_LOOKS_OF_VERTEX * (float)at.now.found.vertices;
    const float others = left.rows() + (float)search.num_vertices / 4 + chain - queue;
    return search.when.may_pull && cost > 0 ? left.edges_meeting(cost, fmaxf(others, 1)) : 1e30f;  // never
}

// Returns whether the level to be pushed is expected to find so many edges that the next level is pulled. In
// that case the push is a LIST step, which reads no offsets. Fewer arcs are expected while `cover` is unknown.
__device__ __forceinline__ bool next_is_pulled(const bfs &search, const course &at) {
    const arc_spread &left = at.left;
    const float met = left.met_by(at.now.found.edges, search.num_edges);
    return left.rows() * met * left.spread > (float)search.when.listed &&
           left.arcs() * met * (left.cover > 0 ? left.cover : 1 / UNSURE) > at.worth;
}

// Returns how many edges each of `blocks` blocks may queue. If more edges are found, the frontier is pulled.
__device__ __forceinline__ edge_share share_of(const bfs &search, float worth_pulling, unsigned blocks) {
    return search.when.may_pull ? edge_share::of(worth_pulling, blocks) : edge_share::unlimited();
}

// Returns whether the queue has parts of short rows and of hubs. A cluster leaves parts of QUAD arcs, except for
// spilled rows.
__device__ __forceinline__ bool parts_are_mixed(const course &at) {
    if (at.last == RUN_LEVELS) return at.now.found.edges > QUAD * (at.now.queued + at.now.queued / 16);
    return at.now.queued > at.now.found.vertices + at.now.found.vertices / MIXED;
}

// Learn from what the last step found, and subtract it from what is left. After RUN_LEVELS the result is rough:
// the cluster reports only its last frontier, and each part of this frontier counts as a vertex.
__device__ __forceinline__ void learn(course &at, const expected_find &expected) {
    if (at.pushed() || at.last == PULL || at.last == PULL_RESTS) at.left.learn(at.now.found, expected);
    if (at.last == QUEUE) return;
    at.left.unreached -= at.last == RUN_LEVELS ? at.now.queued : at.now.found.vertices;
    at.left.unexplored -= at.now.found.edges;
}

// Decide on the next step. All threads of the block wait meanwhile, so a frontier far below `worth` is pushed without
// computing `worth` anew. after_step() computes `worth` later, while it waits for other blocks. Until then the
// next level uses the previous `share`.
__device__ __forceinline__ void decide(const bfs &search, course &at, const expected_find &expected) {
    const bool pulled = at.last == PULL || at.last == PULL_RESTS;
    const bool far_below = !pulled && !at.now.must_pull && (float)at.now.found.edges * FAR_BELOW < at.worth;
    // Returns whether the cluster can take the frontier: few parts, and no fast growth. A frontier that the cluster has
    // just given back does not count.
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
        at.next = at.now.found.edges > search.when.listed && next_is_pulled(search, at) ? LIST : PUSH;
        at.mixed = parts_are_mixed(at);
        if (!at.unlearned) at.share = share_of(search, at.left.cover > 0 ? at.worth : at.worth * UNSURE, gridDim.x);
    }
}

// Wait until all blocks have ended the step, read what they found, and decide on the next step. Returns the new course.
// The first thread of each block calls it.
__device__ __forceinline__ course after_step(const bfs &search, int max_polls, course at) {
    search_state &state = *search.state;
    const next_frontier &now = state.frontiers[++at.step];
    const frontier before = at.now;
    if (at.unlearned) {  // decide() has left this work to the time in which other blocks end this step
        learn(at, at.left.expected(at.expanded, search.num_edges));
        at.worth = edges_worth_pulling(search, at);
        at.share = share_of(search, at.worth, gridDim.x);
    }
    // PULL_RESTS continues the level of the previous step, and QUEUE expands nothing.
    if (at.next != PULL_RESTS && at.next != QUEUE) at.expanded = before.found.edges;
    expected_find expected = at.left.expected(at.expanded, search.num_edges);  // computed early, because it takes long
    bool notice = false, failed = false, recounted = at.recounts();
    const bool all_came = now.barrier.wait(at.now, notice, max_polls);
    at.last = at.next;
    if (notice) {
        at.now.must_pull = at.now.unqueued && load_relaxed(&now.unlisted);
        at.now.rests = load_relaxed(&now.rests);
        failed = load_relaxed(&state.failed);
        if (recounted)
            at.left.unreached = load_relaxed(&state.unreached[at.step].vertices),
            at.left.unexplored = load_relaxed(&state.unreached[at.step].edges),
            expected = at.left.expected(at.expanded, search.num_edges);
    }
    if (at.last == RUN_LEVELS) at.level = at.now.found.vertices, at.now.found.vertices = 0;
    if (at.last == LIST) at.now.found.edges = at.left.edges_of(at.now.found.vertices);
    // The LIST step had subtracted an estimate.
    if (at.last == QUEUE) at.left.unexplored += (long long)before.found.edges - at.now.found.edges;
    if (at.pushed() || at.last == PULL) ++at.level;
    // PULL and PULL_RESTS are one level: add their sums. Parts that PULL queued are dropped: QUEUE starts from the bitmaps.
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
        at.next = END;  // no vertex is left, or only vertices without arcs
    else
        decide(search, at, expected);
    return at;
}

// Note the first level of a step, and empty the frontier to which the following step adds. One thread of the
// grid calls it. All blocks have read the emptied frontier before the last barrier.
__device__ __forceinline__ void prepare_step(const bfs &search, level_record *records, const course &at) {
    if (at.next == PULL) note_level(records, at.level, at.now.found.vertices, layers::pull);
    if (at.next == PUSH || at.next == LIST || (at.next == END && at.now.found.vertices > 0))
        note_level(records, at.level, at.now.found.vertices, layers::push);
    search.state->frontiers[at.step + 2] = next_frontier{};
    if (at.next == LIST) search.state->unreached[at.step + 2] = tally{0, 0};
    if (at.next == END) search.state->first_step = at.step % 3;
}
