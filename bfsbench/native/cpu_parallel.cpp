// cpu_parallel: direction-optimising breadth-first search on all cores (Beamer, Asanovic and Patterson, "Direction-
// optimizing breadth-first search", 2012).
//
// A level is pushed or pulled. Pushing takes the level's vertices from a queue and claims their unvisited neighbours
// in a bitmap; pulling lets every unvisited vertex look for an in-neighbour in the level, which is a bitmap then, too,
// and stop at the first. Pulling begins when the level's arcs exceed 1 / alpha of those that leave unvisited vertices,
// and ends when the levels shrink and have fewer than 1 / beta of the vertices.
//
// Every vertex is claimed once, so a queue of num_vertices entries holds all pushed levels one after the other. Members
// of the team gather what they claim in buffers of their own and append those to the queue. A level of few arcs is
// pushed in any case, by the calling thread alone and without atomic operations: to share it out would take longer. One
// of somewhat more arcs is shared by a small team of its own, whose members meet in less time.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include "team.h"

extern "C" {

// A graph and the arrays of a search. Offsets are int32 or int64; column_offsets and row_indices are the CSC form.
struct ParallelArguments {
    int64_t num_vertices;
    const void* row_offsets;
    const int32_t* column_indices;
    const void* column_offsets;
    const int32_t* row_indices;
    int32_t* levels;  // num_vertices
    int32_t* queue;   // num_vertices
    int32_t threads;
    int32_t sequential_limit;  // arcs up to which one thread pushes a level
    int32_t few_limit;         // and up to which kFew do
    double alpha, beta;
    int8_t* steps;  // num_vertices, for each level how it was expanded, a Step; null: not noted
};
}

namespace {

using bfsbench::Team;

enum class Step : int8_t { push_alone, push_together, pull };

constexpr int kFew = 4;               // threads that meet quickly
constexpr int64_t kAhead = 8;         // queue entries between a prefetch and its use
constexpr int64_t kBuffer = 1024;     // vertices that a member gathers before it appends them
constexpr int64_t kWordGrain = 64;    // words of a bitmap handed out at a time
constexpr int64_t kLevelGrain = 1 << 14;

// One bit a vertex. Threads that share a word use claim(); other functions need the word for themselves.
class Bitmap {
  public:
    explicit Bitmap(int64_t vertices) : words_(vertices / 64 + 1), data_(new std::atomic<uint64_t>[words_]) {}

    int64_t words() const { return words_; }
    uint64_t word(int64_t w) const { return data_[w].load(std::memory_order_relaxed); }
    void set_word(int64_t w, uint64_t bits) { data_[w].store(bits, std::memory_order_relaxed); }
    bool has(int32_t v) const { return word(v >> 6) >> (v & 63) & 1; }
    // Returns whether the bit was not set before.
    bool claim(int32_t v) { return !(data_[v >> 6].fetch_or(bit(v), std::memory_order_relaxed) & bit(v)); }
    void swap(Bitmap& other) { data_.swap(other.data_); }

  private:
    static uint64_t bit(int32_t v) { return uint64_t{1} << (v & 63); }
    int64_t words_;
    std::unique_ptr<std::atomic<uint64_t>[]> data_;
};

struct Frontier {
    int64_t vertices = 0, arcs = 0;  // arcs that leave them
};

// The same, added to by several threads.
struct Tally {
    std::atomic<int64_t> vertices{0}, arcs{0};
    void add(const Frontier& part) {
        vertices.fetch_add(part.vertices, std::memory_order_relaxed);
        arcs.fetch_add(part.arcs, std::memory_order_relaxed);
    }
    operator Frontier() const { return {vertices.load(), arcs.load()}; }
};

class Search {
  public:
    virtual ~Search() = default;
    virtual void clear() = 0;
    virtual void run(int32_t source) = 0;
};

template <class Offset>
class ParallelSearch final : public Search {
  public:
    explicit ParallelSearch(const ParallelArguments& arguments)
        : graph_(arguments),
          row_offsets_(static_cast<const Offset*>(arguments.row_offsets)),
          column_offsets_(static_cast<const Offset*>(arguments.column_offsets)),
          team_(arguments.threads),
          few_(team_.size() > kFew ? kFew : 1),
          visited_(arguments.num_vertices),
          level_(arguments.num_vertices),
          next_(arguments.num_vertices) {}

    void clear() override {
        team_.share(graph_.num_vertices, kLevelGrain, [this](int64_t begin, int64_t end) {
            std::fill(graph_.levels + begin, graph_.levels + end, -1);
        });
        clear(visited_);
    }

    void run(int32_t source) override {
        graph_.levels[source] = 0;
        graph_.queue[0] = source;
        head_ = unmarked_ = 0;
        tail_ = 1;
        Frontier frontier{1, degree(source)};
        int64_t unexplored = row_offsets_[graph_.num_vertices];  // arcs that leave unvisited vertices
        unexplored -= frontier.arcs;
        for (int32_t next = 1; frontier.vertices > 0; ++next) {
            const bool small = frontier.arcs <= graph_.sequential_limit;
            const bool many = static_cast<double>(frontier.arcs) * graph_.alpha > static_cast<double>(unexplored);
            if (!small && many) {
                next = pull_levels(next, frontier, unexplored);
            } else if (small || team_.size() == 1) {
                frontier = push_alone(next, unexplored);
            } else {
                frontier = push_together(next, frontier.arcs);
                unexplored -= frontier.arcs;
            }
        }
    }

  private:
    // `next` is the level that the step discovers.
    void note(Step step, int32_t next) const {
        if (graph_.steps) graph_.steps[next - 1] = static_cast<int8_t>(step);
    }

    int64_t degree(int32_t v) const { return row_offsets_[v + 1] - row_offsets_[v]; }

    void clear(Bitmap& bitmap) {
        team_.share(bitmap.words(), kLevelGrain, [&](int64_t begin, int64_t end) {
            for (int64_t w = begin; w < end; ++w) bitmap.set_word(w, 0);
        });
    }

    // Calls visit(neighbour) for every arc that leaves the queue's entries from begin to end.
    template <class Visit>
    void for_each_neighbour(int64_t begin, int64_t end, Visit visit) const {
        const int32_t* queue = graph_.queue;
        for (int64_t i = begin; i < end; ++i) {
            if (i + 2 * kAhead < end) __builtin_prefetch(&row_offsets_[queue[i + 2 * kAhead]]);
            if (i + kAhead < end) __builtin_prefetch(&graph_.column_indices[row_offsets_[queue[i + kAhead]]]);
            const int32_t v = queue[i];
            for (Offset e = row_offsets_[v]; e < row_offsets_[v + 1]; ++e) visit(graph_.column_indices[e]);
        }
    }

    // Push levels by one thread while they are small, in one pass over the queue without a pause between
    // levels: prefetched entries may belong to the next level. The first discovers level `next`, which becomes
    // the last that was discovered; that one is the queue's level.
    Frontier push_alone(int32_t& next, int64_t& unexplored) {
        const int32_t* const columns = graph_.column_indices;
        int32_t* const queue = graph_.queue;
        int32_t* const levels = graph_.levels;
        int64_t head = head_, tail = tail_;
        for (;; ++next) {
            note(Step::push_alone, next);
            Frontier found;
            const int64_t end = tail;
            for (; head < end; ++head) {
                if (head + kAhead < tail) __builtin_prefetch(&columns[row_offsets_[queue[head + kAhead]]]);
                const int32_t v = queue[head];
                for (Offset e = row_offsets_[v]; e < row_offsets_[v + 1]; ++e) {
                    const int32_t neighbour = columns[e];
                    if (levels[neighbour] >= 0) continue;
                    levels[neighbour] = next;
                    queue[tail++] = neighbour;
                    found.arcs += degree(neighbour);
                }
            }
            found.vertices = tail - end;
            unexplored -= found.arcs;
            head_ = end;
            tail_ = tail;
            if (found.vertices == 0 || found.arcs > graph_.sequential_limit) return found;
        }
    }

    Frontier push_together(int32_t next, int64_t arcs) {
        note(Step::push_together, next);
        mark_queue();
        Team& team = few_.size() > 1 && arcs <= graph_.few_limit ? few_ : team_;
        Tally tally;
        std::atomic<int64_t> tail{tail_};
        const int64_t size = tail_ - head_;
        const int64_t grain = std::clamp<int64_t>(size / (8 * team.size()), 1, kBuffer);
        team.share(size, grain, [&](int64_t begin, int64_t end) {
            Frontier found;
            Buffer buffer(graph_.queue, tail);
            for_each_neighbour(head_ + begin, head_ + end, [&](int32_t neighbour) {
                if (visited_.has(neighbour) || !visited_.claim(neighbour)) return;
                graph_.levels[neighbour] = next;
                buffer.add(neighbour);
                ++found.vertices;
                found.arcs += degree(neighbour);
            });
            buffer.flush();
            tally.add(found);
        });
        advance(tail);
        unmarked_ = tail_;
        return tally;
    }

    void advance(int64_t tail) {
        head_ = tail_;
        tail_ = tail;
    }

    // Pull levels from `next` on until pushing is better again. Returns the last level found.
    int32_t pull_levels(int32_t next, Frontier& frontier, int64_t& unexplored) {
        mark_queue();
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

    Frontier pull(int32_t next) {
        note(Step::pull, next);
        Tally tally;
        team_.share(visited_.words(), kWordGrain, [&](int64_t begin, int64_t end) {
            Frontier found;
            for (int64_t w = begin; w < end; ++w) pull_word(w, next, found);
            tally.add(found);
        });
        return tally;
    }

    void pull_word(int64_t w, int32_t next, Frontier& found) {
        const uint64_t visited = visited_.word(w);
        uint64_t fresh = 0;
        for (uint64_t rest = ~visited; rest; rest &= rest - 1) {
            const int64_t v = w * 64 + __builtin_ctzll(rest);
            if (v >= graph_.num_vertices) break;
            if (!has_parent(static_cast<int32_t>(v))) continue;
            graph_.levels[v] = next;
            fresh |= rest & -rest;
            ++found.vertices;
            found.arcs += degree(static_cast<int32_t>(v));
        }
        next_.set_word(w, fresh);
        if (fresh) visited_.set_word(w, visited | fresh);
    }

    bool has_parent(int32_t v) const {
        const int32_t* first = graph_.row_indices + column_offsets_[v];
        const int32_t* last = graph_.row_indices + column_offsets_[v + 1];
        return std::any_of(first, last, [this](int32_t u) { return level_.has(u); });
    }

    // A thread that pushes alone updates levels only. This adds its vertices to the bitmap.
    void mark_queue() {
        team_.share(tail_ - unmarked_, kBuffer, [this](int64_t begin, int64_t end) {
            for (int64_t i = unmarked_ + begin; i < unmarked_ + end; ++i) visited_.claim(graph_.queue[i]);
        });
        unmarked_ = tail_;
    }

    void queue_to_bitmap() {
        clear(level_);
        team_.share(tail_ - head_, kBuffer, [this](int64_t begin, int64_t end) {
            for (int64_t i = head_ + begin; i < head_ + end; ++i) level_.claim(graph_.queue[i]);
        });
    }

    // The level of the bitmap becomes that of the queue.
    void bitmap_to_queue() {
        std::atomic<int64_t> tail{tail_};
        team_.share(level_.words(), kWordGrain, [&](int64_t begin, int64_t end) {
            Buffer buffer(graph_.queue, tail);
            for (int64_t w = begin; w < end; ++w)
                for (uint64_t rest = level_.word(w); rest; rest &= rest - 1)
                    buffer.add(static_cast<int32_t>(w * 64 + __builtin_ctzll(rest)));
            buffer.flush();
        });
        advance(tail);
        unmarked_ = tail_;
    }

    // Vertices on their way to a queue that several threads append to.
    class Buffer {
      public:
        Buffer(int32_t* queue, std::atomic<int64_t>& tail) : queue_(queue), tail_(tail) {}
        void add(int32_t v) {
            if (size_ == kBuffer) flush();
            vertices_[size_++] = v;
        }
        void flush() {
            std::copy_n(vertices_, size_, queue_ + tail_.fetch_add(size_, std::memory_order_relaxed));
            size_ = 0;
        }

      private:
        int32_t* queue_;
        std::atomic<int64_t>& tail_;
        int64_t size_ = 0;
        int32_t vertices_[kBuffer];
    };

    const ParallelArguments graph_;
    const Offset* const row_offsets_;
    const Offset* const column_offsets_;
    Team team_, few_;  // the latter of one, and without use, where the former is small itself
    Bitmap visited_, level_, next_;
    int64_t head_ = 0, tail_ = 0;  // of the level in the queue
    int64_t unmarked_ = 0;         // the queue's entries from here on are not in visited_ yet
};

}  // namespace

extern "C" {

// Copies the arguments; the arrays must outlive the search. Returns null if the system refuses memory or threads.
Search* parallel_create(const ParallelArguments* arguments, int32_t offset_bytes) {
    try {
        if (offset_bytes == 8) return new ParallelSearch<int64_t>(*arguments);
        return new ParallelSearch<int32_t>(*arguments);
    } catch (const std::exception&) {
        return nullptr;
    }
}

void parallel_clear(Search* search) { search->clear(); }

// The search must have been cleared.
void parallel_run(Search* search, int32_t source) { search->run(source); }

void parallel_destroy(Search* search) { delete search; }
}
