// cpu_parallel: direction-optimising breadth-first search on all cores (Beamer, Asanovic and Patterson,
// "Direction-optimizing breadth-first search", 2012).
//
// A level is pushed or pulled. To push, threads take the level's vertices from queues and claim their unseen
// neighbours. To pull, each unseen vertex looks for an in-neighbour in the level, which is a bitmap, and stops at
// the first. Before each level of more than sequential_limit arcs, the search estimates the times of a push and of a
// pull, and multiplies the time of the push by alpha. The calling thread pushes smaller levels alone, because
// sharing these levels among threads would take longer.
//
// Each vertex has a mark, which is a byte. The mark says whether the vertex was seen, and usually also its level. So
// a search writes the array of levels once, in order, when it ends. Levels that are too deep for a byte are
// written when their vertices are found.
//
// A thread claims a vertex by reading and writing its mark without a locked instruction. So two threads may both
// claim a vertex, queue it and expand it. This costs time but changes no level. A thread never claims a vertex
// twice, so its queue never has more than num_vertices vertices. A further entry of the queue takes stores of
// neighbours that are not claimed.
//
// Threads use relaxed atomic operations for marks and levels that several threads may access at a time.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "marks.h"
#include "team.h"

extern "C" {

// A graph and the settings of its searches. Offsets are int32 or int64. column_offsets and row_indices are
// the graph in CSC form.
struct ParallelArguments {
    int64_t num_vertices;
    const void* row_offsets;
    const int32_t* column_indices;
    const void* column_offsets;
    const int32_t* row_indices;
    int32_t threads;
    int32_t sequential_limit;  // largest number of arcs of a level that one thread pushes alone
    double alpha;
    // An array int8[num_vertices], or null. Element l receives the kind of Step that expanded level l.
    int8_t* steps;
};
}

namespace {

using namespace bfsbench;

enum class Step : int8_t { push_alone, push_together, pull };

constexpr int64_t kAhead = 8;       // number of queue entries between a prefetch and its use
constexpr int64_t kFew = 16;        // largest number of vertices of a level that is pushed like in cpu_queue
constexpr int64_t kChunk = 512;     // largest number of queue entries that a thread takes at a time
constexpr int64_t kWordGrain = 64;  // number of 64-bit words of a bitmap that a thread takes at a time
constexpr int64_t kLevelGrain = 1 << 14;
// If a thread has found many vertices, it adds up the degrees of one vertex in kSample.
constexpr int64_t kSample = 8, kMany = 512;
// A push tests groups of four neighbours while fewer than 1 / kRare of the neighbours were unseen. It counts kWarm
// unseen neighbours in advance.
constexpr int64_t kRare = 6, kWarm = 32;
// Estimated times, as multiples of the time of a push for each arc: of a push for each found vertex, of a pull for
// each unseen vertex, and of a pull for each in-neighbour that it examines.
constexpr double kClaim = 4, kVisit = 4, kExamine = 2;

struct Frontier {
    int64_t vertices = 0, arcs = 0;  // number of vertices of a level, and number of arcs that leave them
    void add(const Frontier& part) {
        vertices += part.vertices;
        arcs += part.arcs;
    }
};

// The queue of one thread, and what the thread has found in the level that it expands now. The queue entries
// from `head` to `tail` belong to the current level.
struct alignas(64) Member {
    std::unique_ptr<int32_t[]> queue;
    int64_t head = 0, tail = 0, end = 0;
    Frontier found;
    // Index of the first entry of the level that no thread has taken yet.
    alignas(64) std::atomic<int64_t> taken{0};
};

class Search {
  public:
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
          team_(arguments.threads),
          members_(team_.size()),
          marks_(new uint8_t[words_ * 64]),
          level_(new uint64_t[words_]),
          next_(new uint64_t[words_]) {
        for (Member& member : members_) member.queue.reset(new int32_t[arguments.num_vertices + 1]);
        for (int64_t v = 0; v < words_ * 64; ++v) {
            const bool reachable = v < graph_.num_vertices && column_offsets_[v] < column_offsets_[v + 1];
            marks_[v] = reachable ? kUnseen : kUnreachable;
            reachable_ += reachable;
        }
    }

    void run(int32_t source, int32_t* levels) override {
        levels_ = levels;
        const uint8_t before = marks_[source];
        marks_[source] = mark_of(0);
        for (Member& member : members_) member.head = member.tail = member.end = 0;
        members_[0].queue[0] = source;
        members_[0].tail = members_[0].end = 1;
        Frontier frontier{1, degree(source)};
        // Number of vertices that were not seen, and number of arcs that leave them.
        Frontier unseen{reachable_ - 1, row_offsets_[graph_.num_vertices] - frontier.arcs};
        double share = 1;  // share of the last level's arcs that found a vertex
        bool pulls = false;
        int32_t next = 1;
        for (; frontier.vertices > 0; ++next) {
            const bool small = frontier.arcs <= graph_.sequential_limit, pulled = pulls;
            if (small && frontier.vertices <= kFew && members_[0].tail - members_[0].head == frontier.vertices) {
                next = push_few(next, frontier, unseen);
                share = 1;
                continue;
            }
            const int64_t arcs = frontier.arcs;
            pulls = !small && pull_is_faster(arcs, share, unseen);
            if (pulls && !pulled) marks_to_bitmap(next - 1);
            if (!pulls && pulled) bitmap_to_queue();
            if (pulls)
                frontier = pull(next);
            else
                frontier = small || team_.size() == 1 ? push_alone(next) : push_together(next, frontier.vertices);
            // A vertex that two threads claim counts twice, so the differences may be negative.
            unseen.vertices = std::max<int64_t>(unseen.vertices - frontier.vertices, 0);
            unseen.arcs = std::max<int64_t>(unseen.arcs - frontier.arcs, 0);
            share = std::min(1.0, static_cast<double>(frontier.vertices) / static_cast<double>(arcs));
        }
        write_levels(next - 2);
        marks_[source] = before;
    }

  private:
    // Records how a level is expanded. `next` is the number of the level that is discovered from it.
    void note(Step step, int32_t next) const {
        if (graph_.steps) graph_.steps[next - 1] = static_cast<int8_t>(step);
    }

    // Estimates whether pulling a level takes less time than pushing it. `arcs` is the number of arcs that leave the
    // level. `share` is the share of these arcs that is expected to lead to unseen vertices. The estimate assumes
    // that these arcs are spread evenly over the unseen vertices and over their in-neighbours.
    bool pull_is_faster(int64_t arcs, double share, const Frontier& unseen) const {
        const double found = share * static_cast<double>(arcs), vertices = static_cast<double>(unseen.vertices);
        const double push = static_cast<double>(arcs) + kClaim * found;
        // Share of its in-neighbours that an unseen vertex examines.
        const double examined = std::min(1.0, vertices / found);
        const double pull = kVisit * vertices + kExamine * examined * static_cast<double>(unseen.arcs);
        return push * graph_.alpha > pull;
    }

    int64_t degree(int32_t v) const { return row_offsets_[v + 1] - row_offsets_[v]; }

    // Prefetches the first two cache lines of the row of vertex v.
    static void fetch(const int32_t* columns, const Offset* offsets, int32_t v) {
        const int32_t* const row = &columns[offsets[v]];
        __builtin_prefetch(row);
        __builtin_prefetch(row + 16);
    }

    // Writes the levels that marks hold, and resets the marks for the next search. `depth` is the largest level.
    void write_levels(int32_t depth) {
        const bool deep = mark_of(depth) == kDeep;
        team_.share(graph_.num_vertices, kLevelGrain, [&](int64_t begin, int64_t end) {
            int32_t* __restrict const levels = levels_;
            uint8_t* __restrict const marks = marks_.get();
            for (int64_t v = begin; v < end; ++v) {
                const int32_t other = deep && marks[v] == kDeep ? levels[v] : -1;
                levels[v] = marks[v] >= kFirstLevel ? marks[v] - kFirstLevel : other;
            }
            for (int64_t v = begin; v < end; ++v) marks[v] = marks[v] == kUnreachable ? kUnreachable : kUnseen;
        });
    }

    // Expands the entries begin .. end - 1 of a queue, and appends the found vertices to the queue of `member`.
    //
    // A branch on the mark of a neighbour costs time if the processor cannot predict it. So the function claims a
    // neighbour without a branch. It stores a mark in any case, which is the old mark if the neighbour was seen. The
    // address of the store does not depend on the old mark, so later loads need not wait for it. While unseen
    // neighbours are rare, the function skips groups of four seen neighbours.
    //
    // The function prefetches only for entries that have been written: the entries before `end` and, if one thread
    // alone expands its own queue, the entries that it has just appended.
    template <bool alone>
    void expand(const int32_t* queue, int64_t begin, int64_t end, Member& member, int32_t next) {
        const Offset* const offsets = row_offsets_;
        const int32_t* const columns = graph_.column_indices;
        uint8_t* const marks = marks_.get();
        const uint8_t mark = mark_of(next);
        int32_t* const found = member.queue.get();
        const int64_t old = member.end;
        int64_t fill = old, arcs = 0;
        const auto seen = [&](Offset e) { return get<alone>(marks[columns[e]]) != kUnseen; };
        const auto claim = [&](Offset e) {
            const int32_t neighbour = columns[e];
            const uint8_t known = get<alone>(marks[neighbour]);
            const bool fresh = known == kUnseen;
            found[fill] = neighbour;
            fill += fresh;
            set<alone>(marks[neighbour], static_cast<uint8_t>(known + mark * fresh));
        };
        for (int64_t i = begin; i < end; ++i) {
            const int64_t limit = alone && queue == found ? std::max(end, fill) : end;
            if (i + 2 * kAhead < limit) __builtin_prefetch(&offsets[queue[i + 2 * kAhead]]);
            if (i + kAhead < limit) fetch(columns, offsets, queue[i + kAhead]);
            const int32_t v = queue[i];
            const Offset last = offsets[v + 1];
            Offset e = offsets[v];
            arcs += last - e;
            if ((fill - old + kWarm) * kRare < arcs) {
                for (; last - e >= 4; e += 4)
                    if (!(seen(e) & seen(e + 1) & seen(e + 2) & seen(e + 3)))
                        for (Offset i = e; i < e + 4; ++i) claim(i);
            }
            for (; e < last; ++e) claim(e);
        }
        if (mark == kDeep)
            for (int64_t i = old; i < fill; ++i) set<alone>(levels_[found[i]], next);
        const int64_t step = fill - old > kMany ? kSample : 1;
        int64_t leaving = 0;
        for (int64_t i = old; i < fill; i += step) leaving += degree(found[i]);
        member.found.add({fill - old, leaving * step});
        member.end = fill;
    }

    // Starts the next level. The vertices that the threads have found become the frontier. Returns the numbers of
    // the frontier's vertices and arcs.
    Frontier advance() {
        Frontier all;
        for (Member& member : members_) {
            all.add(member.found);
            member.found = {};
            member.head = member.tail;
            member.tail = member.end;
        }
        return all;
    }

    // Pushes the level and the levels after it like cpu_queue, as long as they have at most kFew vertices. To prepare
    // another push would take longer than such a level. Returns the number of the last level that it finds.
    int32_t push_few(int32_t next, Frontier& frontier, Frontier& unseen) {
        Member& member = members_[0];
        const Offset* const offsets = row_offsets_;
        const int32_t* const columns = graph_.column_indices;
        int32_t *const queue = member.queue.get(), *const levels = levels_;
        uint8_t* const marks = marks_.get();
        const int64_t limit = graph_.sequential_limit;
        int64_t begin = member.head, end = member.tail, fill = end;
        for (;; ++next) {
            note(Step::push_alone, next);
            const uint8_t mark = mark_of(next);
            for (int64_t i = begin; i < end; ++i) {
                for (Offset e = offsets[queue[i]]; e < offsets[queue[i] + 1]; ++e) {
                    const int32_t neighbour = columns[e];
                    if (marks[neighbour] != kUnseen) continue;
                    marks[neighbour] = mark;
                    if (mark == kDeep) levels[neighbour] = next;
                    queue[fill++] = neighbour;
                }
            }
            int64_t arcs = 0;
            for (int64_t i = end; i < fill; ++i) arcs += offsets[queue[i] + 1] - offsets[queue[i]];
            frontier = {fill - end, arcs};
            unseen.vertices -= fill - end;
            unseen.arcs -= arcs;
            begin = end;
            end = fill;
            if (begin == end || end - begin > kFew || arcs > limit) break;
        }
        member.head = begin;
        member.tail = member.end = end;
        return next;
    }

    Frontier push_alone(int32_t next) {
        note(Step::push_alone, next);
        for (const Member& member : members_)
            expand<true>(member.queue.get(), member.head, member.tail, members_[0], next);
        return advance();
    }

    // Pushes a level with all threads.
    Frontier push_together(int32_t next, int64_t vertices) {
        note(Step::push_together, next);
        const int64_t grain = std::clamp<int64_t>(vertices / (4 * team_.size()), 1, kChunk);
        for_each_chunk(vertices, grain, [&](const int32_t* queue, int64_t begin, int64_t end, Member& member) {
            expand<false>(queue, begin, end, member, next);
        });
        return advance();
    }

    // Calls chunk(queue, begin, end, member) on parts of the level's queue entries. The entries of all queues in turn
    // are divided into one share for each thread. A thread takes chunks of its own share, which its cache holds, and
    // then chunks of other shares.
    template <class Chunk>
    void for_each_chunk(int64_t vertices, int64_t grain, const Chunk& chunk) {
        const int64_t size = team_.size();
        for (int64_t i = 0; i < size; ++i) members_[i].taken.store(vertices * i / size, std::memory_order_relaxed);
        team_.run([&](int self) {
            for (int64_t turn = 0; turn < size; ++turn) {
                const int64_t owner = (self + turn) % size, last = vertices * (owner + 1) / size;
                std::atomic<int64_t>& taken = members_[owner].taken;
                while (taken.load(std::memory_order_relaxed) < last) {
                    const int64_t begin = taken.fetch_add(grain, std::memory_order_relaxed);
                    const int64_t end = std::min(begin + grain, last);
                    int64_t first = 0;  // number of entries in the queues before `member`
                    for (const Member& member : members_) {
                        const int64_t shift = member.head - first;
                        const int64_t from = std::max(begin + shift, member.head);
                        const int64_t to = std::min(end + shift, member.tail);
                        if (from < to) chunk(member.queue.get(), from, to, members_[self]);
                        first += member.tail - member.head;
                    }
                }
            }
        });
    }

    // Calls body(begin, end, member) on blocks of the bitmap's words. A thread that becomes free takes the
    // next block.
    template <class Block>
    void for_each_block(const Block& body) {
        std::atomic<int64_t> taken{0};
        team_.run([&](int self) {
            for (;;) {
                const int64_t begin = taken.fetch_add(kWordGrain, std::memory_order_relaxed);
                if (begin >= words_) return;
                body(begin, std::min(begin + kWordGrain, words_), members_[self]);
            }
        });
    }

    Frontier pull(int32_t next) {
        note(Step::pull, next);
        for_each_block([&](int64_t begin, int64_t end, Member& member) {
            int32_t list[kWordGrain * 64];
            const int64_t count = list_unseen(begin, end, list);
            const uint8_t mark = mark_of(next);
            Frontier found;
            std::fill(&next_[begin], &next_[end], 0);
            for (int64_t i = 0; i < count; ++i) {
                if (i + kAhead < count) fetch(graph_.row_indices, column_offsets_, list[i + kAhead]);
                const int32_t v = list[i];
                if (!any_in_level(column_offsets_[v], column_offsets_[v + 1])) continue;
                marks_[v] = mark;
                if (mark == kDeep) levels_[v] = next;
                next_[v >> 6] |= uint64_t{1} << (v & 63);
                found.add({1, degree(v)});
            }
            member.found.add(found);
        });
        level_.swap(next_);
        return advance();
    }

    // Writes the unseen vertices of the words from `begin` to `end` - 1 to a list. Returns their number.
    int64_t list_unseen(int64_t begin, int64_t end, int32_t* list) const {
        int64_t count = 0;
        for (int64_t w = begin; w < end; ++w)
            for (uint64_t rest = marked(&marks_[w * 64], kUnseen); rest; rest &= rest - 1)
                list[count++] = static_cast<int32_t>(w * 64 + __builtin_ctzll(rest));
        return count;
    }

    bool any_in_level(Offset e, Offset last) const {
        const uint64_t* const level = level_.get();
        const int32_t* const rows = graph_.row_indices;
        const auto bit = [&](Offset i) { return level[rows[i] >> 6] >> (rows[i] & 63); };
        if (e < last && bit(e++) & 1) return true;
        for (; last - e >= 4; e += 4)
            if ((bit(e) | bit(e + 1) | bit(e + 2) | bit(e + 3)) & 1) return true;
        for (; e < last; ++e)
            if (bit(e) & 1) return true;
        return false;
    }

    // Sets the bits of the vertices of a level, which it finds by their marks.
    void marks_to_bitmap(int32_t level) {
        const uint8_t mark = mark_of(level);
        for_each_block([&](int64_t begin, int64_t end, Member&) {
            for (int64_t w = begin; w < end; ++w) {
                uint64_t bits = marked(&marks_[w * 64], mark);
                if (mark == kDeep)
                    for (uint64_t rest = bits; rest; rest &= rest - 1)
                        if (levels_[w * 64 + __builtin_ctzll(rest)] != level) bits ^= rest & -rest;
                level_[w] = bits;
            }
        });
    }

    // Copies the vertices of the level from the bitmap to the queues.
    void bitmap_to_queue() {
        for_each_block([&](int64_t begin, int64_t end, Member& member) {
            for (int64_t w = begin; w < end; ++w)
                for (uint64_t rest = level_[w]; rest; rest &= rest - 1)
                    member.queue[member.end++] = static_cast<int32_t>(w * 64 + __builtin_ctzll(rest));
        });
        advance();
    }

    const ParallelArguments graph_;
    const Offset* const row_offsets_;
    const Offset* const column_offsets_;
    const int64_t words_;  // number of 64-bit words in a bitmap of all vertices
    int64_t reachable_ = 0;  // number of vertices to which arcs lead
    int32_t* levels_ = nullptr;
    Team team_;
    std::vector<Member> members_;
    std::unique_ptr<uint8_t[]> marks_;
    std::unique_ptr<uint64_t[]> level_, next_;
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
