// Checks of every memory access of kernels: its target, races with others, and a trace on request.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "buffers.h"
#include "clocks.h"
#include "shadow.h"

namespace emu {

class Grid;
struct ChildLaunch;

enum class Fault : int { race, out_of_bounds, use_after_free, uninitialised, lost_launch, endless };
enum class Space : int { buffer, block, module, nowhere };  // the owner of the memory

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

    // The current thread is about to do this.
    void access(const char* address, size_t bytes, Act act, Scope scope, Order order, const void* site);

    // The current thread ends, and nobody has asked whether a launch of its was refused.
    void lose_launch(const Thread& thread);

    // The current thread has come to another basic block. Fails if a launch has no end.
    void step();

    // A module's own variables, which kernels may use as they use buffers.
    void add_module(const char* begin, size_t bytes);

    void set_recording(bool on);
    const std::vector<Record>& records();
    const std::vector<Finding>& findings() const { return findings_; }
    void forget_findings();

    // The instructions that have touched memory.
    const std::vector<const void*>& sites();

  private:
    struct Place {
        Shadow* shadow = nullptr;
        const char* begin = nullptr;
        size_t bytes = 0, element = 1;
        Space space = Space::nowhere;
        const ResidentBlock* block = nullptr;  // if it is one's shared memory
    };
    Place find(const char* address);
    Place find_shared(const char* address) const;
    void check(const Place& place, const char* address, size_t bytes, Past now);
    void check_word(const Place& place, const char* address, size_t word, const Past& now);
    void record(const Place& place, const char* address, size_t bytes, Act act, const void* site);
    void complete_record();
    void see(const void* site);
    [[noreturn]] void refuse(const Place& nearest, const char* address, size_t bytes, Act act, const void* site);
    [[noreturn]] void report_endless();
    void report(Fault fault, const Place& place, const char* address, const Past& now, const Past* other);

    Buffers& buffers_;
    std::map<const char*, std::unique_ptr<Region>> modules_;
    std::vector<Finding> findings_;
    std::map<std::tuple<Fault, const void*, const void*>, size_t> known_;  // findings by their sites
    std::unordered_set<const void*> seen_;
    std::array<const void*, 1024> seen_lately_{};
    std::vector<const void*> sites_;
    const Grid* grid_ = nullptr;
    unsigned launch_ = 0;
    uint64_t steps_ = 0;  // of the launch
    bool recording_ = false, incomplete_ = false;
    std::vector<Record> records_;
};

}  // namespace emu
