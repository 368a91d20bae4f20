// tree_check: checks on the device whether parents form a breadth-first tree, by the five rules of Graph500.
//
// The kernels compute levels from the parents alone. In each round a vertex replaces its ancestor by this
// ancestor's ancestor and adds up the steps. After log2(D) rounds, rounded up, every vertex of a tree of depth D
// has the source as its ancestor. If a vertex has a parent, but its ancestor after the last round is not the
// source, no path of parents leads to the source: it breaks rule 1. The computed levels put each vertex one level
// below its parent, so rule 2 holds. One pass over the edges compares the levels of both ends (rules 3 and 4). The
// pass also marks vertices that an edge joins to their parent (rule 5). Together the rules imply that levels are
// right and no vertex is missing.
//
// check_parents in bfsbench/programs/families/bfs/parents.py does this check on the host. The host defines
// NO_PARENT.
#include "graph.cuh"

#define RULES 5

// The result of the check. The host sets each element of `first` to the largest integer and all other members
// to 0 before the check.
struct tree_findings {
    unsigned long long edges;  // number of listed edges with both ends in the tree
    int vertices, depth;       // number of the tree's vertices, and the tree's depth
    int moved;                 // true if a round changed an ancestor; the host sets it to 0 before each round
    int first[RULES];          // by rule: the smallest vertex that breaks the rule

    __device__ void broken(int rule, int v) { atomicMin(&first[rule - 1], v); }
};

// Prepares the first round. The ancestor above[v] of a vertex v is its parent, which is steps[v] = 1 step above v.
// A vertex that is its own parent, or has no valid parent, is its own ancestor, with 0 steps. Reports invalid
// parents, and a source that is not its own parent (rule 1).
extern "C" __global__ void begin_climb(const int *__restrict__ parents, int num_vertices, int source, int *above,
                                       int *steps, tree_findings *found) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const int parent = parents[v];
        const bool vertex = parent >= 0 && parent < num_vertices;
        if ((!vertex && parent != NO_PARENT) || (v == source && parent != v)) found->broken(1, v);
        above[v] = vertex ? parent : v;
        steps[v] = vertex && parent != v;
    }
}

// Runs one round: replaces each vertex's ancestor by the ancestor of this ancestor, and adds
// up the steps. Reads `above` and `steps`, and writes the results to a second pair of arrays.
extern "C" __global__ void climb(const int *__restrict__ above, const int *__restrict__ steps, int *above_then,
                                 int *steps_then, int num_vertices, tree_findings *found) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const int u = above[v], further = above[u];
        above_then[v] = further;
        steps_then[v] = steps[v] + steps[u];
        if (further != u) found->moved = 1;  // benign race: every thread stores the same value
    }
}

// After the last round, stores each vertex's number of steps to the source as its level. A vertex without a parent
// gets the level UNREACHED. Reports vertices that have a parent, but whose ancestor is not the source (rule 1).
extern "C" __global__ void end_climb(const int *__restrict__ parents, const int *__restrict__ above, int num_vertices,
                                     int source, int *steps, tree_findings *found) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (parents[v] == NO_PARENT)
            steps[v] = UNREACHED;
        else if (above[v] != source)
            found->broken(1, v);
    }
}

struct marked_tree {
    const int *parents, *levels;
    unsigned *joined;  // one bit per vertex, set if an edge leads to the vertex from its parent

    __device__ void check_arc(int u, int v, int from, int to, tree_findings *found) const {
        if (from == UNREACHED) return;
        if (to == UNREACHED) found->broken(4, u);
        if (to > from + 1) found->broken(3, u);
        if (to == from + 1 && parents[v] == u) atomicOr(&joined[v / 32], 1u << v % 32);
    }
};

// Compares the levels of both ends of each edge (rules 3 and 4). Marks in `joined` the vertices that an edge joins
// to their parent. Counts the edges with both ends in the tree. With `both_ways` an edge also stands for the arc
// from its head to its tail.
extern "C" __global__ void check_edges(const int *__restrict__ tails, const int *__restrict__ heads,
                                       long long num_edges, int both_ways, const int *__restrict__ parents,
                                       const int *__restrict__ levels, unsigned *joined, tree_findings *found) {
    const marked_tree tree = {parents, levels, joined};
    unsigned long long inside = 0;
    for (long long e = global_thread(); e < num_edges; e += grid_threads()) {
        const int u = tails[e], v = heads[e], from = levels[u], to = levels[v];
        tree.check_arc(u, v, from, to, found);
        if (both_ways) tree.check_arc(v, u, to, from, found);
        inside += from != UNREACHED && to != UNREACHED;
    }
    if (inside) atomicAdd(&found->edges, inside);
}

// Reports vertices of the tree, except the source, that no edge joins to their parent (rule 5). Counts the tree's
// vertices and computes its depth.
extern "C" __global__ void check_joined(const int *__restrict__ parents, const int *__restrict__ levels,
                                        const unsigned *__restrict__ joined, int num_vertices, int source,
                                        tree_findings *found) {
    int reached = 0, depth = 0;
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (parents[v] == NO_PARENT) continue;
        if (v != source && !(joined[v / 32] >> v % 32 & 1)) found->broken(5, v);
        depth = max(depth, levels[v]);
        ++reached;
    }
    if (reached) atomicAdd(&found->vertices, reached);
    if (depth) atomicMax(&found->depth, depth);
}
