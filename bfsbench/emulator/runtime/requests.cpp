// Counts the cost of each execution of an instruction by a warp: requests, sectors of 32 bytes, and passes
// over the banks of shared memory.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "counting.h"
#include "machine.h"
#include "worker.h"

namespace emu {

namespace {

constexpr size_t kWord = 4, kBanks = 32;

}  // namespace

unsigned FewNumbers::add(uint64_t number) {
    auto slot = static_cast<unsigned>(number * 0x9e3779b97f4a7c15u >> 57);
    for (;; slot = (slot + 1) % kSlots) {
        Slot& found = slots_[slot];
        if (found.stamp != now_) {
            found = {number, now_, 1};
            return 1;
        }
        if (found.number == number) return ++found.times;
    }
}

Counting::Site& Counting::find_site(unsigned op) {
    if (op >= site_of_op_.size()) site_of_op_.resize(ops.size());
    return *(site_of_op_[op] = &sites_[ops[op].site]);
}

[[gnu::always_inline]] void Counting::count_step(WarpRun& warp, Kind kind, Memory memory, bool far) {
    if (warp.epoch != epoch_) {
        warp.epoch = epoch_;
        warp.steps = {};
        warp.length = 0;
    }
    // An access to a sector that was not loaded recently takes kFar times as long as an access to a recently
    // loaded sector.
    constexpr unsigned kFar = 7;
    WarpRun::Steps& steps = warp.steps;
    ++steps.all;
    if (kind == Kind::read && memory == Memory::global) {
        ++(far ? steps.far : steps.near);
        warp.length += far ? kFar : 1;
    } else if (kind == Kind::barrier) {
        ++steps.barriers;
        ++warp.length;
    } else if (memory != Memory::global) {
        ++steps.shared;
        ++warp.length;
    } else if (kind == Kind::update) {
        ++steps.atomics;
        warp.length += kFar;
    }
    if (warp.length < longest_) return;
    longest_ = warp.length;
    phases_.back().longest = steps;
}

// Writes the numbers of the accessed sectors to `listed`, each sector only once. A sector's number is its
// position in the GPU's memory. Returns how many numbers were written. Adds to `far` the number of these
// sectors that the warp has not loaded recently.
[[gnu::always_inline]] unsigned Counting::count_distinct(WarpRun& warp, Site& site, Count& count,
                                                         const uint32_t* sectors, unsigned number, uint32_t place,
                                                         uint32_t* listed, uint64_t& far) {
    uint32_t execution = ++execution_, before_epoch = before_epoch_;
    uint32_t *touched = site.touched->sectors.data(), *recent = warp.recent.data();
    uint32_t* of_phase = site.touched->of_phase->data();
    auto first = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(site.place.begin) / kSector);
    unsigned different = 0;
    uint32_t lowest = ~0u, highest = 0;
    uint64_t distinct = 0, new_ones = 0;
    for (unsigned i = 0; i < number; ++i) {
        uint32_t sector = sectors[i];
        uint32_t last = touched[sector];
        if (last == execution) continue;
        touched[sector] = execution;
        listed[different++] = place + sector;
        lowest = std::min(lowest, sector), highest = std::max(highest, sector);
        if (last <= before_epoch && of_phase[sector] != epoch_) of_phase[sector] = epoch_, ++distinct;
        new_ones += !WarpRun::had_lately(recent, sector, first + sector);
    }
    far += new_ones;
    count.sectors += different;
    count.distinct_sectors += distinct;
    count.far_sectors += far;
    if (different >= kLine && highest - lowest + 1 == different) count.streamed_sectors += far;
    return different;
}

// Counts a memory access or barrier of `lanes`. If the lanes access different buffers, each buffer counts as
// a separate request.
void Counting::count_group(ResidentBlock& block, unsigned index, unsigned lanes) {
    WarpRun& warp = block.lockstep->warp(index);
    Entry entry = warp.now[__builtin_ctz(lanes)];
    const Op& first = ops[entry.op()];
    if (first.kind == Kind::note) return begin_phase(entry.address());
    Site& site = site_of(entry.op());
    warp.remember(first.kind, entry);
    bool polls = warp.polls();
    if (site.usual == epoch_ && !polls && first.plain && count_plain(block, warp, lanes, first, site)) {
        polls_ = 0;
        return;
    }
    polls_ = polls ? polls_ + 1 : 0;
    if (polls_ > most_polls_) {
        worker->grid->abort(place_of(*grid_, block.fibers[index * kWarpSize + __builtin_ctz(lanes)]) +
                            "the launch has no end: all its threads wait");
    }
    while (lanes) {
        Execution execution(block, index, lanes);
        execution.op = &ops[warp.now[__builtin_ctz(lanes)].op()];
        gather(execution, site);
        Count& count = count_of(site, *execution.op, site.place.memory);
        if (polls) {
            ++count.polls;
        } else {
            bool far = count_lanes(execution, site, count);
            count_step(warp, execution.op->kind, site.place.memory, far);
        }
        lanes &= ~execution.lanes;
    }
}

// Counts an ordinary load in the common case. Returns false, without counting, if the load of a lane touches
// two sectors, or lies outside the region that the instruction last accessed.
bool Counting::count_plain(const ResidentBlock& block, WarpRun& warp, unsigned lanes, const Op& op, Site& site) {
    const char* begin = site.place.begin;
    size_t last = site.place.bytes - 1, beyond = op.bytes - 1, beside = 0, crosses = 0;
    uint32_t sectors[kWarpSize];
    unsigned number = 0;
    bool old = false, stores = !site.waits && views_.stores();
    if (lanes == ~0u) {
        uint32_t of_lanes[1 + kWarpSize] = {~0u};
        uint8_t differs[kWarpSize];  // true if a lane's sector differs from the previous lane's sector
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            auto offset = static_cast<size_t>(warp.now[lane].address() - begin);
            // The highest bit of this value is set if the offset lies outside of the region.
            beside |= offset | (last - offset);
            crosses |= offset ^ (offset + beyond);
            of_lanes[1 + lane] = static_cast<uint32_t>(offset / kSector);
        }
        for (unsigned lane = 0; lane < kWarpSize; ++lane) differs[lane] = of_lanes[1 + lane] != of_lanes[lane];
        uint64_t some;  // eight elements of `differs` as one number
        for (unsigned first = 0; first < kWarpSize; first += sizeof some) {
            memcpy(&some, differs + first, sizeof some);
            for (; some; some &= some - 1) sectors[number++] = of_lanes[1 + first + __builtin_ctzll(some) / 8];
        }
        old = stores && near_stores(site, sectors, number);
    } else {
        each_lane(lanes, [&](unsigned lane) {
            const char* address = warp.now[lane].address();
            auto offset = static_cast<size_t>(address - begin);
            beside |= offset | (last - offset);
            crosses |= offset ^ (offset + beyond);
            if (stores) old |= views_.changes.near(address) != 0;
            sectors[number++] = static_cast<uint32_t>(offset / kSector);
        });
        // If the region begins inside a sector, its last bytes may lie in one more sector, which near()
        // does not check. In this case count_overtaken() tests exactly.
        old |= stores && reinterpret_cast<uintptr_t>(begin) % kSector;
    }
    if (beside >> 63 || crosses >= kSector) return false;
    auto members = static_cast<unsigned>(__builtin_popcount(lanes));
    if (!site.waits) site.loads += members;
    if (old) count_overtaken(warp, lanes, op, site);
    Count& count = counts_[site.count];
    ++count.executions;
    count.lanes += members;
    count.bytes += uint64_t{members} * op.bytes;
    const Lockstep& lockstep = *block.lockstep;
    auto place = static_cast<uint32_t>(site.place.buffer->place / kSector);
    uint64_t far = 0;
    views_.load(lockstep.multiprocessor, lockstep.time, number, [&](uint32_t* log) {
        return count_distinct(warp, site, count, sectors, number, place, log, far);
    });
    count_step(warp, Kind::read, Memory::global, far > 0);
    return true;
}

// Finds the memory region that the first lane accesses. Keeps in `execution` only the lanes that access this
// region.
void Counting::gather(Execution& execution, Site& site) {
    const Entry* now = execution.block.lockstep->warp(execution.warp).now;
    if (execution.op->kind == Kind::barrier) {
        site.place = {};
        execution.number = static_cast<unsigned>(__builtin_popcount(execution.lanes));
        return;
    }
    const char* address = now[__builtin_ctz(execution.lanes)].address();
    site.usual = 0;
    if (site.place.memory != Memory::global || !site.place.has(address)) site.place = find(execution.block, address);
    const char* begin = site.place.begin;
    size_t bytes = site.place.bytes;
    execution.offset[0] = static_cast<size_t>(address - begin);  // the first lane always takes part
    execution.number = 1;
    if (execution.lanes == ~0u) {
        bool all = true;
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            execution.offset[lane] = static_cast<size_t>(now[lane].address() - begin);
            all &= execution.offset[lane] < bytes;
        }
        if (all) execution.number = kWarpSize;
        if (all) return;
    }
    for (unsigned left = execution.lanes & (execution.lanes - 1); left; left &= left - 1) {
        auto offset = static_cast<size_t>(now[__builtin_ctz(left)].address() - begin);
        execution.offset[execution.number] = offset;
        execution.number += offset < bytes;
        if (offset >= bytes) execution.lanes &= ~(left & -left);
    }
}

Count& Counting::count_of(Site& site, const Op& op, Memory memory) {
    bool same = site.epoch == epoch_ && counts_[site.count].memory == static_cast<int>(memory);
    if (!same) {
        site.epoch = epoch_;
        site.count = counts_.size();
        counts_.push_back({op.site, launch_, phase_, static_cast<int>(op.kind), static_cast<int>(memory)});
    }
    return counts_[site.count];
}

Counting::Place Counting::find_global(const char* address) const {
    auto [begin, region] = buffers_.at(address);
    return region ? Place{begin, region->bytes, Memory::global, region} : Place{};
}

Counting::Place Counting::find(const ResidentBlock& block, const char* address) const {
    if (Place place = find_global(address); place.buffer) return place;
    for (const ResidentBlock* other : block.cluster->blocks) {
        Place place{other->arena_begin, other->arena_bytes, other == &block ? Memory::shared : Memory::remote};
        if (place.has(address)) return place;
    }
    auto next = modules_.upper_bound(address);
    if (next == modules_.begin()) return {};
    Place place{std::prev(next)->first, std::prev(next)->second, Memory::global};
    return place.has(address) ? place : Place{};
}

bool Counting::count_lanes(const Execution& execution, Site& site, Count& count) {
    const Op& op = *execution.op;
    ++count.executions;
    count.lanes += execution.number;
    count.bytes += uint64_t{execution.number} * op.bytes;
    const Place& place = site.place;
    if (place.memory == Memory::none) return false;
    if (site.region != place.begin) {
        site.region = place.begin;
        site.touched = &site.regions[place.begin];
        site.touched->of_phase = &phase_of_[place.begin];
    }
    if (!op.plain && place.memory == Memory::global) fetch_words(execution, site);
    if (op.plain && !site.waits) {
        site.loads += execution.number;
        count_overtaken(execution.block.lockstep->warp(execution.warp), execution.lanes, op, site);
    }
    if (op.kind == Kind::update) count_collisions(execution, site, count);
    if (place.memory == Memory::global) {
        if (op.plain && place.buffer && op.bytes <= kSector) site.usual = epoch_;
        return count_sectors(execution, site, count);
    }
    count_banks(execution, site, count);
    return false;
}

// Lists the sectors that lanes touch, in order of lanes, without repeating the previous lane's sector.
// Returns the length of the list.
unsigned Counting::list_sectors(const Execution& execution, size_t most, uint32_t* sectors) {
    size_t beyond = execution.op->bytes - 1;
    size_t crosses = 0;
    for (unsigned i = 0; i < execution.number; ++i) {
        crosses |= (execution.offset[i] + beyond) / kSector ^ execution.offset[i] / kSector;
    }
    unsigned number = 0;
    auto previous = static_cast<uint32_t>(most + 1);
    for (unsigned i = 0; !crosses && i < execution.number; ++i) {
        auto sector = static_cast<uint32_t>(execution.offset[i] / kSector);
        sectors[number] = sector;
        number += sector != previous;
        previous = sector;
    }
    for (unsigned i = 0; crosses && i < execution.number; ++i) {
        size_t last = std::min((execution.offset[i] + beyond) / kSector, most);
        for (size_t sector = execution.offset[i] / kSector; sector <= last; ++sector) {
            if (sector == previous) continue;
            previous = sectors[number++] = static_cast<uint32_t>(sector);
        }
    }
    return number;
}

bool Counting::count_sectors(const Execution& execution, Site& site, Count& count) {
    Lockstep& lockstep = *execution.block.lockstep;
    auto& touched = site.touched->sectors;
    if (size_t needed = site.place.bytes / kSector + 2; touched.size() != needed) {
        touched.resize(needed);
        auto& of_phase = *site.touched->of_phase;
        if (of_phase.size() < needed) of_phase.resize(needed);
    }
    uint32_t sectors[kMostSectors];
    unsigned number = list_sectors(execution, touched.size() - 1, sectors);
    WarpRun& warp = lockstep.warp(execution.warp);
    uint64_t far = 0;
    if (const Region* buffer = site.place.buffer; buffer && execution.op->plain) {
        auto place = static_cast<uint32_t>(buffer->place / kSector);
        views_.load(lockstep.multiprocessor, lockstep.time, number, [&](uint32_t* log) {
            return count_distinct(warp, site, count, sectors, number, place, log, far);
        });
    } else {
        count_distinct(warp, site, count, sectors, number, 0, sectors, far);
    }
    return far > 0;
}

// Returns whether this launch may have stored to one of the `number` sectors in the list `sectors`.
bool Counting::near_stores(const Site& site, const uint32_t* sectors, unsigned number) const {
    if (!views_.stores()) return false;
    const char* begin = site.place.begin;
    unsigned near = reinterpret_cast<uintptr_t>(begin) % kSector;  // the region may begin inside a sector
    for (unsigned i = 0; i < number; ++i) near |= views_.changes.near(begin + size_t{sectors[i]} * kSector);
    return near;
}

// Counts loads that may have read an old value. The emulator lets a lane run ahead of its warp, so the lane
// reads memory before its warp performs the load. The function counts a load if another thread stored to the
// word between these two times. If this happens often at an instruction, lanes wait for their warp at this
// instruction from then on.
void Counting::count_overtaken(const WarpRun& warp, unsigned lanes, const Op& op, Site& site) {
    constexpr uint64_t kOneIn = 64;
    each_lane(lanes, [&](unsigned lane) {
        const char* address = warp.now[lane].address();
        if (!views_.may_be_old(address, op.bytes)) return;
        site.overtaken += views_.stored_since(address, warp.stores_before[lane]);
    });
    if (!site.overtaken || site.overtaken * kOneIn < site.loads) return;
    site.waits = true;
    ops.wait_at(op.site);
}

// Records whether an atomic instruction has used only one word in this phase. If nvcc can prove that all
// threads add to one word, the generated code first combines the operands of a warp's lanes. The emulator
// assumes this for instructions that have used only one word so far in the phase.
void Counting::follow_words(const Execution& execution, Site& site) {
    // A null `region` stands for shared memory. The shared memories of all blocks count as one region.
    const char* region = site.place.memory == Memory::global ? site.place.begin : nullptr;
    if (site.word_epoch != epoch_ || site.word_region != region) {
        site.word_epoch = epoch_, site.word_region = region, site.word = execution.offset[0];
        site.scattered = false;
    }
    for (unsigned i = 0; i < execution.number; ++i) site.scattered |= execution.offset[i] != site.word;
}

// Counts collisions of atomics: lanes that update the same word as an earlier lane. Each colliding lane needs
// one more access to the word's sector, unless the compiler would first combine the operands of the lanes.
void Counting::count_collisions(const Execution& execution, Site& site, Count& count) {
    auto& parts = site.touched->words;
    if (size_t needed = site.place.bytes / kWord + 2; parts.size() != needed) parts.resize(needed);
    seen_.clear();
    uint64_t most = 0, distinct = 0;
    follow_words(execution, site);
    bool global = count.memory == static_cast<int>(Memory::global);
    for (unsigned i = 0; i < execution.number; ++i) {
        size_t offset = execution.offset[i];
        uint64_t times = seen_.add(offset);
        distinct += times == 1;
        most = std::max(most, times - 1);
        if (!global || times > 1) continue;
        auto& part = parts[std::min(offset / kWord, parts.size() - 1)];
        if (part.epoch != epoch_) part = {epoch_, 0};
        count.hottest = std::max(count.hottest, uint64_t{++part.times});
    }
    uint64_t collisions = execution.number - distinct;
    count.collisions += collisions;
    if (global && site.scattered) count.sectors += collisions;
    count.most_collisions = std::max(count.most_collisions, most);
}

// Counts the passes over the banks of shared memory that one access of a warp needs. In a pass, each bank
// serves one word to all lanes that access this word. Each atomic on a word needs its own pass, unless the
// compiler would first combine the operands of the lanes. An access to 8 bytes needs one pass for each half
// of the warp, and an access to 16 bytes needs one pass for each quarter. An atomic on 8 bytes is a loop of
// compare-and-swap, in which one lane at a time succeeds. So each lane needs one pass, but there are no bank
// conflicts.
void Counting::count_banks(const Execution& execution, const Site& site, Count& count) {
    const Op& op = *execution.op;
    if (op.kind == Kind::update && op.bytes == 2 * kWord) {
        count.passes += execution.number;
        return;
    }
    unsigned width = std::max(1u, op.bytes / unsigned{kWord});
    unsigned at_a_time = kWarpSize / std::min(width, 4u);
    unsigned i = 0;  // index in `offset` of the next lane that takes part
    for (unsigned begin = 0; begin < kWarpSize; begin += at_a_time) {
        unsigned part = at_a_time == kWarpSize ? execution.lanes : execution.lanes & ((1u << at_a_time) - 1) << begin;
        if (!part) continue;
        unsigned end = i + static_cast<unsigned>(__builtin_popcount(part));
        unsigned in_bank[kBanks] = {}, passes = 1, distinct = 0;
        seen_.clear();
        for (; i < end; ++i) {
            size_t word = execution.offset[i] / kWord;
            for (size_t last = word + width; word < last; ++word) {
                unsigned times = seen_.add(word);
                distinct += times == 1;
                if (times > 1 && op.kind != Kind::update) continue;
                passes = std::max(passes, ++in_bank[word % kBanks]);
            }
        }
        if (distinct == 1 && !site.scattered) passes = 1;
        count.passes += passes;
        count.conflicts += passes - 1;
    }
}

}  // namespace emu
