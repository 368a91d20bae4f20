// The buffers that the host has given to kernels, each with guard bytes before and behind it.
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
    std::unique_ptr<Shadow> shadow;  // created when first needed
    size_t place = 0;  // address in the emulated GPU's memory, equal in every run
};

class Buffers {
  public:
    // Bytes that the host leaves free on each side of a buffer.
    static constexpr size_t kGuardBytes = 1024;

    // Adds a buffer of `bytes` bytes, in elements of `element` bytes, and fills its guards.
    void add(char* begin, size_t bytes, size_t element);
    // Adds memory of the host as a buffer without guards.
    void adopt(char* begin, size_t bytes, size_t element);
    void remove(char* begin);
    // Marks bytes as written by the host.
    void set_written(const char* first, size_t bytes);

    // Returns whether all these bytes have been written. Bytes outside every buffer count as written.
    bool is_written(const char* first, size_t bytes);

    // Returns a message about the first write outside a buffer since the last call, or an empty string.
    // Restores the guards.
    std::string damage();

    // Returns the buffer that contains an address, or nulls if there is none.
    std::pair<const char*, Region*> at(const char* address);
    // The buffer nearest to an address, or a freed buffer that contained it. `begin` is null if there is
    // neither.
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
