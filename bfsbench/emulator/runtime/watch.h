// Checks every memory access of kernels: whether its target is valid, and whether it races with other accesses.
// On request, records all accesses.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "buffers.h"
#include "clocks.h"
#include "resident_block.h"
#include "shadow.h"
#include "sites.h"

namespace emu {

struct ChildLaunch;

enum class Fault : int { race, out_of_bounds, use_after_free, uninitialised, lost_launch, endless, misaligned, stale, mask };
// The owner of the memory. For `array`, the region is named by the array's type, and offsets are indices.
enum class Space : int { buffer, block, module, nowhere, array };

// watch.py has a copy of the layout of these structs, and reads their members.
struct Actor {
    const void* site;
    int act, scope;
    unsigned block, thread;
};
struct Finding {
    int fault, space;
    Actor actor, other;  // the site of `other` is null unless two accesses race
    const char* begin;   // beginning of the region
    uint64_t bytes, element;
    int64_t offset;  // offset of the access in the region
    uint64_t count;  // how often this fault was found between these two instructions
    const char* kernel;
    const char* file;  // source file of a wrong mask; null for other faults
    int line;
};
struct Record {
    const char* kernel;
    const char* begin;  // beginning of the region
    const void* site;
    uint64_t offset, before, after;  // before, after: value of the word, up to 8 bytes
    unsigned launch, block, thread, bytes;
    int act, space;
};

// Returns the loaded segments of a module, in which its variables lie.
std::vector<std::pair<const char*, size_t>> segments_of(const char* path);

class Watch {
  public:
    explicit Watch(Buffers& buffers) : buffers_(buffers) {}

    Clocks clocks;
    bool goes_on = false;  // a fault ends only its thread, not the launch

    // Begins a launch. `child` is null for a launch of the host.
    void begin_launch(const Grid& grid, const ChildLaunch* child);
    void end_launch();
    void begin_block(ResidentBlock& block);

    // Checks a read of whole words by the current thread on a fast path, which most reads take. Returns
    // false, without effect, if the slow path must check it.
    bool read_quickly(const char* address, size_t bytes, const void* where);

    // Checks an access that the current thread is about to make. May interrupt the thread.
    void access(const char* address, size_t bytes, Act act, Scope scope, Order order, const void* where);

    // Checks a read by __ldg: nobody may have written these words since the launch began.
    void require_constant(const char* address, size_t bytes, const void* where);

    // Reports a refused launch whose error the kernel's thread has not read before its end.
    void lose_launch(const Thread& thread);

    // Report an access of the current thread that the rules of C++ forbid.
    void report_index(const char* array, int64_t index, const void* site);
    void report_mask(CallSite from);
    void report_misaligned(const char* address, Act act, const void* site);

    // Fails because the launch has made all the steps it may make. Reports where its threads are.
    [[noreturn]] void report_endless();

    // Adds the variables of a module, which kernels may use like buffers.
    void add_module(const char* begin, size_t bytes);

    void set_recording(bool on);
    const std::vector<Record>& records();
    const std::vector<Finding>& findings() const { return findings_; }
    void forget_findings();

    // Returns the instructions that have touched memory.
    const std::vector<const void*>& sites() const { return sites_.addresses(); }

  private:
    // Most steps of a launch. On graphs small enough for watching, launches take a few million; one search
    // takes 23 million.
    static constexpr int64_t kMostSteps = 40'000'000;

    struct Place {
        Shadow* shadow = nullptr;
        const char* begin = nullptr;
        size_t bytes = 0, element = 1;
        Space space = Space::nowhere;
        const ResidentBlock* block = nullptr;  // the block, if this is shared memory
    };
    // Returns the memory in which a thread of block `from` finds an address.
    Place find(const char* address, const ResidentBlock& from = block_of(here()));
    static Place find_shared(const char* address, const ResidentBlock& from);
    // Checks an access that does not lie in the buffer or variable that its instruction accessed last.
    void access_elsewhere(const char* address, size_t bytes, Past now, Order order, const void* where);
    void keep_place(Site& site, const Place& place, size_t offset);
    void check(Shadow& shadow, size_t offset, size_t bytes, Past now, const char* address);
    bool check_word(Shadow& shadow, size_t word, unsigned bytes, Past access, const char* address);
    bool check_unaligned(Shadow& shadow, size_t offset, size_t bytes, Past now, const char* address);
    void keep_read(Shadow& shadow, size_t word, Past now);
    // Reports a race if a past access of this era (clocks.h) races with the current access.
    void meet(const Past& past, const Past& now, const char* address);
    void record(const Place& place, const char* address, size_t bytes, Act act, const void* site);
    void complete_record();
    [[noreturn]] void refuse(const Place& nearest, const char* address, size_t bytes, const Past& now);
    void report_unwritten(const char* address, const Past& now);
    bool is_known(Fault fault, const Past& now, const Past* other);
    void report(Fault fault, const Place& place, const char* address, const Thread& thread, const Past& now,
                const Past* other);

    Buffers& buffers_;
    std::map<const char*, std::unique_ptr<Region>> modules_;
    std::vector<Finding> findings_;
    std::unordered_map<uint64_t, size_t> known_;  // findings by kind and sites
    Sites sites_;
    const Grid* grid_ = nullptr;
    unsigned launch_ = 0;
    Moment launch_began_ = 0;
    bool recording_ = false, incomplete_ = false;
    std::vector<Record> records_;
};

// In a watched program: the range of device memory, and a check of the host's accesses to it.
extern const char* device_range;
extern size_t device_range_bytes;
void report_host_access(const char* address, size_t bytes, Act act, const void* site);
inline void check_host_access(const char* address, size_t bytes, Act act, const void* site) {
    bool on_device = static_cast<size_t>(address - device_range) < device_range_bytes;
    if (__builtin_expect(on_device && !current, 0)) report_host_access(address, bytes, act, site);
}

// The Watch of the launch that runs on this core, or null.
extern __thread Watch* watching __attribute__((tls_model("initial-exec")));

// Number of basic blocks that the launch may still enter. It is 0 if the emulator does not watch.
extern __thread int64_t steps_left __attribute__((tls_model("initial-exec")));

// This function is inlined, so that no registers are saved. It handles a read only if three conditions hold.
// The read must lie in the buffer or variable that its instruction accessed last. The words must have been last
// written in an earlier era (clocks.h). If the thread has met other threads, no other thread may have read the
// words in this era.
inline __attribute__((always_inline)) bool Watch::read_quickly(const char* address, size_t bytes, const void* where) {
    constexpr size_t kWord = Shadow::kWordBytes;
    Fiber& fiber = here();
    const Site& site = sites_.likely(where);
    if (fiber.patience <= 1 || site.address != where || clocks.before_era(fiber.moment)) return false;
    const ResidentBlock& block = block_of(fiber);
    auto offset = static_cast<size_t>(address - (site.shared ? block.arena_begin : site.origin));
    if (offset % kWord || !site.has(offset, bytes)) return false;
    Shadow& shadow = site.shared ? *block.shadow : *site.shadow;
    size_t begin = offset / kWord, end = begin + bytes / kWord;
    auto is_over = [&](const Past& first) {
        return clocks.before_era(first.moment()) || first.moment() == fiber.moment;
    };
    for (size_t word = begin; word < end; ++word) {
        bool quiet = shadow.written(word) == Shadow::kWhole && clocks.before_era(shadow.last_write_near(word));
        if (!quiet || !(fiber.alone || is_over(shadow.first_read(word)))) return false;
    }
    --fiber.patience;
    fiber.last = Past(fiber.moment, site.number, Act::read, Scope::none);
    fiber.last_address = address;
    for (size_t word = begin; word < end; ++word) {
        Past& first = shadow.first_read(word);
        (is_over(first) ? first : shadow.last_read(word)) = fiber.last.to(Shadow::kWhole);
    }
    return true;
}

// Checks an access. The inlined part suffices for most accesses: they lie in the buffer or variable that
// their instruction accessed last.
inline __attribute__((always_inline)) void Watch::access(const char* address, size_t bytes, Act act, Scope scope, Order order, const void* where) {
    Fiber& fiber = here();
    if (--fiber.patience <= 0) give_way();
    Site& site = sites_.at(where);
    Moment moment = clocks.before_era(fiber.moment) ? clocks.begin_moment(fiber) : fiber.moment;
    Past now(moment, site.number, act, scope);
    const ResidentBlock& block = block_of(fiber);
    auto offset = static_cast<size_t>(address - (site.shared ? block.arena_begin : site.origin));
    if (__builtin_expect(!site.has(offset, bytes), 0)) return access_elsewhere(address, bytes, now, order, where);
    fiber.last = now;
    fiber.last_address = address;
    check(site.shared ? *block.shadow : *site.shadow, offset, bytes, now, address);
    if (scope != Scope::none) clocks.atomic(address, act, scope, order);
}

// Checks an access. Nearly all accesses are whole words or part of one word.
inline __attribute__((always_inline)) void Watch::check(Shadow& shadow, size_t offset, size_t bytes, Past now, const char* address) {
    constexpr size_t kWord = Shadow::kWordBytes;
    size_t word = offset / kWord, first = offset % kWord;
    bool written = true;
    if (bytes % kWord == 0 && first == 0) {
        for (size_t end = word + bytes / kWord; word < end; ++word) {
            written &= check_word(shadow, word, Shadow::kWhole, now, address);
        }
    } else if (first + bytes <= kWord) {
        written = check_word(shadow, word, ((1u << bytes) - 1) << first, now, address);
    } else {
        written = check_unaligned(shadow, offset, bytes, now, address);
    }
    if (__builtin_expect(!written && now.act() != Act::write, 0)) report_unwritten(address, now);
}

// Checks an access to some bytes of a word. Returns whether all of them had been written before.
inline __attribute__((always_inline)) bool Watch::check_word(Shadow& shadow, size_t word, unsigned bytes, Past access, const char* address) {
    Past now = access.to(bytes);
    unsigned char& written = shadow.written(word);
    bool all_written = (bytes & ~written) == 0;
    auto meet_if_recent = [&](const Past& past) {
        if (!clocks.before_era(past.moment())) meet(past, now, address);
    };
    Moment& last_write = shadow.last_write_near(word);
    if (!clocks.before_era(last_write)) meet_if_recent(shadow.write(word));
    if (now.act() == Act::read) {
        keep_read(shadow, word, now);
        return all_written;
    }
    meet_if_recent(shadow.first_read(word));
    meet_if_recent(shadow.last_read(word));
    written |= static_cast<unsigned char>(bytes);
    shadow.write(word) = now;
    last_write = now.moment();
    return all_written;
}

// Keeps two reads of a word that a later write may race with: the first read that is not over, and the last
// read.
inline __attribute__((always_inline)) void Watch::keep_read(Shadow& shadow, size_t word, Past now) {
    Past& first = shadow.first_read(word);
    bool over = clocks.before_era(first.moment()) || first.moment() == now.moment() ||
                (!here().alone && clocks.over(first));
    (over ? first : shadow.last_read(word)) = now;
}

}  // namespace emu
