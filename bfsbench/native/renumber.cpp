// Renumbers sparse vertex ids to 0, 1, ... in ascending order: a bit per possible id marks those that occur, and the
// new number of an id is the count of marks below it (the rank of its bit).
#include <atomic>
#include <cstdint>

#include "parallel.h"

namespace {

inline uint64_t bit_of(int32_t id) { return uint64_t{1} << (id & 63); }

}  // namespace

extern "C" {

// Sets the bits of all ids. Most are set already when met again, so that a read nearly always suffices.
void mark_ids(int64_t count, const int32_t* ids, uint64_t* bits) {
    auto* words = reinterpret_cast<std::atomic<uint64_t>*>(bits);
    bfsbench::parallel_slices(count, bfsbench::worker_count(count), [=](int, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            auto& word = words[ids[i] >> 6];
            const uint64_t bit = bit_of(ids[i]);
            if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_relaxed);
        }
    });
}

// ranks[w]: bits set in the words before w. Returns how many are set in all.
int64_t rank_words(int64_t words, const uint64_t* bits, int32_t* ranks) {
    int64_t count = 0;
    for (int64_t w = 0; w < words; ++w) {
        ranks[w] = static_cast<int32_t>(count);
        count += __builtin_popcountll(bits[w]);
    }
    return count;
}

// The ids that occur, ascending.
void list_ids(int64_t words, const uint64_t* bits, int64_t* ids) {
    for (int64_t w = 0; w < words; ++w)
        for (uint64_t rest = bits[w]; rest; rest &= rest - 1) *ids++ = w * 64 + __builtin_ctzll(rest);
}

// Replaces every id by its new number.
void renumber_ids(int64_t count, int32_t* ids, const uint64_t* bits, const int32_t* ranks) {
    bfsbench::parallel_slices(count, bfsbench::worker_count(count), [=](int, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int32_t id = ids[i];
            ids[i] = ranks[id >> 6] + __builtin_popcountll(bits[id >> 6] & (bit_of(id) - 1));
        }
    });
}
}
