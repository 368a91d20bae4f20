// Counts the cost that memory accesses of warps would have on a GPU. For each instruction it counts requests,
// sectors of 32 bytes, and bank conflicts.
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

// The kinds of memory. `remote` is the shared memory of another block in the cluster.
enum class Memory : int { global, shared, remote, none };

// Makes a thread wait until its warp has performed all accesses that the thread has recorded.
void await_steps(Fiber& fiber);
// Makes a thread wait until its list of recorded accesses has room for another access.
void await_room(Fiber& fiber);
// Makes a thread wait until its delayed stores have been written to memory.
void await_stores(Fiber& fiber);

// report.cpp writes the members of the structs Count and PhaseCount as text, which the file watch.py reads.

// The counts of one instruction in one phase of one launch. A kernel may mark the beginnings of phases, such
// as the levels of a search. Each count is a sum over all executions of the instruction by warps. Only the
// counts whose comments say "largest" are maxima.
struct Count {
    const void* site;
    unsigned launch;
    int phase;  // number of the phase that the kernel has marked, or -1 before the first mark
    int kind, memory;
    uint64_t executions, lanes, bytes;
    uint64_t polls;  // executions by a waiting warp that only repeats its reads; `executions` leaves them out
    // Number of sectors (32 bytes each) of global memory that the instruction has accessed. A sector counts
    // once for each execution of the instruction by a warp. Each collision of atomics adds 1, unless the
    // compiler can combine the operands of a warp's lanes before the atomic.
    uint64_t sectors;
    // Number of sectors of global memory that this instruction was the first to access in this phase. The
    // sum over all instructions is the number of different sectors that the phase has accessed.
    uint64_t distinct_sectors;
    uint64_t far_sectors;       // sectors that the warp has not loaded recently
    uint64_t streamed_sectors;  // those of far_sectors that lie in a run of at least kLine neighbouring sectors
    // Number of passes over the banks of shared memory that the instruction's accesses have needed. In one
    // pass, each bank serves one word.
    uint64_t passes;
    uint64_t conflicts;
    // Number of collisions of atomics. A lane collides if an earlier lane of the same execution updates the same
    // word.
    uint64_t collisions;
    uint64_t most_collisions;   // largest number of collisions in one execution
    uint64_t hottest;           // largest number of executions, over all warps, that update one word
};

// One phase of one launch: the shape of the launch, and the accesses of the warp that took longest. The class
// Counting creates one object when a phase begins.
struct PhaseCount {
    const char* kernel;
    unsigned launch;
    int phase;
    unsigned blocks, threads;
    uint64_t shared;  // bytes of shared memory per block
    WarpRun::Steps longest;  // accesses and barriers of the warp with the longest estimated time
};

// Counts how often each number was added since the last call of clear(). At most 99 different numbers may be
// added between two calls of clear().
class FewNumbers {
  public:
    void clear() { ++now_; }
    // Adds a number. Returns how often the number has been added since clear(), including this call.
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
    // The emulator regards a launch as endless if more than `most_polls` executions in a row come from warps
    // that only repeat earlier reads.
    Counting(Buffers& buffers, uint64_t most_polls) : buffers_(buffers), most_polls_(most_polls) {}

    void begin_launch(const Grid& grid, const Limits& limits);
    void begin_block(ResidentBlock& block);
    void add_module(const char* begin, size_t bytes);

    // Records an access or a barrier of the current thread. The thread waits until its warp has performed
    // the operation, while other threads of the block run. Some stores only mark a phase, such as a level
    // of a search. At these stores the thread waits only if its list of recorded operations is full.
    void step(Fiber& fiber, const char* address, const void* site, size_t bytes, Kind kind);
    // Records a store of the current thread. The thread usually continues immediately, and its warp
    // performs the store later.
    void store(Fiber& fiber, const char* address, const void* site, size_t bytes);
    // Writes the oldest delayed store of a thread to memory. The caller calls this function when the thread's
    // warp performs the store.
    void make_store(Lockstep& lockstep, unsigned rank);
    // Prepares a waiting thread to continue, after its warp has performed the access at which the thread
    // waited.
    void go_on(const Lockstep& lockstep, unsigned rank);
    // Records an ordinary load of the current thread. The thread executes the load immediately, but its
    // warp performs (counts) the load later. If another thread stores to the address between these two
    // times, the load came too early. If loads of this instruction often came too early, the thread waits
    // for its warp instead.
    void load(Fiber& fiber, const char* address, size_t bytes, const void* site) {
        if (views_.changes.put_aside) finish_stores(fiber);
        const Ops::Slot& op = ops.at(site, Ops::shape(bytes, Kind::read, true));
        ops.note_quick(op);
        bool waits = op.waits, full = trace.come_to(site, op, address);
        // Before the thread continues, go_on() puts the value that the load must return into memory.
        if (waits) return await_steps(fiber);
        if (full) return await_room(fiber);
        if (views_.may_be_old(address, bytes)) show_old(*block_of(fiber).lockstep, fiber.rank, address, bytes);
    }

    const Changes& changes() const { return views_.changes; }
    // Prefetches the memory that make_store() will access.
    void fetch_store(const Lockstep& lockstep, unsigned rank) const {
        views_.fetch_store(lockstep.first_store(rank).entry.address());
    }

    // Prefetches the counters that the next access of `lanes` will change.
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

    // Empties the first-level cache of the block's multiprocessor, so that later loads of the block return
    // the values now in memory.
    void acquire(const ResidentBlock& block) {
        views_.acquire(block.lockstep->multiprocessor);
        block.lockstep->meet();
    }

    // Prepares memory for other threads: restores the newest values where the current thread has loaded old
    // values, and moves the thread's latest store to the store buffer.
    void leave_thread() {
        if (views_.changes.put_aside) leave_memory_alone();
    }
    // Returns whether the emulator has delayed any stores of the thread.
    bool has_stores(const Fiber& fiber) const;

    Loops loops;
    Ops ops;

    // Performs memory accesses of a block's warps, that is, counts their costs. The caller calls this
    // function when no thread of the block can run. In each round every warp performs one access. The rounds
    // end when a lane can continue, when no lane has recorded an access, when other blocks should run, or
    // when the launch is aborted.
    void issue(ResidentBlock& block);

    // Declares a buffer by which kernels mark phases, such as the levels of a search. When a kernel stores to
    // element i of the buffer, phase i begins.
    void note_phases_at(const char* begin, size_t bytes, size_t element);

    const std::vector<Count>& counts() const { return counts_; }
    const std::vector<PhaseCount>& phases() const { return phases_; }
    void forget();

  private:
    struct Place {
        const char* begin = nullptr;
        size_t bytes = 0;
        Memory memory = Memory::none;
        const Region* buffer = nullptr;  // null for variables of the kernel's library
        bool has(const char* address) const { return static_cast<size_t>(address - begin) < bytes; }
    };
    // The accesses of one instruction to one region of memory. For each sector, `sectors` holds the number of
    // the instruction's last execution that touched the sector. `words` is used only for an atomic. For each
    // word, it holds the last phase in which the word was updated (`epoch`), and the number of executions
    // that updated it in this phase (`times`).
    struct Touched {
        struct Word {
            uint32_t epoch, times;
        };
        std::vector<uint32_t> sectors;
        std::vector<Word> words;
        std::vector<uint32_t>* of_phase = nullptr;  // the region's vector in phase_of_
    };
    struct Site {
        uint32_t epoch = 0;
        size_t count = 0;    // index of the instruction's Count in counts_, for the phase in `epoch`
        uint32_t usual = 0;  // phase of the last access, if this access was an ordinary load from a buffer
        Place place;       // the memory region that the instruction accessed last
        const char* region = nullptr;
        Touched* touched = nullptr;
        std::unordered_map<const char*, Touched> regions;
        // These members are used only for atomic instructions. `word` is the offset of the first word that the
        // instruction updated in this phase and region. `scattered` is true if the instruction has updated other words
        // since then.
        size_t word = 0;
        const char* word_region = nullptr;
        uint32_t word_epoch = 0;
        bool scattered = false;
        // These members are used only for loads. `loads` counts the executions. `overtaken` counts loads that came
        // too early: another thread stored to the address after a lane had executed the load, but before the
        // lane's warp performed it. If this happens often, `waits` is set, and lanes wait for their warp at
        // this instruction.
        uint64_t loads = 0, overtaken = 0;
        bool waits = false;
        // These members are used only for stores. `put_off` counts the stores that the emulator delayed, so that
        // the thread need not wait for its warp. `before_loads` counts the delayed stores for which the delay was
        // useless: the thread came to a load while the store was still delayed, and had to wait there.
        uint64_t put_off = 0, before_loads = 0;
        bool is_before_loads() const { return before_loads > kSomeStores && 2 * before_loads > put_off; }
        static constexpr uint64_t kSomeStores = 32;
    };
    // One execution of an instruction by lanes of a warp that all access one region of memory.
    struct Execution {
        Execution(ResidentBlock& of, unsigned index, unsigned members) : block(of), warp(index), lanes(members) {}
        ResidentBlock& block;
        unsigned warp, lanes;
        unsigned number;           // number of lanes that take part
        const Op* op;              // operation of the first lane that takes part
        size_t offset[kWarpSize];  // by participating lane: offset of its access in the region, in bytes
    };

    void leave_memory_alone();
    void finish_stores(Fiber& fiber);
    void log_store(const Lockstep& lockstep, Entry entry);
    void show_old(const Lockstep& lockstep, unsigned rank, const char* address, size_t bytes);
    void begin_epoch();
    bool is_note(const char* address) const { return static_cast<size_t>(address - notes_) < notes_bytes_; }
    void begin_phase(const char* note);
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
    // Counts one execution of an instruction by a warp. Returns whether any lane accesses a sector of global
    // memory that the warp has not accessed recently.
    bool count_lanes(const Execution& execution, Site& site, Count& count);
    static constexpr size_t kSector = 32;
    static constexpr unsigned kLine = 128 / kSector;  // sectors of a cache line
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
    // Maps the first address of a region of global memory to a vector with one element per sector: the
    // last phase that accessed the sector.
    std::unordered_map<const char*, std::vector<uint32_t>> phase_of_;
    std::vector<Count> counts_;
    std::vector<PhaseCount> phases_;
    FewNumbers seen_;
    // The current thread's latest delayed store, as long as its value is still in memory. Null once the value
    // has moved to the store buffer.
    StoreBuffer::Store* stored_ = nullptr;
    Site* last_put_off_ = nullptr;          // the instruction of the current thread's latest delayed store
    Views views_;
    unsigned multiprocessors_ = 1;
    const Grid* grid_ = nullptr;
    unsigned launch_ = 0;
    int phase_ = -1;
    uint32_t epoch_ = 0;         // number of the phase, counted over all launches
    uint64_t longest_ = 0;       // estimated time of the warp that took longest in this phase
    // `execution_` is the number of the latest execution of any instruction. `before_epoch_` is the
    // number of the last execution before this phase.
    uint32_t execution_ = 0, before_epoch_ = 0;
    const char* notes_ = nullptr;
    size_t notes_bytes_ = 0, notes_element_ = 1;
    uint64_t polls_ = 0;  // number of reads in a row that only repeat earlier reads
};

}  // namespace emu
