// Traces: what lanes have done that their warp has not done yet, namely steps and backward jumps between
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emu/state.h"
#include "fiber.h"
#include "prefetch.h"

namespace emu {

class Lockstep;

// Records which memory has changed in this launch. A lane reads this record before it loads.
struct Changes {
    static constexpr size_t kWord = 4, kSlots = 1 << 12;
    uint64_t stored[kSlots] = {};  // a bit per word, by hash: the word may have been stored to in this launch
    bool put_aside = false;        // true if some words of memory hold an old value now (see views.h)
    uint32_t stores = 0;           // number of stores in this launch

    // Returns whether a load of these bytes may have to find an older value than memory holds.
    bool may_be_old(const char* address, size_t bytes) const {
        bool found = false;
        auto first = reinterpret_cast<uintptr_t>(address);
        for (uintptr_t word = first / kWord; word * kWord < first + bytes; ++word) {
            found |= stored[word / 64 % kSlots] >> word % 64 & 1;
        }
        return found;
    }
    // Returns may_be_old() for kBytes bytes at most 16, at an address that is a multiple of kBytes.
    template <size_t kBytes>
    bool may_be_old(const char* address) const {
        constexpr uint64_t kWords = (uint64_t{1} << (kBytes + kWord - 1) / kWord) - 1;
        auto word = reinterpret_cast<uintptr_t>(address) / kWord;
        return stored[word / 64 % kSlots] >> word % 64 & kWords;
    }
    // Returns non-zero if may_be_old() holds for a word of the 32 bytes around an address.
    unsigned near(const char* address) const {
        size_t byte = reinterpret_cast<uintptr_t>(address) / (8 * kWord) % sizeof stored;
        return static_cast<unsigned>(stored[byte / 8] >> byte % 8 * 8 & 0xff);
    }
    void note_store(uintptr_t word) { stored[word / 64 % kSlots] |= uint64_t{1} << word % 64; }
};

enum class Kind : int { read, write, update, barrier, note, jump, part };  // note: see Counting::note_phases_at

// An operation of lanes, without its address. A jump leads from `from` to `site`. Neither a jump nor a
// `part`, which leaves a loop early, is a step.
struct Op {
    const void* site;
    const void* from;
    unsigned bytes;
    Kind kind;
    bool plain;  // a load that may find an old value
    bool waits;  // lanes wait at this load, because earlier executions of it came too early
};

// An operation in a trace: the number of its Op, and its address.
class Entry {
  public:
    Entry() = default;
    Entry(unsigned op, const void* address) : bits_(uint64_t{op} << kOpAt | reinterpret_cast<uint64_t>(address)) {}
    // Returns this entry with an address added. The entry must not have an address yet.
    Entry at(const void* address) const { return Entry(bits_ | reinterpret_cast<uint64_t>(address)); }
    uint64_t bits() const { return bits_; }
    static unsigned op_of(uint64_t bits) { return static_cast<unsigned>(bits >> kOpAt); }
    unsigned op() const { return static_cast<unsigned>(bits_ >> kOpAt); }
    const char* address() const { return reinterpret_cast<const char*>(bits_ & ((uint64_t{1} << kOpAt) - 1)); }

  private:
    explicit Entry(uint64_t bits) : bits_(bits) {}
    static constexpr unsigned kOpAt = 48;
    uint64_t bits_;
};

// The operations of lanes, by number. An operation is looked up by its site, or a jump by its two ends. Numbers
// stay valid as long as the object lives.
class Ops {
  public:
    struct alignas(32) Slot {
        const void* site = nullptr;
        const void* from = nullptr;
        uint32_t shape = 0;
        bool waits = false;
        Entry entry{0, nullptr};  // without an address
    };

    const Op& operator[](unsigned number) const { return all_[number]; }
    size_t size() const { return all_.size(); }

    // Packs the size, the kind and `plain` of an operation into one number.
    static constexpr uint32_t shape(size_t bytes, Kind kind, bool plain) {
        return static_cast<uint32_t>((bytes < kMostBytes ? bytes : kMostBytes) << 4 | static_cast<unsigned>(kind) << 1 |
                                     unsigned{plain});
    }
    const Slot& at(const void* site, uint32_t shape, const void* from = nullptr) {
        Slot& slot = slots_[index_of(site, from)];
        if (slot.site != site || slot.shape != shape || slot.from != from) fill(slot, site, shape, from);
        return slot;
    }
    // quick_load() returns the entry of a plain load at which lanes do not wait; quick_jump() returns the
    // entry of a jump. The entry has no address. The result is null if the operation has not been used
    // recently.
    const Entry* quick_load(const void* site) const {
        const Quick& load = loads_[reinterpret_cast<uintptr_t>(site) % kSlots];
        return load.site == site ? &load.entry : nullptr;
    }
    const Entry* quick_jump(const void* from, const void* to) const {
        const Slot& slot = slots_[index_of(to, from)];
        return slot.site == to && slot.from == from ? &slot.entry : nullptr;
    }
    // Makes quick_load() find a load, until another load takes its slot.
    void note_quick(const Slot& load) {
        if (load.waits) return;
        loads_[reinterpret_cast<uintptr_t>(load.site) % kSlots] = {load.site, load.entry};
    }
    const Slot& jump(const void* from, const void* to) { return at(to, shape(0, Kind::jump, false), from); }

    // Lets lanes wait at loads of this site from now on.
    void wait_at(const void* site);

  private:
    static constexpr size_t kSlots = 4096, kMostBytes = 4095;
    static size_t index_of(const void* site, const void* from) {
        return (reinterpret_cast<uintptr_t>(site) + 3 * reinterpret_cast<uintptr_t>(from)) % kSlots;
    }
    struct Quick {
        const void* site = nullptr;
        Entry entry{0, nullptr};
    };
    void fill(Slot& slot, const void* site, uint32_t shape, const void* from);

    std::array<Slot, kSlots> slots_{};  // the operations that were used most recently
    std::array<Quick, kSlots> loads_{};
    std::vector<Op> all_;
    std::unordered_multimap<const void*, uint16_t> numbers_;  // by site
};

// The traces of a warp's lanes. A row holds one entry of each lane, because most lanes have equal entries.
struct alignas(64) Traces {
    static constexpr unsigned kRoom = 64;
    uint8_t begin[kWarpSize];  // row of each lane's first entry, and row after its last; both are 0 for an empty trace
    uint8_t end[kWarpSize];
    Entry rows[kRoom][kWarpSize];
    // Prefetches the lane's entry that lies a few rows further on.
    static void fetch_after(const Entry* entry) {
        constexpr uintptr_t kSoon = 3 * sizeof rows[0];
        prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(entry) + kSoon));
    }
};

// The trace of the running lane, which adds to it.
class Trace {
  public:
    // Begins to record another lane. `place` is the instruction at which this lane was last.
    void take_up(Lockstep& of, Ops& ops, const Changes& changes, Traces& traces, unsigned rank, const void* place,
                 const char* stack) {
        of_ = &of, ops_ = &ops, changes_ = &changes, rank_ = rank, stack_ = stack;
        end_ = &traces.end[rank % kWarpSize], first_ = &traces.rows[0][rank % kWarpSize];
        place_ = number(place);
    }
    // Notes that no lane runs whose accesses are counted. No address is higher than place_ then, so all quick
    // paths return false.
    void leave() { of_ = nullptr, place_ = ~uintptr_t{0}; }
    bool runs() const { return of_ != nullptr; }
    const void* place() const { return reinterpret_cast<const void*>(place_); }
    // Returns whether an address is on the lane's stack, where nothing is counted.
    bool is_own(const char* address) const { return StackPool::is_on(stack_, address); }

    // Notes that the lane comes to a basic block or to a step. Returns whether the trace is full, so that the
    // lane must wait.
    bool come_to(const void* place) { return !come_on(place) && jump_to(place); }
    // Moves to `place` if its address is higher than the current one. Otherwise returns false and does
    // nothing.
    bool come_on(const void* place) {
        if (number(place) <= place_) return false;
        place_ = number(place);
        return true;
    }
    bool come_to(const void* site, const Ops::Slot& op, const void* address) {
        if (number(site) <= place_) jump_to(site);
        place_ = number(site);
        return add(op.entry.at(address));
    }

    // load_quickly() adds an aligned plain load, and jump_quickly() adds a jump. These functions return false,
    // without effect, if a slower function must handle the entry, for example the first entry of a trace. So
    // they call no function and need no stack.
    template <size_t kBytes>
    bool load_quickly(const char* address, const void* site) {
        if (number(site) <= place_) return false;
        if (is_own(address)) return true;
        const Entry* op = ops_->quick_load(site);
        if (!op || !finds_last<kBytes>(address)) return false;
        unsigned end = *end_;
        if (!has_entries(end)) return false;
        put(end, op->at(address), site);
        return true;
    }
    bool jump_quickly(const void* place) {
        unsigned end = *end_;
        const Entry* op = ops_->quick_jump(this->place(), place);
        if (!op || !has_entries(end)) return false;
        put(end, *op, place);
        return true;
    }
    // begin_with_load() and begin_with_jump() add the first entry of a trace. They return false, without
    // effect, if a slower function must handle the entry.
    template <size_t kBytes>
    bool begin_with_load(const char* address, const void* site) {
        const Entry* op = ops_->quick_load(site);
        if (*end_ || !op || number(site) <= place_ || !finds_last<kBytes>(address)) return false;
        begin_anew();
        put(0, op->at(address), site);
        return true;
    }
    bool begin_with_jump(const void* place) {
        const Entry* op = ops_->quick_jump(this->place(), place);
        if (*end_ || !op) return false;
        begin_anew();
        put(0, *op, place);
        return true;
    }

    // Notes that the lane leaves a loop early. Returns whether the trace is full.
    bool part() { return add(ops_->at(place(), Ops::shape(0, Kind::part, false)).entry); }

  private:
    static uintptr_t number(const void* place) { return reinterpret_cast<uintptr_t>(place); }
    // Returns whether memory holds what a load of this address must find.
    template <size_t kBytes>
    bool finds_last(const char* address) const {
        return !changes_->put_aside && !changes_->may_be_old<kBytes>(address);
    }
    __attribute__((noinline)) bool jump_to(const void* to) {
        Entry jump = ops_->jump(place(), to).entry;
        place_ = number(to);
        return add(jump);
    }
    // A trace with fewer entries has room for the next entry and for another jump and a step.
    static constexpr unsigned kPlenty = Traces::kRoom - 3;
    // Returns whether the trace is neither empty nor nearly full.
    static bool has_entries(unsigned end) { return end - 1 < kPlenty; }
    void put(unsigned end, Entry entry, const void* place) {
        place_ = number(place);
        first_[end * kWarpSize] = entry;
        *end_ = static_cast<uint8_t>(end + 1);
    }
    // Adds an entry. Returns whether the trace is full: it has no room for both a jump and a step.
    bool add(Entry entry) {
        unsigned end = *end_;
        if (!end) begin_anew();
        put(end, entry, place());
        return end > kPlenty;
    }
    inline void begin_anew();  // tells the warp that this lane's trace is no longer empty

    uintptr_t place_ = ~uintptr_t{0};
    const char* stack_ = nullptr;
    uint8_t* end_ = nullptr;
    Entry* first_ = nullptr;
    Ops* ops_ = nullptr;
    const Changes* changes_ = nullptr;
    Lockstep* of_ = nullptr;
    unsigned rank_ = 0;
};

// The trace of the thread that runs on this core.
extern __thread Trace trace __attribute__((tls_model("initial-exec")));

}  // namespace emu
