// renumber: renumbers the vertex ids that occur in a graph to 0, 1, ... in ascending order. One bit per
// possible id marks the ids that occur. The new number of an id is the number of smaller ids that occur.
#include <atomic>
#include <cstdint>

#include "parallel.h"

extern "C" {

// The marks of 32 vertex ids (`bits`), and the number of marked ids in all earlier words (`rank`). Both
// members lie in one cache line, so a look-up reads one line.
struct Word {
    uint32_t bits;
    int32_t rank;
};
}

namespace {

inline uint32_t bit_of(int32_t id) { return uint32_t{1} << (id & 31); }

// Returns the number of set bits. The function adds bit fields of growing width, because not every supported
// x86 processor has an instruction that counts bits.
inline int32_t count_bits(uint32_t bits) {
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return static_cast<int32_t>(((bits + (bits >> 4) & 0x0f0f0f0f) * 0x01010101) >> 24);
}

}  // namespace

extern "C" {

// Marks all vertex ids in the array `ids`. Most ids occur many times, so their bits are usually set already.
// Therefore the function reads the bit first, which usually saves the atomic operation.
void mark_ids(int64_t count, const int32_t* ids, Word* words) {
    bfsbench::parallel_slices(count, bfsbench::worker_count(count), [=](int, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            auto* bits = reinterpret_cast<std::atomic<uint32_t>*>(&words[ids[i] >> 5].bits);
            const uint32_t bit = bit_of(ids[i]);
            if (!(bits->load(std::memory_order_relaxed) & bit)) bits->fetch_or(bit, std::memory_order_relaxed);
        }
    });
}

// Stores `rank` in every word: the number of marked ids in all earlier words. Returns the number of different
// ids.
int64_t rank_words(int64_t count, Word* words) {
    int64_t rank = 0;
    for (int64_t w = 0; w < count; ++w) {
        words[w].rank = static_cast<int32_t>(rank);
        rank += count_bits(words[w].bits);
    }
    return rank;
}

// Writes the vertex ids whose bit is set in `words` to the array `ids`, in ascending order.
void list_ids(int64_t count, const Word* words, int64_t* ids) {
    for (int64_t w = 0; w < count; ++w)
        for (uint32_t rest = words[w].bits; rest; rest &= rest - 1) *ids++ = w * 32 + __builtin_ctz(rest);
}

// Replaces every vertex id in the array `ids` by its new number.
void renumber_ids(int64_t count, int32_t* ids, const Word* words) {
    bfsbench::parallel_slices(count, bfsbench::worker_count(count), [=](int, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const Word word = words[ids[i] >> 5];
            ids[i] = word.rank + count_bits(word.bits & (bit_of(ids[i]) - 1));
        }
    });
}
}
