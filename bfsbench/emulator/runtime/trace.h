// What lanes of a warp have done that their warp has not: their steps, and jumps backwards between them.
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

// Of the memory that kernels share: what a lane has to know before it loads from there.
struct Changes {
    static constexpr size_t kWord = 4, kSlots = 1 << 12;
    uint64_t stored[kSlots] = {};  // words that may have been stored to in this launch, a bit each
    bool put_aside = false;        // some words are not there, see views.h
    uint32_t stores = 0;           // in this launch

    // Whether a value that was stored before the last one may be found here.
    bool may_be_old(const char* address, size_t bytes) const {
        bool found = false;
        auto first = reinterpret_cast<uintptr_t>(address);
        for (uintptr_t word = first / kWord; word * kWord < first + bytes; ++word) {
            found |= stored[word / 64 % kSlots] >> word % 64 & 1;
        }
        return found;
    }
    // The same for an address that is a multiple of the bytes, of which there are at most 16.
    template <size_t kBytes>
    bool may_be_old(const char* address) const {
        constexpr uint64_t kWords = (uint64_t{1} << (kBytes + kWord - 1) / kWord) - 1;
        auto word = reinterpret_cast<uintptr_t>(address) / kWord;
        return stored[word / 64 % kSlots] >> word % 64 & kWords;
    }
    // Not 0 if that is so for any word of the 32 bytes that this address is in.
    unsigned near(const char* address) const {
        size_t byte = reinterpret_cast<uintptr_t>(address) / (8 * kWord) % sizeof stored;
        return static_cast<unsigned>(stored[byte / 8] >> byte % 8 * 8 & 0xff);
    }
    void note_store(uintptr_t word) { stored[word / 64 % kSlots] |= uint64_t{1} << word % 64; }
};

enum class Kind : int { read, write, update, barrier, note, jump, part };  // note: see Counting::note_levels_at

// What lanes do, but for the address. A jump leads from `from` to `site`; parting is no step either, but leaving a loop
// early.
struct Op {
    const void* site;
    const void* from;
    unsigned bytes;
    Kind kind;
    bool plain;  // a load that may find an old value
    bool waits;  // lanes do, at loads of this site that would not make them wait otherwise
};

// What is kept of it in a trace: the number of the op, and the address.
class Entry {
  public:
    Entry() = default;
    Entry(unsigned op, const void* address) : bits_(uint64_t{op} << kOpAt | reinterpret_cast<uint64_t>(address)) {}
    // The same at another address, if this has none.
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

// What lanes do, by numbers, found by site or by the ends of a jump. Numbers are good for as long as this lives.
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

    // Bytes, kind and whether it is plain, in one number.
    static constexpr uint32_t shape(size_t bytes, Kind kind, bool plain) {
        return static_cast<uint32_t>((bytes < kMostBytes ? bytes : kMostBytes) << 4 | static_cast<unsigned>(kind) << 1 |
                                     unsigned{plain});
    }
    const Slot& at(const void* site, uint32_t shape, const void* from = nullptr) {
        Slot& slot = slots_[index_of(site, from)];
        if (slot.site != site || slot.shape != shape || slot.from != from) fill(slot, site, shape, from);
        return slot;
    }
    // The entry, without an address, of a plain load at which lanes do not wait, or of a jump; null if it has not been
    // used lately.
    const Entry* quick_load(const void* site) const {
        const Quick& load = loads_[reinterpret_cast<uintptr_t>(site) % kSlots];
        return load.site == site ? &load.entry : nullptr;
    }
    const Entry* quick_jump(const void* from, const void* to) const {
        const Slot& slot = slots_[index_of(to, from)];
        return slot.site == to && slot.from == from ? &slot.entry : nullptr;
    }
    // Such a load is known from now on, until another one takes its place.
    void note_quick(const Slot& load) {
        if (load.waits) return;
        loads_[reinterpret_cast<uintptr_t>(load.site) % kSlots] = {load.site, load.entry};
    }
    const Slot& jump(const void* from, const void* to) { return at(to, shape(0, Kind::jump, false), from); }

    // Lanes wait at loads of this site from now on.
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

    std::array<Slot, kSlots> slots_{};  // those used last
    std::array<Quick, kSlots> loads_{};
    std::vector<Op> all_;
    std::unordered_multimap<const void*, uint16_t> numbers_;  // by site
};

// Those of a warp, side by side, as most of its lanes do the same.
struct alignas(64) Traces {
    static constexpr unsigned kRoom = 64;
    uint8_t begin[kWarpSize];  // rows of the first entry of each lane, and behind its last; both are 0 if there is none
    uint8_t end[kWarpSize];
    Entry rows[kRoom][kWarpSize];
    // The entry of the same lane some rows further on, or what lies there behind the last.
    static void fetch_after(const Entry* entry) {
        constexpr uintptr_t kSoon = 3 * sizeof rows[0];
        prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(entry) + kSoon));
    }
};

// That of the lane that runs, which adds to it.
class Trace {
  public:
    // Another lane runs, which was at this place last.
    void take_up(Lockstep& of, Ops& ops, const Changes& changes, Traces& traces, unsigned rank, const void* place,
                 const char* stack) {
        of_ = &of, ops_ = &ops, changes_ = &changes, rank_ = rank, stack_ = stack;
        end_ = &traces.end[rank % kWarpSize], first_ = &traces.rows[0][rank % kWarpSize];
        place_ = number(place);
    }
    // None does that is counted. Then nothing is further on.
    void leave() { of_ = nullptr, place_ = ~uintptr_t{0}; }
    bool runs() const { return of_ != nullptr; }
    const void* place() const { return reinterpret_cast<const void*>(place_); }
    // Whether an address is on the lane's stack, where nothing is counted.
    bool is_own(const char* address) const { return StackPool::is_on(stack_, address); }

    // The lane has come to a basic block, or to a step. If there is no room for another one, it has to wait.
    bool come_to(const void* place) { return !come_on(place) && jump_to(place); }
    // Whether it is further on; otherwise nothing is done.
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

    // A plain load of a multiple of its bytes, or a jump, if that is all there is to it. Otherwise nothing is done, and
    // there is more to do: for the first entry, too, so that this calls nothing and needs no room on the stack.
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
    // The same for the first entry.
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

    // It leaves a loop early.
    bool part() { return add(ops_->at(place(), Ops::shape(0, Kind::part, false)).entry); }

  private:
    static uintptr_t number(const void* place) { return reinterpret_cast<uintptr_t>(place); }
    // Whether what was stored last is to be found at such an address, and is there.
    template <size_t kBytes>
    bool finds_last(const char* address) const {
        return !changes_->put_aside && !changes_->may_be_old<kBytes>(address);
    }
    __attribute__((noinline)) bool jump_to(const void* to) {
        Entry jump = ops_->jump(place(), to).entry;
        place_ = number(to);
        return add(jump);
    }
    // There is room for another jump and a step behind the next entry.
    static constexpr unsigned kPlenty = Traces::kRoom - 3;
    // But not too many of them.
    static bool has_entries(unsigned end) { return end - 1 < kPlenty; }
    void put(unsigned end, Entry entry, const void* place) {
        place_ = number(place);
        first_[end * kWarpSize] = entry;
        *end_ = static_cast<uint8_t>(end + 1);
    }
    // Whether there is room for less than another jump and a step.
    bool add(Entry entry) {
        unsigned end = *end_;
        if (!end) begin_anew();
        put(end, entry, place());
        return end > kPlenty;
    }
    inline void begin_anew();  // the other lanes of its warp have yet to be told

    uintptr_t place_ = ~uintptr_t{0};
    const char* stack_ = nullptr;
    uint8_t* end_ = nullptr;
    Entry* first_ = nullptr;
    Ops* ops_ = nullptr;
    const Changes* changes_ = nullptr;
    Lockstep* of_ = nullptr;
    unsigned rank_ = 0;
};

// Of the thread that runs on this core now.
extern __thread Trace trace __attribute__((tls_model("initial-exec")));

}  // namespace emu
