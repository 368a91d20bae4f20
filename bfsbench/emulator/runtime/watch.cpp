#include "watch.h"

#include <link.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "machine.h"
#include "worker.h"

namespace emu {

namespace {

uint64_t value_at(const char* address, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, address, std::min(bytes, sizeof value));
    return value;
}

// Atomics and volatile accesses of two threads to one word are no race, if each is of a scope that has both.
bool both_strong(const Past& a, const Past& b, bool one_block) {
    if (a.scope == Scope::none || b.scope == Scope::none) return false;
    return one_block || (a.scope == Scope::device && b.scope == Scope::device);
}

}  // namespace

void Watch::begin_launch(const Grid& grid, const ChildLaunch* child) {
    grid_ = &grid;
    ++launch_;
    steps_ = 0;
    if (!child) clocks.begin_family();
    if (child && child->shape.stream == cudaStreamTailLaunch) clocks.begin_era();  // its parent and all else are over
    clocks.begin_grid(grid, child ? child->parent : 0, child ? child->known : nullptr,
                      child && !child->shape.stream ? child->block : Clocks::kNoStream);
}

void Watch::end_launch() {
    complete_record();
    grid_ = nullptr;
}

void Watch::begin_block(ResidentBlock& block) {
    clocks.begin_block(block);
    block.shadow = std::make_unique<Shadow>(block.arena_bytes);
}

void Watch::add_module(const char* begin, size_t bytes) {
    auto region = std::make_unique<Region>(Region{bytes, 1, std::make_unique<Shadow>(bytes)});
    region->shadow->set_written(0, bytes);
    modules_[begin] = std::move(region);
}

std::vector<std::pair<const char*, size_t>> segments_of(const char* path) {
    struct Search {
        const char* path;
        std::vector<std::pair<const char*, size_t>> found;
    } search{path, {}};
    auto visit = [](dl_phdr_info* info, size_t, void* given) {
        auto& wanted = *static_cast<Search*>(given);
        if (!info->dlpi_name || strcmp(info->dlpi_name, wanted.path) != 0) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& segment = info->dlpi_phdr[i];
            if (segment.p_type != PT_LOAD) continue;
            wanted.found.emplace_back(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr),
                                      segment.p_memsz);
        }
        return 1;
    };
    dl_iterate_phdr(visit, &search);
    return search.found;
}

// On graphs small enough to be watched, launches take a few million.
void Watch::step() {
    constexpr uint64_t kMost = 20'000'000;
    if (++steps_ > kMost) report_endless();
}

// Says of some threads that could go on where they were last: what they poll, if they wait for something.
void Watch::report_endless() {
    unsigned left = 4;
    for (const ResidentBlock* block : worker->resident()) {
        for (const Fiber& fiber : block->fibers) {
            const ThreadClock& thread = block->clocks[fiber.rank];
            bool waits = fiber.exited || fiber.waits_at != Wait::none || !thread.last.site;
            if (waits || left == 0) continue;
            --left;
            report(Fault::endless, find(thread.last_address), thread.last_address, thread.last, nullptr);
            break;
        }
    }
    fail("the launch has no end: threads still run after %" PRIu64 " steps", steps_ - 1);
}

void Watch::lose_launch(const Thread& thread) {
    Past now = clocks.now(thread.refused_launch, 0, Act::update, Scope::none);
    const char* error = nullptr;
    report(Fault::lost_launch, {}, error + thread.last_error, now, nullptr);
}

Watch::Place Watch::find_shared(const char* address) const {
    for (ResidentBlock* block : block_of(here()).cluster->blocks) {
        auto offset = static_cast<size_t>(address - block->arena_begin);
        if (offset < block->arena_bytes) {
            return {block->shadow.get(), block->arena_begin, block->arena_bytes, 1, Space::block, block};
        }
    }
    return {};
}

Watch::Place Watch::find(const char* address) {
    if (auto [begin, region] = buffers_.at(address); region) {
        if (!region->shadow) region->shadow = std::make_unique<Shadow>(region->bytes);
        return {region->shadow.get(), begin, region->bytes, region->element, Space::buffer};
    }
    Place shared = find_shared(address);
    if (shared.shadow) return shared;
    auto next = modules_.upper_bound(address);
    if (next == modules_.begin()) return {};
    auto& [begin, region] = *std::prev(next);
    if (static_cast<size_t>(address - begin) >= region->bytes) return {};
    return {region->shadow.get(), begin, region->bytes, 1, Space::module};
}

void Watch::access(const char* address, size_t bytes, Act act, Scope scope, Order order, const void* site) {
    complete_record();
    see(site);
    Place place = find(address);
    if (!place.shadow) refuse(place, address, bytes, act, site);
    bool outside = address + bytes > place.begin + place.bytes;
    if (place.block) {
        outside |= !place.block->has_variable(*grid_, static_cast<size_t>(address - place.begin), bytes);
    }
    if (outside) refuse(place, address, bytes, act, site);
    ThreadClock& thread = block_of(here()).clocks[here().rank];
    thread.last = clocks.now(site, 0, act, scope);
    thread.last_address = address;
    check(place, address, bytes, thread.last);
    if (scope != Scope::none) clocks.atomic(address, act, scope, order);
    if (recording_) record(place, address, bytes, act, site);
}

void Watch::check(const Place& place, const char* address, size_t bytes, Past now) {
    auto offset = static_cast<size_t>(address - place.begin);
    if (now.act != Act::write && !place.shadow->is_written(offset, bytes)) {
        report(Fault::uninitialised, place, address, now, nullptr);
    }
    if (now.act != Act::read) place.shadow->set_written(offset, bytes);
    constexpr size_t kWord = Shadow::kWordBytes;
    for (size_t word = offset / kWord; word * kWord < offset + bytes; ++word) {
        size_t first = std::max(offset, word * kWord), last = std::min(offset + bytes, (word + 1) * kWord);
        now.bytes = static_cast<unsigned char>(((1u << (last - first)) - 1) << (first - word * kWord));
        check_word(place, address, word, now);
    }
}

void Watch::check_word(const Place& place, const char* address, size_t word, const Past& now) {
    Cell& cell = place.shadow->cell(word);
    auto one_block = [&](const Past& past) {
        return past.grid == now.grid && clocks.place_of(past).first == clocks.place_of(now).first;
    };
    auto meets = [&](const Past& past) {
        if (!past.site || !(past.bytes & now.bytes) || clocks.over(past)) return false;
        return !both_strong(past, now, one_block(past));
    };
    if (meets(cell.write)) report(Fault::race, place, address, now, &cell.write);
    if (now.act != Act::read) {
        for (Past& read : cell.reads) {
            if (meets(read)) report(Fault::race, place, address, now, &read);
        }
        cell.write = now;
        return;
    }
    // Of two reads keep those that a later write may meet.
    Past* place_for = &cell.reads[now.clock % 2];
    for (Past& read : cell.reads) {
        bool mine = read.thread == now.thread && read.grid == now.grid;
        if (!read.site || mine || clocks.over(read)) place_for = &read;
    }
    *place_for = now;
}

void Watch::record(const Place& place, const char* address, size_t bytes, Act act, const void* site) {
    const Fiber& fiber = here();
    unsigned block = linear(fiber.block->index, fiber.block->grid);
    uint64_t before = value_at(address, bytes);
    records_.push_back({grid_->kernel.name, place.begin, site, static_cast<uint64_t>(address - place.begin), before,
                        before, launch_, block, fiber.rank, static_cast<unsigned>(bytes),
                        static_cast<int>(act), static_cast<int>(place.space)});
    incomplete_ = act != Act::read;
}

// An access is announced before it is made: what it wrote is there when the next one is.
void Watch::complete_record() {
    if (!incomplete_) return;
    Record& last = records_.back();
    last.after = value_at(last.begin + last.offset, last.bytes);
    incomplete_ = false;
}

void Watch::set_recording(bool on) {
    complete_record();
    recording_ = on;
    records_.clear();
    launch_ = 0;
}

const std::vector<Record>& Watch::records() {
    complete_record();
    return records_;
}

void Watch::see(const void* site) {
    const void*& lately = seen_lately_[reinterpret_cast<uintptr_t>(site) / 4 % seen_lately_.size()];
    if (lately == site) return;
    lately = site;
    seen_.insert(site);
}

const std::vector<const void*>& Watch::sites() {
    sites_.assign(seen_.begin(), seen_.end());
    return sites_;
}

void Watch::forget_findings() {
    findings_.clear();
    known_.clear();
}

void Watch::report(Fault fault, const Place& place, const char* address, const Past& now, const Past* other) {
    auto key = std::make_tuple(fault, now.site, other ? other->site : nullptr);
    if (auto found = known_.find(key); found != known_.end()) {
        ++findings_[found->second].count;
        return;
    }
    known_[key] = findings_.size();
    auto actor = [&](const Past& past) {
        auto [block, thread] = clocks.place_of(past);
        return Actor{past.site, static_cast<int>(past.act), static_cast<int>(past.scope), block, thread};
    };
    findings_.push_back({static_cast<int>(fault), static_cast<int>(place.space), actor(now),
                         other ? actor(*other) : Actor{}, place.begin, place.bytes, place.element,
                         address - place.begin, 1, grid_->kernel.name});
}

// An access outside of all memory is not executed.
void Watch::refuse(const Place& place, const char* address, size_t bytes, Act act, const void* site) {
    Place nearest = place;
    Fault fault = Fault::out_of_bounds;
    if (nearest.space == Space::nowhere) {
        auto [begin, size, element, freed] = buffers_.nearest(address);
        if (begin) nearest = {nullptr, begin, size, element, Space::buffer};
        if (freed) fault = Fault::use_after_free;
    }
    report(fault, nearest, address, clocks.now(site, 0, act, Scope::none), nullptr);
    const char* verb = act == Act::read ? "reads" : "writes";
    if (fault == Fault::use_after_free) fail("%s memory that has been freed", verb);
    if (nearest.space == Space::block) fail("%s outside the variables in shared memory", verb);
    if (nearest.space != Space::buffer) fail("%s %zu bytes at %p, where no buffer is", verb, bytes, address);
    fail("%s %zu bytes at offset %td of a buffer of %zu bytes", verb, bytes, address - nearest.begin,
         nearest.bytes);
}

void watch(const void* address, size_t bytes, Act act, Scope scope, const void* site, Order order) {
    if (!current) return;
    if (StackPool::is_on(here().stack, address)) return;
    if (Lockstep* lockstep = block_of(here()).lockstep.get()) {
        auto* place = static_cast<const char*>(address);
        bool plain = act == Act::read && scope == Scope::none;
        lockstep->counting.step(here(), {site, place, static_cast<unsigned>(bytes), static_cast<Kind>(act), plain});
        if (order == Order::acquire || order == Order::acq_rel) lockstep->counting.acquire(block_of(here()));
        return;
    }
    Watch* on = worker->machine.watch.get();
    if (!on) return;
    yield_point();
    on->access(static_cast<const char*>(address), bytes, act, scope, order, site);
}

void part() {
    if (Lockstep* lockstep = current ? block_of(here()).lockstep.get() : nullptr) lockstep->part(current->rank);
}

void fence(Scope scope) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    yield_point();
    if (Watch* on = worker->machine.watch.get()) on->clocks.fence(scope);
    Lockstep* lockstep = current ? block_of(here()).lockstep.get() : nullptr;
    if (lockstep && scope == Scope::device) lockstep->counting.acquire(block_of(here()));
}

}  // namespace emu
