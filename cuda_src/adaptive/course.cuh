// The course of a search: what its steps are, what is known between two of them, and what is decided by that.
#pragma once

#include "arc_spread.cuh"
#include "search.cuh"

constexpr float QUEUE_LOOKS = 8e5f, QUEUE_LOOKS_OF_VERTEX = 5.0f;  // to queue a frontier after all, and its vertices
constexpr float MISS_LOOKS = 8e6f, MISS_LOOKS_OF_ARC = 10.0f;  // besides, by its longest row, if all are missed
constexpr int FAR_BELOW = 2;           // times that a frontier has fewer edges than pay if it is not asked again
constexpr float UNSURE = 1.6f;         // times, until a level has shown how arcs are spread
constexpr int MIXED = 64;              // vertices: with more than one further part for so many, parts are mixed

// A level pushed by all blocks; one pushed but only listed, as the next is likely to be pulled; a frontier queued after
// all: these use lists of blocks. A level pulled; its long rows; levels of a cluster; the end; failure; the beginning.
enum step_kind { PUSH, LIST, QUEUE, PULL, PULL_RESTS, RUN_LEVELS, END, FAIL, BEGIN };

// What a block knows of the search. Its first thread writes it between two steps, while the others wait.
struct course {
    arc_spread left;
    float worth;        // edges of a frontier from which on pulling pays, as last computed
    frontier now;
    edge_t expanded;    // edges of the frontier that the last level has expanded
    int swapped;        // whether the bitmap that is complete is the second one
    int pulled;         // whether a level has been pulled
    int step, level;
    step_kind last, next;
    int unlearned;      // whether what the last level has found is still to be learned from
    int mixed;          // whether the parts queued are of short rows and of hubs
    edge_share share;   // of a block in the edges that are queued in the next step

    __device__ __forceinline__ bool pushed() const { return last == PUSH || last == LIST; }
    // Whether the next step, a pulled level, counts what is unreached, since LIST has not counted edges.
    __device__ __forceinline__ bool recounts() const { return next == PULL && last == LIST; }
    __device__ __forceinline__ bool uses_lists() const { return next <= QUEUE; }
    // Whether the next step queues what a push has left on the lists.
    __device__ __forceinline__ bool queues_list() const { return next == QUEUE && pushed(); }
};

// The number of edges of a frontier from which on looking for parents is expected to cost less than pushing them, at
// `pushed_edge` looks for one that leads to a new vertex, else a quarter of that. adaptive.md says why.
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

// Whether a level to be pushed is expected to find so much that the next one is pulled: then the offsets of what it
// finds need not be read. As long as no level has shown how arcs are spread, less is expected.
__device__ __forceinline__ bool next_is_pulled(const bfs &search, const course &at) {
    const arc_spread &left = at.left;
    const float met = left.met_by(at.now.found.edges, search.num_edges);
    return left.rows() * met * left.spread > (float)search.when.listed &&
           left.arcs() * met * (left.cover > 0 ? left.cover : 1 / UNSURE) > at.worth;
}

// The share of one of some blocks in the edges that are queued, since more are pulled.
__device__ __forceinline__ edge_share share_of(const bfs &search, float worth_pulling, unsigned blocks) {
    return search.when.may_pull ? edge_share::of(worth_pulling, blocks) : edge_share::unlimited();
}

// Whether parts of short rows and of hubs are queued together. A cluster leaves parts of QUAD arcs, long rows excepted.
__device__ __forceinline__ bool parts_are_mixed(const course &at) {
    if (at.last == RUN_LEVELS) return at.now.found.edges > QUAD * (at.now.queued + at.now.queued / 16);
    return at.now.queued > at.now.found.vertices + at.now.found.vertices / MIXED;
}

// Learn from what the last step has found, and take it off what is left: roughly, a cluster tells only what it leaves.
__device__ __forceinline__ void learn(course &at, const expected_find &expected) {
    if (at.pushed() || at.last == PULL || at.last == PULL_RESTS) at.left.learn(at.now.found, expected);
    if (at.last == QUEUE) return;
    at.left.unreached -= at.last == RUN_LEVELS ? at.now.queued : at.now.found.vertices;
    at.left.unexplored -= at.now.found.edges;
}

// Decide on the next step. A frontier far below the one from which on pulling paid is pushed without computing anew
// from which on it pays: all wait meanwhile. What a pushed level has shown is learned while the next is waited for;
// both are pushed, so the next has a share by then, as last computed.
__device__ __forceinline__ void decide(const bfs &search, course &at, const expected_find &expected) {
    const bool pulled = at.last == PULL || at.last == PULL_RESTS;
    const bool far_below = !pulled && !at.now.must_pull && (float)at.now.found.edges * FAR_BELOW < at.worth;
    // Few parts, in the measure of a cluster, and not about to be many. What did not fit its queues it has handed back.
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

// Wait until all blocks have ended the step, read what they found, decide on the next: for each block's first thread.
__device__ __forceinline__ course after_step(const bfs &search, int max_polls, course at) {
    search_state &state = *search.state;
    const next_frontier &now = state.frontiers[++at.step];
    const frontier before = at.now;
    if (at.unlearned) {  // put off by decide(), and done while the others end this step
        learn(at, at.left.expected(at.expanded, search.num_edges));
        at.worth = edges_worth_pulling(search, at);
        at.share = share_of(search, at.worth, gridDim.x);
    }
    // PULL_RESTS goes on with what the step before has expanded, and QUEUE expands nothing.
    if (at.next != PULL_RESTS && at.next != QUEUE) at.expanded = before.found.edges;
    expected_find expected = at.left.expected(at.expanded, search.num_edges);  // now, while others are waited for
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
    if (at.last == QUEUE) at.left.unexplored += (long long)before.found.edges - at.now.found.edges;  // LIST has guessed
    if (at.pushed() || at.last == PULL) ++at.level;
    if (at.last == PULL_RESTS) {  // it has gone on with the level of the step before, and nothing of both is queued
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
        at.next = END;  // no vertex is left, or only some without arcs
    else
        decide(search, at, expected);
    return at;
}

// Note the level that a step begins with, and empty what the step after it adds to. For one thread.
__device__ __forceinline__ void prepare_step(const bfs &search, level_record *records, const course &at) {
    if (at.next == PULL) note_level(records, at.level, at.now.found.vertices, LAYER_PULL);
    if (at.next == PUSH || at.next == LIST || (at.next == END && at.now.found.vertices > 0))
        note_level(records, at.level, at.now.found.vertices, LAYER_PUSH);
    search.state->frontiers[at.step + 2] = next_frontier{};
    if (at.next == LIST) search.state->unreached[at.step + 2] = tally{0, 0};
    if (at.next == END) search.state->first_step = at.step % 3;
}
