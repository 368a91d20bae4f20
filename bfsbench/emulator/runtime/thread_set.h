// A set of threads of one block, identified by their ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace emu {

class ThreadSet {
  public:
    void resize(unsigned threads) { words_.assign((threads + 63) / 64, 0), count_ = 0; }
    unsigned count() const { return count_; }
    bool contains(unsigned rank) const { return words_[rank / 64] >> rank % 64 & 1; }

    void insert(unsigned rank) {
        words_[rank / 64] |= uint64_t{1} << rank % 64;
        ++count_;
    }

    void remove(unsigned rank) {
        words_[rank / 64] &= ~(uint64_t{1} << rank % 64);
        --count_;
    }

    // Returns the first member at or after rank `start`. After the last rank, the search continues at rank 0.
    // The set must not be empty.
    unsigned next_from(unsigned start) const {
        size_t i = start / 64 < words_.size() ? start / 64 : 0;
        uint64_t word = start / 64 < words_.size() ? words_[i] & ~uint64_t{0} << start % 64 : words_[i];
        while (word == 0) {
            i = i + 1 < words_.size() ? i + 1 : 0;
            word = words_[i];
        }
        return static_cast<unsigned>(i * 64 + __builtin_ctzll(word));
    }

    // Moves all members to `other`, and leaves this set empty. Both sets must have been created for the same
    // number of threads.
    void move_to(ThreadSet& other) {
        for (size_t i = 0; i < words_.size(); ++i) {
            other.words_[i] |= words_[i];
            words_[i] = 0;
        }
        other.count_ += count_;
        count_ = 0;
    }

    void clear() {
        words_.assign(words_.size(), 0);
        count_ = 0;
    }

  private:
    std::vector<uint64_t> words_;
    unsigned count_ = 0;
};

}  // namespace emu
