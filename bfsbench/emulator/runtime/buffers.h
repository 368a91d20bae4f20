// The buffers that the host has allocated for kernels. Most buffers have guard bytes before and behind them,
// by which the emulator detects writes outside the buffer.
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
    // Race detection's record of the accesses to this memory. It is created at the first access.
    std::unique_ptr<Shadow> shadow;
    size_t place = 0;  // address in the emulated GPU's memory, which is equal in every run
};

class Buffers {
  public:
    // Number of bytes that the host leaves free on each side of a buffer.
    static constexpr size_t kGuardBytes = 1024;

    // Adds a buffer of `bytes` bytes, whose elements have `element` bytes, and fills its guard bytes.
    void add(char* begin, size_t bytes, size_t element);
    // Adds memory of the host as a buffer without guard bytes.
    void adopt(char* begin, size_t bytes, size_t element);
    void remove(char* begin);
    // Marks bytes of a buffer as written by the host, so that kernels may read them.
    void set_written(const char* first, size_t bytes);

    // Returns whether all `bytes` bytes from `first` on have been written. Bytes outside every buffer count
    // as written.
    bool is_written(const char* first, size_t bytes);

    // Returns a message about the first write outside a buffer since the last call, or an empty string.
    // Restores the guard bytes.
    std::string damage();

    // Returns the start and the record of the buffer that contains an address, or two nulls if no buffer
    // contains it.
    std::pair<const char*, Region*> at(const char* address);
    // The buffer nearest to an address, for an error message. A freed buffer that contained the address comes
    // first. `begin` is null if no buffer is within 1 MiB of the address.
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
