// Generates the random numbers of graph generators. The random numbers of item i, such as edge i, depend only
// on the seed, the purpose of the numbers and i. So any thread can generate any part of a graph, and the
// graph is equal on every machine. All arithmetic is on integers. SplitMix64 mixes the bits (Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#pragma once

#include <cstdint>

namespace bfsbench {

// The number that SplitMix64 adds to its counter for each draw: 2^64 divided by the golden ratio.
constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

// A probability p, stored as the integer p * 2^63. An event whose probability is stored as 2^63 always happens.
using Chance = uint64_t;

inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// The random numbers of one item of a graph, such as an edge or a vertex. An item may draw any number of
// them.
class Random {
  public:
    explicit Random(uint64_t state) : state_(state) {}

    uint64_t next() { return mix(state_ += kGolden); }

    bool happens(Chance chance) { return (next() >> 1) < chance; }

    // Returns a uniform integer from [0, bound). The multiplication has a bias below bound / 2^64.
    int64_t below(int64_t bound) {
        return static_cast<int64_t>((static_cast<unsigned __int128>(next()) * static_cast<uint64_t>(bound)) >> 64);
    }

  private:
    uint64_t state_;
};

// The independent random numbers for one purpose within one graph, such as the targets of edges. at(i)
// returns the numbers of item i.
class Stream {
  public:
    Stream(uint64_t seed, uint64_t purpose) : key_(mix(mix(seed + kGolden) + purpose)) {}

    Random at(int64_t item) const { return Random(mix(key_ + static_cast<uint64_t>(item) * kGolden)); }

  private:
    uint64_t key_;
};

}  // namespace bfsbench
