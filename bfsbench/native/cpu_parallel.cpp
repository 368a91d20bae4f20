// cpu_parallel: direction-optimising breadth-first search on all cores (Beamer, Asanovic and Patterson,
// "Direction-optimizing breadth-first search", 2012).
//
// A level is pushed or pulled. To push, threads take the level's vertices from queues and claim their unseen
// neighbours. To pull, each unseen vertex looks for an in-neighbour in the level, which is a bitmap, and stops at
// the first. Pulling begins when the arcs that leave the level exceed 1 / alpha of the arcs that leave unseen
// vertices, unless the level has at most sequential_limit arcs. Pulling ends when a level is smaller than the level
// before and has fewer than 1 / beta of the vertices.
//
// Each vertex has a byte that says whether the vertex was seen. A thread claims a vertex by reading and writing the
// byte without a locked instruction. So two threads may both claim a vertex, queue it and expand it. This costs
// time but changes no level. A thread never claims a vertex twice, so its queue never has more than num_vertices
// vertices. A further entry of the queue takes stores of neighbours that are not claimed.
//
// Neighbours in short rows are claimed without a branch, because the processor cannot predict which
// neighbours are unseen. The calling thread pushes levels of few arcs alone, because sharing these levels
// among threads would take longer.
//
// Threads use relaxed atomic operations for bytes and levels that several threads may access at a time.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

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
    double alpha, beta;
    // An array int8[num_vertices], or null. Element l receives the kind of Step that expanded level l.
    int8_t* steps;
};
}

namespace {

using bfsbench::Team;

enum class Step : int8_t { push_alone, push_together, pull };

constexpr int64_t kAhead = 8;         // number of queue entries between a prefetch and its use
constexpr int64_t kShortRow = 16;     // vertices with up to this many arcs claim neighbours without a branch
constexpr int64_t kChunk = 512;       // largest number of queue entries that a thread takes at a time
constexpr int64_t kWordGrain = 64;    // number of 64-bit words of a bitmap that a thread takes at a time
constexpr int64_t kLevelGrain = 1 << 14;

template <class T>
T get(const T& place) {
    return __atomic_load_n(&place, __ATOMIC_RELAXED);
}

template <class T>
void set(T& place, T value) {
    __atomic_store_n(&place, value, __ATOMIC_RELAXED);
}

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
          seen_(new uint8_t[words_ * 64]),
          level_(new uint64_t[words_]),
          next_(new uint64_t[words_]) {
        for (Member& member : members_) member.queue.reset(new int32_t[arguments.num_vertices + 1]);
    }

    void run(int32_t source, int32_t* levels) override {
        levels_ = levels;
        clear();
        levels_[source] = 0;
        seen_[source] = 1;
        for (Member& member : members_) member.head = member.tail = member.end = 0;
        members_[0].queue[0] = source;
        members_[0].tail = members_[0].end = 1;
        Frontier frontier{1, degree(source)};
        // Number of arcs that leave unseen vertices.
        int64_t unexplored = row_offsets_[graph_.num_vertices] - frontier.arcs;
        for (int32_t next = 1; frontier.vertices > 0; ++next) {
            const bool small = frontier.arcs <= graph_.sequential_limit;
            const bool many = static_cast<double>(frontier.arcs) * graph_.alpha > static_cast<double>(unexplored);
            if (!small && many) {
                next = pull_levels(next, frontier, unexplored);
            } else {
                frontier = small || team_.size() == 1 ? push_alone(next) : push_together(next, frontier.vertices);
                // A vertex that two threads claim counts twice, so the difference may be negative.
                unexplored = std::max<int64_t>(unexplored - frontier.arcs, 0);
            }
        }
    }

  private:
    // Records how a level is expanded. `next` is the number of the level that is discovered from it.
    void note(Step step, int32_t next) const {
        if (graph_.steps) graph_.steps[next - 1] = static_cast<int8_t>(step);
    }

    int64_t degree(int32_t v) const { return row_offsets_[v + 1] - row_offsets_[v]; }

    // Resets the levels and the bytes that tell whether a vertex was seen. The bytes after the last vertex count as
    // seen, so that the search does not take them for vertices.
    void clear() {
        const int64_t n = graph_.num_vertices;
        team_.share(n, kLevelGrain, [&](int64_t begin, int64_t end) {
            std::fill(levels_ + begin, levels_ + end, -1);
            std::memset(&seen_[begin], 0, end - begin);
        });
        std::memset(&seen_[n], 1, words_ * 64 - n);
    }

    // Claims the unseen neighbours of vertex v and appends them to the queue. Returns the new end of the
    // queue.
    template <bool together>
    int64_t claim(int32_t v, int32_t* queue, int64_t end) {
        const int32_t* const columns = graph_.column_indices;
        uint8_t* const seen = seen_.get();
        const Offset last = row_offsets_[v + 1];
        Offset e = row_offsets_[v];
        if (last - e > kShortRow) {
            for (; e < last; ++e) {
                const int32_t neighbour = columns[e];
                if (get(seen[neighbour])) continue;
                set(seen[neighbour], uint8_t{1});
                queue[end++] = neighbour;
            }
            return end;
        }
        uint8_t unused;
        for (; e < last; ++e) {
            const int32_t neighbour = columns[e];
            const uint8_t known = get(seen[neighbour]);
            queue[end] = neighbour;
            end += known ^ 1;
            // Storing a 1 over a 1 would take the byte's cache line from other threads.
            set(*(together && known ? &unused : &seen[neighbour]), uint8_t{1});
        }
        return end;
    }

    // Expands the entries begin .. end - 1 of a queue, and appends the found vertices to the queue of `member`. The
    // function prefetches only for entries that have been written: the entries before `end` and, if one thread
    // alone expands its own queue, the entries that it has just appended.
    template <bool together>
    void expand(const int32_t* queue, int64_t begin, int64_t end, Member& member, int32_t next) {
        const bool own = queue == member.queue.get();
        const int64_t old = member.end;
        int64_t fill = old;
        for (int64_t i = begin; i < end; ++i) {
            const int64_t limit = !together && own ? std::max(end, fill) : end;
            if (i + 2 * kAhead < limit) __builtin_prefetch(&row_offsets_[queue[i + 2 * kAhead]]);
            if (i + kAhead < limit) __builtin_prefetch(&graph_.column_indices[row_offsets_[queue[i + kAhead]]]);
            fill = claim<together>(queue[i], member.queue.get(), fill);
        }
        int32_t* const found = member.queue.get();
        int64_t arcs = 0;
        member.end = old;
        for (int64_t i = old; i < fill; ++i) {  // the loop drops vertices without out-arcs from the queue
            const int32_t v = found[i];
            const int64_t leaving = degree(v);
            set(levels_[v], next);
            arcs += leaving;
            found[member.end] = v;
            member.end += leaving > 0;
        }
        member.found.add({fill - old, arcs});
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

    Frontier push_alone(int32_t next) {
        note(Step::push_alone, next);
        for (const Member& member : members_)
            expand<false>(member.queue.get(), member.head, member.tail, members_[0], next);
        return advance();
    }

    // Pushes a level with all threads. Each thread first takes chunks of its own queue, which its cache
    // holds, and then chunks of other queues.
    Frontier push_together(int32_t next, int64_t vertices) {
        note(Step::push_together, next);
        const int64_t grain = std::clamp<int64_t>(vertices / (8 * team_.size()), 1, kChunk);
        for_each_chunk(grain, [&](const int32_t* queue, int64_t begin, int64_t end, Member& member) {
            expand<true>(queue, begin, end, member, next);
        });
        return advance();
    }

    template <class Chunk>
    void for_each_chunk(int64_t grain, const Chunk& chunk) {
        for (Member& member : members_) member.taken.store(member.head, std::memory_order_relaxed);
        team_.run([&](int self) {
            for (int turn = 0; turn < team_.size(); ++turn) {
                Member& owner = members_[(self + turn) % team_.size()];
                while (owner.taken.load(std::memory_order_relaxed) < owner.tail) {
                    const int64_t begin = owner.taken.fetch_add(grain, std::memory_order_relaxed);
                    if (begin >= owner.tail) break;
                    chunk(owner.queue.get(), begin, std::min(begin + grain, owner.tail), members_[self]);
                }
            }
        });
    }

    // Pulls levels from number `next` on, until a level is empty or pushing is expected to be faster. Returns the
    // number of the last level.
    int32_t pull_levels(int32_t next, Frontier& frontier, int64_t& unexplored) {
        queue_to_bitmap();
        for (;; ++next) {
            const int64_t before = frontier.vertices;
            frontier = pull(next);
            unexplored -= frontier.arcs;
            level_.swap(next_);
            const double share = static_cast<double>(frontier.vertices) * graph_.beta;
            const bool shrinks = frontier.vertices < before;
            if (frontier.vertices == 0 || (shrinks && share < static_cast<double>(graph_.num_vertices))) break;
        }
        bitmap_to_queue();
        return next;
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
            Frontier found;
            for (int64_t w = begin; w < end; ++w) next_[w] = pull_word(w, next, found);
            member.found.add(found);
        });
        return advance();
    }

    // Returns a bit for each of the 64 vertices of word w: 1 if the vertex was not seen. Each multiplication
    // gathers the lowest bits of eight bytes.
    uint64_t unseen(int64_t w) const {
        uint64_t seen = 0;
        for (int part = 0; part < 8; ++part) {
            uint64_t bytes;
            std::memcpy(&bytes, &seen_[w * 64 + part * 8], 8);
            seen |= (bytes * 0x0102040810204080) >> 56 << (part * 8);
        }
        return ~seen;
    }

    // Finds the vertices of word w that belong to level `next`. Returns a bit for each found vertex.
    uint64_t pull_word(int64_t w, int32_t next, Frontier& found) {
        uint64_t fresh = 0;
        for (uint64_t rest = unseen(w); rest; rest &= rest - 1) {
            const int64_t v = w * 64 + __builtin_ctzll(rest);
            const Offset first = column_offsets_[v], last = column_offsets_[v + 1];
            // No arc leads to the vertex, so the search never has to look at it again.
            if (first == last) seen_[v] = 1;
            if (!any_in_level(first, last)) continue;
            levels_[v] = next;
            seen_[v] = 1;
            fresh |= rest & -rest;
            found.add({1, degree(static_cast<int32_t>(v))});
        }
        return fresh;
    }

    bool any_in_level(Offset e, Offset last) const {
        for (; e < last; ++e) {
            const int32_t u = graph_.row_indices[e];
            if (level_[u >> 6] >> (u & 63) & 1) return true;
        }
        return false;
    }

    void queue_to_bitmap() {
        team_.share(words_, kLevelGrain, [&](int64_t begin, int64_t end) {
            std::fill(&level_[begin], &level_[end], 0);
        });
        for_each_chunk(kChunk, [&](const int32_t* queue, int64_t begin, int64_t end, Member&) {
            for (int64_t i = begin; i < end; ++i)
                __atomic_fetch_or(&level_[queue[i] >> 6], uint64_t{1} << (queue[i] & 63), __ATOMIC_RELAXED);
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
    int32_t* levels_ = nullptr;
    Team team_;
    std::vector<Member> members_;
    std::unique_ptr<uint8_t[]> seen_;
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
