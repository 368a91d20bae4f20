// Checks every memory access of kernels: whether its address is valid, and whether the access races with
// other accesses. On request, the checker also records all accesses.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "buffers.h"
#include "clocks.h"
#include "resident_block.h"
#include "shadow.h"
#include "sites.h"
#include "streams.h"

namespace emu {

struct ChildLaunch;

enum class Fault : int { race, out_of_bounds, use_after_free, uninitialised, lost_launch, endless, misaligned, stale, mask, shuffle, barrier, mismatch, deadlock };
// The kind of memory that an access touches: a buffer, the shared memory of a block, the variables of a
// kernel library, or none of these. `array` stands for an array if the emulator knows only the type of its
// elements and the accessed index.
enum class Space : int { buffer, block, module, nowhere, array };

// report.cpp writes the members of the structs Actor and Finding as text. The class NativeRecord in
// watch.py repeats the members of the struct Record.
struct Actor {
    const void* site;
    int act, scope;
    ThreadPlace at;
    CallSite from{};  // source line of a barrier or warp function; its file is null for other accesses
};
struct Finding {
    int fault, space;
    // `other` is the earlier access of a race, the store to a word that __ldg reads, or a thread that waits
    // at another source line. Its site is null if the fault has no second access or thread.
    Actor actor, other;
    // Start of the buffer, variable, shared memory or library that contains the address. For Space::array, it
    // is the name of the array's type.
    const char* begin;
    uint64_t bytes, element;
    // Offset of the access from `begin`, in bytes. For Space::array, it is the index. For a refused child
    // launch, it is the error code.
    int64_t offset;
    uint64_t count;  // number of times that this fault was found at this instruction or these two instructions
    const char* kernel;
    std::string waits;  // for a deadlock: where all threads of the block wait
    const char* name = nullptr;  // name of the variable that contains the address; null if unknown
    Origin origin{};             // where the host has allocated the buffer
    unsigned width = 0;          // number of bytes of the access; 0 if unknown
};
struct Record {
    const char* kernel;
    const char* begin;  // start of the buffer, shared memory or library that contains the address
    const void* site;
    // `offset` counts from `begin`. `before` and `after` hold up to 8 of the accessed bytes, as they were
    // just before and just after the access.
    uint64_t offset, before, after;
    unsigned launch, block, thread, bytes;
    int act, space;
};

// Returns the address ranges that the loaded library at `path` occupies, among them the ranges of its
// variables. An empty path stands for the program itself.
std::vector<std::pair<const char*, size_t>> segments_of(const char* path);

class Watch {
  public:
    explicit Watch(Buffers& buffers) : buffers_(buffers) {}

    Clocks clocks;
    Streams streams;
    bool goes_on = false;  // true if a fault ends only its thread, and not the launch
    uint64_t ended_threads = 0;  // number of threads that a fault has ended while `goes_on` is true
    bool allows_long_launches = false;  // true if a launch may run long while its threads make progress

    // Begins a launch. `child` is null if the host launches the kernel.
    void begin_launch(const Grid& grid, const ChildLaunch* child);
    void end_launch();
    // Returns whether the error of the last launch is already in findings().
    bool has_error() const { return has_error_; }
    void begin_block(ResidentBlock& block);

    // Checks a read of whole words by the current thread in the common case. Returns false and changes
    // nothing if access() must check the read.
    bool read_quickly(const char* address, size_t bytes, const void* where);

    // Checks an access that the current thread is about to make. The call may let other threads run.
    void access(const char* address, size_t bytes, Act act, Scope scope, Order order, const void* where);

    // Begins an operation that the host issues to a stream.
    void begin_operation(unsigned stream, const Operation& operation) {
        clocks.begin_operation(streams.begin(stream, operation, clocks.next_moment()));
    }
    // Records that a copy, memset, allocation or free accesses memory. Reports races with other streams.
    void touch(const char* address, size_t bytes, Act act);
    // Reports races between an access of the host and operations for which the host has not waited. `host`
    // says which instruction or call makes the access.
    void touch_by_host(const char* address, size_t bytes, Act act, Scope scope, const Operation& host);

    // Checks a read by __ldg, or a read of a texture or surface. Reports a fault if, since the launch began,
    // a thread has written to a word that contains any of the `bytes` bytes at `address`.
    void require_constant(const char* address, size_t bytes, const void* where);

    // Handles the end of a thread. Reports a refused child launch whose error the thread has never read.
    void end_thread(const Thread& thread);

    // These functions report that the current thread breaks a rule of C++ or CUDA. report_index() reports an
    // index outside an array, and report_misaligned() reports a misaligned address. report_lane() reports a
    // fault of the warp function at `from`: a mask that lacks the calling lane (Fault::mask), or a shuffle
    // from a lane that takes no part (Fault::shuffle).
    void report_index(const char* array, int64_t index, const void* site, Act act);
    void report_lane(Fault fault, CallSite from);
    void report_misaligned(const char* address, Act act, const void* site);
    // Reports a fault of the barrier or warp function that `fiber` calls at `from`. `other` is a thread that
    // waits at another source line, or null. `waits` says where all threads of the block wait.
    void report_wait(Fault fault, const Fiber& fiber, CallSite from, const Fiber* other, const std::string& waits = "");

    // If the launch has run too long, reports what its threads access, and ends the launch with an error. The
    // emulator calls this function each time that the threads of a launch have entered kStepsBetweenLooks
    // basic blocks.
    void look_for_end(const void* site);

    // Adds the variables of a kernel library, which kernels may access like buffers.
    void add_module(const char* begin, size_t bytes);

    void set_recording(bool on);
    const std::vector<Record>& records();
    const std::vector<Finding>& findings() const { return findings_; }
    void forget_findings();

    // Returns the addresses of the instructions that have accessed memory, and of places at which other
    // faults were found.
    const std::vector<const void*>& sites() const { return sites_.addresses(); }

  private:
    // The emulator calls look_for_end() each time that the threads of a launch have entered
    // kStepsBetweenLooks basic blocks. After every kLooks calls, look_for_end() ends the launch if its
    // threads have made no progress. It also ends a launch if no thread has ended during the last kMostLooks
    // calls. If `allows_long_launches` is false, it always ends a launch after kLooks calls. On the small
    // graphs that race detection uses, launches enter a few million basic blocks. The longest known launch
    // enters 23 million.
    static constexpr int64_t kStepsBetweenLooks = 10'000'000;
    static constexpr int kLooks = 4, kMostLooks = 200;

    struct Place {
        Shadow* shadow = nullptr;
        const char* begin = nullptr;
        size_t bytes = 0, element = 1;
        Space space = Space::nowhere;
        const ResidentBlock* block = nullptr;  // the block that owns the memory, if it is shared memory
        Origin origin{};
        const char* name = nullptr;
    };
    // If `place` contains several variables, returns the place of the variable that contains the address. If
    // the address lies between variables in shared memory, returns the variable before it. Otherwise, for
    // example for a buffer, returns `place`.
    Place variable_at(const Place& place, const char* address) const;
    // Returns the buffer or variable that contains an address. If there is none, returns a Place whose
    // `shadow` is null.
    Place find_global(const char* address);
    // Looks up an address. Returns the buffer, the variable, or the shared memory of a block to which it
    // belongs. A thread of the block `from` accesses the address.
    Place find(const char* address, const ResidentBlock& from = block_of(here()));
    static Place find_shared(const char* address, const ResidentBlock& from);
    // Checks an access outside the buffer or variable that its instruction accessed last.
    void access_elsewhere(const char* address, size_t bytes, Past now, Order order, const void* where);
    void keep_place(Site& site, const Place& place, size_t offset);
    void check(Shadow& shadow, size_t offset, size_t bytes, Past now, const char* address);
    bool check_word(Shadow& shadow, size_t word, unsigned bytes, Past access, const char* address);
    bool check_unaligned(Shadow& shadow, size_t offset, size_t bytes, Past now, const char* address);
    void keep_read(Shadow& shadow, size_t word, Past now);
    // Reports a race if the access `past` races with the current access `now`. Usually `past` is newer
    // than the last grid barrier, tail launch and operation of the host. An older access belongs to
    // another operation of the host that may run at the same time as the launch. meet_operation() handles
    // older accesses.
    void meet(const Past& past, const Past& now, const char* address);
    void meet_operation(const Past& past, const Past& now, const char* address);
    void report_streams(const StreamRace::Side& first, const StreamRace::Side& second, const char* address);
    void record(const Place& place, const char* address, size_t bytes, Act act, const void* site);
    void complete_record();
    [[noreturn]] void refuse(const Place& nearest, const char* address, size_t bytes, const Past& now);
    void lose_launch(const Thread& thread);
    void report_unwritten(const char* address, const Past& now);
    bool reach_new_memory();
    [[noreturn]] void report_endless(const void* site);
    bool is_known(Fault fault, const Past& now, const Past* other, const Place* memory = nullptr);
    void report(Fault fault, const Place& place, const char* address, const Thread& thread, const Past& now,
                const Past* other);

    Buffers& buffers_;
    std::map<const char*, std::unique_ptr<Region>> modules_;
    std::vector<Finding> findings_;
    std::unordered_map<uint64_t, size_t> known_;  // index in findings_ by kind of fault and instructions
    Sites sites_;
    const Grid* grid_ = nullptr;
    Place raced_;  // memory of the last race in the running launch
    unsigned launch_ = 0;
    Moment launch_began_ = 0;
    bool recording_ = false, incomplete_ = false, has_error_ = false;
    // True if the launch has made progress since the last check. Progress means that a thread has made a
    // plain store, or that look_for_end() has seen a thread access new memory.
    bool progress_ = false;
    bool thread_ended_ = false;  // true if a thread has ended since the last look
    int looks_ = 0;  // number of looks at the running launch since a thread has ended
    // Contains a pair of a thread and an address if look_for_end() has seen the thread access the
    // address.
    std::set<std::pair<const Thread*, const char*>> seen_;
    std::vector<Record> records_;
};

// The range of device memory in a program with host code. check_host_access() reports an access of the host
// to this range. It also checks accesses to memory that streams use (`host_range`).
extern const char* device_range;
extern size_t device_range_bytes;
// A range of addresses that contains all device variables of a program with host code and race detection. It
// may also contain other variables.
extern const char* variable_range;
extern size_t variable_range_bytes;
// A __device__ or __constant__ variable of a program with host code and race detection. device_variable_at()
// returns the variable that contains an address, if there is one.
struct DeviceVariableRange {
    const char* begin;
    size_t bytes;
    const char* name;
};
std::optional<DeviceVariableRange> device_variable_at(const char* address);
void report_host_access(const char* address, size_t bytes, Act act, Scope scope, const void* site);
inline void check_host_access(const char* address, size_t bytes, Act act, Scope scope, const void* site) {
    bool on_device = static_cast<size_t>(address - device_range) < device_range_bytes;
    bool in_streams = static_cast<size_t>(address - host_range) < host_range_bytes;
    bool near_variables = static_cast<size_t>(address - variable_range) < variable_range_bytes;
    if (__builtin_expect((on_device || in_streams || near_variables) && !current, 0)) report_host_access(address, bytes, act, scope, site);
}

// The checker of the launch that runs on this thread of the operating system. It is null if the emulator does
// not check accesses.
extern __thread Watch* watching __attribute__((tls_model("initial-exec")));

// Number of basic blocks that the launch may enter before the next call of look_for_end(). The number is 0 if
// no launch runs, or if the emulator does not check accesses.
extern __thread int64_t steps_left __attribute__((tls_model("initial-exec")));

// Checks a read quickly. Returns false if the read needs the full check. An era begins at each grid barrier, tail
// launch and operation of the host, such as a launch. The quick check requires four conditions:
// 1. The read begins at the start of a word, in the buffer or variable that the same instruction accessed last time.
// 2. All bytes of the words that it reads have been written. No write near them came in the current era. No write
//    near them belongs to an operation of another stream that may run at the same time as this launch.
// 3. For each word, the first recorded read came before the current era, or the thread itself made this read since
//    its last synchronisation. This condition is not needed if the thread has not synchronised with other threads.
// 4. The thread has accessed memory in the current era and since its last synchronisation. It need not let other
//    threads run now.
// The function is inlined, so that the caller saves no registers.
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
        return clocks.settled(first.moment()) || first.moment() == fiber.moment;
    };
    for (size_t word = begin; word < end; ++word) {
        bool quiet = shadow.written(word) == Shadow::kWhole && clocks.settled(shadow.last_write_near(word));
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

// Checks an access of the current thread. Most accesses lie in the buffer or variable that their instruction
// accessed last. The inlined part of the function suffices for them.
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
    progress_ |= act == Act::write && scope == Scope::none;
    check(site.shared ? *block.shadow : *site.shadow, offset, bytes, now, address);
    if (scope != Scope::none) clocks.atomic(address, act, scope, order);
}

// Checks an access for races and for unwritten bytes. Nearly all accesses are to whole words, or to part of
// one word.
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

// Checks an access to some bytes of a word. Returns whether all these bytes had been written before.
inline __attribute__((always_inline)) bool Watch::check_word(Shadow& shadow, size_t word, unsigned bytes, Past access, const char* address) {
    Past now = access.to(bytes);
    unsigned char& written = shadow.written(word);
    bool all_written = (bytes & ~written) == 0;
    auto meet_if_recent = [&](const Past& past) {
        if (!clocks.settled(past.moment())) meet(past, now, address);
    };
    Moment& last_write = shadow.last_write_near(word);
    if (!clocks.settled(last_write)) meet_if_recent(shadow.write(word));
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

// Records a read of a word. The detector keeps two reads of each word, because a later write may race with
// either of them. The new read replaces the first kept read if that kept read happens before the new one.
// Otherwise the new read replaces the second kept read.
inline __attribute__((always_inline)) void Watch::keep_read(Shadow& shadow, size_t word, Past now) {
    Past& first = shadow.first_read(word);
    bool over = clocks.settled(first.moment()) || first.moment() == now.moment() ||
                (clocks.before_era(first.moment()) ? !streams.beside_running(first.moment()) : !here().alone && clocks.over(first));
    (over ? first : shadow.last_read(word)) = now;
}

}  // namespace emu
