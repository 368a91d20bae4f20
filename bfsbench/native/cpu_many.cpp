// cpu_many: runs breadth-first searches from many sources at once, with one bit for each source (Then et al.,
// "The More the Merrier: Efficient Multi-Source Graph Traversal", 2014).
//
// A pass searches from up to 512 sources. In each of three arrays, each vertex has a row: a bit vector with
// one bit for each search. In `seen`, the bits of the searches that have reached the vertex are set. In
// `frontier`, the bits of the searches that reached it in the last level are set. In `next`, the bits of the
// searches that reach it in this level are set. So one access to a neighbour serves all searches that have the
// vertex in their frontiers. Each core runs its own passes. Cores share only the graph.
//
// A level is pushed or pulled. In a push, the rows of the frontier's vertices are added to their out-neighbours'
// rows. In a pull, each vertex that some search has not reached collects the rows of its in-neighbours, until its
// row is complete. Let `leaving` be the number of arcs that leave the frontier, and `lacking` the number of arcs
// into incomplete vertices. The search pulls a level if alpha * leaving > lacking.
//
// Searches share an access to a vertex only if they reach it in the same level. So each pass takes sources that
// lie close together: within a ball, which contains the vertices up to some distance from one source. Liu,
// Huang and Hu ("iBFS", 2016) group sources by shared neighbours.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <numeric>
#include <vector>

#include "parallel.h"

// GCC warns about functions that take vectors by value. In this file all of these functions are inlined, so
// the warning does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

// Marks functions that work on rows. The compiler inlines them into each caller, so that they can use all
// instructions that the caller may use.
#define BFSBENCH_INLINE inline __attribute__((always_inline))

namespace {

constexpr int64_t kAhead = 48;  // number of arcs or queue entries between a prefetch and its use
// In a pulled level, each vertex that some search has not reached reads the rows (bit vectors) of
// its in-neighbours in the frontier. After every kLooks rows, the loop tests whether all searches
// have now reached the vertex. If so, the loop ends early.
constexpr int kLooks = 4;
// by_balls(), which finds sources that lie close together, reads at most kBallArcs times as many arcs as the
// graph has.
constexpr int64_t kBallArcs = 4;

// Bits of the state of a vertex. kComplete: every search of the pass has reached the vertex. kActive: the vertex
// is in the frontier of some search. kFresh: some search has found the vertex in this level.
enum State : uint8_t { kComplete = 1, kActive = 2, kFresh = 4 };

// The results of the search from one source: the number of reached vertices, the sum of the distances, the
// sum of the inverse distances, and the largest distance.
struct Measures {
    int64_t reached, distance_sum;
    double harmonic;
    int64_t eccentricity;
};

// The arguments of many(): a graph, distinct sources, memory for passes, and arrays for results. The host
// code in Python declares this struct too.
template <class Offset>
struct Arguments {
    int64_t num_vertices;
    const Offset* row_offsets;
    const int32_t* column_indices;
    const Offset* column_offsets;
    const int32_t* row_indices;  // column_offsets and row_indices are the graph in CSC form
    const int32_t* sources;
    void* rows;       // for each thread, three arrays with one row of `bits` bits per vertex
    int32_t* queues;  // for each thread, two arrays int32[num_vertices]
    uint8_t* states;  // for each thread, uint8[num_vertices]
    // An array Measures[num_sources] for the results. The caller must have filled it with zeros.
    Measures* measures;
    // Null, or an array int32[num_vertices][num_vertices]. Row s receives the distances from vertex s, if s
    // is a source. The caller must have filled the array with the value for unreached vertices.
    int32_t* distances;
    // Null, or int64[num_sources]. The array receives indices into `sources`, in the order in which passes
    // take the sources.
    int64_t* order;
    double alpha;
    int32_t num_sources;
    int32_t bits;  // number of sources of a pass: 64, 128, 256 or 512
    int32_t threads;

    int64_t leaving(int64_t v) const { return row_offsets[v + 1] - row_offsets[v]; }
    int64_t entering(int64_t v) const { return column_offsets[v + 1] - column_offsets[v]; }
};

template <int lanes>
struct VectorOf {
    typedef uint64_t type __attribute__((vector_size(8 * lanes)));
};
template <>
struct VectorOf<1> {
    typedef uint64_t type;
};

// A bit vector with one bit for each source of a pass. It consists of vectors of up to 256 bits, because
// other sizes are slower. With 512 sources, loops over 64-bit words take at least 30 % longer, and vectors of
// 512 bits take twice as long (GCC 12).
template <int words>
struct Row {
    static constexpr int kLanes = words < 4 ? words : 4, kParts = words / kLanes;
    typename VectorOf<kLanes>::type part[kParts];

    uint64_t& word(int w) { return reinterpret_cast<uint64_t*>(part)[w]; }
    BFSBENCH_INLINE void operator|=(const Row& other) {
        for (int p = 0; p < kParts; ++p) part[p] |= other.part[p];
    }
    BFSBENCH_INLINE Row without(const Row& other) const {
        Row rest;
        for (int p = 0; p < kParts; ++p) rest.part[p] = part[p] & ~other.part[p];
        return rest;
    }
    BFSBENCH_INLINE bool any() const {
        auto all = part[0];
        for (int p = 1; p < kParts; ++p) all |= part[p];
        uint64_t lane[kLanes], some = 0;
        std::memcpy(lane, &all, sizeof lane);
        for (int i = 0; i < kLanes; ++i) some |= lane[i];
        return some != 0;
    }
};

// Counts, for each bit position, in how many of the added rows the bit is set. Plane p holds bit p of all
// these counts, so one operation works on all bit positions of a row. The counter adds eight rows at a time,
// because this takes fewer operations than adding the rows one by one.
template <int words>
class Counter {
  public:
    BFSBENCH_INLINE void add(const Row<words>& row) {
        waiting_[num_waiting_++] = &row;
        if (num_waiting_ == 8) add_eight();
    }

    // Calls found(bit, number) for each bit position whose count is not 0, and clears all counts.
    template <class Found>
    BFSBENCH_INLINE void take(const Found& found) {
        for (int i = 0; i < num_waiting_; ++i) carry(*waiting_[i], 0);
        num_waiting_ = 0;
        int planes = kPlanes;
        while (planes > 0 && !plane_[planes - 1].any()) --planes;
        for (int w = 0; w < words; ++w) {
            uint64_t some = 0;
            for (int p = 0; p < planes; ++p) some |= plane_[p].word(w);
            for (; some; some &= some - 1) {
                const int bit = __builtin_ctzll(some);
                int64_t number = 0;
                for (int p = 0; p < planes; ++p) number |= int64_t(plane_[p].word(w) >> bit & 1) << p;
                found(w * 64 + bit, number);
            }
        }
        std::fill_n(plane_, planes, Row<words>{});
    }

  private:
    // Adds the rows a and b to the row `low`, bit by bit: low + a + b = 2 * high + new low.
    static BFSBENCH_INLINE void add_two(Row<words>& high, Row<words>& low, const Row<words>& a, const Row<words>& b) {
        for (int p = 0; p < Row<words>::kParts; ++p) {
            const auto one = low.part[p] ^ a.part[p];
            high.part[p] = (low.part[p] & a.part[p]) | (one & b.part[p]);
            low.part[p] = one ^ b.part[p];
        }
    }

    BFSBENCH_INLINE void add_eight() {
        Row<words> two[4], four[2], eight;
        for (int i = 0; i < 4; ++i) add_two(two[i], plane_[0], *waiting_[2 * i], *waiting_[2 * i + 1]);
        for (int i = 0; i < 2; ++i) add_two(four[i], plane_[1], two[2 * i], two[2 * i + 1]);
        add_two(eight, plane_[2], four[0], four[1]);
        num_waiting_ = 0;
        carry(eight, 3);
    }

    // Adds 2^p to the count of each bit position whose bit is set in the row.
    BFSBENCH_INLINE void carry(const Row<words>& row, int p) {
        for (Row<words> rest = row; rest.any(); ++p) add_two(rest, plane_[p], rest, Row<words>{});
    }

    static constexpr int kPlanes = 32;  // counts are below 2^31, because vertices have 32-bit ids
    Row<words> plane_[kPlanes] = {};
    const Row<words>* waiting_[8];
    int num_waiting_ = 0;
};

// Runs the passes of one core. A pass runs the searches from up to 64 * words sources at the same
// time. Each core has its own Passes object, with its own rows and queues.
template <int words, class Offset>
class Passes {
  public:
    Passes(const Arguments<Offset>& given, int core)
        : given_(given),
          seen_(static_cast<Row<words>*>(given.rows) + core * 3 * given.num_vertices),
          frontier_(seen_ + given.num_vertices),
          next_(frontier_ + given.num_vertices),
          state_(given.states + core * given.num_vertices),
          queue_(given.queues + core * 2 * given.num_vertices),
          found_(queue_ + given.num_vertices) {}

    // Runs one pass, with searches from `number` sources.
    void run(const int32_t* sources, int number, Measures* measures) {
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) return run_avx2(sources, number, measures);
#endif
        levels(sources, number, measures);
    }

  private:
#if defined(__x86_64__)
    __attribute__((target("avx2"))) void run_avx2(const int32_t* sources, int number, Measures* measures) {
        levels(sources, number, measures);
    }
#endif

    BFSBENCH_INLINE void levels(const int32_t* sources, int number, Measures* measures) {
        begin(sources, number);
        for (int32_t level = 0; settle(); ++level) {
            counter_.take([&](int bit, int64_t vertices) {
                Measures& found = measures[bit];
                found.reached += vertices;
                found.distance_sum += vertices * level;
                if (level > 0) found.harmonic += static_cast<double>(vertices) / level;
                found.eccentricity = level;
            });
            if (given_.distances) note(level, sources);
            if (static_cast<double>(leaving_) * given_.alpha > static_cast<double>(lacking_))
                pull();
            else
                push();
        }
    }

    void begin(const int32_t* sources, int number) {
        std::memset(static_cast<void*>(seen_), 0, given_.num_vertices * sizeof(Row<words>));
        std::memset(state_, 0, given_.num_vertices);
        whole_ = {};
        lacking_ = given_.column_offsets[given_.num_vertices];
        queued_ = 0;
        num_found_ = number;
        for (int bit = 0; bit < number; ++bit) {
            const int32_t v = found_[bit] = sources[bit];
            Row<words> own = {};
            own.word(bit / 64) = uint64_t{1} << bit % 64;
            whole_ |= own;
            seen_[v] = next_[v] = own;
        }
    }

    BFSBENCH_INLINE void push() {
        for (int64_t i = 0; i < queued_; ++i) {
            const int32_t v = queue_[i], later = queue_[std::min(i + kAhead, queued_ - 1)];
            __builtin_prefetch(&frontier_[later]);
            __builtin_prefetch(&given_.column_indices[given_.row_offsets[later]]);
            const Row<words> row = frontier_[v];
            const Offset end = given_.row_offsets[v + 1];
            for (Offset e = given_.row_offsets[v]; e < end; ++e) {
                const int32_t u = given_.column_indices[e];
                if (state_[u] & kComplete) continue;
                const Row<words> fresh = row.without(seen_[u]);
                if (!fresh.any()) continue;
                seen_[u] |= fresh;
                if (state_[u] & kFresh) {
                    next_[u] |= fresh;
                } else {
                    next_[u] = fresh;
                    state_[u] |= kFresh;
                    found_[num_found_++] = u;
                }
            }
        }
    }

    BFSBENCH_INLINE void pull() {
        const int64_t arcs = given_.column_offsets[given_.num_vertices];
        for (int64_t v = 0; v < given_.num_vertices; ++v) {
            if (state_[v] & kComplete) continue;
            const Row<words> lacks = whole_.without(seen_[v]);
            Row<words> fresh = {};
            const Offset end = given_.column_offsets[v + 1];
            int looks = 0;
            for (Offset e = given_.column_offsets[v]; e < end; ++e) {
                if (e + kAhead < arcs) __builtin_prefetch(&frontier_[given_.row_indices[e + kAhead]]);
                const int32_t u = given_.row_indices[e];
                if (!(state_[u] & kActive)) continue;
                fresh |= frontier_[u];
                if (++looks % kLooks == 0 && !lacks.without(fresh).any()) break;
            }
            fresh = fresh.without(seen_[v]);
            if (!fresh.any()) continue;
            seen_[v] |= fresh;
            next_[v] = fresh;
            found_[num_found_++] = static_cast<int32_t>(v);
        }
    }

    // Makes `next` the frontier, and counts how many vertices of this frontier each search has reached.
    // Returns whether the frontier has a vertex.
    BFSBENCH_INLINE bool settle() {
        for (int64_t i = 0; i < queued_; ++i) state_[queue_[i]] &= ~kActive;
        std::swap(queue_, found_);
        std::swap(frontier_, next_);
        queued_ = num_found_;
        num_found_ = leaving_ = 0;
        for (int64_t i = 0; i < queued_; ++i) {
            const int32_t v = queue_[i], later = queue_[std::min(i + kAhead, queued_ - 1)];
            __builtin_prefetch(&frontier_[later]);
            __builtin_prefetch(&seen_[later]);
            counter_.add(frontier_[v]);
            leaving_ += given_.leaving(v);
            const bool left = whole_.without(seen_[v]).any();
            if (!left) lacking_ -= given_.entering(v);
            state_[v] = left ? kActive : kActive | kComplete;
        }
        return queued_ > 0;
    }

    // Stores `level` as the distance of the vertices in the frontier. Each set bit in a vertex's
    // row stands for a search that has just reached the vertex. The distance goes to the row of
    // `distances` for the source of this search.
    void note(int32_t level, const int32_t* sources) {
        for (int64_t i = 0; i < queued_; ++i)
            for (int w = 0; w < words; ++w)
                for (uint64_t some = frontier_[queue_[i]].word(w); some; some &= some - 1) {
                    const int64_t source = sources[w * 64 + __builtin_ctzll(some)];
                    given_.distances[source * given_.num_vertices + queue_[i]] = level;
                }
    }

    const Arguments<Offset> given_;
    Row<words>*seen_, *frontier_, *next_;
    uint8_t* state_;
    // `queue_` lists the vertices whose row in `frontier_` has a bit set. Their number is `queued_`. `found_`
    // lists the vertices whose row in `next_` has a bit set. Their number is `num_found_`.
    int32_t *queue_, *found_;
    int64_t queued_ = 0, num_found_ = 0;
    Row<words> whole_;  // a bit for each source of the pass
    Counter<words> counter_;
    // `leaving_` is the number of arcs that leave the frontier's vertices. `lacking_` is the number
    // of arcs into vertices that some search of the pass has not reached.
    int64_t leaving_ = 0, lacking_ = 0;
};

template <int words, class Offset>
void run(const Arguments<Offset>& given) {
    std::atomic<int64_t> taken{0};
    bfsbench::run_workers(given.threads, [&](int core) {
        Passes<words, Offset> passes(given, core);
        for (int64_t first; (first = taken.fetch_add(64 * words)) < given.num_sources;) {
            const int number = static_cast<int>(std::min<int64_t>(64 * words, given.num_sources - first));
            passes.run(given.sources + first, number, given.measures + first);
        }
    });
}

// Finds the order in which passes take the sources, so that the sources of a pass lie close together. A pass
// grows a ball: a set of vertices that are reached from one source along the arcs. The pass takes the sources
// in the ball that no earlier pass has taken. If the ball cannot grow any more, the pass starts another ball.
// All passes together read at most kBallArcs times the number of all arcs, and each pass may read an equal
// share. A pass that has read its share takes further sources in their given order.
template <class Offset>
void by_balls(const Arguments<Offset>& given) {
    std::vector<int64_t> place(given.num_vertices, -1);
    for (int32_t i = 0; i < given.num_sources; ++i) place[given.sources[i]] = i;
    // ball[v] is the number of the last ball (a set of vertices reached from one source) that
    // contains vertex v. It is -1 if no ball contains v.
    std::vector<int32_t> ball(given.num_vertices, -1), queue;
    const int32_t passes = (given.num_sources + given.bits - 1) / given.bits;
    const int64_t share = kBallArcs * given.row_offsets[given.num_vertices] / passes;
    int64_t arcs = 0;
    for (int32_t turn = 0, listed = 0, ordered = 0; ordered < given.num_sources; ++turn) {
        if (ordered % given.bits == 0) arcs = 0;
        while (place[given.sources[listed]] < 0) ++listed;
        queue.assign(1, given.sources[listed]);
        ball[queue[0]] = turn;
        for (size_t head = 0; head < queue.size(); ++head) {
            const int32_t v = queue[head];
            if (place[v] >= 0) {
                given.order[ordered++] = place[v];
                place[v] = -1;
                if (ordered % given.bits == 0) break;
            }
            if ((arcs += given.leaving(v)) > share) break;
            for (Offset e = given.row_offsets[v]; e < given.row_offsets[v + 1]; ++e) {
                const int32_t u = given.column_indices[e];
                if (ball[u] != turn) ball[u] = turn, queue.push_back(u);
            }
        }
    }
}

// If the caller gives an array `order`, stores in it the order in which passes take the sources.
// Otherwise searches from all sources.
template <class Offset>
void run(const Arguments<Offset>& given) {
    if (given.order) return by_balls(given);
    switch (given.bits) {
        case 64: return run<1>(given);
        case 128: return run<2>(given);
        case 256: return run<4>(given);
        default: return run<8>(given);
    }
}

}  // namespace

extern "C" {

// Calls run() for arguments with offsets of 4 or 8 bytes. Returns 0, or 1 if the system refuses memory or
// threads.
int32_t many(const void* arguments, int32_t offset_bytes) {
    try {
        if (offset_bytes == 8)
            run(*static_cast<const Arguments<int64_t>*>(arguments));
        else
            run(*static_cast<const Arguments<int32_t>*>(arguments));
        return 0;
    } catch (const std::exception&) {
        return 1;
    }
}
}
