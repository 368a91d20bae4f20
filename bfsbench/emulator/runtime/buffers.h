// The buffers that the host has given to kernels, each with guard words before and behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "shadow.h"

namespace emu {

struct Region {
    size_t bytes, element;
    std::unique_ptr<Shadow> shadow;  // made when it is first needed
    size_t place = 0;  // in the memory of the GPU, the same on every run
};

class Buffers {
  public:
    // Bytes that the host leaves free on either side of a buffer.
    static constexpr size_t kGuardBytes = 1024;

    // Fills the guards of a new buffer of `bytes` bytes in elements of `element` bytes.
    void add(char* begin, size_t bytes, size_t element);
    // The same without guards, for memory of the host.
    void adopt(char* begin, size_t bytes, size_t element);
    void remove(char* begin);
    // Marks these bytes as initialised by the host.
    void set_written(const char* first, size_t bytes);

    // A message about writes outside a buffer since the last call; empty without any. Restores the guards.
    std::string damage();

    // The buffer that contains an address; null if there is none.
    std::pair<const char*, Region*> at(const char* address);
    // The buffer next to an address, or the one that was freed there; `begin` is null if there is neither.
    struct Neighbour {
        const char* begin;
        size_t bytes, element;
        bool freed;
    };
    Neighbour nearest(const char* address) const;

  private:
    std::mutex mutex_;
    std::map<const char*, Region> buffers_;
    size_t next_place_ = 0;
    std::map<const char*, size_t> freed_;
    std::map<const char*, bool> guarded_;
    std::pair<const char*, Region*> last_{};
};

}  // namespace emu
