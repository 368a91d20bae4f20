// grow_parts: divides a graph into parts that grow from start vertices, the seeds.
//
// All seeds grow at once, level by level, until they meet. So a part holds the vertices nearest to its seed:
// it is a Voronoi cell of the graph. Then each part grows inwards from its boundary. The vertex that it
// reaches last lies near its centre and becomes the next seed. After several rounds (Lloyd 1982) parts are
// round and of similar size. A part that is too large gets a second seed: the vertex that it reached last. A
// part that is too small loses its seed.
//
// The last growth inwards ranks the vertices of a part, boundary first. So vertices with consecutive ranks are
// often close to each other in the graph. Consecutive ranks get places in different groups of PLACES places. Parts
// that are still too large are cut in order of rank. Vertices of components without a seed are taken in no
// particular order. Only speed depends on the quality of the parts.
//
// Races: threads claim vertices by compare-and-swap. Several threads store the element of `last` for one seed. Any
// vertex of the last level is a valid value.
#include "barrier.cuh"
#include "parts.cuh"

constexpr int NO_LABEL = -1;

struct growth {
    grid_barrier barrier;
    int failed;    // true if a block waited too long at the barrier
    // The number of vertices that a level finds. The index is the level modulo 3. At the start, found[2] is the
    // number of start vertices, which count as level -1.
    int found[3];
    int number;    // number of seeds of the next round
    int unlabelled;
};

// Calls visit(w) for every out-neighbour and in-neighbour w of v.
template <class Visit>
__device__ __forceinline__ void neighbours(const graph_rows &graph, int v, Visit visit) {
    for (edge_t e = graph.row_offsets[v], end = graph.row_offsets[v + 1]; e < end; ++e) visit(graph.column_indices[e]);
    if (graph.row_offsets == graph.column_offsets) return;  // the graph is symmetric
    for (edge_t e = graph.column_offsets[v], end = graph.column_offsets[v + 1]; e < end; ++e)
        visit(graph.row_indices[e]);
}

// The state of a growth. `labels` has a label for each vertex: the number of the seed whose part the vertex belongs
// to, or NO_LABEL. `ranks` has the rank of each vertex among the vertices with its label. `queue` holds vertices in
// the order in which they are found. `last` has, for each label, the vertex that was found last. `sizes` has, for
// each label, the number of vertices with this label.
struct labelling {
    int *labels, *ranks, *queue, *last, *sizes;

    __device__ __forceinline__ void append(int v, int label, unsigned place) const {
        ranks[v] = atomicAdd(&sizes[label], 1);
        last[label] = v;  // benign race: any vertex of the last level is a right value
        queue[place] = v;
    }
};

// Draws the seeds of the first growth: one random vertex from each range of vertex ids.
extern "C" __global__ void draw_seeds(int *seeds, int number, int num_vertices) {
    for (unsigned i = global_thread(); i < number; i += grid_threads()) {
        const long long first = (long long)num_vertices * i / number, end = (long long)num_vertices * (i + 1) / number;
        seeds[i] = (int)(first + (i * 2654435761u >> 8) % (unsigned)(end - first));
    }
}

// Begins to grow parts of the graph from start vertices, the seeds. The host has set all labels to NO_LABEL.
extern "C" __global__ void plant(labelling to, const int *seeds, growth *state, int number) {
    for (unsigned i = global_thread(); i < number; i += grid_threads()) {
        to.labels[seeds[i]] = i;
        to.sizes[i] = 0;
        to.append(seeds[i], i, i);
    }
    if (global_thread() == 0) state->found[0] = state->found[1] = 0, state->found[2] = number;
}

// Begins to grow each part inwards, from its boundary: the vertices that have a neighbour in another part. The
// label of a vertex is the number of its part.
extern "C" __global__ void find_boundary(graph_rows graph, const int *labels, labelling to, growth *state,
                                         int num_vertices) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const int label = labels[v];
        bool boundary = false;
        if (label != NO_LABEL) neighbours(graph, v, [&](int w) { boundary |= labels[w] != label; });
        to.labels[v] = boundary ? label : NO_LABEL;
        if (boundary) to.append(v, label, atomicAdd(&state->found[2], 1));
    }
}

// Grows all parts until they can reach no further vertex. A vertex gets the label of the part that reaches it
// first. All blocks must be resident.
extern "C" __global__ void grow(graph_rows graph, labelling to, growth *state, unsigned max_polls) {
    __shared__ unsigned size;
    unsigned begin = 0, end = 0;
    for (int level = 0;; ++level) {
        if (threadIdx.x == 0) size = *(volatile int *)&state->found[(level + 2) % 3];
        __syncthreads();
        begin = end, end += size;
        if (begin == end) return;
        int *found = &state->found[level % 3];
        for (unsigned i = begin + global_thread(); i < end; i += grid_threads()) {
            const int v = to.queue[i], label = to.labels[v];
            neighbours(graph, v, [&](int w) {
                if (*(volatile int *)&to.labels[w] == NO_LABEL && atomicCAS(&to.labels[w], NO_LABEL, label) == NO_LABEL)
                    to.append(w, label, end + atomicAdd(found, 1));
            });
        }
        if (global_thread() == 0) *(volatile int *)&state->found[(level + 1) % 3] = 0;
        if (!wait_for_all_blocks(&state->barrier, max_polls)) {
            if (threadIdx.x == 0) state->failed = 1;
            return;
        }
    }
}

// Chooses the seeds of the next round. `outwards` is the growth from the seeds of this round, and `inwards` is the
// growth from the boundaries of the parts. The next seed of a part is the vertex that `inwards` reached last. A
// part of more than `most` vertices gets a second seed, the vertex that `outwards` reached last. If a part has no
// boundary, the vertex that `outwards` reached last is its only seed. A part of fewer than `least` vertices gets no
// seed.
extern "C" __global__ void choose_seeds(labelling outwards, labelling inwards, int *seeds, growth *state, int least,
                                        int most, int number) {
    for (unsigned i = global_thread(); i < number; i += grid_threads()) {
        const int size = outwards.sizes[i];
        if (size < least) continue;
        const int far = outwards.last[i], centre = inwards.sizes[i] > 0 ? inwards.last[i] : far;
        seeds[atomicAdd(&state->number, 1)] = centre;
        if (size > most && far != centre) seeds[atomicAdd(&state->number, 1)] = far;
    }
}

// Gives ranks to the vertices that have none yet. The last growth started from the boundaries of parts,
// so it did not reach components without a boundary. Each of these components is a single part, or has
// no seed. Vertices of a component without a seed have no label, so they get the label `number`.
extern "C" __global__ void rank_rest(labelling outwards, labelling inwards, growth *state, int num_vertices,
                                     int number) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const int label = outwards.labels[v];
        if (label == NO_LABEL) {
            inwards.labels[v] = number;
            inwards.ranks[v] = atomicAdd(&state->unlabelled, 1);
        } else if (inwards.labels[v] == NO_LABEL) {
            inwards.labels[v] = label;
            inwards.ranks[v] = atomicAdd(&inwards.sizes[label], 1);
        }
    }
}

// Gives each vertex its place, which is its new number. The vertices with one label form parts of `most` vertices,
// in order of rank; the last part may be smaller. Within a part, vertices with consecutive ranks get places in
// different groups of PLACES places, see dealt_out(). Vertices with the label `number` lie in components without a
// seed, and form parts of `few` vertices.
extern "C" __global__ void give_places(labelling labels, const int *first_places, const growth *state, int *places,
                                       int *vertices, int num_vertices, int most, int few, int number) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const int label = labels.labels[v], rank = labels.ranks[v], whole = label < number ? most : few;
        const int before = rank / whole * whole;
        const int size = label < number ? labels.sizes[label] : state->unlabelled;
        const int place = first_places[label] + before + dealt_out(rank - before, min(whole, size - before));
        places[v] = place;
        vertices[place] = v;
    }
}
