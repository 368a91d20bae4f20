// The device memory of a program with host code. All of it lies in one range of addresses, so that an address
// tells whether it belongs to the device.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "buffers.h"

namespace emu {

class DeviceMemory {
  public:
    explicit DeviceMemory(Buffers& buffers);

    // Allocates memory. Returns null if the device memory is full. The bytes are zero, as in most fresh
    // memory of a GPU, but programs must not rely on zeros.
    char* take(size_t bytes);
    // Frees the allocation that starts at `begin`. Returns false if no allocation starts there. The freed
    // addresses are never used again.
    bool give_back(void* begin);
    bool has(const void* address) const { return static_cast<size_t>(static_cast<const char*>(address) - base_) < kRange; }
    const char* begin() const { return base_; }
    static constexpr size_t range() { return kRange; }
    size_t used() const { return used_; }
    size_t total() const { return total_; }
    const std::map<char*, size_t>& allocations() const { return live_; }

  private:
    static constexpr size_t kRange = size_t{1} << 42;
    Buffers& buffers_;
    std::mutex mutex_;
    char* base_;
    size_t next_ = 0, used_ = 0, total_;
    std::map<char*, size_t> live_;
};

}  // namespace emu
