// Delays the stores of a warp's lanes while the emulator counts memory accesses.
//
// A lane does not wait at a store. The stored value stays in this buffer, as in a processor's store
// buffer, until the lane's warp performs the store and the value goes to memory. Until then the lane may
// continue, but it does not load. A load might read the word that the lane has stored, or overtake
// earlier stores of other lanes.
#pragma once

#include <cstring>

#include "trace.h"

namespace emu {

class StoreBuffer {
  public:
    static constexpr size_t kMostBytes = 8;
    struct Store {
        Entry entry;
        char value[kMostBytes];  // the new value or, while memory holds the new value, the old value
        // Swaps the value in memory with the value in this object.
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
    // Adds a store of a lane after the lane's earlier stores. Returns null if the buffer has no room.
    Store* add(unsigned lane) { return end_[lane] < kRoom ? &stores_[end_[lane]++][lane] : nullptr; }
    // Returns the oldest store of a lane. The lane must have a store.
    const Store& first(unsigned lane) const { return stores_[first_[lane]][lane]; }
    // Removes the oldest store of a lane, and returns it. The reference is valid until the next add().
    Store& take(unsigned lane) {
        Store& taken = stores_[first_[lane]++][lane];
        if (first_[lane] == end_[lane]) first_[lane] = end_[lane] = 0;
        return taken;
    }

  private:
    static constexpr unsigned kRoom = 4;
    // For each lane, the index of its first store and the index after its last store. Both are 0 if the lane
    // has no store.
    uint8_t first_[kWarpSize], end_[kWarpSize];
    Store stores_[kRoom][kWarpSize];
};

}  // namespace emu
