// Plain stores that lanes of a warp have made while their warp has yet to make the steps.
//
// A lane does not wait at a plain store. As in a processor's store buffer, the value stays here, and memory gets it when
// the warp has made the step. Until then the lane goes on to its next step or to its end, but makes no load that would
// be ahead of its warp: it might be of that word, or find what is stored before its own store is.
#pragma once

#include <algorithm>
#include <cstring>

#include "trace.h"

namespace emu {

class StoreBuffer {
  public:
    struct Store {
        Entry entry;
        char value[16];  // or what memory held before, as long as the value itself is there
        // Of these two, the one goes where the other is.
        void exchange(size_t bytes) {
            auto* place = const_cast<char*>(entry.address());
            char other[sizeof value];
            memcpy(other, place, bytes);
            memcpy(place, value, bytes);
            memcpy(value, other, bytes);
        }
    };

    void begin() {
        std::fill(first_, first_ + kWarpSize, uint8_t{0});
        std::fill(number_, number_ + kWarpSize, uint8_t{0});
    }
    bool empty(unsigned lane) const { return !number_[lane]; }
    bool full(unsigned lane) const { return number_[lane] == kRoom; }
    // Behind the lane's others; it is not full.
    Store& add(unsigned lane) { return stores_[(first_[lane] + number_[lane]++) % kRoom][lane]; }
    // The lane's first one, which leaves; the reference is good until others are added.
    Store& take(unsigned lane) {
        --number_[lane];
        return stores_[first_[lane]++ % kRoom][lane];
    }

  private:
    static constexpr unsigned kRoom = 4;
    uint8_t first_[kWarpSize], number_[kWarpSize];
    Store stores_[kRoom][kWarpSize];
};

}  // namespace emu
