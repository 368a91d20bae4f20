// Checks of every memory access of kernels: its target, races with others, and a trace on request.
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

enum class Fault : int { race, out_of_bounds, use_after_free, uninitialised, lost_launch, endless, misaligned, stale };
// The owner of the memory; or an array by the name of its type, of which an offset is an index.
enum class Space : int { buffer, block, module, nowhere, array };

// Filled for the Python side, field by field.
struct Actor {
    const void* site;
    int act, scope;
    unsigned block, thread;
};
struct Finding {
    int fault, space;
    Actor actor, other;  // the other one's site is null unless it is a race
    const char* begin;   // of the region
    uint64_t bytes, element;
    int64_t offset;  // of the access in the region
    uint64_t count;  // how often between these two sites
    const char* kernel;
};
struct Record {
    const char* kernel;
    const char* begin;  // of the region
    const void* site;
    uint64_t offset, before, after;  // what the word held, as far as 8 bytes
    unsigned launch, block, thread, bytes;
    int act, space;
};

// Where the parts of a loaded module are, its variables among them.
std::vector<std::pair<const char*, size_t>> segments_of(const char* path);

class Watch {
  public:
    explicit Watch(Buffers& buffers) : buffers_(buffers) {}

    Clocks clocks;

    // `child` is null for a launch of the host.
    void begin_launch(const Grid& grid, const ChildLaunch* child);
    void end_launch();
    void begin_block(ResidentBlock& block);

    // The current thread is about to read whole words. Whether that was all seen to, as it is of most accesses; if not,
    // nothing was.
    bool read_quickly(const char* address, size_t bytes, const void* where);

    // The current thread is about to do this. May interrupt it.
    void access(const char* address, size_t bytes, Act act, Scope scope, Order order, const void* where);

    // The current thread is about to read words that nobody may have written since this launch began.
    void require_constant(const char* address, size_t bytes, const void* where);

    // The current thread ends, and nobody has asked whether a launch of its was refused.
    void lose_launch(const Thread& thread);

    // What the current thread is about to do is wrong by C++ itself.
    void report_index(const char* array, int64_t index, const void* site);
    void report_misaligned(const char* address, Act act, const void* site);

    // The launch has made all the steps it may make: fails, and says what its threads were at.
    [[noreturn]] void report_endless();

    // A module's own variables, which kernels may use as they use buffers.
    void add_module(const char* begin, size_t bytes);

    void set_recording(bool on);
    const std::vector<Record>& records();
    const std::vector<Finding>& findings() const { return findings_; }
    void forget_findings();

    // The instructions that have touched memory.
    const std::vector<const void*>& sites() const { return sites_.addresses(); }

  private:
    // On graphs small enough to be watched, launches take a few million; one search of ours takes 23.
    static constexpr int64_t kMostSteps = 40'000'000;

    struct Place {
        Shadow* shadow = nullptr;
        const char* begin = nullptr;
        size_t bytes = 0, element = 1;
        Space space = Space::nowhere;
        const ResidentBlock* block = nullptr;  // if it is one's shared memory
    };
    // What a thread of this block finds at the address.
    Place find(const char* address, const ResidentBlock& from = block_of(here()));
    static Place find_shared(const char* address, const ResidentBlock& from);
    // An access that is not where its instruction has been before.
    void access_elsewhere(const char* address, size_t bytes, Past now, Order order, const void* where);
    void keep_place(Site& site, const Place& place, size_t offset);
    void check(Shadow& shadow, size_t offset, size_t bytes, Past now, const char* address);
    bool check_word(Shadow& shadow, size_t word, unsigned bytes, Past access, const char* address);
    bool check_unaligned(Shadow& shadow, size_t offset, size_t bytes, Past now, const char* address);
    void keep_read(Shadow& shadow, size_t word, Past now);
    // Reports a race with a past access of this era, if there is one.
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
    std::unordered_map<uint64_t, size_t> known_;  // findings by their kinds and sites
    Sites sites_;
    const Grid* grid_ = nullptr;
    unsigned launch_ = 0;
    Moment launch_began_ = 0;
    bool recording_ = false, incomplete_ = false;
    std::vector<Record> records_;
};

// What watches the launch that runs on this core; null if nothing does.
extern __thread Watch* watching __attribute__((tls_model("initial-exec")));

// How many basic blocks that launch may still come to; 0 if nothing watches.
extern __thread int64_t steps_left __attribute__((tls_model("initial-exec")));

// Without a call, so that no registers are saved: reads where their instruction read last, of words that were last
// written in an earlier era and that no other thread which this one has met has read.
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

// Everything that most other accesses need is here: they stay in the buffer that their instruction touched last, whose
// words were last written in an earlier era.
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

// Whole words, or a part of one, as nearly all accesses are.
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

// Some bytes of a word, whether all of them were written before.
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

// Of all reads keep two that a later write may meet: the first that is not over, and the last.
inline __attribute__((always_inline)) void Watch::keep_read(Shadow& shadow, size_t word, Past now) {
    Past& first = shadow.first_read(word);
    bool over = clocks.before_era(first.moment()) || first.moment() == now.moment() ||
                (!here().alone && clocks.over(first));
    (over ? first : shadow.last_read(word)) = now;
}

}  // namespace emu
