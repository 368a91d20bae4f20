// tree_check: whether parents are a breadth-first tree, by Graph500's five rules, on the device.
//
// Levels are counted from the parents alone. In each round every vertex goes on from its ancestor to that one's, and
// adds up the steps; a tree of depth D is climbed in log2(D) rounds, and what has not ended at the source by then never
// will: rule 1. A vertex is one level below its parent by this way of counting: rule 2. One pass over the edges, a
// thread for each, holds the levels of both ends together (rules 3 and 4) and marks vertices whose parent an edge leads
// from (rule 5). Together the rules say that levels are true and that nothing is missing; see check_parents in
// bfsbench/families/bfs/parents.py, the same check on the host.
//
// The host defines NO_PARENT.
#include "graph.cuh"

#define RULES 5

// What has been found. The host sets `first` to the largest integer, and the rest to 0.
struct tree_findings {
    unsigned long long edges;  // both ends of which are in the tree, as often as they are listed
    int vertices, depth;       // of the tree
    int moved;                 // an ancestor in the last round
    int first[RULES];          // vertex at which each rule is broken

    __device__ void broken(int rule, int v) { atomicMin(&first[rule - 1], v); }
};

// Begin at the parents: `above` is a vertex that is `steps` above; a root and what is not in the tree are their own.
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

// One round, from one pair of arrays to the other.
extern "C" __global__ void climb(const int *__restrict__ above, const int *__restrict__ steps, int *above_then,
                                 int *steps_then, int num_vertices, tree_findings *found) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const int u = above[v], further = above[u];
        above_then[v] = further;
        steps_then[v] = steps[v] + steps[u];
        if (further != u) found->moved = 1;  // benign race: all write the same
    }
}

// Make levels of the steps, once all have climbed to the top.
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
    unsigned *joined;  // a bit a vertex: an edge leads to it from its parent

    __device__ void check_arc(int u, int v, int from, int to, tree_findings *found) const {
        if (from == UNREACHED) return;
        if (to == UNREACHED) found->broken(4, u);
        if (to > from + 1) found->broken(3, u);
        if (to == from + 1 && parents[v] == u) atomicOr(&joined[v / 32], 1u << v % 32);
    }
};

// Hold both ends of each edge together; with `both_ways` it leads from its tail to its head and back.
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

// Find vertices of the tree that no edge joins to their parent, and count all of it.
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
