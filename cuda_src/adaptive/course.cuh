// The course of a search: what its steps are, what is known between two of them, and what is decided by that.
#pragma once

#include "search.cuh"

constexpr float QUEUE_LOOKS = 8e5f;  // to put what is not queued yet in a queue, for all blocks to push
constexpr float MISS_LOOKS = 8e6f, MISS_LOOKS_OF_ARC = 10.0f;  // besides, by its longest row, if all are missed
constexpr int FAR_BELOW = 2;           // times that a frontier has fewer edges than pay if it is not asked again
constexpr float UNSURE = 1.6f;         // times, until a level has shown how arcs are spread
constexpr int MIXED = 64;              // vertices: with more than one further part for so many, parts are mixed
constexpr float LEAST_SPREAD = 0.02f;  // no smaller share of the expected vertices is believed

// A level pushed or pulled by all blocks, what is left of long rows of a pulled one, a frontier put in a queue after
// all, a run of levels in the cluster; the end of the search, or its failure. BEGIN is what precedes the first step.
enum step_kind { PUSH, PULL, PULL_RESTS, QUEUE, RUN_LEVELS, END, FAIL, BEGIN };

// What a block knows of the search. Its first thread writes it between two steps, while the others wait: they would
// each take as long, and keep it all in registers.
struct course {
    long long unreached, unexplored;
    float spread;       // vertices that the last level found, as a share of those expected
    float cover;        // the same of arcs, levels before included; 0 before there was one
    float worth;        // edges of a frontier from which on pulling pays, as last computed
    frontier now;
    edge_t expanded;    // edges of the frontier that the last level has expanded
    int swapped;        // whether the bitmap that is complete is the second one
    int step, level;
    step_kind last, next;
    int unlearned;      // whether what the last level has found is still to be learned from
    int mixed;          // whether the parts queued are of short rows and of hubs
    edge_share share;   // of a block in the edges that are queued in the next step

    // Whether the next step queues what the last one, a push, has claimed: it is still on the blocks' lists.
    __device__ __forceinline__ bool queues_list() const { return next == QUEUE && last == PUSH; }
};

// The share of `rows` unreached vertices, with `arcs` arcs, that this number of edges meets if they are spread evenly:
// `hits` of them lead to such vertices, and meet about min(hits, rows).
__device__ __forceinline__ float met_by(edge_t edges, float rows, float arcs, const bfs &search) {
    const float hits = __fdividef((float)edges * arcs, (float)search.num_edges);
    return __fdividef(hits, hits + rows + 1);
}

// The number of edges of a frontier from which on looking for parents is expected to cost less than pushing them: with
// c for the looks that one costs (`pushed_edge` if it leads to a new vertex, else a quarter of that), the solution of
// edges * c = other looks + min(unreached * unexplored / spread / edges, unexplored).  adaptive.md says why. It is an
// estimate, so quick instructions will do; all blocks get the same.
__device__ __forceinline__ float edges_worth_pulling(const bfs &search, const course &at) {
    const float rows = fmaxf((float)at.unreached, 0);  // parts have been counted for some
    const float arcs = fmaxf((float)at.unexplored, 0);
    const float leading_on = at.spread * __fdividef(arcs, (float)search.num_edges);
    const float c = (float)search.when.pushed_edge * (0.25f + 0.75f * leading_on);
    const float missed = 1 - at.cover * met_by(at.now.found.edges, rows, arcs, search);
    const float chain = at.cover > 0 ? fminf(missed * missed * MISS_LOOKS, missed * arcs * MISS_LOOKS_OF_ARC) : 0;
    const float queue = at.now.unqueued && at.now.found.edges / QUAD > search.when.small ? QUEUE_LOOKS : 0;
    const float fixed = fmaxf(rows + (float)search.num_vertices / 4 + chain - queue, 1);
    const float square = fixed * fixed + 4 * c * __fdividef(rows * arcs, at.spread);
    const float meeting = fixed + square * rsqrtf(square);
    return search.when.may_pull && c > 0 ? __fdividef(fminf(meeting, 2 * (fixed + arcs)), 2 * c) : 1e30f;  // never
}

// Learn from the last level how arcs are spread.
__device__ __forceinline__ void learn_spread(const bfs &search, course &at) {
    const float rows = fmaxf((float)at.unreached, 0), arcs = fmaxf((float)at.unexplored, 0);
    const float met = met_by(at.expanded, rows, arcs, search);
    at.spread = fminf(fmaxf(__fdividef((float)at.now.found.vertices, rows * met + 1), LEAST_SPREAD), 1.0f);
    const float cover = fminf(fmaxf(__fdividef((float)at.now.found.edges, arcs * met + 1), at.spread), 1.0f);
    at.cover = at.cover > 0 ? (at.cover + cover) / 2 : cover;
}

// The share of one of `blocks` blocks in the limit to the edges that are queued, since more are pulled.
__device__ __forceinline__ edge_share share_of(const bfs &search, float worth_pulling, unsigned blocks) {
    if (!search.when.may_pull) return edge_share::unlimited();
    return {1 + (unsigned)fminf(__fdividef(worth_pulling, (float)(blocks * edge_share::UNITS)), 1e9f),
            blocks * edge_share::UNITS};
}

// Whether parts of short rows and of hubs are queued together. A cluster leaves parts of QUAD arcs, long rows excepted.
__device__ __forceinline__ bool parts_are_mixed(const course &at) {
    if (at.last == RUN_LEVELS) return at.now.found.edges > QUAD * (at.now.queued + at.now.queued / 16);
    return at.now.queued > at.now.found.vertices + at.now.found.vertices / MIXED;
}

// Learn from what the last step has found, and take it off what is left: roughly, since a cluster tells neither what it
// has expanded nor how many vertices it hands on.
__device__ __forceinline__ void learn(const bfs &search, course &at) {
    if (at.last == PUSH || at.last == PULL || at.last == PULL_RESTS) learn_spread(search, at);
    if (at.last == QUEUE) return;
    at.unreached -= at.last == RUN_LEVELS ? at.now.queued : at.now.found.vertices;
    at.unexplored -= at.now.found.edges;
}

// Decide on the next step. A frontier far below the one from which on pulling paid is pushed without computing anew
// from which on it pays: all wait meanwhile. What a pushed level has shown is learned while the next is waited for;
// both are pushed, so the next has a share by then, as last computed.
__device__ __forceinline__ void decide(const bfs &search, course &at) {
    const bool pulled = at.last == PULL || at.last == PULL_RESTS;
    const bool far_below = !pulled && !at.now.must_pull && (float)at.now.found.edges * FAR_BELOW < at.worth;
    // Few parts, in the measure of a cluster. What turns out not to fit its queues it has handed back.
    const bool few = at.last != RUN_LEVELS && at.now.found.edges / QUAD + at.now.queued <= search.when.small;
    at.unlearned = far_below && at.last == PUSH && !at.now.unqueued && !few;
    if (!at.unlearned) learn(search, at);
    if (!far_below) at.worth = edges_worth_pulling(search, at);
    if (at.now.must_pull || (at.last != QUEUE && (float)at.now.found.edges > at.worth)) {
        at.next = PULL;
    } else if (at.now.unqueued) {
        at.next = QUEUE;
        at.share = edge_share::unlimited();
    } else if (few) {
        at.next = RUN_LEVELS;
        at.share = share_of(search, at.worth, CLUSTER_SIZE);
    } else {
        at.next = PUSH;
        at.mixed = parts_are_mixed(at);
        if (!at.unlearned) at.share = share_of(search, at.cover > 0 ? at.worth : at.worth * UNSURE, gridDim.x);
    }
}

// Wait until all blocks have ended the step, read what they found, and decide on the next. For the first thread of
// each block, which has arrived at the barrier.
__device__ __forceinline__ course after_step(const bfs &search, int max_polls, course at) {
    search_state &state = *search.state;
    const next_frontier &now = state.frontiers[++at.step];
    const frontier before = at.now;
    if (at.unlearned) {  // put off by decide(), and done while the others end this step
        learn(search, at);
        at.worth = edges_worth_pulling(search, at);
        at.share = share_of(search, at.worth, gridDim.x);
    }
    bool notice = false, failed = false;
    const bool all_came = now.barrier.wait(at.now, notice, max_polls);
    at.last = at.next;
    if (notice) {
        at.now.must_pull = at.now.unqueued && load_relaxed(&now.unlisted);
        at.now.rests = load_relaxed(&now.rests);
        failed = load_relaxed(&state.failed);
        if (at.last == RUN_LEVELS) at.level = load_relaxed(&state.level);
    }
    if (at.last == PUSH || at.last == PULL) ++at.level, at.expanded = before.found.edges;
    if (at.last == PULL_RESTS) {  // it has gone on with the level of the step before, and nothing of both is queued
        const tally sum = {before.found.edges + at.now.found.edges, before.found.vertices + at.now.found.vertices};
        at.now = frontier{sum, 0, sum.vertices > 0, 0, 0};
    }
    at.swapped ^= at.last == PULL;
    if (!all_came) store_relaxed(&state.failed, 1);
    if (!all_came || failed)
        at.next = FAIL;
    else if (at.now.rests > 0)
        at.next = PULL_RESTS;
    else if (at.now.queued == 0 && !at.now.must_pull && !at.now.unqueued)
        at.next = END;  // no vertex is left, or only some without arcs
    else
        decide(search, at);
    return at;
}

// Note the level that a step begins with, and empty the frontier that the step after it adds to. For one thread.
__device__ __forceinline__ void prepare_step(const bfs &search, level_record *records, const course &at) {
    if (at.next == PULL) note_level(records, at.level, at.now.found.vertices, LAYER_PULL);
    if (at.next == PUSH || (at.next == END && at.now.found.vertices > 0))
        note_level(records, at.level, at.now.found.vertices, LAYER_PUSH);
    search.state->frontiers[at.step + 2] = next_frontier{};
    if (at.next == END) search.state->first_step = at.step % 3;
}
