#include "counting.h"

#include <algorithm>
#include <iterator>

#include "machine.h"
#include "worker.h"

namespace emu {

namespace {

constexpr size_t kSector = 32, kWord = 4, kBanks = 32;

size_t shared_bytes(const Grid& grid) {
    return grid.kernel.shared_bytes() + grid.kernel.functions->shared_bytes() + grid.dynamic_shared;
}

// The first-level cache has what is left of a multiprocessor's memory when it has been given shared memory for all
// the blocks that it can hold, in one of these sizes (CUDA programming guide, compute capability 9.0).
size_t cache_beside(size_t shared, unsigned threads, const Limits& limits) {
    constexpr size_t kAll = 256 << 10, kReserved = 1 << 10;  // of each block
    size_t blocks = std::min(limits.threads_per_multiprocessor / threads, limits.blocks_per_multiprocessor);
    for (size_t size : {32, 64, 100, 132, 164, 196}) {
        if (std::max<size_t>(1, blocks) * (shared + kReserved) <= size << 10) return kAll - (size << 10);
    }
    return kAll - (228 << 10);
}

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

void Counting::begin_launch(const Grid& grid, const Limits& limits) {
    grid_ = &grid;
    multiprocessors_ = limits.multiprocessors;
    views_.begin_launch(multiprocessors_, cache_beside(shared_bytes(grid), volume(grid.threads), limits));
    ++launch_;
    level_ = -1;
    polls_ = 0;
    begin_epoch();
}

void Counting::begin_block(ResidentBlock& block) {
    if (!block.lockstep) block.lockstep = std::make_unique<Lockstep>(*this, loops);
    block.lockstep->begin(block.live);
    for (Fiber& fiber : block.fibers) fiber.trace = &block.lockstep->trace(fiber.rank);
}

void Counting::begin_epoch() {
    ++epoch_;
    levels_.push_back({grid_->kernel.name, launch_, level_, volume(grid_->blocks), volume(grid_->threads),
                       shared_bytes(*grid_), {}});
}

void Counting::add_module(const char* begin, size_t bytes) { modules_[begin] = bytes; }

void Counting::note_levels_at(const char* begin, size_t bytes, size_t element) {
    notes_ = begin, notes_bytes_ = bytes, notes_element_ = element;
}

void Counting::forget() {
    counts_.clear();
    levels_.clear();
    ++epoch_;
}

void Counting::step(Fiber& fiber, Step step) {
    views_.put_back();
    bool notes = is_note(step.address);
    if (notes) step.kind = Kind::note;
    bool full = fiber.trace->come_to(step.site, Deed(step));
    if (full || !notes) worker->await_steps(fiber);
    if (step.kind != Kind::write && step.kind != Kind::update) return;
    auto [begin, region] = buffers_.at(step.address);
    if (!region) return;
    const ResidentBlock& block = block_of(fiber);
    unsigned multiprocessor = multiprocessor_of(block);
    views_.store(multiprocessor, block.lockstep->time, step.address, step.bytes);
    if (step.kind == Kind::update) {
        views_.drop(multiprocessor, region->place + static_cast<size_t>(step.address - begin));
    }
}

// Its warp makes the step later, after those in its trace.
void Counting::show_old(const Fiber& fiber, const char* address, size_t bytes) {
    const ResidentBlock& block = block_of(fiber);
    uint64_t time = block.lockstep->time + fiber.trace->size();
    auto [begin, region] = buffers_.at(address);
    if (!region) return;
    size_t place = region->place + static_cast<size_t>(address - begin);
    views_.show(multiprocessor_of(block), time, const_cast<char*>(address), bytes, place);
}

unsigned Counting::multiprocessor_of(const ResidentBlock& block) const {
    return linear(block.index, block.grid) % multiprocessors_;
}

void Counting::begin_level(const char* note) {
    auto level = static_cast<int>(static_cast<size_t>(note - notes_) / notes_element_);
    if (level == level_) return;
    level_ = level;
    begin_epoch();
}

void Counting::issue(ResidentBlock& block) {
    Lockstep& lockstep = *block.lockstep;
    lockstep.begin_round();
    ++lockstep.time;
    bool all_poll = true;
    for (unsigned warp = 0; warp < lockstep.warps(); ++warp) {
        unsigned lanes = lockstep.take(warp);
        if (!lanes) continue;
        count_group(block, warp, lanes);
        lockstep.release(warp, lanes);
        all_poll &= lockstep.warp(warp).polls();
    }
    lockstep.end_round(all_poll);
}

// Lanes that go to different regions through one pointer are a request to each.
void Counting::count_group(ResidentBlock& block, unsigned warp, unsigned lanes) {
    Lockstep& lockstep = *block.lockstep;
    const Step& first = lockstep.step(warp * kWarpSize + __builtin_ctz(lanes));
    if (first.kind == Kind::note) return begin_level(first.address);
    Site& site = sites_[first.site];
    lockstep.warp(warp).remember(first);
    bool polls = lockstep.warp(warp).polls();
    polls_ = polls ? polls_ + 1 : 0;
    if (polls_ > most_polls_) {
        worker->grid->abort(place_of(*grid_, block.fibers[warp * kWarpSize + __builtin_ctz(lanes)]) +
                            "the launch has no end: all its threads wait");
    }
    while (lanes) {
        const Step& step = lockstep.step(warp * kWarpSize + __builtin_ctz(lanes));
        unsigned together = lanes;
        if (step.kind == Kind::barrier) {
            site.place = {};
        } else {
            if (site.place.memory != Memory::global || !site.place.has(step.address)) {
                site.place = find(block, step.address);
            }
            each_lane(lanes, [&](unsigned lane) {
                if (!site.place.has(lockstep.step(warp * kWarpSize + lane).address)) together &= ~(1u << lane);
            });
            together |= lanes & -lanes;  // no lane is left for ever, wherever it goes
        }
        Count& count = count_of(site, step, site.place.memory);
        if (polls) {
            ++count.polls;
        } else {
            bool far = count_lanes(block, warp, together, site, count);
            count_step(lockstep.warp(warp), step.kind, site.place.memory, far);
        }
        lanes &= ~together;
    }
}

Count& Counting::count_of(Site& site, const Step& step, Memory memory) {
    bool same = site.epoch == epoch_ && counts_[site.count].memory == static_cast<int>(memory);
    if (!same) {
        site.epoch = epoch_;
        site.count = counts_.size();
        counts_.push_back({step.site, launch_, level_, static_cast<int>(step.kind), static_cast<int>(memory)});
    }
    return counts_[site.count];
}

Counting::Place Counting::find(const ResidentBlock& block, const char* address) const {
    if (auto [begin, region] = buffers_.at(address); region) {
        return {begin, region->bytes, Memory::global, region->place};
    }
    for (const ResidentBlock* other : block.cluster->blocks) {
        Place place{other->arena_begin, other->arena_bytes, other == &block ? Memory::shared : Memory::remote};
        if (place.has(address)) return place;
    }
    auto next = modules_.upper_bound(address);
    if (next == modules_.begin()) return {};
    constexpr size_t kBehindBuffers = size_t{1} << 48;
    Place place{std::prev(next)->first, std::prev(next)->second, Memory::global, kBehindBuffers};
    return place.has(address) ? place : Place{};
}

bool Counting::count_lanes(ResidentBlock& block, unsigned warp, unsigned lanes, Site& site, Count& count) {
    Lockstep& lockstep = *block.lockstep;
    unsigned first = warp * kWarpSize;
    const Step& step = lockstep.step(first + __builtin_ctz(lanes));
    auto num_lanes = static_cast<unsigned>(__builtin_popcount(lanes));
    ++count.executions;
    count.lanes += num_lanes;
    count.bytes += uint64_t{num_lanes} * step.bytes;
    const Place place = site.place;
    if (place.memory == Memory::none) return false;
    if (site.region != place.begin) {
        site.region = place.begin;
        site.touched = &site.regions[place.begin];
    }
    if (step.plain) count_overtaken(lockstep, first, lanes, step.site, site);
    if (step.kind == Kind::update) count_collisions(lockstep, first, lanes, site, count);
    if (place.memory == Memory::global) return count_sectors(block, first, lanes, site, count);
    count_banks(lockstep, first, lanes, site, count);
    return false;
}

bool Counting::count_sectors(ResidentBlock& block, unsigned first, unsigned lanes, Site& site, Count& count) {
    Lockstep& lockstep = *block.lockstep;
    auto& parts = site.touched->sectors;
    parts.resize(site.place.bytes / kSector + 2);
    seen_.clear();
    size_t previous = ~size_t{0};
    WarpRun& warp = lockstep.warp(first / kWarpSize);
    uint64_t far_before = count.far_sectors;
    bool plain = lockstep.step(first + __builtin_ctz(lanes)).plain;
    unsigned multiprocessor = multiprocessor_of(block);
    each_lane(lanes, [&](unsigned lane) {
        const Step& step = lockstep.step(first + lane);
        auto offset = static_cast<size_t>(step.address - site.place.begin);
        size_t last = std::min((offset + step.bytes - 1) / kSector, parts.size() - 1);
        for (size_t sector = offset / kSector; sector <= last; ++sector) {
            if (sector == previous) continue;
            previous = sector;
            if (seen_.add(sector) > 1) continue;
            ++count.sectors;
            if (plain) views_.load(multiprocessor, lockstep.time, site.place.place + sector * kSector);
            count.far_sectors += !warp.had_lately(site.place.begin + sector * kSector, sector);
            if (parts[sector].epoch == epoch_) continue;
            parts[sector].epoch = epoch_;
            ++count.distinct_sectors;
        }
    });
    return count.far_sectors > far_before;
}

// A lane has run ahead of what others of its warp and block stored. One load in so many does no harm.
void Counting::count_overtaken(Lockstep& lockstep, unsigned first, unsigned lanes, const void* address, Site& site) {
    constexpr uint64_t kOneIn = 64, kFew = 4;
    if (site.waits) return;
    each_lane(lanes, [&](unsigned lane) {
        const Step& step = lockstep.step(first + lane);
        bool may_be = views_.may_be_old(step.address, step.bytes);
        uint64_t before = lockstep.trace(first + lane).stores_before;
        site.overtaken += may_be && views_.stored_since(step.address, before);
    });
    site.loads += static_cast<unsigned>(__builtin_popcount(lanes));
    if (site.overtaken < kFew || site.overtaken * kOneIn < site.loads) return;
    site.waits = true;
    waiting_[slot_of(address)] = 1;
}

// nvcc adds up first what a warp's lanes add to one word, if it can see that this is the same word for all threads.
// Here: if it has been.
void Counting::follow_words(const Lockstep& lockstep, unsigned first, unsigned lanes, Site& site) {
    auto offset = [&](unsigned lane) { return lockstep.step(first + lane).address - site.place.begin; };
    const char* region = site.place.memory == Memory::global ? site.place.begin : nullptr;  // or any block's
    if (site.word_epoch != epoch_ || site.word_region != region) {
        site.word_epoch = epoch_, site.word_region = region, site.word = offset(__builtin_ctz(lanes));
        site.scattered = false;
    }
    each_lane(lanes, [&](unsigned lane) { site.scattered |= offset(lane) != site.word; });
}

// Lanes that go to one word take a sector each, unless they have been added up.
void Counting::count_collisions(const Lockstep& lockstep, unsigned first, unsigned lanes, Site& site,
                                Count& count) {
    auto& parts = site.touched->words;
    parts.resize(site.place.bytes / kWord + 2);
    seen_.clear();
    uint64_t most = 0, distinct = 0;
    follow_words(lockstep, first, lanes, site);
    bool global = count.memory == static_cast<int>(Memory::global);
    each_lane(lanes, [&](unsigned lane) {
        auto offset = static_cast<size_t>(lockstep.step(first + lane).address - site.place.begin);
        uint64_t times = seen_.add(offset);
        distinct += times == 1;
        most = std::max(most, times - 1);
        if (!global || times > 1) return;
        auto& part = parts[std::min(offset / kWord, parts.size() - 1)];
        if (part.epoch != epoch_) part = {epoch_, 0};
        count.hottest = std::max(count.hottest, uint64_t{++part.times});
    });
    uint64_t collisions = static_cast<unsigned>(__builtin_popcount(lanes)) - distinct;
    count.collisions += collisions;
    if (global && site.scattered) count.sectors += collisions;
    count.most_collisions = std::max(count.most_collisions, most);
}

// A pass serves one word of each bank, to all lanes that want that word. Atomics on one word take a pass each, unless
// they have been added up.
// Lanes that want 8 bytes come in halves of the warp, those that want 16 in quarters. Atomics on 8 bytes are a loop of
// compare-and-swap, from which lanes return one after the other: passes, but no conflicts.
void Counting::count_banks(const Lockstep& lockstep, unsigned first, unsigned lanes, const Site& site,
                           Count& count) {
    const Step& one = lockstep.step(first + __builtin_ctz(lanes));
    if (one.kind == Kind::update && one.bytes == 2 * kWord) {
        count.passes += static_cast<unsigned>(__builtin_popcount(lanes));
        return;
    }
    unsigned width = std::max(1u, one.bytes / unsigned{kWord});
    unsigned at_a_time = kWarpSize / std::min(width, 4u);
    for (unsigned begin = 0; begin < kWarpSize; begin += at_a_time) {
        unsigned part = at_a_time == kWarpSize ? lanes : lanes & ((1u << at_a_time) - 1) << begin;
        if (!part) continue;
        unsigned in_bank[kBanks] = {}, passes = 1, distinct = 0;
        seen_.clear();
        each_lane(part, [&](unsigned lane) {
            const Step& step = lockstep.step(first + lane);
            auto word = static_cast<size_t>(step.address - site.place.begin) / kWord;
            for (size_t end = word + std::max(1u, step.bytes / unsigned{kWord}); word < end; ++word) {
                unsigned times = seen_.add(word);
                distinct += times == 1;
                if (times > 1 && step.kind != Kind::update) continue;
                passes = std::max(passes, ++in_bank[word % kBanks]);
            }
        });
        if (distinct == 1 && !site.scattered) passes = 1;
        count.passes += passes;
        count.conflicts += passes - 1;
    }
}

void Counting::count_step(WarpRun& warp, Kind kind, Memory memory, bool far) {
    if (warp.epoch != epoch_) {
        warp.epoch = epoch_;
        warp.steps = {};
    }
    WarpRun::Steps& steps = warp.steps;
    ++steps.all;
    if (kind == Kind::barrier) {
        ++steps.barriers;
    } else if (memory != Memory::global) {
        ++steps.shared;
    } else if (kind == Kind::update) {
        ++steps.atomics;
    } else if (kind == Kind::read) {
        ++(far ? steps.far : steps.near);
    }
    WarpRun::Steps& longest = levels_.back().longest;
    if (steps.length() >= longest.length()) longest = steps;
}

void meet(const void* site) {
    if (!current) return;
    if (!here().trace) return;
    worker->machine.counting->step(here(), {site, nullptr, 0, Kind::barrier});
}

}  // namespace emu
