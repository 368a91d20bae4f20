// pack_parts: packs the parts of a graph into arrays that blocks can load into shared memory.
//
// One block packs a part. A ghost of a part is a vertex of another part from which at most K arcs lead to a vertex
// of this part. The block finds ghosts hop by hop along in-arcs and keeps them in a hash table in shared memory.
// Then it numbers the ghosts by place. A packed part keeps only arcs to its own vertices and ghosts. Arcs to ghosts
// exactly K hops away are dropped. On a path of at most K arcs to an own vertex, only the first vertex can be K
// hops away. So the path contains no such arc.
//
// The kernel `measure` counts the ghosts for each K up to `hops`. Then the kernel `pack` writes the parts.
#include "parts.cuh"

constexpr unsigned EMPTY = 0xffffffff;  // marks an empty key of the hash table
constexpr int TOO_MANY = 0x7fffffff;  // stands for the number of ghosts if they do not fit the hash table
constexpr unsigned FAR = 0x8000;  // flag in the number of a ghost to which the part needs no arc

struct placing {
    const int *places;    // by vertex: its place
    const int *vertices;  // by place: its vertex
};

// The ghosts of one part, in a hash table in shared memory. The host defines TABLE = 1 << TABLE_BITS, and
// MAX_GHOSTS as three quarters of TABLE. So even if there are too many ghosts, each thread of the block still
// finds an empty entry in the table.
struct ghost_table {
    unsigned keys[TABLE];  // places of ghosts, by hash
    unsigned short numbers[TABLE];
    int places[TABLE];
    unsigned found;  // number of ghosts; may exceed MAX_GHOSTS
    unsigned quads;  // number of further quads, for vertices with more than four neighbours

    __device__ __forceinline__ unsigned slot(unsigned place) const { return place * 2654435761u >> (32 - TABLE_BITS); }

    // Finds the ghosts of a part, hop by hop. All threads of a block must call the function. If `ghosts` is
    // not null, ghosts[k] gets the number of ghosts up to k hops away, for each k from 1 to `hops`. ghosts[k]
    // gets TOO_MANY if these ghosts do not fit the table. Returns the number of ghosts up to hops - 1 hops
    // away, or TOO_MANY if the ghosts up to `hops` hops away do not fit.
    __device__ unsigned find(const graph_rows &graph, const placing &at, const part &cell, int hops, int *ghosts) {
        for (unsigned i = threadIdx.x; i < TABLE; i += blockDim.x) keys[i] = EMPTY;
        if (threadIdx.x == 0) found = quads = 0;
        __syncthreads();
        unsigned begin = 0, end = 0;  // the range of the ghosts that the last hop has found
        for (int hop = 1; hop <= hops; ++hop) {
            if (hop == 1)
                for (unsigned i = threadIdx.x; i < padded(cell.own); i += blockDim.x)
                    add_neighbours(graph, at, cell, cell.first_place + i);
            else
                for (unsigned i = begin + threadIdx.x; i < end; i += blockDim.x)
                    add_neighbours(graph, at, cell, places[i]);
            __syncthreads();
            begin = end, end = found;
            const bool full = end > MAX_GHOSTS;
            if (ghosts != nullptr && threadIdx.x == 0)
                for (int k = hop; k <= (full ? hops : hop); ++k) ghosts[k] = full ? TOO_MANY : end;
            __syncthreads();
            if (full) return TOO_MANY;
        }
        return begin;
    }

    __device__ __forceinline__ void add_neighbours(const graph_rows &graph, const placing &at, const part &cell,
                                                   int from) {
        const int v = at.vertices[from];
        if (v == NO_VERTEX) return;
        for (edge_t e = graph.column_offsets[v], last = graph.column_offsets[v + 1]; e < last; ++e) {
            const unsigned place = at.places[graph.row_indices[e]];
            if (place - cell.first_place >= padded(cell.own) && !insert(place)) return;
        }
    }

    // Adds a ghost to the table. Returns false if the table has no room.
    __device__ __forceinline__ bool insert(unsigned place) {
        if (*(volatile unsigned *)&found > MAX_GHOSTS) return false;
        for (unsigned i = slot(place);; i = (i + 1) % TABLE) {
            const unsigned key = atomicCAS(&keys[i], EMPTY, place);
            if (key == place) return true;
            if (key != EMPTY) continue;
            const unsigned number = atomicAdd(&found, 1);
            if (number >= MAX_GHOSTS) return false;
            places[number] = place;
            numbers[i] = (unsigned short)number;
            return true;
        }
    }

    // Numbers all ghosts in order of their places, so that ghosts that belong to one part are read
    // together. Sets the flag FAR of every ghost whose old number is `near` or larger, because the
    // part needs no arcs to this ghost. All threads of a block must call the function.
    __device__ void sort(unsigned near) {
        unsigned all = 2;
        while (all < found) all *= 2;
        for (unsigned i = found + threadIdx.x; i < all; i += blockDim.x) places[i] = 0x7fffffff;
        for (unsigned i = threadIdx.x; i < TABLE; i += blockDim.x)
            if (keys[i] != EMPTY && numbers[i] >= near) numbers[i] = FAR;
        __syncthreads();
        for (unsigned size = 2; size <= all; size *= 2)
            for (unsigned stride = size / 2; stride > 0; stride /= 2) {
                for (unsigned i = threadIdx.x; i < all / 2; i += blockDim.x) {
                    const unsigned a = i / stride * 2 * stride + i % stride, b = a + stride;
                    const int first = places[a], second = places[b];
                    if ((first > second) == ((a & size) == 0)) places[a] = second, places[b] = first;
                }
                __syncthreads();
            }
        for (unsigned i = threadIdx.x; i < found; i += blockDim.x) {
            const unsigned at = index_of(places[i]);
            numbers[at] = (unsigned short)(i | (numbers[at] & FAR));
        }
        __syncthreads();
    }

    // Returns the index of a ghost's key in the table. If the table lacks the key, returns the index of the
    // empty entry at which the search for the key ended.
    __device__ __forceinline__ unsigned index_of(unsigned place) const {
        unsigned i = slot(place);
        while (keys[i] != place && keys[i] != EMPTY) i = (i + 1) % TABLE;
        return i;
    }

    // Returns the number of the ghost at a place, with the flag FAR if the part needs no arc to it. Returns
    // FAR alone if the vertex at the place is not a ghost.
    __device__ __forceinline__ unsigned number(unsigned place) const {
        const unsigned i = index_of(place);
        return keys[i] == EMPTY ? FAR : numbers[i];
    }
};

// The adjacency lists of a part's own vertices and ghosts, after the ghosts have been found and sorted.
struct local_rows {
    const graph_rows &graph;
    const placing &at;
    const part &own;
    const ghost_table &ghosts;

    __device__ __forceinline__ unsigned first_ghost() const { return padded(own.own); }
    __device__ __forceinline__ unsigned vertices() const { return first_ghost() + padded(ghosts.found); }

    // Returns the place of ghost number `number`. The place of a vertex is its new id. The
    // last group of ghosts may have unused numbers. For these, the function returns NO_PLACE.
    __device__ __forceinline__ int ghost_place(unsigned number) const {
        return number < ghosts.found ? ghosts.places[number] : NO_PLACE;
    }
    // Returns the place of the vertex with a local id, or NO_PLACE if no vertex has this id.
    __device__ __forceinline__ int place(unsigned local) const {
        if (local < first_ghost()) return own.first_place + local;
        const unsigned id = local - first_ghost(), groups = padded(ghosts.found) / PLACES;
        return ghost_place(id % PLACES * groups + id / PLACES);
    }

    // Calls visit(id) for every out-neighbour of the vertex with the local id `local`. Leaves out the vertex itself,
    // and out-neighbours to which the part needs no arc. Does nothing if no vertex has this local id.
    template <class Visit>
    __device__ __forceinline__ void row(unsigned local, Visit visit) const {
        const int from = place(local), v = from == NO_PLACE ? NO_VERTEX : at.vertices[from];
        if (v == NO_VERTEX) return;
        for (edge_t e = graph.row_offsets[v], end = graph.row_offsets[v + 1]; e < end; ++e) {
            const unsigned place = at.places[graph.column_indices[e]], id = place - own.first_place;
            if (id < first_ghost()) {
                if (id != local) visit(id);
            } else {
                const unsigned ghost = ghosts.number(place);
                if (ghost & FAR) continue;
                const unsigned id = first_ghost() + dealt_out(ghost, ghosts.found);
                if (id != local) visit(id);
            }
        }
    }
};

// Stores, for each part, the number of its ghosts (vertices of other parts) up to 0, 1, ...,
// `hops` hops away. If `long_quads` is not null, the kernel also stores how many further quads
// the part needs for vertices with more than four neighbours. A quad holds four neighbours. If
// a part's ghosts do not fit the table, the part's element of `long_quads` is not written.
extern "C" __global__ void __launch_bounds__(1024)
    measure(graph_rows graph, placing at, const part *parts, int num_parts, int *ghosts, int *long_quads, int hops) {
    extern __shared__ ghost_table table[];
    for (unsigned p = blockIdx.x; p < num_parts; p += gridDim.x) {
        const part cell = parts[p];
        int *found = ghosts + (size_t)p * (hops + 1);
        const unsigned near = table->find(graph, at, cell, hops, found);
        if (threadIdx.x == 0) found[0] = 0;
        if (long_quads != nullptr && near != TOO_MANY) {
            table->sort(near);
            const local_rows rows = {graph, at, cell, *table};
            for (unsigned local = threadIdx.x; local < rows.vertices(); local += blockDim.x) {
                unsigned degree = 0;
                rows.row(local, [&](unsigned) { ++degree; });
                if (degree > 4) atomicAdd(&table->quads, more_quads(degree));
            }
            __syncthreads();
            if (threadIdx.x == 0) long_quads[p] = table->quads;
        }
        __syncthreads();
    }
}

// The vertex at `place` is a ghost of part p. Registers p as a reader of this vertex. When
// the part that owns the vertex finds the vertex, its block makes all readers of the vertex
// active. If the list of readers has no room for p, its last entry becomes ALL_PARTS.
__device__ __forceinline__ void add_reader(int *readers, unsigned *read_by, const int *part_at, unsigned place, int p) {
    int *known = readers + (size_t)part_at[place / PLACES] * READERS;
    int reader = 1;
    for (; reader < READERS - 1; ++reader) {
        int other = *(volatile int *)&known[reader];
        if (other == NO_READER) other = atomicCAS(&known[reader], NO_READER, p);
        if (other == NO_READER || other == p) break;
    }
    if (reader == READERS - 1) atomicExch(&known[reader], ALL_PARTS);
    atomicOr(&read_by[place], 1u << reader);
}

// Packs all parts, with ghosts up to `hops` hops away. Writes the neighbours of all local ids, the places of
// ghosts, and the readers of own vertices.
extern "C" __global__ void __launch_bounds__(1024)
    pack(graph_rows graph, placing at, const part *parts, int num_parts, const int *part_at, quad *quads,
         unsigned *words, unsigned *read_by, int *readers, int hops) {
    extern __shared__ ghost_table table[];
    for (unsigned p = blockIdx.x; p < num_parts; p += gridDim.x) {
        const part cell = parts[p];
        const unsigned near = table->find(graph, at, cell, hops, nullptr);
        table->sort(near);
        const local_rows rows = {graph, at, cell, *table};
        quad *own = quads + cell.first;
        for (unsigned local = threadIdx.x; local < rows.vertices(); local += blockDim.x) {
            unsigned degree = 0;
            const unsigned short self = (unsigned short)local;
            quad row = {{self, self, self, self}};
            rows.row(local, [&](unsigned id) {
                if (degree < 4) row.ids[degree] = (unsigned short)id;
                ++degree;
            });
            if (degree > 4) {
                const unsigned more = more_quads(degree), first = rows.vertices() + atomicAdd(&table->quads, more);
                unsigned n = 0;
                for (unsigned i = 0; i < more; ++i) own[first + i] = {{self, self, self, self}};
                rows.row(local, [&](unsigned id) {
                    const unsigned i = min(n / 3, more);  // the last quad of an adjacency list has four ids
                    (i == 0 ? row : own[first + i - 1]).ids[n - 3 * i] = (unsigned short)id, ++n;
                });
                row.ids[3] = (unsigned short)(first | IN_NEXT_QUAD);
                for (unsigned i = 1; i < more; ++i)
                    own[first + i - 1].ids[3] = (unsigned short)(first + i | IN_NEXT_QUAD);
            }
            own[local] = row;
            if (local >= rows.first_ghost()) {
                const int place = rows.ghost_place(local - rows.first_ghost());
                words[cell.first + local] = place;
                if (place != NO_PLACE) add_reader(readers, read_by, part_at, place, p);
            } else {
                atomicOr(&read_by[cell.first_place + local], 1u);
            }
        }
        if (threadIdx.x == 0) readers[(size_t)p * READERS] = p;
        __syncthreads();
    }
}

// Copies the readers of each own vertex of a part into the array from which blocks load the part.
extern "C" __global__ void copy_readers(const part *parts, int num_parts, const unsigned *read_by, unsigned *words) {
    for (unsigned p = blockIdx.x; p < num_parts; p += gridDim.x)
        for (unsigned i = threadIdx.x; i < padded(parts[p].own); i += blockDim.x)
            words[parts[p].first + i] = read_by[parts[p].first_place + i];
}
