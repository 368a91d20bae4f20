// What the memory accesses of warps would cost on a GPU, counted by instruction: requests, sectors, bank conflicts.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "buffers.h"
#include "lockstep.h"
#include "resident_block.h"
#include "views.h"

namespace emu {

class Grid;
struct Limits;

enum class Memory : int { global, shared, remote, none };  // remote: another block's of the cluster

// The thread waits until its warp has made the steps of its trace.
void await_steps(Fiber& fiber);
// It waits until there is room in its trace.
void await_room(Fiber& fiber);
// It waits until its warp has made its stores.
void await_stores(Fiber& fiber);

// Filled for the Python side, field by field.

// Of one instruction, in one level of one launch. Numbers are sums over executions by a warp.
struct Count {
    const void* site;
    unsigned launch;
    int level;  // as noted by the kernel; -1: it noted none
    int kind, memory;
    uint64_t executions, lanes, bytes;
    uint64_t polls;             // executions left out above: the warp waits, and looks at the same place again
    uint64_t sectors;           // of global memory, each once an execution
    uint64_t distinct_sectors;  // each once
    uint64_t far_sectors;       // that its warp has not loaded lately
    uint64_t passes;            // through shared memory: one, and one more for each bank conflict
    uint64_t conflicts;
    uint64_t collisions;        // lanes of atomics that are not the first of their execution at their word
    uint64_t most_collisions;   // of one execution
    uint64_t hottest;           // executions that met on one word, of all warps
};

// Of one level of one launch.
struct LevelCount {
    const char* kernel;
    unsigned launch;
    int level;
    unsigned blocks, threads;
    uint64_t shared;  // bytes a block
    WarpRun::Steps longest;  // of the warp whose steps take the longest
};

// Numbers seen since the last clearing, with how often; fewer than 100 of them.
class FewNumbers {
  public:
    void clear() { ++now_; }
    // How often this one has been added.
    unsigned add(uint64_t number);

  private:
    static constexpr unsigned kSlots = 128;
    struct Slot {
        uint64_t number;
        uint32_t stamp;
        unsigned times;
    } slots_[kSlots] = {};
    uint32_t now_ = 1;
};

class Counting {
  public:
    // If all that a launch has done `most_polls` times is to look at the same places again, it has no end.
    Counting(Buffers& buffers, uint64_t most_polls) : buffers_(buffers), most_polls_(most_polls) {}

    void begin_launch(const Grid& grid, const Limits& limits);
    void begin_block(ResidentBlock& block);
    void add_module(const char* begin, size_t bytes);

    // A thread, the current one, is about to do this, and others of its block go on before it does.
    void step(Fiber& fiber, const char* address, const void* site, size_t bytes, Kind kind);
    // It is about to store, and goes on.
    void store(Fiber& fiber, const char* address, const void* site, size_t bytes);
    // The warp of a thread has made the step of its first store in the buffer.
    void make_store(Lockstep& lockstep, unsigned rank);
    // Its warp has made the step that it has waited for, and it is about to do what it said.
    void go_on(const Lockstep& lockstep, unsigned rank);
    // It is about to load without regard to others, and goes on, unless others have often stored before their warps
    // had made such a load.
    void load(Fiber& fiber, const char* address, size_t bytes, const void* site) {
        if (views_.changes.put_aside) finish_stores(fiber);
        const Ops::Slot& op = ops.at(site, Ops::shape(bytes, Kind::read, true));
        ops.note_quick(op);
        bool waits = op.waits, full = trace.come_to(site, op, address);
        if (waits) return await_steps(fiber);  // when it goes on, go_on() has been called for it
        if (full) return await_room(fiber);
        if (views_.may_be_old(address, bytes)) show_old(*block_of(fiber).lockstep, fiber.rank, address, bytes);
    }

    const Changes& changes() const { return views_.changes; }
    // It soon will make such a store.
    void fetch_store(const Lockstep& lockstep, unsigned rank) const {
        views_.fetch_store(lockstep.first_store(rank).entry.address());
    }

    // Lanes of a warp soon make the step that they have come to.
    void fetch_step(const WarpRun& warp, unsigned lanes) {
        const Site& site = site_of(warp.now[__builtin_ctz(lanes)].op());
        if (site.usual != epoch_) return;
        const uint32_t *touched = site.touched->sectors.data(), *recent = warp.recent.data();
        for (; lanes; lanes &= lanes - 1) {
            size_t sector = static_cast<size_t>(warp.now[__builtin_ctz(lanes)].address() - site.place.begin) / kSector;
            prefetch(&recent[sector % WarpRun::kRecent]);
            prefetch(&touched[sector]);
        }
    }

    uint64_t stores() const { return views_.stores(); }

    // What the current thread's block loads from now on is no older than now.
    void acquire(const ResidentBlock& block) {
        views_.acquire(block.lockstep->multiprocessor);
        block.lockstep->meet();
    }

    // The machine goes on with something else than the current thread, or with a step of it. What the thread has loaded
    // is put back, what it has stored put off.
    void leave_thread() {
        if (views_.changes.put_aside) leave_memory_alone();
    }
    // Whether the current thread has put off stores.
    bool has_stores(const Fiber& fiber) const;

    Loops loops;
    Ops ops;

    // No thread of a block can go on: its warps make a step each, or find that a lane goes on.
    void issue(ResidentBlock& block);

    // Stores here say that a level begins: that of the element's index.
    void note_levels_at(const char* begin, size_t bytes, size_t element);

    const std::vector<Count>& counts() const { return counts_; }
    const std::vector<LevelCount>& levels() const { return levels_; }
    void forget();

  private:
    struct Place {
        const char* begin = nullptr;
        size_t bytes = 0;
        Memory memory = Memory::none;
        const Region* buffer = nullptr;  // null for variables
        bool has(const char* address) const { return static_cast<size_t>(address - begin) < bytes; }
    };
    // Of one region: in which execution each sector was touched last, and in which epoch each word, and how often.
    struct Touched {
        struct Word {
            uint32_t epoch, times;
        };
        std::vector<uint32_t> sectors;
        std::vector<Word> words;
    };
    struct Site {
        uint32_t epoch = 0;
        size_t count = 0;    // index in counts_, in that epoch
        uint32_t usual = 0;  // if it last was a plain load from a buffer, the epoch of that
        Place place;       // where it went last
        const char* region = nullptr;
        Touched* touched = nullptr;
        std::unordered_map<const char*, Touched> regions;
        // Of atomics: the offset of the first word in the epoch and region, and whether it went to others, too.
        size_t word = 0;
        const char* word_region = nullptr;
        uint32_t word_epoch = 0;
        bool scattered = false;
        // Of loads: how many, how many of them came before a store though their warp's step came after it, and whether
        // lanes wait since then.
        uint64_t loads = 0, overtaken = 0;
        bool waits = false;
        // Of stores: how many were put off, and how many of them saved nothing, as the lane's next step was a load.
        uint64_t put_off = 0, before_loads = 0;
        bool is_before_loads() const { return before_loads > kSomeStores && 2 * before_loads > put_off; }
        static constexpr uint64_t kSomeStores = 32;
    };
    // Lanes of a warp that execute an instruction together, in one region.
    struct Execution {
        Execution(ResidentBlock& of, unsigned index, unsigned members) : block(of), warp(index), lanes(members) {}
        ResidentBlock& block;
        unsigned warp, lanes;
        unsigned number;           // of lanes
        const Op* op;              // of the first of them
        size_t offset[kWarpSize];  // in the region, of each of them, without gaps
    };

    void leave_memory_alone();
    void finish_stores(Fiber& fiber);
    void log_store(const Lockstep& lockstep, Entry entry);
    void show_old(const Lockstep& lockstep, unsigned rank, const char* address, size_t bytes);
    void begin_epoch();
    bool is_note(const char* address) const { return static_cast<size_t>(address - notes_) < notes_bytes_; }
    void begin_level(const char* note);
    Site& site_of(unsigned op) {
        if (op < site_of_op_.size() && site_of_op_[op]) return *site_of_op_[op];
        return find_site(op);
    }
    Site& find_site(unsigned op);
    Place find_global(const char* address) const;
    Place find(const ResidentBlock& block, const char* address) const;
    void count_group(ResidentBlock& block, unsigned warp, unsigned lanes);
    bool count_plain(const ResidentBlock& block, WarpRun& warp, unsigned lanes, const Op& op, Site& site);
    void gather(Execution& execution, Site& site);
    void fetch_words(const Execution& execution, const Site& site) const;
    // Returns whether a lane goes where the warp has not been lately.
    bool count_lanes(const Execution& execution, Site& site, Count& count);
    static constexpr size_t kSector = 32;
    static constexpr unsigned kMostSectors = kWarpSize * (4095 / kSector + 2);
    static unsigned list_sectors(const Execution& execution, size_t most, uint32_t* sectors);
    bool count_sectors(const Execution& execution, Site& site, Count& count);
    inline unsigned count_distinct(WarpRun& warp, Site& site, Count& count, const uint32_t* sectors, unsigned number,
                                   uint32_t place, uint32_t* listed, uint64_t& far);
    void count_collisions(const Execution& execution, Site& site, Count& count);
    void count_banks(const Execution& execution, const Site& site, Count& count);
    void follow_words(const Execution& execution, Site& site);
    inline void count_step(WarpRun& warp, Kind kind, Memory memory, bool far);
    Count& count_of(Site& site, const Op& op, Memory memory);
    void count_overtaken(const WarpRun& warp, unsigned lanes, const Op& op, Site& site);
    bool near_stores(const Site& site, const uint32_t* sectors, unsigned number) const;

    Buffers& buffers_;
    const uint64_t most_polls_;
    std::map<const char*, size_t> modules_;
    std::unordered_map<const void*, Site> sites_;
    std::vector<Site*> site_of_op_;
    std::vector<Count> counts_;
    std::vector<LevelCount> levels_;
    FewNumbers seen_;
    StoreBuffer::Store* stored_ = nullptr;  // of the current thread, the one that it makes now
    Site* last_put_off_ = nullptr;          // and the instruction of its last one
    Views views_;
    unsigned multiprocessors_ = 1;
    const Grid* grid_ = nullptr;
    unsigned launch_ = 0;
    int level_ = -1;
    uint32_t epoch_ = 0;  // of launch and level
    uint64_t longest_ = 0;  // its longest warp's steps
    uint32_t execution_ = 0, before_epoch_ = 0;  // the last one, and the last before the epoch
    const char* notes_ = nullptr;
    size_t notes_bytes_ = 0, notes_element_ = 1;
    uint64_t polls_ = 0;  // in a row
};

}  // namespace emu
