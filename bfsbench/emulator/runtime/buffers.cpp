#include "buffers.h"

#include <cstring>
#include <iterator>

namespace emu {

namespace {

// The pattern of the guard bytes around each buffer. Its bytes are not 0, -1, a small number or the fill
// value of new buffers. So a kernel is unlikely to write the pattern by accident.
struct Guard {
    unsigned char bytes[Buffers::kGuardBytes];
    Guard() {
        for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<unsigned char>(0x91 + 13 * (i % 8));
    }
    void fill(char* place) const { memcpy(place, bytes, sizeof bytes); }
    // Returns the index of the first changed byte among the guard bytes at `place`. Returns kGuardBytes if no
    // byte has changed.
    size_t first_change(const char* place) const {
        if (memcmp(place, bytes, sizeof bytes) == 0) return sizeof bytes;
        size_t i = 0;
        while (static_cast<unsigned char>(place[i]) == bytes[i]) ++i;
        return i;
    }
};

const Guard guard;

// Returns the index of the element that contains the byte at the offset `byte` from the buffer's start. A
// byte before the start gives a negative index.
long long element_at(long long byte, size_t element) {
    auto size = static_cast<long long>(element);
    return byte >= 0 ? byte / size : -((-byte + size - 1) / size);
}

}  // namespace

void Buffers::adopt(char* begin, size_t bytes, size_t element) {
    std::lock_guard<std::mutex> lock(mutex_);
    last_ = {};
    constexpr size_t kAlignment = 256;
    buffers_[begin] = {bytes, element, nullptr, next_place_, {}};
    next_place_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    guarded_[begin] = false;
    auto next = freed_.lower_bound(begin + bytes);
    while (next != freed_.begin() && std::prev(next)->first + std::prev(next)->second.first > begin) {
        next = freed_.erase(std::prev(next));
    }
}

void Buffers::add(char* begin, size_t bytes, size_t element) {
    adopt(begin, bytes, element);
    std::lock_guard<std::mutex> lock(mutex_);
    guarded_[begin] = true;
    guard.fill(begin - kGuardBytes);
    guard.fill(begin + bytes);
}

void Buffers::remove(char* begin) {
    std::lock_guard<std::mutex> lock(mutex_);
    last_ = {};
    freed_[begin] = {buffers_[begin].bytes, buffers_[begin].origin};
    buffers_.erase(begin);
    guarded_.erase(begin);
}

void Buffers::set_origin(const char* begin, const Origin& origin) {
    std::lock_guard<std::mutex> lock(mutex_);
    buffers_[begin].origin = origin;
}

void Buffers::set_written(const char* first, size_t bytes) {
    auto [begin, region] = at(first);
    if (!region) return;
    if (!region->shadow) region->shadow = std::make_unique<Shadow>(region->bytes);
    region->shadow->set_written(static_cast<size_t>(first - begin), bytes);
}

bool Buffers::is_written(const char* first, size_t bytes) {
    auto [begin, region] = at(first);
    if (!region) return true;
    if (!region->shadow) return false;
    auto offset = static_cast<size_t>(first - begin);
    for (size_t byte = offset; byte < offset + bytes; ++byte) {
        if (!(region->shadow->written(byte / Shadow::kWordBytes) >> byte % Shadow::kWordBytes & 1)) return false;
    }
    return true;
}

std::pair<const char*, Region*> Buffers::at(const char* address) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (last_.second && static_cast<size_t>(address - last_.first) < last_.second->bytes) return last_;
    auto next = buffers_.upper_bound(address);
    if (next == buffers_.begin()) return {};
    auto& [begin, region] = *std::prev(next);
    if (static_cast<size_t>(address - begin) >= region.bytes) return {};
    return last_ = {begin, &region};
}

Buffers::Neighbour Buffers::nearest(const char* address, const std::vector<const char*>& passed) const {
    auto dead = freed_.upper_bound(address);
    if (dead != freed_.begin()) {
        const auto& [begin, memory] = *std::prev(dead);
        auto [bytes, origin] = memory;
        if (static_cast<size_t>(address - begin) < bytes) return {begin, bytes, 1, true, origin};
    }
    constexpr ptrdiff_t kNear = 1 << 20;
    Neighbour found{};
    ptrdiff_t distance = kNear;
    auto consider = [&](const char* begin, const Region& region) {
        ptrdiff_t away = address < begin ? begin - address : address - (begin + region.bytes);
        if (away >= distance) return;
        distance = away;
        found = {begin, region.bytes, region.element, false, region.origin};
    };
    for (const char* pointer : passed) {
        auto after = buffers_.upper_bound(pointer);
        if (after == buffers_.begin()) continue;
        const auto& [begin, region] = *std::prev(after);
        if (static_cast<size_t>(pointer - begin) < region.bytes) consider(begin, region);
    }
    if (found.begin) return found;
    auto next = buffers_.upper_bound(address);
    if (next != buffers_.begin()) consider(std::prev(next)->first, std::prev(next)->second);
    if (next != buffers_.end()) consider(next->first, next->second);
    return found;
}

std::string Buffers::damage() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string report;
    for (const auto& [begin, buffer] : buffers_) {
        if (!guarded_[begin]) continue;
        for (const char* place : {begin - kGuardBytes, begin + buffer.bytes}) {
            size_t change = guard.first_change(place);
            if (change == kGuardBytes) continue;
            guard.fill(const_cast<char*>(place));
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
