#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif

#include "device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace emu {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAligned = 256;
// Number of bytes before a buffer: its guard bytes, rounded up to the alignment. Guard bytes must be
// readable, because kernels that are compiled for counting may read up to 64 bytes beyond a buffer.
constexpr size_t kBefore = (Buffers::kGuardBytes + kAligned - 1) / kAligned * kAligned;

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

DeviceMemory::DeviceMemory(Buffers& buffers)
    : buffers_(buffers),
      base_(static_cast<char*>(mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
      total_(static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 10 * 8) {}

char* DeviceMemory::take(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t pages = whole_pages(kBefore + bytes + Buffers::kGuardBytes);
    if (bytes > total_ - used_ || next_ + pages > kRange) return nullptr;
    char* start = base_ + next_;
    if (mprotect(start, pages, PROT_READ | PROT_WRITE)) return nullptr;
    next_ += pages;
    used_ += bytes;
    char* begin = start + kBefore;
    live_[begin] = bytes;
    buffers_.add(begin, bytes, 1);
    return begin;
}

bool DeviceMemory::give_back(void* place) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = live_.find(static_cast<char*>(place));
    if (found == live_.end()) return false;
    auto [begin, bytes] = *found;
    live_.erase(found);
    used_ -= bytes;
    buffers_.remove(begin);
    size_t pages = whole_pages(kBefore + bytes + Buffers::kGuardBytes);
    // The following mmap frees the memory but keeps its addresses reserved, so that later accesses fault.
    mmap(begin - kBefore, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return true;
}

}  // namespace emu
