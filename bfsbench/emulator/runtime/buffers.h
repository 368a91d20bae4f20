// The buffers that the host has allocated for kernels. Most buffers have guard bytes before and after them,
// by which the emulator detects writes outside the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "emu/call_site.h"
#include "shadow.h"

namespace emu {

// The place at which the host has allocated a buffer: the source line, if it is known, and the address of the
// instruction. The two members are null for buffers of bfsbench's own searches.
struct Origin {
    CallSite from{};
    const void* site = nullptr;
};

struct Region {
    size_t bytes, element;
    // The race detector's record of the accesses to this buffer. The record is created when it is first
    // needed.
    std::unique_ptr<Shadow> shadow;
    size_t place = 0;  // address in the emulated GPU's memory, which is the same in every run
    Origin origin{};
};

class Buffers {
  public:
    // Number of guard bytes on each side of a buffer. The host leaves these bytes free.
    static constexpr size_t kGuardBytes = 1024;

    // Adds a buffer of `bytes` bytes with elements of `element` bytes, and fills the guard bytes around it.
    void add(char* begin, size_t bytes, size_t element);
    // Adds memory of the host as a buffer without guard bytes.
    void adopt(char* begin, size_t bytes, size_t element);
    void remove(char* begin);
    // Stores where the host has allocated a buffer.
    void set_origin(const char* begin, const Origin& origin);
    // Marks bytes of a buffer as written by the host, so that kernels may read them.
    void set_written(const char* first, size_t bytes);

    // Returns whether the host or a kernel has written all `bytes` bytes from `first` on. Bytes outside every
    // buffer count as written.
    bool is_written(const char* first, size_t bytes);

    // Returns a message about a write to guard bytes since the last call, or an empty string if there was
    // none. Restores the guard bytes.
    std::string damage();

    // Returns the start and the Region of the buffer that contains an address. Returns two nulls if no buffer
    // contains it.
    std::pair<const char*, Region*> at(const char* address);
    // The buffer that an error message about an address should name. A freed buffer that contained the
    // address takes precedence over the nearest buffer, and so do the buffers to which `passed`, the kernel's
    // arguments, point. `begin` is null if no buffer is within 1 MiB.
    struct Neighbour {
        const char* begin;
        size_t bytes, element;
        bool freed;
        Origin origin;
    };
    Neighbour nearest(const char* address, const std::vector<const char*>& passed) const;

  private:
    std::mutex mutex_;
    std::map<const char*, Region> buffers_;
    size_t next_place_ = 0;
    std::map<const char*, std::pair<size_t, Origin>> freed_;  // number of bytes, and the place of the allocation
    std::map<const char*, bool> guarded_;
    std::pair<const char*, Region*> last_{};
};

}  // namespace emu
