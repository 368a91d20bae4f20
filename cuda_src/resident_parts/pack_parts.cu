// pack_parts: parts of a graph, packed as blocks load them.
//
// A block packs a part. It finds the ghosts hop by hop along arcs that lead to the part, in a hash table in shared
// memory that gives them numbers in the order of their distance, and then in that of their places. The rows are then
// those of the graph without what is not local, and without ghosts K hops away, which can only begin a path of K arcs
// to an own vertex. First `measure` counts, for a K at a time, then `pack` writes.
#include "parts.cuh"

#define EMPTY 0xffffffffu  // key of the hash table
#define TOO_MANY 0x7fffffff  // ghosts
#define FAR 0x8000u  // with the number of a ghost to which no arc is needed

struct placing {
    const int *places;    // of vertices
    const int *vertices;  // at places
};

// The ghosts of one part, in shared memory. The host defines TABLE = 1 << TABLE_BITS and MAX_GHOSTS, three quarters
// of it, so that a block of threads that are too late still finds an empty key.
struct ghost_table {
    unsigned keys[TABLE];  // places
    unsigned short numbers[TABLE];
    int places[TABLE];
    unsigned found;  // may exceed what there is room for
    unsigned quads;  // of long rows

    __device__ __forceinline__ unsigned slot(unsigned place) const { return place * 2654435761u >> (32 - TABLE_BITS); }

    // All threads of a block find in-neighbours that are not own, hop by hop. ghosts[k], if given, gets the number of
    // those up to k hops away. Returns that of one hop less than all, or TOO_MANY if there is no room.
    __device__ unsigned find(const graph_rows &graph, const placing &at, const part &cell, int hops, int *ghosts) {
        for (unsigned i = threadIdx.x; i < TABLE; i += blockDim.x) keys[i] = EMPTY;
        if (threadIdx.x == 0) found = quads = 0;
        __syncthreads();
        unsigned begin = 0, end = 0;  // of the ghosts that the last hop has found
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

    // False if there is no room.
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

    // Number all ghosts in the order of their places, so that a block reads those of one owner together. Ghosts found
    // before `near` are those to which arcs are needed. For all threads of a block.
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

    // Where in the table the key of a ghost is, or an empty one.
    __device__ __forceinline__ unsigned index_of(unsigned place) const {
        unsigned i = slot(place);
        while (keys[i] != place && keys[i] != EMPTY) i = (i + 1) % TABLE;
        return i;
    }

    // The number of a ghost; or FAR, for a place of which it is not known whether there is a ghost.
    __device__ __forceinline__ unsigned number(unsigned place) const {
        const unsigned i = index_of(place);
        return keys[i] == EMPTY ? FAR : numbers[i];
    }
};

// Rows of a part whose ghosts have been found and sorted.
struct local_rows {
    const graph_rows &graph;
    const placing &at;
    const part &own;
    const ghost_table &ghosts;

    __device__ __forceinline__ unsigned first_ghost() const { return padded(own.own); }
    __device__ __forceinline__ unsigned vertices() const { return first_ghost() + padded(ghosts.found); }

    // The place of a ghost, or NO_PLACE: they may be fewer than their groups have room for.
    __device__ __forceinline__ int ghost_place(unsigned number) const {
        return number < ghosts.found ? ghosts.places[number] : NO_PLACE;
    }
    // The place of a local vertex, or NO_PLACE.
    __device__ __forceinline__ int place(unsigned local) const {
        if (local < first_ghost()) return own.first_place + local;
        const unsigned id = local - first_ghost(), groups = padded(ghosts.found) / PLACES;
        return ghost_place(id % PLACES * groups + id / PLACES);
    }

    // Call visit(local id) for the local out-neighbours of a local vertex; only of those that exist.
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

// Number of ghosts up to each number of hops, at most `hops`, of all parts in turn; and, unless it is null, of quads
// of long rows.
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

// Have the owner of a ghost tell part p of it.
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

// Pack all parts, with ghosts up to so many hops away: the rows of all ids, and the places of ghosts.
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
                    const unsigned i = min(n / 3, more);  // the last quad has four ids
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

// Copy the readers of own vertices to where a block loads them from.
extern "C" __global__ void copy_readers(const part *parts, int num_parts, const unsigned *read_by, unsigned *words) {
    for (unsigned p = blockIdx.x; p < num_parts; p += gridDim.x)
        for (unsigned i = threadIdx.x; i < padded(parts[p].own); i += blockDim.x)
            words[parts[p].first + i] = read_by[parts[p].first_place + i];
}
