// grow_parts: parts of a graph, grown from seeds.
//
// All seeds grow at once, a level at a time, until they meet: each part is what is nearest to its seed, a Voronoi cell of
// the graph. Then the cells' boundaries grow inwards in the same way, and the vertex that is reached last in each is a
// better seed: after some such rounds (Lloyd 1982) cells are round and about equal. A cell that is too large gets a
// second seed, the vertex that it reached last; a small one loses its own.
//
// In the end the last growth inwards gives the order of the vertices of a part, the boundary first: so what others
// read of it lies together. A part that is still too large is cut, and vertices in components without a seed are taken
// in the order of their ids. Nothing else relies on how good parts are.
//
// Races. Claims are atomic. `last` of a label is one of those that are stored in the last level that stores any.
#include "barrier.cuh"
#include "parts.cuh"

#define NO_LABEL (-1)

struct growth {
    grid_barrier barrier;
    int failed;    // a block gave up waiting for the others
    int found[3];  // vertices that a level has found, modulo three; at first the last of them are the seeds
    int number;    // of seeds
    int unlabelled;
};

// Call visit(neighbour) for those of v along arcs of both directions.
template <class Visit>
__device__ __forceinline__ void neighbours(const graph_rows &graph, int v, Visit visit) {
    for (edge_t e = graph.row_offsets[v], end = graph.row_offsets[v + 1]; e < end; ++e) visit(graph.column_indices[e]);
    if (graph.row_offsets == graph.column_offsets) return;  // both directions are the same
    for (edge_t e = graph.column_offsets[v], end = graph.column_offsets[v + 1]; e < end; ++e)
        visit(graph.row_indices[e]);
}

// What a growth has: of all vertices their label, or none, and their number among those of that label; the vertices in
// the order in which they were found; of all labels the vertex found last, and the number of vertices.
struct labelling {
    int *labels, *ranks, *queue, *last, *sizes;

    __device__ __forceinline__ void append(int v, int label, unsigned place) const {
        ranks[v] = atomicAdd(&sizes[label], 1);
        last[label] = v;  // benign race: any of a level's vertices will do
        queue[place] = v;
    }
};

// The seeds of the first growth: one vertex drawn from each range of ids.
extern "C" __global__ void draw_seeds(int *seeds, int number, int num_vertices) {
    for (unsigned i = global_thread(); i < number; i += grid_threads()) {
        const long long first = (long long)num_vertices * i / number, end = (long long)num_vertices * (i + 1) / number;
        seeds[i] = (int)(first + (i * 2654435761u >> 8) % (unsigned)(end - first));
    }
}

// Begin a growth from seeds. Labels are set to none before.
extern "C" __global__ void plant(labelling to, const int *seeds, growth *state, int number) {
    for (unsigned i = global_thread(); i < number; i += grid_threads()) {
        to.labels[seeds[i]] = i;
        to.sizes[i] = 0;
        to.append(seeds[i], i, i);
    }
    if (global_thread() == 0) state->found[0] = state->found[1] = 0, state->found[2] = number;
}

// Begin a growth inwards from the boundaries of parts.
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

// Grow until nothing is left that can be reached. The blocks are all resident.
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

// The seeds of the next growth, from the vertices that the last one and that inwards have reached last.
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

// Give a rank to what no boundary was grown to: whole components with a seed, and those without, whose label is then
// `number`.
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

// Give each vertex its place. The vertices of a label, in the order of their ranks, make parts of `most` each and one of
// the rest; of the last label, of which there are as many as the state says, parts of `few`.
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
