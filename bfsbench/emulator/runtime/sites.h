// The instructions that touch memory, numbered as they are met, each with the place that it touched last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/state.h"

namespace emu {

class Shadow;

struct Site {
    const void* address = nullptr;  // null: a free slot
    uint16_t number = 0;
    // Its last place: bytes of a buffer, or of a variable in the shared memory of whichever block runs. What lies in
    // it needs no other look. `first` counts from `origin`, or from the beginning of the block's shared memory.
    bool shared = false;
    const char* origin = nullptr;
    size_t first = 0, bytes = 0;
    Shadow* shadow = nullptr;  // null if it is the block's

    void forget_place() { bytes = 0; }
    bool has(size_t offset, size_t count) const { return offset - first < bytes && offset - first + count <= bytes; }
};

class Sites {
  public:
    // Found or added. The reference is good until the next one is added.
    Site& at(const void* address) {
        for (size_t slot = slot_of(address);; slot = (slot + 1) & mask_) {
            if (slots_[slot].address == address) return slots_[slot];
            if (!slots_[slot].address) return add(address);
        }
    }
    // That of the instruction if it is there, as it nearly always is, and otherwise another one.
    const Site& likely(const void* address) const { return slots_[slot_of(address)]; }
    const void* address(unsigned number) const { return addresses_[number]; }
    const std::vector<const void*>& addresses() const { return addresses_; }

    void forget_places() {
        for (const void* address : addresses_) at(address).forget_place();
    }

  private:
    size_t slot_of(const void* address) const { return reinterpret_cast<uintptr_t>(address) / 4 & mask_; }
    Site& add(const void* address);

    size_t mask_ = 1023;  // the number of slots less one; at most half of them are taken
    std::vector<Site> slots_ = std::vector<Site>(mask_ + 1);
    std::vector<const void*> addresses_;                 // by number
};

}  // namespace emu
