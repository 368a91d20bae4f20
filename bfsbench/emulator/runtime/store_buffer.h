// Stores that lanes of a warp have made while their warp has yet to make the steps.
//
// A lane does not wait at a store. As in a processor's store buffer, the value stays here, and memory gets it when
// the warp has made the step. Until then the lane goes on to its next step or to its end, but makes no load that would
// be ahead of its warp: it might be of that word, or find what is stored before its own store is.
#pragma once

#include <cstring>

#include "trace.h"

namespace emu {

class StoreBuffer {
  public:
    static constexpr size_t kMostBytes = 8;
    struct Store {
        Entry entry;
        char value[kMostBytes];  // or what memory held before, as long as the value itself is there
        // Each goes where the other is.
        void exchange(size_t bytes) {
            auto* place = const_cast<char*>(entry.address());
            char other[kMostBytes];
            memcpy(other, place, bytes);
            memcpy(place, value, bytes);
            memcpy(value, other, bytes);
        }
    };

    void begin() {
        memset(first_, 0, sizeof first_);
        memset(end_, 0, sizeof end_);
    }
    bool empty(unsigned lane) const { return !end_[lane]; }
    // Behind the lane's others; null if there is no room.
    Store* add(unsigned lane) { return end_[lane] < kRoom ? &stores_[end_[lane]++][lane] : nullptr; }
    // The lane's first one, of which there is one.
    const Store& first(unsigned lane) const { return stores_[first_[lane]][lane]; }
    // It leaves; the reference is good until others are added.
    Store& take(unsigned lane) {
        Store& taken = stores_[first_[lane]++][lane];
        if (first_[lane] == end_[lane]) first_[lane] = end_[lane] = 0;
        return taken;
    }

  private:
    static constexpr unsigned kRoom = 4;
    uint8_t first_[kWarpSize], end_[kWarpSize];  // both are 0 if there is none
    Store stores_[kRoom][kWarpSize];
};

}  // namespace emu
