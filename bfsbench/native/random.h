// Random numbers by position: draw number i of a stream depends on (seed, stream, i) alone, so that any thread can
// make any part of a graph and the whole is the same on every machine. Integers only; SplitMix64 (Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) does the mixing.
#pragma once

#include <cstdint>

namespace bfsbench {

// 2^64 divided by the golden ratio: the step of SplitMix64's counter.
constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

// A probability p as the integer p * 2^63; 2^63 itself always happens.
using Chance = uint64_t;

inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// A sequence of draws for one item (an edge, a vertex), which may take as many as it needs.
class Random {
  public:
    explicit Random(uint64_t state) : state_(state) {}

    uint64_t next() { return mix(state_ += kGolden); }

    bool happens(Chance chance) { return (next() >> 1) < chance; }

    // Uniform in [0, bound); the bias of the multiplication is below bound / 2^64.
    int64_t below(int64_t bound) {
        return static_cast<int64_t>((static_cast<unsigned __int128>(next()) * static_cast<uint64_t>(bound)) >> 64);
    }

  private:
    uint64_t state_;
};

// The independent sequences of one purpose within one graph.
class Stream {
  public:
    Stream(uint64_t seed, uint64_t purpose) : key_(mix(mix(seed + kGolden) + purpose)) {}

    Random at(int64_t item) const { return Random(mix(key_ + static_cast<uint64_t>(item) * kGolden)); }

  private:
    uint64_t key_;
};

}  // namespace bfsbench
