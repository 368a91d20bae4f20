#include "buffers.h"

#include <cstring>

namespace emu {

namespace {

// Bytes that no kernel writes by itself: neither 0 nor -1, no small number, not the poison of new buffers.
struct Guard {
    unsigned char bytes[Buffers::kGuardBytes];
    Guard() {
        for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<unsigned char>(0x91 + 37 * (i % 8));
    }
    void fill(char* place) const { memcpy(place, bytes, sizeof bytes); }
    // Where the first of the bytes differs; kGuardBytes if none does.
    size_t first_change(const char* place) const {
        if (memcmp(place, bytes, sizeof bytes) == 0) return sizeof bytes;
        size_t i = 0;
        while (static_cast<unsigned char>(place[i]) == bytes[i]) ++i;
        return i;
    }
};

const Guard guard;

// The element in which a byte lies, counted from the beginning of the buffer.
long long element_at(long long byte, size_t element) {
    auto size = static_cast<long long>(element);
    return byte >= 0 ? byte / size : -((-byte + size - 1) / size);
}

}  // namespace

void Buffers::add(char* begin, size_t bytes, size_t element) {
    std::lock_guard<std::mutex> lock(mutex_);
    buffers_[begin] = {bytes, element};
    guard.fill(begin - kGuardBytes);
    guard.fill(begin + bytes);
}

void Buffers::remove(char* begin) {
    std::lock_guard<std::mutex> lock(mutex_);
    buffers_.erase(begin);
}

std::string Buffers::damage() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string report;
    for (const auto& [begin, buffer] : buffers_) {
        for (char* place : {begin - kGuardBytes, begin + buffer.bytes}) {
            size_t change = guard.first_change(place);
            if (change == kGuardBytes) continue;
            guard.fill(place);
            if (!report.empty()) continue;
            long long element = element_at(place + change - begin, buffer.element);
            report = "wrote element " + std::to_string(element) + " of a buffer of " +
                     std::to_string(buffer.bytes / buffer.element) + " elements (" +
                     std::to_string(buffer.bytes) + " bytes)";
        }
    }
    return report;
}

}  // namespace emu
