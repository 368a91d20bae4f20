// cpu_parallel: direction-optimising breadth-first search on all cores (Beamer, Asanovic and Patterson, 2012).
//
// One thread searches a small graph like cpu_queue. In other graphs, there are three ways to expand a level:
// - push_few: while few vertices are queued, one thread runs the loop of cpu_queue.
// - push: threads take the level's vertices from queues, and claim their unseen neighbours.
// - pull: each unseen vertex looks for an in-neighbour in the level, which is a bitmap, and stops at the first.
// Before a push or a pull, the search estimates the times of both. It multiplies the time of the push by alpha.
//
// Each vertex has a mark, which is a byte. The mark says whether the vertex was seen, and usually also its level. So
// a search writes the array of levels once, in order, when it ends. If a mark does not hold the level (a deep mark),
// the level was written when the vertex was found.
//
// A thread claims a vertex by reading and writing its mark without a locked instruction. So two threads may
// both claim a vertex, queue it and expand it. This costs time but changes no level. A thread never claims a
// vertex twice, so its queue never has more than num_vertices vertices. The queue has one further entry,
// because a thread stores each neighbour after the queue's last vertex, and keeps it there only if it claims
// the neighbour. Marks that several threads may access at a time need relaxed atomic operations.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "team.h"

extern "C" {
// A graph and the settings of its searches. Offsets are int32 or int64. column_offsets and row_indices are the graph in
// CSC form. Vertices are unsigned, because the processor would have to extend the sign of signed indices.
struct ParallelArguments {
    int64_t num_vertices;
    const void* row_offsets;
    const uint32_t* column_indices;
    const void* column_offsets;
    const uint32_t* row_indices;
    int32_t threads;
    int32_t sequential_limit;  // largest number of arcs of a level that one thread pushes alone
    double alpha;
    // An array int8[num_vertices], or null. Element l receives the Step with which level l was expanded.
    int8_t* steps;
};
}

namespace {
using namespace bfsbench;

enum class Step : int8_t { push_alone, push_together, pull };

constexpr int64_t kFew = 16;     // largest number of vertices that wait in push_few
constexpr int64_t kLevels = 8;   // the graph needs kLevels * sequential_limit arcs for each thread
constexpr int64_t kAhead = 8;    // number of queue entries between a prefetch and its use
constexpr int64_t kChunk = 512;  // largest number of queue entries that a thread takes at a time
constexpr int64_t kShare = 64;   // a search is small if it sees at most one vertex in kShare
// A thread takes kWordGrain words of a bitmap (64 bits each), or kLevelGrain elements of the array of levels,
// at a time.
constexpr int64_t kWordGrain = 64, kLevelGrain = 1 << 14;
// A thread that has found more than kMany vertices estimates the sum of their degrees from one vertex in
// kSample.
constexpr int64_t kMany = 512, kSample = 8;
// A push skips groups of four seen neighbours if fewer than one in kRare of the neighbours so far was
// unseen. Otherwise it tests the neighbours one by one. The count of unseen neighbours starts at kWarm
// instead of 0, so a few seen neighbours are not enough to skip groups.
constexpr int64_t kRare = 6, kWarm = 32;
// Estimated times to visit a vertex, to claim a vertex in a push, and to examine an in-neighbour in a pull.
// The unit is the time that a push takes for each arc.
constexpr double kVisit = 4, kClaim = 4, kExamine = 1.5;

// Special values of marks. Any other mark is the vertex's level plus kFirstLevel. The deepest levels do not
// fit a mark. They have the marks kDeep and kDeep + 1 alternately, so that consecutive levels have different
// marks.
constexpr uint8_t kDeep = 0, kFirstLevel = 2, kUnreachable = 254, kUnseen = 255;
bool is_deep(int32_t level) { return level >= kUnreachable - kFirstLevel; }
// Returns the mark (a byte) that the vertices of a level get.
uint8_t mark_of(int32_t level) { return uint8_t(is_deep(level) ? kDeep + level % 2 : level + kFirstLevel); }
// Returns a vertex's level, or -1 if the vertex was not seen. `written` is the vertex's element in
// the array of levels. This element holds the level if the mark is kDeep or kDeep + 1.
int32_t level_of(uint8_t mark, int32_t written) {
    return mark >= kUnreachable ? -1 : mark >= kFirstLevel ? mark - kFirstLevel : written;
}

// get() reads a mark, and set() writes a mark or a level. Other threads may access the mark or level at the
// same time.
uint8_t get(const uint8_t& mark) { return __atomic_load_n(&mark, __ATOMIC_RELAXED); }
template <class T> void set(T& place, T value) { __atomic_store_n(&place, value, __ATOMIC_RELAXED); }

// Returns one bit for each of 64 marks. The bit is 1 if the mark equals `mark`.
uint64_t marked(const uint8_t* marks, uint8_t mark) {
    constexpr uint64_t kOnes = 0x0101010101010101, kLow = 0x7F * kOnes;
    uint64_t bits = 0;
    for (int part = 0; part < 8; ++part) {
        uint64_t bytes;
        std::memcpy(&bytes, &marks[part * 8], 8);
        bytes ^= mark * kOnes;
        // In `zero`, the highest bit of each byte is 1 if that byte of `bytes` is 0. All other bits
        // of `zero` are 0. The multiplication below gathers the highest bits in one byte.
        const uint64_t zero = ~(((bytes & kLow) + kLow) | bytes | kLow);
        bits |= ((zero >> 7) * 0x0102040810204080) >> 56 << (part * 8);
    }
    return bits;
}

// Writes to `levels` the levels that the first `count` marks stand for. Resets these marks for the next
// search.
void write_levels(int32_t* __restrict levels, uint8_t* __restrict marks, int64_t count) {
    uint8_t lowest = kUnseen, highest = 0;
    for (int64_t v = 0; v < count; ++v) {
        lowest = std::min(lowest, marks[v]);
        highest = std::max(highest, marks[v]);
    }
    if (lowest >= kFirstLevel)  // no mark is deep, so the array of levels is not read
        for (int64_t v = 0; v < count; ++v) levels[v] = level_of(marks[v], -1);
    else if (highest >= kFirstLevel)
        for (int64_t v = 0; v < count; ++v) levels[v] = level_of(marks[v], levels[v]);
    for (int64_t v = 0; v < count; ++v) marks[v] = marks[v] == kUnreachable ? kUnreachable : kUnseen;
}

// Expands the queue entries from `head` to `tail` with the loop of cpu_queue, which appends new
// vertices at `tail`. The levels of the queued vertices are already written. Stops early if the
// queue has more than `most` vertices to expand. Also stops if `tail` reaches `last`, because then
// no vertex is unseen. Returns the new head and tail. `seen` is the array of marks or of levels.
// The function is not inlined, so that its variables stay in registers.
template <class Offset, class Seen>
__attribute__((noinline)) std::pair<uint32_t*, uint32_t*> textbook(
    const Offset* offsets, const uint32_t* columns, uint32_t* head, uint32_t* tail, const uint32_t* last, int64_t most,
    int32_t* levels, Seen* seen) {
    while (head < tail && tail < last && tail - head <= most) {
        const uint32_t v = *head++;
        const int32_t next = levels[v] + 1;
        for (Offset e = offsets[v]; e < offsets[v + 1]; ++e) {
            const uint32_t neighbour = columns[e];
            if (seen[neighbour] == static_cast<Seen>(-1)) {
                seen[neighbour] = kDeep;
                levels[neighbour] = next;
                *tail++ = neighbour;
            }
        }
    }
    return {head, tail};
}

struct Frontier { int64_t vertices, arcs; };  // numbers of vertices, and of arcs that leave them

// The queue of one thread, and the vertices that the thread has found while it expands the current level. The
// queue entries from `head` to `tail` belong to the current level, and the entries from `tail` to `end` to
// the next level.
struct alignas(64) Member {
    std::unique_ptr<uint32_t[]> queue;
    int64_t head = 0, tail = 0, end = 0, arcs = 0;  // `arcs` leave the vertices of the next level
    alignas(64) std::atomic<int64_t> taken{0};      // index of the level's first entry that no thread has taken
};

struct Search {
    virtual ~Search() = default;
    virtual void run(int32_t source, int32_t* levels) = 0;
};

template <class Offset>
class ParallelSearch final : public Search {
  public:
    explicit ParallelSearch(const ParallelArguments& arguments)
        : graph_(arguments),
          row_offsets_(static_cast<const Offset*>(arguments.row_offsets)),
          column_offsets_(static_cast<const Offset*>(arguments.column_offsets)),
          words_(arguments.num_vertices / 64 + 1),
          worth_(row_offsets_[arguments.num_vertices] / (kLevels * arguments.sequential_limit + 1)),
          team_(arguments.threads > 0 ? std::min<int64_t>(arguments.threads, worth_) : worth_),
          members_(team_.size()),
          marks_(new uint8_t[words_ * 64]),
          level_(new uint64_t[words_]) {
        for (Member& member : members_) member.queue.reset(new uint32_t[arguments.num_vertices + 1]);
        for (int64_t v = 0; v < words_ * 64; ++v) {
            const bool reachable = v < graph_.num_vertices && column_offsets_[v] < column_offsets_[v + 1];
            marks_[v] = reachable ? kUnseen : kUnreachable;
            reachable_ += reachable;
        }
    }

    void run(int32_t source, int32_t* levels) override {
        levels_ = levels;
        Member& first = members_[0];
        first.queue[0] = source;
        const uint8_t before = marks_[source];
        const int64_t unseen = reachable_ - (before == kUnseen);
        if (worth_ == 0) return search_small(first.queue.get(), unseen);
        marks_[source] = mark_of(0);
        for (Member& member : members_) member.head = member.tail = member.end = 0;
        first.tail = first.end = 1;
        frontier_ = {1, degree(source)};
        unseen_ = {unseen, row_offsets_[graph_.num_vertices] - frontier_.arcs};
        exact_ = true;
        double share = 1;  // share of the last level's arcs that found a vertex
        for (int32_t next = 1; frontier_.vertices > 0 && (unseen_.vertices > 0 || !exact_); ++next) {
            const bool few = frontier_.vertices <= kFew && frontier_.arcs <= graph_.sequential_limit;
            if (few && first.tail - first.head == frontier_.vertices) {
                next = push_few(next);
                if (frontier_.vertices == 0) break;
                share = 1;
            }
            const int64_t arcs = frontier_.arcs;
            if (arcs > graph_.sequential_limit && pull_is_faster(share))
                pull(next);
            else
                push(next);
            advance();
            share = std::min(1.0, static_cast<double>(frontier_.vertices) / static_cast<double>(arcs));
        }
        finish();
        marks_[source] = before;
    }

  private:
    // Searches from the vertex queue[0] with the loop of cpu_queue, and uses no marks. `unseen` is
    // the number of vertices besides queue[0] that have in-arcs. The search ends when it has
    // reached `unseen` vertices.
    void search_small(uint32_t* queue, int64_t unseen) {
        std::fill(levels_, levels_ + graph_.num_vertices, -1);
        levels_[queue[0]] = 0;
        const auto [head, tail] = textbook(row_offsets_, graph_.column_indices, queue, queue + 1, queue + 1 + unseen,
                                           graph_.num_vertices, levels_, levels_);
        note(Step::push_alone, 0, head < tail ? levels_[*head] : levels_[tail[-1]] + 1);
    }

    int64_t degree(uint32_t v) const { return row_offsets_[v + 1] - row_offsets_[v]; }

    // Returns the number of arcs that leave the queued vertices. If `step` is above 1, the number is an
    // estimate from every `step`-th vertex.
    int64_t arcs_of(const uint32_t* begin, const uint32_t* end, int64_t step = 1) const {
        int64_t arcs = 0;
        for (int64_t i = 0; i < end - begin; i += step) arcs += degree(begin[i]);
        return arcs * step;
    }

    // Records how the levels `begin` .. `end` - 1 are expanded.
    void note(Step step, int32_t begin, int32_t end) const {
        if (graph_.steps) std::fill(graph_.steps + begin, graph_.steps + end, static_cast<int8_t>(step));
    }

    // Estimates whether pulling the level takes less time than pushing it. `share` is the expected
    // share of the level's arcs that lead to unseen vertices. The estimate assumes that these arcs
    // are spread evenly over the in-arcs of all unseen vertices.
    bool pull_is_faster(double share) const {
        const double arcs = static_cast<double>(frontier_.arcs), vertices = static_cast<double>(unseen_.vertices);
        const double found = share * arcs;
        const double push = kVisit * static_cast<double>(frontier_.vertices) + arcs + kClaim * found;
        const double examined = std::min(1.0, vertices / found);  // share of the unseen vertices' in-neighbours
        const double pull = kVisit * vertices + kExamine * examined * static_cast<double>(unseen_.arcs);
        return push * graph_.alpha > pull;
    }

    // Runs the sequential loop textbook() while the queue has few vertices to expand. If this loop
    // ends within a level, the vertices of this level that are not expanded yet become the
    // frontier. Returns the number of the next level.
    int32_t push_few(int32_t next) {
        Member& member = members_[0];
        uint32_t *const queue = member.queue.get(), *const old = queue + member.tail;
        const uint32_t* const last = exact_ ? old + unseen_.vertices : queue + graph_.num_vertices + 1;
        for (int64_t i = member.head; i < member.tail; ++i) levels_[queue[i]] = next - 1;
        const auto [head, tail] = textbook(row_offsets_, graph_.column_indices, queue + member.head, old, last, kFew,
                                           levels_, marks_.get());
        member.end = tail - queue;
        const bool done = head == tail;
        const int32_t level = levels_[done ? tail[-1] : *head];
        note(Step::push_alone, next - 1, level + done);
        frontier_ = {0, 0};
        if (done || tail == last) return level + 1;
        // The loop below sets the marks of all queued vertices, because a pull recognises the
        // vertices of this level by their marks. The marks of vertices that were expanded earlier
        // do not matter, because their neighbours have all been seen.
        uint32_t* end = head;  // end of the level
        for (uint32_t* place = head; place < tail; ++place) {
            end += levels_[*place] == level;
            marks_[*place] = mark_of(levels_[*place]);
        }
        member.head = head - queue;
        member.tail = end - queue;
        member.arcs = arcs_of(end, tail);
        frontier_ = {end - head, arcs_of(head, end)};
        discount(end - old, arcs_of(old, end));
        return level + 1;
    }

    // Prefetches the first two cache lines of the row of vertex v.
    static void fetch(const uint32_t* columns, const Offset* offsets, uint32_t v) {
        for (int line : {0, 1}) __builtin_prefetch(&columns[offsets[v]] + line * 16);
    }

    // Expands the entries begin .. end - 1 of a queue, and appends the found vertices to the queue of
    // `member`.
    //
    // A branch on the mark of a neighbour costs time if the processor cannot predict it. So the function
    // claims a neighbour without a branch: it always stores a mark, which is the old mark if the neighbour
    // was seen. While unseen neighbours are rare, the function skips groups of four seen neighbours. It
    // recognises these by the highest bits of their marks, which are 0 except for unseen vertices and levels
    // from 126.
    void expand(const uint32_t* queue, int64_t begin, int64_t end, Member& member, int32_t next) {
        const Offset* const offsets = row_offsets_;
        const uint32_t* const columns = graph_.column_indices;
        uint8_t* const marks = marks_.get();
        const uint8_t change = static_cast<uint8_t>(mark_of(next) - kUnseen);
        uint32_t* const found = member.queue.get();
        const int64_t old = member.end;
        int64_t fill = old, arcs = 0;
        const auto mark_at = [&](Offset e) { return get(marks[columns[e]]); };
        const auto claim = [&](Offset e) {
            const uint32_t neighbour = columns[e];
            const uint8_t mark = get(marks[neighbour]);
            const bool fresh = mark == kUnseen;
            found[fill] = neighbour;
            fill += fresh;
            set(marks[neighbour], static_cast<uint8_t>(mark + change * fresh));
        };
        for (int64_t i = begin; i < end; ++i) {
            const int64_t written = queue == found ? fill : end;  // entries that may be read
            if (i + 2 * kAhead < written) __builtin_prefetch(&offsets[queue[i + 2 * kAhead]]);
            if (i + kAhead < written) fetch(columns, offsets, queue[i + kAhead]);
            const uint32_t v = queue[i];
            const Offset last = offsets[v + 1];
            Offset e = offsets[v];
            arcs += last - e;
            if ((fill - old + kWarm) * kRare < arcs) {
                for (; last - e >= 4; e += 4)
                    if ((mark_at(e) | mark_at(e + 1) | mark_at(e + 2) | mark_at(e + 3)) & 0x80)
                        for (Offset k = e; k < e + 4; ++k) claim(k);
            }
            for (; e < last; ++e) claim(e);
        }
        if (is_deep(next))
            for (int64_t i = old; i < fill; ++i) set(levels_[found[i]], next);
        member.arcs += arcs_of(found + old, found + fill, fill - old > kMany ? kSample : 1);
        member.end = fill;
    }

    // Pushes the level, with one thread if it has few arcs. Otherwise the entries of all queues form one
    // list, which is divided into one share for each thread. A thread takes chunks of its own share first,
    // because its cache holds them, and then chunks of other shares.
    void push(int32_t next) {
        const int64_t size = team_.size(), vertices = frontier_.vertices;
        if (size == 1 || frontier_.arcs <= graph_.sequential_limit) {
            note(Step::push_alone, next - 1, next);
            for (const Member& from : members_) expand(from.queue.get(), from.head, from.tail, members_[0], next);
            return;
        }
        note(Step::push_together, next - 1, next);
        exact_ = false;
        const int64_t grain = std::clamp<int64_t>(vertices / (4 * size), 1, kChunk);
        for (int64_t i = 0; i < size; ++i) members_[i].taken.store(vertices * i / size, std::memory_order_relaxed);
        team_.run([&](int self) {
            for (int64_t turn = 0; turn < size; ++turn) {
                const int64_t owner = (self + turn) % size, last = vertices * (owner + 1) / size;
                std::atomic<int64_t>& taken = members_[owner].taken;
                while (taken.load(std::memory_order_relaxed) < last) {
                    const int64_t begin = taken.fetch_add(grain, std::memory_order_relaxed);
                    const int64_t end = std::min(begin + grain, last);
                    int64_t first = 0;  // number of entries in the queues before `from`
                    for (const Member& from : members_) {
                        const int64_t shift = from.head - first;
                        const int64_t low = std::max(begin + shift, from.head), high = std::min(end + shift, from.tail);
                        if (low < high) expand(from.queue.get(), low, high, members_[self], next);
                        first += from.tail - from.head;
                    }
                }
            }
        });
    }

    // Pulls the level with all threads. First they make a bitmap of the level from the marks. Only one thread
    // writes the mark of a vertex, and no other thread reads this mark, so no operation needs to be atomic.
    void pull(int32_t next) {
        note(Step::pull, next - 1, next);
        const uint8_t current = mark_of(next - 1), mark = mark_of(next);
        team_.share(words_, kWordGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t w = begin; w < end; ++w) level_[w] = marked(&marks_[w * 64], current);
        });
        team_.share(words_, kWordGrain, [&](int64_t begin, int64_t end, int self) {
            Member& member = members_[self];
            uint32_t unseen[kWordGrain * 64], count = 0;
            for (int64_t w = begin; w < end; ++w)
                for (uint64_t rest = marked(&marks_[w * 64], kUnseen); rest; rest &= rest - 1)
                    unseen[count++] = static_cast<uint32_t>(w * 64 + __builtin_ctzll(rest));
            for (uint32_t i = 0; i < count; ++i) {
                if (i + kAhead < count) fetch(graph_.row_indices, column_offsets_, unseen[i + kAhead]);
                const uint32_t v = unseen[i];
                if (!reached(v)) continue;
                marks_[v] = mark;
                if (is_deep(next)) levels_[v] = next;
                member.queue[member.end++] = v;
                member.arcs += degree(v);
            }
        });
    }

    // Returns whether an in-neighbour of vertex v is in the level's bitmap.
    bool reached(uint32_t v) const {
        const uint64_t* const level = level_.get();
        const uint32_t* const rows = graph_.row_indices;
        const Offset last = column_offsets_[v + 1];
        for (Offset e = column_offsets_[v]; e < last; ++e)
            if (level[rows[e] / 64] >> rows[e] % 64 & 1) return true;
        return false;
    }

    // Writes the array of levels, and resets the marks for the next search. If few vertices were
    // seen, and all of them are in the first queue, the function reads the marks of these vertices
    // only. In this case it first copies their levels to the unused end of the queue. Then it fills
    // the array of levels with -1, and stores the copied levels in it.
    void finish() {
        uint32_t* const queue = members_[0].queue.get();
        const int64_t seen = members_[0].end;
        const bool few = seen <= graph_.num_vertices / kShare &&
            std::all_of(members_.begin() + 1, members_.end(), [](const Member& member) { return member.end == 0; });
        for (int64_t i = 0; few && i < seen; ++i) queue[seen + i] = level_of(marks_[queue[i]], levels_[queue[i]]);
        team_.share(graph_.num_vertices, kLevelGrain, [&](int64_t begin, int64_t end, int) {
            if (few) return std::fill(levels_ + begin, levels_ + end, -1);
            for (int64_t v = begin; v < end; v += 64)
                write_levels(&levels_[v], &marks_[v], std::min<int64_t>(end - v, 64));
        });
        for (int64_t i = 0; few && i < seen; ++i) {
            levels_[queue[i]] = static_cast<int32_t>(queue[seen + i]);
            marks_[queue[i]] = kUnseen;
        }
    }

    // Starts the next level. The vertices that the threads have found become the frontier.
    void advance() {
        frontier_ = {0, 0};
        for (Member& member : members_) {
            member.head = member.tail;
            member.tail = member.end;
            frontier_.vertices += member.tail - member.head;
            frontier_.arcs += member.arcs;
            member.arcs = 0;
        }
        discount(frontier_.vertices, frontier_.arcs);
    }

    // Subtracts newly seen vertices, and the arcs that leave them, from `unseen_`. A vertex that two threads
    // have claimed counts twice, so a difference may be negative. A negative difference is replaced by 0.
    void discount(int64_t vertices, int64_t arcs) {
        unseen_ = {std::max<int64_t>(unseen_.vertices - vertices, 0), std::max<int64_t>(unseen_.arcs - arcs, 0)};
    }

    const ParallelArguments graph_;
    const Offset* const row_offsets_;
    const Offset* const column_offsets_;
    const int64_t words_;    // number of 64-bit words in a bitmap of all vertices
    const int64_t worth_;    // largest number of threads; 0 if the graph is small
    int64_t reachable_ = 0;  // number of vertices to which arcs lead
    int32_t* levels_ = nullptr;
    Frontier frontier_{}, unseen_{};
    bool exact_ = true;           // whether unseen_.vertices is exact, because no level was pushed together
    Team team_;
    std::vector<Member> members_;
    std::unique_ptr<uint8_t[]> marks_;
    std::unique_ptr<uint64_t[]> level_;  // the level that is pulled, as a bitmap
};

}  // namespace
extern "C" {
// Creates an object for searches in a graph, with a copy of `arguments`. The arrays of the graph must outlive
// the object. Returns null if the system refuses memory or threads.
Search* parallel_create(const ParallelArguments* arguments, int32_t offset_bytes) {
    try {
        if (offset_bytes == 8) return new ParallelSearch<int64_t>(*arguments);
        return new ParallelSearch<int32_t>(*arguments);
    } catch (const std::exception&) {
        return nullptr;
    }
}

// Searches from the vertex `source`. `levels` is int32[V] and need not be initialised.
void parallel_run(Search* search, int32_t source, int32_t* levels) { search->run(source, levels); }
void parallel_destroy(Search* search) { delete search; }
}
