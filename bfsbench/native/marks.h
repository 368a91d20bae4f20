// Marks of vertices. A mark is a byte that says whether a search has seen the vertex, and usually also its level.
#pragma once

#include <cstdint>
#include <cstring>

namespace bfsbench {

// Values of marks. Any other mark is the vertex's level plus kFirstLevel.
constexpr uint8_t kUnseen = 0;
constexpr uint8_t kUnreachable = 1;  // no arc leads to the vertex
constexpr uint8_t kDeep = 2;         // the vertex was seen, and its level is in the array of levels
constexpr uint8_t kFirstLevel = 3;

// Returns the mark of vertices of a level.
inline uint8_t mark_of(int32_t level) {
    return level <= 255 - kFirstLevel ? static_cast<uint8_t>(level + kFirstLevel) : kDeep;
}

// Returns a bit for each of 64 marks: 1 if it equals `mark`.
inline uint64_t marked(const uint8_t* marks, uint8_t mark) {
    constexpr uint64_t kOnes = 0x0101010101010101, kLow = 0x7F * kOnes;
    uint64_t bits = 0;
    for (int part = 0; part < 8; ++part) {
        uint64_t bytes;
        std::memcpy(&bytes, &marks[part * 8], 8);
        bytes ^= mark * kOnes;
        // The highest bit of each byte becomes 1 if the byte is 0. The multiplication gathers these bits.
        const uint64_t zero = ~(((bytes & kLow) + kLow) | bytes | kLow);
        bits |= ((zero >> 7) * 0x0102040810204080) >> 56 << (part * 8);
    }
    return bits;
}

// Reads a mark or a level. Unless one thread works alone, other threads may write it at the time.
template <bool alone, class T>
T get(const T& place) {
    if constexpr (alone) return place;
    return __atomic_load_n(&place, __ATOMIC_RELAXED);
}

// Writes a mark or a level. Unless one thread works alone, other threads may access it at the time.
template <bool alone, class T>
void set(T& place, T value) {
    if constexpr (alone)
        place = value;
    else
        __atomic_store_n(&place, value, __ATOMIC_RELAXED);
}

}  // namespace bfsbench
