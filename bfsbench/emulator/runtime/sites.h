// A table of the instructions that access memory, numbered in the order in which they enter the table. For
// each instruction, the table remembers the buffer, variable or shared memory that the instruction accessed
// last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/state.h"

namespace emu {

class Shadow;

struct Site {
    const void* address = nullptr;  // address of the instruction; null for a free slot of the hash table
    uint16_t number = 0;
    // The memory that the instruction accessed last: a range of a buffer or of a shared variable. If the next
    // access lies in this range, the emulator need not search for the buffer. The range has `bytes` bytes,
    // and begins at the offset `first` from `origin`. If `shared` is set, the offset counts from the
    // beginning of the running block's shared memory.
    bool shared = false;
    uint32_t width = 0;  // number of bytes of an access; 0 if unknown
    const char* origin = nullptr;
    size_t first = 0, bytes = 0;
    // The race detector's record of the accesses to the buffer or variable that the instruction accessed
    // last. It is null for the running block's shared memory.
    Shadow* shadow = nullptr;

    void forget_place() { bytes = 0; }
    bool has(size_t offset, size_t count) const { return offset - first < bytes && offset - first + count <= bytes; }
};

class Sites {
  public:
    // Returns the entry of an instruction, and adds the entry if necessary. The reference is valid until the
    // next entry is added.
    Site& at(const void* address) {
        for (size_t slot = slot_of(address);; slot = (slot + 1) & mask_) {
            if (slots_[slot].address == address) return slots_[slot];
            if (!slots_[slot].address) return add(address);
        }
    }
    // Returns the entry in the instruction's first slot of the hash table. Nearly always this is the
    // instruction's own entry, but the caller must check.
    const Site& likely(const void* address) const { return slots_[slot_of(address)]; }
    const void* address(unsigned number) const { return addresses_[number]; }
    const std::vector<const void*>& addresses() const { return addresses_; }

    void forget_places() {
        for (const void* address : addresses_) at(address).forget_place();
    }

  private:
    size_t slot_of(const void* address) const { return reinterpret_cast<uintptr_t>(address) / 4 & mask_; }
    Site& add(const void* address);

    size_t mask_ = 1023;  // number of slots minus one; at most half of the slots are used
    std::vector<Site> slots_ = std::vector<Site>(mask_ + 1);
    std::vector<const void*> addresses_;                 // by instruction number: address of the instruction
};

}  // namespace emu
