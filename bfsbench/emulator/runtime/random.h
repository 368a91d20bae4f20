// The random generator for the order in which the emulator runs blocks and threads: xorshift64* (Vigna 2016).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace emu {

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {}

    // Returns a random number from 0 to bound - 1. Its distribution is uniform enough for the order of
    // threads.
    unsigned below(unsigned bound) {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<unsigned>((state_ * 0x2545f4914f6cdd1du >> 32) * bound >> 32);
    }

    void shuffle(std::vector<unsigned>& items) {
        for (std::size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[below(static_cast<unsigned>(i))]);
    }

  private:
    uint64_t state_;
};

}  // namespace emu
