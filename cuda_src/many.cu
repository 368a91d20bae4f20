// many: runs breadth-first searches from up to BITS sources at once, with one bit for each source (Then et
// al. 2014, Liu et al. 2016). One launch is one pass.
//
// Each vertex has a row: a bit vector with one bit for each source. The row seen(l) has the searches that
// have reached the vertex in at most l levels. A row consists of chunks of up to 128 bits. Each vertex also
// has a byte of marks, with one bit for each chunk. The byte marks(l) tells which chunks of the row changed
// in level l. The vertices with marks are the frontier. Two arrays of rows and two arrays of marks alternate.
//
// All blocks are resident. A level l has two phases, and a barrier of all blocks ends each phase:
//
// 1. Expand. The threads compute seen(l + 1) and marks(l + 1). If few arcs leave the frontier, the level is pushed:
// vertices of the frontier give their marked chunks to their out-neighbours. Otherwise the level is pulled: each
// vertex collects chunks of its in-neighbours, until all active searches have reached the vertex. A search is active
// if it reached a vertex in level l. A thread loads a chunk of an in-neighbour only if the chunk is marked there, and
// if some active search of this chunk has not reached the vertex.
// 2. Settle. The threads count the vertices that each search has found, and clear the old marks. They also copy
// changed chunks to the older array of rows, so that both arrays are equal before the next expansion.
//
// Both phases distribute work in this way: each lane of a warp tests one vertex or one arc, and the warp writes the
// vertices that need work to its worklist. Then the teams of the warp take items from the worklist. A team is a
// group of LANES threads that together hold a row, one chunk for each thread.
//
// A team takes a whole adjacency list of at most SHORT arcs. The host cuts longer lists into pieces, because
// one team would take too long for them. All teams of a warp share a piece.
//
// Races: an expansion reads only seen(l) and marks(l), and writes only seen(l + 1) and marks(l + 1). Several
// threads may add to one chunk or to one word of marks, so they use atomic operations. A short list that is
// pulled has only one writer for each chunk.
#include "atomics.cuh"
#include "barrier.cuh"
#include "graph.cuh"
#include "warp.cuh"

// The host defines BITS, DISTANCES, PULL_SHARE and SHORT. Arrays whose lengths are the constants below stay
// in registers, because the compiler unrolls all loops over them.
#define WORDS (BITS / 64)          // number of 64-bit words of a row
#define CHUNK (WORDS > 1 ? 2 : 1)  // number of words of a chunk
#define LANES (WORDS / CHUNK)      // number of threads of a team; at most 8, because marks are bytes
#define TEAMS (WARP / LANES)       // number of teams of a warp
#define SHORT_AT_ONCE 8            // number of arcs of a short list whose loads overlap
// A team of LANES threads takes AT_ONCE items from a worklist at a time, so that their loads overlap. TEAMS *
// AT_ONCE divides WARP.
#define AT_ONCE (LANES < 4 ? LANES : 4)
#define PLANES 6  // number of bits of a counter; a thread empties its counters after 63 chunks

typedef unsigned long long word_t;

// A chunk: the part of a vertex's bit vector that one thread loads at once.
struct __align__(8 * CHUNK) chunk {
    word_t words[CHUNK];

    __device__ __forceinline__ bool any() const { return (words[0] | words[CHUNK - 1]) != 0; }
    __device__ __forceinline__ void operator|=(const chunk &other) {
        for (int i = 0; i < CHUNK; ++i) words[i] |= other.words[i];
    }
    __device__ __forceinline__ chunk operator&(const chunk &other) const {
        chunk both;
        for (int i = 0; i < CHUNK; ++i) both.words[i] = words[i] & other.words[i];
        return both;
    }
    __device__ __forceinline__ chunk without(const chunk &other) const {
        chunk rest;
        for (int i = 0; i < CHUNK; ++i) rest.words[i] = words[i] & ~other.words[i];
        return rest;
    }
};

// The results of the search from one source. `harmonic` is the sum of the inverse distances, and
// `eccentricity` is the largest distance.
struct measures {
    long long reached, distance_sum;
    double harmonic;
    long long eccentricity;
};

// The state that all blocks share: the sizes of frontiers, and the arcs that leave them. The second phase of
// level l adds to the values at index l % 3. Afterwards the kernel clears the values of level l - 1.
struct many_state {
    unsigned long long leaving[3];  // number of arcs that leave the frontier
    unsigned sizes[3];              // number of vertices in the frontier
    int failed;                     // true if a block waited too long at the barrier
    grid_barrier barrier;
};

// The arcs of a vertex, or some arcs of a long adjacency list, as a range of indices.
struct arcs {
    offset_t begin, end;

    __device__ __forceinline__ bool is_short() const { return end - begin <= SHORT; }
};

struct piece {
    arcs part;
    offset_t vertex;
};

struct many_graph {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;
    const int *row_indices;
    const piece *out_pieces, *in_pieces;  // the pieces of all long lists
    long long num_edges;
    int num_vertices, num_out_pieces, num_in_pieces;
};

// The next four functions return indices of the calling thread: its chunk in a
// row, its team in the warp, its lane in the warp, and its warp in the grid.
__device__ __forceinline__ unsigned my_chunk() { return threadIdx.x % LANES; }
__device__ __forceinline__ unsigned my_team() { return threadIdx.x % WARP / LANES; }
__device__ __forceinline__ unsigned my_lane() { return threadIdx.x % WARP; }
__device__ __forceinline__ unsigned my_warp() { return global_thread() / WARP; }
__device__ __forceinline__ unsigned grid_warps() { return grid_threads() / WARP; }

struct many_rows {
    chunk *even, *odd;                 // two arrays of num_vertices rows
    unsigned *even_marks, *odd_marks;  // two arrays with a byte for each vertex, four bytes to a word
    // BITS counts for even levels, and then BITS counts for odd levels. Each count belongs to one
    // source: it is the number of vertices that the search from this source has reached in the level.
    unsigned *level_counts;

    // Returns the calling thread's chunk of v's row, with bits of searches that reach v in at most `level` levels.
    __device__ __forceinline__ chunk &seen(int level, int v) const {
        return ((level % 2 ? odd : even) + my_chunk())[(size_t)v * LANES];
    }
    __device__ __forceinline__ unsigned *mark_words(int level) const { return level % 2 ? odd_marks : even_marks; }
    __device__ __forceinline__ unsigned char &marks(int level, int v) const {
        return reinterpret_cast<unsigned char *>(mark_words(level))[v];
    }
    __device__ __forceinline__ unsigned *counts(int level) const { return level_counts + level % 2 * BITS; }

    // Marks chunks of vertex v as changed in a level: adds the bits `chunks` to the byte marks(level) of v.
    __device__ __forceinline__ void mark(int level, int v, unsigned chunks) const {
        unsigned *const word = &mark_words(level)[v / 4];
        const unsigned bits = chunks << v % 4 * 8;
        if (bits & ~load_relaxed(word)) atomicOr(word, bits);
    }

    // Sets the bits `fresh` in the calling thread's chunk of seen(level, v). The bits stand for searches that
    // reach vertex v in this level.
    __device__ __forceinline__ void reach(int level, int v, const chunk &fresh) const {
        word_t *const words = seen(level, v).words;
        for (int i = 0; i < CHUNK; ++i)
            if (fresh.words[i]) atomicOr(&words[i], fresh.words[i]);
        mark(level, v, 1u << my_chunk());
    }
};

__device__ __forceinline__ arcs arcs_of(const offset_t *offsets, int v) { return {offsets[v], offsets[v + 1]}; }

// An entry of a worklist: a vertex, and a mask of the chunks of its bit vector that need work.
struct item {
    int vertex;
    unsigned chunks;
};

// Stores the items of all lanes in the warp's worklist. Items that need work (`chunks` is not 0) come first. All
// other items follow. Returns the number of items that need work. All lanes of the warp must call the function.
__device__ __forceinline__ unsigned fill(item *worklist, item mine) {
    const unsigned lane = my_lane(), full = __ballot_sync(ALL_LANES, mine.chunks != 0);
    const unsigned number = __popc(full), before = __popc(full & ((1u << lane) - 1));
    __syncwarp();  // all lanes have read the last worklist
    worklist[mine.chunks ? before : number + lane - before] = mine;
    __syncwarp();
    return number;
}

// Returns the worklist of the calling thread's warp, in shared memory.
__device__ __forceinline__ item *my_worklist() {
    __shared__ item worklists[MAX_WARPS][WARP];
    return worklists[threadIdx.x / WARP];
}

// Returns a mask with one bit for each chunk that the calling thread's team holds: 1 if any bit of the chunk
// is set. All lanes of the warp must call the function.
__device__ __forceinline__ unsigned chunks_with_bits(const chunk &mine) {
    return __ballot_sync(ALL_LANES, mine.any()) >> my_team() * LANES & ((1u << LANES) - 1);
}

// Combines the chunks of all teams in the warp: returns the OR of `mine` over the threads
// that have the caller's index in their team. All lanes of the warp must call the function.
__device__ __forceinline__ chunk any_team(chunk mine) {
    for (int distance = LANES; distance < WARP; distance *= 2)
        for (int i = 0; i < CHUNK; ++i) mine.words[i] |= __shfl_xor_sync(ALL_LANES, mine.words[i], distance);
    return mine;
}

// Pushes one chunk of v's bit vector: adds its bits to the bit vectors of v's out-neighbours. Takes every
// `step`-th arc of the range `some`, from arc `first` on. The chunk also has bits from earlier levels, but
// the out-neighbours already have these bits.
__device__ __forceinline__ void give(const many_graph &graph, const many_rows &rows, int level, int v, arcs some,
                                     unsigned first, unsigned step) {
    const chunk row = rows.seen(level, v);
    for (edge_t e = some.begin + first, end = some.end; e < end; e += step) {
        const int u = graph.column_indices[e];
        const chunk fresh = row.without(rows.seen(level, u));
        if (fresh.any()) rows.reach(level + 1, u, fresh);
    }
}

__device__ __forceinline__ void push(const many_graph &graph, const many_rows &rows, int level) {
    item *const worklist = my_worklist();
    for (unsigned base = my_warp() * WARP; base < graph.num_vertices; base += grid_warps() * WARP) {
        const unsigned v = base + my_lane();
        unsigned marks = v < graph.num_vertices ? rows.marks(level, v) : 0;
        if (marks && !arcs_of(graph.row_offsets, v).is_short()) marks = 0;
        const unsigned number = fill(worklist, {(int)v, marks});
        for (unsigned i = my_team(); i < number; i += TEAMS) {
            const item one = worklist[i];
            if (one.chunks >> my_chunk() & 1)
                give(graph, rows, level, one.vertex, arcs_of(graph.row_offsets, one.vertex), 0, 1);
        }
    }
    for (unsigned i = my_warp(); i < graph.num_out_pieces; i += grid_warps()) {
        const piece one = graph.out_pieces[i];
        if (rows.marks(level, one.vertex) >> my_chunk() & 1)
            give(graph, rows, level, one.vertex, one.part, my_team(), TEAMS);
    }
}

// Returns a chunk with the bits of the searches that have reached at least one vertex in the level. All
// threads of the block must call the function.
__device__ __forceinline__ chunk active_searches(const many_rows &rows, int level) {
    __shared__ unsigned halves[2 * WORDS];
    for (unsigned bit = threadIdx.x; bit < BITS; bit += blockDim.x) {
        const unsigned half = __ballot_sync(ALL_LANES, rows.counts(level)[bit] != 0);
        if (my_lane() == 0) halves[bit / WARP] = half;
    }
    __syncthreads();
    chunk active;
    for (int i = 0; i < CHUNK; ++i) {
        const unsigned *const pair = halves + 2 * (my_chunk() * CHUNK + i);
        active.words[i] = pair[0] | (word_t)pair[1] << 32;
    }
    return active;
}

// Pulls one chunk of v's bit vector: adds the bits of `active` that v's in-neighbours have. Stops when the
// chunk has all bits of `active`. Returns the bits that are new. The loads of SHORT_AT_ONCE arcs overlap.
__device__ __forceinline__ chunk collect(const many_graph &graph, const many_rows &rows, int level,
                                         const chunk &active, int v) {
    const arcs in = arcs_of(graph.column_offsets, v);
    const chunk before = rows.seen(level, v), lacks = active.without(before);
    chunk found = {};
    for (edge_t e = in.begin, last = in.end - 1; e <= last; e += SHORT_AT_ONCE) {
        int neighbours[SHORT_AT_ONCE];
        unsigned marks[SHORT_AT_ONCE];
        chunk chunks[SHORT_AT_ONCE] = {};
        for (int i = 0; i < SHORT_AT_ONCE; ++i) neighbours[i] = graph.row_indices[min(e + i, last)];
        if (!lacks.without(found).any()) break;
        for (int i = 0; i < SHORT_AT_ONCE; ++i) marks[i] = e + i <= last ? rows.marks(level, neighbours[i]) : 0;
        for (int i = 0; i < SHORT_AT_ONCE; ++i)
            if (marks[i] >> my_chunk() & 1) chunks[i] = rows.seen(level, neighbours[i]);
        for (int i = 0; i < SHORT_AT_ONCE; ++i) found |= chunks[i];
    }
    found = found & lacks;
    if (found.any()) {
        chunk after = before;
        after |= found;
        rows.seen(level + 1, v) = after;
    }
    return found;
}

__device__ __forceinline__ void pull_short_lists(const many_graph &graph, const many_rows &rows, int level,
                                                const chunk &active) {
    item *const worklist = my_worklist();
    for (unsigned base = my_warp() * WARP; base < graph.num_vertices; base += grid_warps() * WARP) {
        const unsigned v = base + my_lane();
        bool wanted = false;
        if (v < graph.num_vertices) {
            const arcs in = arcs_of(graph.column_offsets, v);
            wanted = in.begin < in.end && in.is_short();
        }
        const unsigned number = fill(worklist, {(int)v, wanted});
        for (unsigned i = 0; i < number; i += TEAMS) {  // all lanes stay in the loop, because they vote
            const item one = worklist[i + my_team()];
            chunk found = {};
            if (one.chunks) found = collect(graph, rows, level, active, one.vertex);
            const unsigned marks = chunks_with_bits(found);
            if (marks && my_chunk() == 0) rows.mark(level + 1, one.vertex, marks);
        }
    }
}

// Pulls a piece of a long adjacency list: adds the bits of the in-neighbours in the piece to the vertex's bit
// vector. Stops when the bit vector has all bits of `active`. The load of the next arcs overlaps the work on
// the current arcs. All lanes of the warp must call the function.
__device__ __forceinline__ void pull_piece(const many_graph &graph, const many_rows &rows, int level,
                                           const chunk &active, const piece &some) {
    item *const worklist = my_worklist();
    const edge_t begin = some.part.begin, end = some.part.end;
    int next = begin + my_lane() < end ? graph.row_indices[begin + my_lane()] : -1;
    const chunk lacks = active.without(rows.seen(level, some.vertex));
    chunk found = {};
    unsigned open = chunks_with_bits(lacks);
    for (edge_t e = begin; e < end && open; e += WARP) {
        const item mine = {next, next >= 0 ? rows.marks(level, next) & open : 0};
        next = e + WARP + my_lane() < end ? graph.row_indices[e + WARP + my_lane()] : -1;
        const unsigned number = fill(worklist, mine);
        if (number == 0) continue;
        for (unsigned i = 0; i < number; i += TEAMS * AT_ONCE) {
            chunk chunks[AT_ONCE] = {};
            for (int k = 0; k < AT_ONCE; ++k) {
                const item one = worklist[i + k * TEAMS + my_team()];
                if (one.chunks >> my_chunk() & 1) chunks[k] = rows.seen(level, one.vertex);
            }
            for (int k = 0; k < AT_ONCE; ++k) found |= chunks[k];
        }
        found = any_team(found);
        open = chunks_with_bits(lacks.without(found));
    }
    found = found & lacks;
    if (my_team() == 0 && found.any()) rows.reach(level + 1, some.vertex, found);
}

__device__ __forceinline__ void pull(const many_graph &graph, const many_rows &rows, int level) {
    const chunk active = active_searches(rows, level);
    piece next = {};
    unsigned i = my_warp();
    if (i < graph.num_in_pieces) next = graph.in_pieces[i];
    while (i < graph.num_in_pieces) {
        const piece one = next;
        i += grid_warps();
        if (i < graph.num_in_pieces) next = graph.in_pieces[i];
        pull_piece(graph, rows, level, active, one);
    }
    pull_short_lists(graph, rows, level, active);
}

// Counters of set bits, one counter per bit of a chunk. A thread passes chunks to add(), which adds 1 to the
// counter of each set bit. Each counter has PLANES binary digits. Digit i of the counter of bit b is bit b of
// planes[i]. All lanes of a warp call add() together, so that they also empty their counters together.
struct bit_counters {
    chunk planes[PLANES] = {};
    unsigned added = 0;

    // Adds 1 to the counter of each bit that is set in `bits`. Before the counters can overflow, they are
    // added to `counts`, the block's counters in shared memory. In this array, the counters of one chunk are
    // LANES words apart, so that the threads of a team use different banks.
    __device__ __forceinline__ void add(chunk bits, unsigned *counts) {
        for (int i = 0; i < PLANES; ++i)
            for (int w = 0; w < CHUNK; ++w) {
                const word_t carry = planes[i].words[w] & bits.words[w];
                planes[i].words[w] ^= bits.words[w];
                bits.words[w] = carry;
            }
        if (++added == (1u << PLANES) - 1) flush(counts);
    }
    __device__ __forceinline__ void flush(unsigned *counts) {
        chunk rest = {};
        for (int i = 0; i < PLANES; ++i) rest |= planes[i];
        for (int w = 0; w < CHUNK; ++w)
            for (; rest.words[w]; rest.words[w] &= rest.words[w] - 1) {
                const int bit = __ffsll((long long)rest.words[w]) - 1;
                unsigned count = 0;
                for (int i = 0; i < PLANES; ++i) count += (unsigned)(planes[i].words[w] >> bit & 1) << i;
                atomicAdd(&counts[(w * 64 + bit) * LANES + my_chunk()], count);
            }
        *this = bit_counters{};
    }
};

// Counts the vertices that each search has reached in a level. Also copies the changed chunks to the rows of the
// previous level, and clears the marks of the previous level. All threads of the block must call the function.
__device__ __forceinline__ void settle(const many_graph &graph, const many_rows &rows, many_state *state, int level,
                                       int *distances, int pitch) {
    __shared__ unsigned counts[BITS];
    for (unsigned i = threadIdx.x; i < BITS; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    item *const worklist = my_worklist();
    unsigned long long leaving = 0;
    unsigned size = 0;
    bit_counters counters;
    for (unsigned base = my_warp() * WARP; base < graph.num_vertices; base += grid_warps() * WARP) {
        const unsigned v = base + my_lane();
        unsigned marks = 0;
        if (v < graph.num_vertices) {
            marks = rows.marks(level, v);
            if (rows.marks(level - 1, v)) rows.marks(level - 1, v) = 0;
        }
        if (marks) {
            const arcs out = arcs_of(graph.row_offsets, v);
            ++size, leaving += out.end - out.begin;
        }
        const unsigned number = fill(worklist, {(int)v, marks});
        for (unsigned i = 0; i < number; i += TEAMS) {
            const item one = worklist[i + my_team()];
            chunk fresh = {};
            if (one.chunks >> my_chunk() & 1) {
                const chunk row = rows.seen(level, one.vertex);
                fresh = row.without(rows.seen(level - 1, one.vertex));
                rows.seen(level - 1, one.vertex) = row;
            }
            counters.add(fresh, counts);
#if DISTANCES
            for (int w = 0; w < CHUNK; ++w)
                for (word_t rest = fresh.words[w]; rest; rest &= rest - 1) {
                    const unsigned bit = (my_chunk() * CHUNK + w) * 64 + __ffsll((long long)rest) - 1;
                    distances[(size_t)bit * pitch + one.vertex] = level;
                }
#endif
        }
    }
    counters.flush(counts);
    size = warp_sum(size), leaving = warp_sum(leaving);
    if (size && my_lane() == 0) {
        atomicAdd(&state->sizes[level % 3], size);
        atomicAdd(&state->leaving[level % 3], leaving);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < BITS; i += blockDim.x)
        if (counts[i]) atomicAdd(&rows.counts(level)[i % LANES * (BITS / LANES) + i / LANES], counts[i]);
}

// Adds the counts of a level to the results, with one thread per search. Clears the counts and sizes of the
// previous level.
__device__ __forceinline__ void measure(const many_rows &rows, many_state *state, measures *found, int level) {
    for (unsigned bit = global_thread(); bit < BITS; bit += grid_threads()) {
        rows.counts(level + 1)[bit] = 0;  // the counts of the previous level
        const unsigned count = rows.counts(level)[bit];
        if (count == 0) continue;
        measures &mine = found[bit];
        mine.reached += count;
        mine.distance_sum += (long long)count * level;
        if (level > 0) mine.harmonic += (double)count / level;
        mine.eccentricity = level;
    }
    if (global_thread() == 0) state->sizes[(level + 2) % 3] = 0, state->leaving[(level + 2) % 3] = 0;
}

// Runs one pass, with searches from sources[first] to sources[first + number - 1]. All blocks must be
// resident. With DISTANCES, row first + i of `distances` gets the distances from source first + i.
// The launch bound limits the number of registers, so that blocks of 1,024 threads can run.
extern "C" __global__ void __launch_bounds__(1024)
    many(many_graph graph, many_rows rows, many_state *state, const int *__restrict__ sources, measures *found,
         int *distances, int pitch, unsigned max_polls, int first, int number) {
    const size_t chunks = (size_t)graph.num_vertices * LANES;
    for (size_t i = global_thread(); i < chunks; i += grid_threads()) rows.even[i] = rows.odd[i] = chunk{};
    for (unsigned i = global_thread(); i < (graph.num_vertices + 3u) / 4; i += grid_threads())
        rows.even_marks[i] = rows.odd_marks[i] = 0;
    for (unsigned i = global_thread(); i < 2 * BITS; i += grid_threads()) rows.level_counts[i] = 0;
    for (unsigned bit = global_thread(); bit < number; bit += grid_threads()) found[first + bit] = measures{};
    if (global_thread() < 3) state->sizes[global_thread()] = 0, state->leaving[global_thread()] = 0;
    bool together = wait_for_all_blocks(&state->barrier, max_polls);
    for (unsigned bit = global_thread(); bit < number && together; bit += grid_threads()) {
        const int source = sources[first + bit];  // the sources differ, so each row has one writer
        rows.even[(size_t)source * LANES + bit / (64 * CHUNK)].words[bit / 64 % CHUNK] = 1ull << bit % 64;
        rows.mark(0, source, 1u << bit / (64 * CHUNK));
    }
    together = together && wait_for_all_blocks(&state->barrier, max_polls);
    for (int level = 0; together; ++level) {
        settle(graph, rows, state, level, distances + (size_t)first * pitch, pitch);
        together = wait_for_all_blocks(&state->barrier, max_polls);
        if (!together || state->sizes[level % 3] == 0) break;
        measure(rows, state, found + first, level);
        if (state->leaving[level % 3] * PULL_SHARE > graph.num_edges)
            pull(graph, rows, level);
        else
            push(graph, rows, level);
        together = wait_for_all_blocks(&state->barrier, max_polls);
    }
    if (!together && threadIdx.x == 0) state->failed = 1;  // benign race: every thread stores the same value
}
