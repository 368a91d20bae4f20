// The buffers that the host has given to kernels, each with guard words before and behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace emu {

class Buffers {
  public:
    // Bytes that the host leaves free on either side of a buffer.
    static constexpr size_t kGuardBytes = 1024;

    // Fills the guards of a new buffer of `bytes` bytes in elements of `element` bytes.
    void add(char* begin, size_t bytes, size_t element);
    void remove(char* begin);

    // What was written outside a buffer since the last call, or nothing. Mends the guards.
    std::string damage();

  private:
    struct Buffer {
        size_t bytes, element;
    };

    std::mutex mutex_;
    std::map<char*, Buffer> buffers_;
};

}  // namespace emu
