// The traces of lanes. While the emulator counts memory accesses, a lane runs ahead of its warp. The trace of
// a lane is a list of the memory accesses, barriers and backward jumps that the lane has executed and the
// warp has not performed yet.
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

// Records which memory has changed in this launch. A lane reads this record before each load.
struct Changes {
    static constexpr size_t kWord = 4, kSlots = 1 << 12;
    uint64_t stored[kSlots] = {};  // a bit per word, by hash: true if this launch may have stored to the word
    // True while memory holds old values for the current thread (see views.h), or the current thread has
    // delayed stores.
    bool put_aside = false;
    uint32_t stores = 0;           // number of stores in this launch

    // Returns whether a load of these bytes may have to return an older value than memory holds.
    bool may_be_old(const char* address, size_t bytes) const {
        bool found = false;
        auto first = reinterpret_cast<uintptr_t>(address);
        for (uintptr_t word = first / kWord; word * kWord < first + bytes; ++word) {
            found |= stored[word / 64 % kSlots] >> word % 64 & 1;
        }
        return found;
    }
    // Returns the result of may_be_old() for kBytes bytes. kBytes is at most 16, and the address must be a
    // multiple of kBytes.
    template <size_t kBytes>
    bool may_be_old(const char* address) const {
        constexpr uint64_t kWords = (uint64_t{1} << (kBytes + kWord - 1) / kWord) - 1;
        auto word = reinterpret_cast<uintptr_t>(address) / kWord;
        return stored[word / 64 % kSlots] >> word % 64 & kWords;
    }
    // Returns non-zero if may_be_old() is true for a word of the aligned 32 bytes that contain `address`.
    unsigned near(const char* address) const {
        size_t byte = reinterpret_cast<uintptr_t>(address) / (8 * kWord) % sizeof stored;
        return static_cast<unsigned>(stored[byte / 8] >> byte % 8 * 8 & 0xff);
    }
    void note_store(uintptr_t word) { stored[word / 64 % kSlots] |= uint64_t{1} << word % 64; }
};

// The kinds of operations. `update` is an atomic. `note` is a store by which the kernel marks a phase,
// such as a level of a search (see Counting::note_phases_at). `jump` is a backward jump, and `part` is an
// exit from a loop before the loop's end.
enum class Kind : int { read, write, update, barrier, note, jump, part };

// An operation of a kernel, without the accessed address: a memory access, a barrier, a backward jump, or an
// early exit from a loop. A jump leads from `from` to `site`. A loop exit is at `site`.
struct Op {
    const void* site;
    const void* from;
    unsigned bytes;
    Kind kind;
    bool plain;  // true for an ordinary load, which may return an old value
    bool waits;  // true if lanes wait at this load, because they often executed it too early
};

// An operation that a lane has executed: the number of its Op, and the accessed address. Traces hold entries.
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

// A table of the operations that lanes have executed. Each operation has a number, which never changes. An
// operation is looked up by the address of its instruction, and a jump by the addresses of its two ends.
class Ops {
  public:
    struct alignas(32) Slot {
        const void* site = nullptr;
        const void* from = nullptr;
        uint32_t shape = 0;
        bool waits = false;
        Entry entry{0, nullptr};  // number of the operation, without an address
    };

    const Op& operator[](unsigned number) const { return all_[number]; }
    size_t size() const { return all_.size(); }

    // Packs the size, the kind and the flag `plain` of an operation into one number.
    static constexpr uint32_t shape(size_t bytes, Kind kind, bool plain) {
        return static_cast<uint32_t>((bytes < kMostBytes ? bytes : kMostBytes) << 4 | static_cast<unsigned>(kind) << 1 |
                                     unsigned{plain});
    }
    const Slot& at(const void* site, uint32_t shape, const void* from = nullptr) {
        Slot& slot = slots_[index_of(site, from)];
        if (slot.site != site || slot.shape != shape || slot.from != from) fill(slot, site, shape, from);
        return slot;
    }
    // quick_load() returns the entry of an ordinary load at which lanes do not wait. quick_jump() returns
    // the entry of a jump. The entry has no address. The functions return null if their hash table does not
    // hold the operation.
    const Entry* quick_load(const void* site) const {
        const Quick& load = loads_[reinterpret_cast<uintptr_t>(site) % kSlots];
        return load.site == site ? &load.entry : nullptr;
    }
    const Entry* quick_jump(const void* from, const void* to) const {
        const Slot& slot = slots_[index_of(to, from)];
        return slot.site == to && slot.from == from ? &slot.entry : nullptr;
    }
    // Stores a load in the hash table, so that quick_load() finds it until another load takes the slot.
    void note_quick(const Slot& load) {
        if (load.waits) return;
        loads_[reinterpret_cast<uintptr_t>(load.site) % kSlots] = {load.site, load.entry};
    }
    const Slot& jump(const void* from, const void* to) { return at(to, shape(0, Kind::jump, false), from); }

    // Makes lanes wait at the load instruction `site` from now on.
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

    std::array<Slot, kSlots> slots_{};  // a hash table of recently used operations
    std::array<Quick, kSlots> loads_{};
    std::vector<Op> all_;
    // Maps the address of an instruction to the numbers of its operations.
    std::unordered_multimap<const void*, uint16_t> numbers_;
};

// The traces of a warp's lanes: for each lane a list of operations. A row holds one entry of each lane, so
// that the entries of all lanes can be compared quickly. Most lanes have equal entries.
struct alignas(64) Traces {
    static constexpr unsigned kRoom = 64;
    // For each lane, the row of its first entry (`begin`) and the row after its last entry (`end`). Both are
    // 0 if the lane's trace is empty.
    uint8_t begin[kWarpSize];
    uint8_t end[kWarpSize];
    Entry rows[kRoom][kWarpSize];
    // Prefetches the lane's entry that lies three rows further on.
    static void fetch_after(const Entry* entry) {
        constexpr uintptr_t kSoon = 3 * sizeof rows[0];
        prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(entry) + kSoon));
    }
};

// Records the operations of the running lane in the lane's trace. Each thread of the operating system has one
// Trace object.
class Trace {
  public:
    // Begins to record the accesses of a lane. `place` is the instruction at which the lane has stopped.
    void take_up(Lockstep& of, Ops& ops, const Changes& changes, Traces& traces, unsigned rank, const void* place,
                 const char* stack) {
        of_ = &of, ops_ = &ops, changes_ = &changes, rank_ = rank, stack_ = stack;
        end_ = &traces.end[rank % kWarpSize], first_ = &traces.rows[0][rank % kWarpSize];
        place_ = number(place);
    }
    // Stops recording until the next take_up(). Sets `place_` to the highest address, so that the quick
    // functions return false: no other address is higher, and `ops_` has no jump from this address.
    void leave() { of_ = nullptr, place_ = ~uintptr_t{0}; }
    bool runs() const { return of_ != nullptr; }
    const void* place() const { return reinterpret_cast<const void*>(place_); }
    // Returns whether an address is on the lane's stack. The emulator does not count accesses to the stack.
    bool is_own(const char* address) const { return StackPool::is_on(stack_, address); }

    // Records that the lane reaches a basic block. Returns whether the lane's list of operations is full,
    // so that the lane must wait.
    bool come_to(const void* place) { return !come_on(place) && jump_to(place); }
    // If `place` has a higher address than the current place, moves there and returns true. Otherwise changes
    // nothing and returns false.
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

    // load_quickly() records an aligned ordinary load, and jump_quickly() records a jump. They call no
    // function and need no stack. A load from the lane's own stack is not recorded. The functions return
    // false and change nothing if a slower function must record the operation, for example as the first
    // entry of a trace.
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
    // begin_with_load() and begin_with_jump() record the first entry of a trace. They return false and change
    // nothing if a slower function must record the operation.
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

    // Records that the lane leaves a loop early. Returns whether the lane's list of operations is full.
    bool part() { return add(ops_->at(place(), Ops::shape(0, Kind::part, false)).entry); }

  private:
    static uintptr_t number(const void* place) { return reinterpret_cast<uintptr_t>(place); }
    // Returns whether a load of this address can read memory directly, because memory holds the value that the
    // multiprocessor sees.
    template <size_t kBytes>
    bool finds_last(const char* address) const {
        return !changes_->put_aside && !changes_->may_be_old<kBytes>(address);
    }
    __attribute__((noinline)) bool jump_to(const void* to) {
        Entry jump = ops_->jump(place(), to).entry;
        place_ = number(to);
        return add(jump);
    }
    // A trace with at most this many entries has room for three more: the next entry, another jump and an
    // access.
    static constexpr unsigned kPlenty = Traces::kRoom - 3;
    // Returns whether the trace is neither empty nor nearly full.
    static bool has_entries(unsigned end) { return end - 1 < kPlenty; }
    void put(unsigned end, Entry entry, const void* place) {
        place_ = number(place);
        first_[end * kWarpSize] = entry;
        *end_ = static_cast<uint8_t>(end + 1);
    }
    // Adds an entry. Returns whether the trace is now full, that is, has no room for another jump and an
    // access.
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

// Records the operations of the CUDA thread that runs on this thread of the operating system.
extern __thread Trace trace __attribute__((tls_model("initial-exec")));

}  // namespace emu
