// cpu_many: runs breadth-first searches from many sources at once, with one bit for each source (Then et al.,
// "The More the Merrier: Efficient Multi-Source Graph Traversal", 2014).
//
// A pass searches from up to 512 sources. In each of three arrays, each vertex has a row: a bit vector with
// one bit for each source. The bits of `seen` are the searches that have reached the vertex. The bits of
// `frontier` are the searches that reached it in the last level. The bits of `next` are the searches that
// reach it in this level. So one access to a neighbour serves all searches that have the vertex in their
// frontiers. Each core runs its own passes. Cores share only the graph.
//
// A level is pushed or pulled. To push, vertices of the frontier give their rows to their out-neighbours. To
// pull, each vertex that some search has not reached collects the rows of its in-neighbours, until its row is
// complete. Let `leaving` be the number of arcs that leave the frontier, and `lacking` the number of arcs
// into incomplete vertices. The search pulls a level if alpha * leaving > lacking.
//
// Searches share an access to a vertex only if they reach it in one level. So each pass takes sources that
// lie close together, in a ball of vertices. Liu, Huang and Hu ("iBFS", 2016) group sources by shared
// neighbours.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "parallel.h"

// GCC warns about functions that take vectors by value. All such functions here are inlined, so the warning
// does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

// Marks functions that work on rows. The compiler inlines them into each caller, with the instructions that
// this caller may use.
#define BFSBENCH_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define BFSBENCH_AVX2 __attribute__((target("avx2")))
#else
#define BFSBENCH_AVX2
#endif

extern "C" {

// A graph and the settings of its searches. Offsets are int32 or int64. column_offsets and row_indices are
// the graph in CSC form.
struct ManyArguments {
    int64_t num_vertices;
    const void* row_offsets;
    const int32_t* column_indices;
    const void* column_offsets;
    const int32_t* row_indices;
    int32_t bits;  // number of sources of a pass: 64, 128, 256 or 512
    int32_t threads;
    // True if each pass takes sources that lie close together. False if passes take sources in their given
    // order.
    int32_t grouped;
    double alpha;
};

// The results of the search from one source: the number of reached vertices, the sums of distances and of
// inverse distances, and the largest distance.
struct Measures {
    int64_t reached, distance_sum;
    double harmonic;
    int64_t eccentricity;
};
}

namespace {

constexpr int64_t kAhead = 12;  // number of arcs or queue entries between a prefetch and its use
// When a level is pulled, each incomplete vertex adds the rows of its in-neighbours to its own row. After
// every kLooks neighbours in the frontier it tests whether its row is complete.
constexpr int kLooks = 4;

constexpr int64_t kBallArcs = 4;

// Bits of a vertex's state: every search has reached it (kComplete), it has a row in frontier (kActive), it
// has a row in next (kFresh).
enum State : uint8_t { kComplete = 1, kActive = 2, kFresh = 4 };

template <int lanes>
struct VectorOf {
    typedef uint64_t type __attribute__((vector_size(8 * lanes)));
};
template <>
struct VectorOf<1> {
    typedef uint64_t type;
};

// A bit vector with one bit for each source of a pass, in vectors of up to 256 bits.
template <int words>
struct Row {
    static constexpr int kLanes = words < 4 ? words : 4, kParts = words / kLanes;
    typename VectorOf<kLanes>::type part[kParts];

    uint64_t& word(int w) { return reinterpret_cast<uint64_t*>(part)[w]; }
    uint64_t word(int w) const { return reinterpret_cast<const uint64_t*>(part)[w]; }
    BFSBENCH_INLINE void operator|=(const Row& other) {
        for (int p = 0; p < kParts; ++p) part[p] |= other.part[p];
    }
    BFSBENCH_INLINE Row operator&(const Row& other) const {
        Row both;
        for (int p = 0; p < kParts; ++p) both.part[p] = part[p] & other.part[p];
        return both;
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

// An array with one row of bits for each vertex, in large pages if the system has them. Accesses are random,
// and large pages need fewer address translations.
template <int words>
class Rows {
  public:
    explicit Rows(int64_t number) {
        const size_t page = size_t{1} << 21, bytes = (number * sizeof(Row<words>) / page + 1) * page;
        rows_ = static_cast<Row<words>*>(std::aligned_alloc(page, bytes));
        if (!rows_) throw std::bad_alloc();
#ifdef __linux__
        madvise(rows_, bytes, MADV_HUGEPAGE);
#endif
    }
    Rows(const Rows&) = delete;
    ~Rows() { std::free(rows_); }
    void swap(Rows& other) { std::swap(rows_, other.rows_); }
    BFSBENCH_INLINE Row<words>& operator[](int64_t v) const { return rows_[v]; }

  private:
    Row<words>* rows_;
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
        for (int w = 0; w < words; ++w) {
            uint64_t some = 0;
            for (int p = 0; p < num_planes_; ++p) some |= plane_[p].word(w);
            for (; some; some &= some - 1) {
                const int bit = __builtin_ctzll(some);
                int64_t number = 0;
                for (int p = 0; p < num_planes_; ++p) number |= int64_t(plane_[p].word(w) >> bit & 1) << p;
                found(w * 64 + bit, number);
            }
        }
        std::fill_n(plane_, num_planes_, Row<words>{});
        num_planes_ = 3;
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
        for (Row<words> rest = row; rest.any(); ++p) {
            const Row<words> both = plane_[p] & rest;
            for (int part = 0; part < Row<words>::kParts; ++part) plane_[p].part[part] ^= rest.part[part];
            rest = both;
            num_planes_ = std::max(num_planes_, p + 1);
        }
    }

    Row<words> plane_[32] = {};
    int num_planes_ = 3;
    const Row<words>* waiting_[8];
    int num_waiting_ = 0;
};

// The arrays for the results. `measures` has one element for each source. `distances` is null or
// int32[sources][num_vertices]. The caller has filled it with the value for unreached vertices.
struct Answers {
    Measures* measures;
    int32_t* distances;
};

template <class Offset>
struct Graph {
    explicit Graph(const ManyArguments& given)
        : num_vertices(given.num_vertices),
          row_offsets(static_cast<const Offset*>(given.row_offsets)),
          column_offsets(static_cast<const Offset*>(given.column_offsets)),
          column_indices(given.column_indices),
          row_indices(given.row_indices) {}
    int64_t leaving(int64_t v) const { return row_offsets[v + 1] - row_offsets[v]; }
    int64_t entering(int64_t v) const { return column_offsets[v + 1] - column_offsets[v]; }
    const int64_t num_vertices;
    const Offset *row_offsets, *column_offsets;
    const int32_t *column_indices, *row_indices;
};

// Runs passes, each with the searches from up to 64 * words sources, on one core. Each core has its own
// object with its own rows and queues.
template <int words, class Offset>
class Passes {
  public:
    Passes(const Graph<Offset>& graph, double alpha)
        : graph_(graph),
          alpha_(alpha),
          seen_(graph.num_vertices),
          frontier_(graph.num_vertices),
          next_(graph.num_vertices),
          state_(graph.num_vertices + 8) {
        queue_.reserve(graph.num_vertices);
        found_.reserve(graph.num_vertices);
    }

    // Runs one pass with searches from `number` sources. The results of sources[i] go to element place[i].
    void run(const int32_t* sources, const int64_t* place, int number, const Answers& answers) {
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) return run_avx2(sources, place, number, answers);
#endif
        levels(sources, place, number, answers);
    }

  private:
    BFSBENCH_AVX2 void run_avx2(const int32_t* sources, const int64_t* place, int number, const Answers& answers) {
        levels(sources, place, number, answers);
    }

    BFSBENCH_INLINE void levels(const int32_t* sources, const int64_t* place, int number, const Answers& answers) {
        begin(sources, place, number, answers);
        for (int32_t level = 1; !queue_.empty(); ++level) {
            if (static_cast<double>(leaving_) * alpha_ > static_cast<double>(lacking_))
                pull();
            else
                push();
            settle();
            counter_.take([&](int bit, int64_t vertices) {
                Measures& found = answers.measures[place[bit]];
                found.reached += vertices;
                found.distance_sum += vertices * level;
                found.harmonic += static_cast<double>(vertices) / level;
                found.eccentricity = level;
            });
            if (answers.distances) note(level, place, answers.distances);
        }
    }

    void begin(const int32_t* sources, const int64_t* place, int number, const Answers& answers) {
        std::memset(static_cast<void*>(&seen_[0]), 0, graph_.num_vertices * sizeof(Row<words>));
        std::fill(state_.begin(), state_.end(), uint8_t{0});
        // Marks the elements after the last vertex as complete, so that no loop visits them.
        std::fill(state_.end() - 8, state_.end(), kComplete);
        whole_ = {};
        lacking_ = graph_.column_offsets[graph_.num_vertices];
        found_.clear();
        queue_.clear();
        for (int bit = 0; bit < number; ++bit) {
            const uint64_t mask = uint64_t{1} << bit % 64;
            const int32_t v = sources[bit];
            if (!(state_[v] & kFresh)) found_.push_back(v), next_[v] = {};
            state_[v] |= kFresh;
            whole_.word(bit / 64) |= mask;
            seen_[v].word(bit / 64) |= mask;
            next_[v].word(bit / 64) |= mask;
            answers.measures[place[bit]] = {1, 0, 0, 0};
            if (answers.distances) answers.distances[place[bit] * graph_.num_vertices + v] = 0;
        }
        settle();
        counter_.take([](int, int64_t) {});
    }

    BFSBENCH_INLINE void push() {
        const int64_t size = queue_.size(), arcs = graph_.row_offsets[graph_.num_vertices];
        for (int64_t i = 0; i < size; ++i) {
            if (i + kAhead < size) {
                const int32_t later = queue_[i + kAhead];
                __builtin_prefetch(&frontier_[later]);
                __builtin_prefetch(&graph_.column_indices[graph_.row_offsets[later]]);
            }
            const int32_t v = queue_[i];
            const Row<words> row = frontier_[v];
            const Offset end = graph_.row_offsets[v + 1];
            for (Offset e = graph_.row_offsets[v]; e < end; ++e) {
                if (e + kAhead < arcs) {
                    const int32_t later = graph_.column_indices[e + kAhead];
                    __builtin_prefetch(&seen_[later], 1);
                    __builtin_prefetch(&next_[later], 1);
                }
                const int32_t u = graph_.column_indices[e];
                if (state_[u] & kComplete) continue;
                const Row<words> fresh = row.without(seen_[u]);
                if (!fresh.any()) continue;
                seen_[u] |= fresh;
                if (state_[u] & kFresh) {
                    next_[u] |= fresh;
                } else {
                    next_[u] = fresh;
                    state_[u] |= kFresh;
                    found_.push_back(u);
                }
            }
        }
    }

    BFSBENCH_INLINE void pull() {
        for (int64_t first = 0; first < graph_.num_vertices; first += 8) {
            uint64_t eight;
            std::memcpy(&eight, &state_[first], 8);
            // Skips eight vertices that are all complete.
            if ((eight & 0x0101010101010101) == 0x0101010101010101) continue;
            for (int64_t v = first; v < first + 8; ++v)
                if (!(state_[v] & kComplete)) pull_to(v);
        }
    }

    BFSBENCH_INLINE void pull_to(int64_t v) {
        const int64_t arcs = graph_.column_offsets[graph_.num_vertices];
        const Row<words> lacks = whole_.without(seen_[v]);
        Row<words> fresh = {};
        const Offset end = graph_.column_offsets[v + 1];
        int looks = 0;
        for (Offset e = graph_.column_offsets[v]; e < end; ++e) {
            if (e + kAhead < arcs) __builtin_prefetch(&frontier_[graph_.row_indices[e + kAhead]]);
            const int32_t u = graph_.row_indices[e];
            if (!(state_[u] & kActive)) continue;
            fresh |= frontier_[u];
            if (++looks % kLooks == 0 && !lacks.without(fresh).any()) break;
        }
        fresh = fresh & lacks;
        if (!fresh.any()) return;
        seen_[v] |= fresh;
        next_[v] = fresh;
        found_.push_back(static_cast<int32_t>(v));
    }

    // Makes `next` the frontier, and counts how many vertices of this frontier each search has reached.
    BFSBENCH_INLINE void settle() {
        for (const int32_t v : queue_) state_[v] &= ~kActive;
        queue_.swap(found_);
        frontier_.swap(next_);
        found_.clear();
        leaving_ = 0;
        const int64_t size = queue_.size();
        for (int64_t i = 0; i < size; ++i) {
            if (i + kAhead < size) {
                __builtin_prefetch(&frontier_[queue_[i + kAhead]]);
                __builtin_prefetch(&seen_[queue_[i + kAhead]]);
            }
            const int32_t v = queue_[i];
            counter_.add(frontier_[v]);
            leaving_ += graph_.leaving(v);
            const bool left = whole_.without(seen_[v]).any();
            if (!left) lacking_ -= graph_.entering(v);
            state_[v] = left ? kActive : kActive | kComplete;
        }
    }

    void note(int32_t level, const int64_t* place, int32_t* distances) {
        for (const int32_t v : queue_)
            for (int w = 0; w < words; ++w)
                for (uint64_t some = frontier_[v].word(w); some; some &= some - 1)
                    distances[place[w * 64 + __builtin_ctzll(some)] * graph_.num_vertices + v] = level;
    }

    const Graph<Offset> graph_;
    const double alpha_;
    Rows<words> seen_, frontier_, next_;
    std::vector<uint8_t> state_;
    // `queue_` lists the vertices whose row in `frontier_` has a bit set. `found_` lists the vertices whose
    // row in `next_` has a bit set.
    std::vector<int32_t> queue_, found_;
    Row<words> whole_;                    // a bit for each source of the pass
    Counter<words> counter_;
    // `leaving_` is the number of arcs that leave the frontier. `lacking_` is the number of arcs into
    // vertices that are not complete.
    int64_t leaving_ = 0, lacking_ = 0;
};

// Returns the order in which passes take the sources, as indices of `sources`. For each pass, a ball of
// vertices grows from a start vertex along the arcs until it contains enough sources. It also grows through
// sources of earlier passes. The next ball starts at a source at the edge of the last ball. The balls of all
// passes together read at most kBallArcs times the number of all arcs. Each pass may read an equal number of
// arcs. After that number, the pass takes further sources in their given order.
template <class Offset>
std::vector<int64_t> by_balls(const Graph<Offset>& graph, const int32_t* sources, int64_t number, int64_t bits) {
    std::vector<int64_t> order(number);
    std::iota(order.begin(), order.end(), 0);
    if (number <= bits) return order;  // one pass takes all sources
    order.clear();
    std::vector<int64_t> place(graph.num_vertices, -1);
    for (int64_t i = 0; i < number; ++i) place[sources[i]] = i;
    // By vertex: number of the last ball that contained the vertex.
    std::vector<int32_t> ball(graph.num_vertices, -1), queue;
    const int64_t passes = (number + bits - 1) / bits;
    const int64_t share = kBallArcs * graph.row_offsets[graph.num_vertices] / passes;
    int64_t listed = 0, arcs = 0, end = 0;
    int32_t seed = -1;
    for (int32_t turn = 0; static_cast<int64_t>(order.size()) < number; ++turn) {
        if (static_cast<int64_t>(order.size()) == end) arcs = 0, end = std::min(number, end + bits);
        if (seed < 0) {
            while (place[sources[listed]] < 0) ++listed;
            seed = sources[listed];
        }
        queue.assign(1, seed);
        ball[seed] = turn;
        seed = -1;
        for (size_t head = 0; head < queue.size() && seed < 0; ++head) {
            const int32_t v = queue[head];
            if (place[v] >= 0 && static_cast<int64_t>(order.size()) == end) {
                seed = v;
            } else if (place[v] >= 0) {
                order.push_back(place[v]);
                place[v] = -1;
            }
            if ((arcs += graph.leaving(v)) > share) break;
            for (Offset e = graph.row_offsets[v]; e < graph.row_offsets[v + 1]; ++e) {
                const int32_t u = graph.column_indices[e];
                if (ball[u] != turn) ball[u] = turn, queue.push_back(u);
            }
        }
    }
    return order;
}

class Searches {
  public:
    virtual ~Searches() = default;
    virtual void run(const int32_t* sources, int64_t number, const Answers& answers) = 0;
};

template <int words, class Offset>
class BitSearches final : public Searches {
  public:
    explicit BitSearches(const ManyArguments& given) : graph_(given), grouped_(given.grouped) {
        for (int thread = 0; thread < std::max(given.threads, 1); ++thread)
            cores_.emplace_back(new Passes<words, Offset>(graph_, given.alpha));
    }

    void run(const int32_t* sources, int64_t number, const Answers& answers) override {
        constexpr int64_t bits = 64 * words;
        const auto order = by_balls(graph_, sources, number, grouped_ ? bits : number);
        std::vector<int32_t> from(number);
        for (int64_t i = 0; i < number; ++i) from[i] = sources[order[i]];
        std::atomic<int64_t> taken{0};
        bfsbench::run_workers(static_cast<int>(cores_.size()), [&](int core) {
            for (int64_t first; (first = taken.fetch_add(bits)) < number;) {
                const int some = static_cast<int>(std::min(bits, number - first));
                cores_[core]->run(&from[first], &order[first], some, answers);
            }
        });
    }

  private:
    const Graph<Offset> graph_;
    const bool grouped_;
    std::vector<std::unique_ptr<Passes<words, Offset>>> cores_;
};

template <class Offset>
Searches* make(const ManyArguments& given) {
    switch (given.bits) {
        case 64: return new BitSearches<1, Offset>(given);
        case 128: return new BitSearches<2, Offset>(given);
        case 256: return new BitSearches<4, Offset>(given);
        default: return new BitSearches<8, Offset>(given);
    }
}

}  // namespace

extern "C" {

// Creates an object for searches in a graph, with a copy of `arguments`. The arrays of the graph must outlive
// the object. Returns null if the system refuses memory.
Searches* many_create(const ManyArguments* arguments, int32_t offset_bytes) {
    try {
        return offset_bytes == 8 ? make<int64_t>(*arguments) : make<int32_t>(*arguments);
    } catch (const std::exception&) {
        return nullptr;
    }
}

// Searches from all sources, which must be distinct. `sources` is int32[number]. `distances` is null or
// int32[number][num_vertices], filled with the value for unreached vertices. Returns 0, or 1 if the system
// refuses memory or threads.
int32_t many_run(Searches* searches, const int32_t* sources, int64_t number, Measures* measures, int32_t* distances) {
    try {
        searches->run(sources, number, {measures, distances});
        return 0;
    } catch (const std::exception&) {
        return 1;
    }
}

void many_destroy(Searches* searches) { delete searches; }

// Stores the order in which passes of `bits` sources take the sources. `order` is int64[number] and receives
// indices of `sources`.
void many_order(int32_t offset_bytes, int64_t num_vertices, const void* row_offsets, const int32_t* column_indices,
                int64_t number, const int32_t* sources, int64_t bits, int64_t* order) {
    const ManyArguments given{num_vertices, row_offsets, column_indices, row_offsets, column_indices, 0, 0, 0, 0};
    const auto found = offset_bytes == 8 ? by_balls(Graph<int64_t>(given), sources, number, bits)
                                         : by_balls(Graph<int32_t>(given), sources, number, bits);
    std::copy(found.begin(), found.end(), order);
}
}
