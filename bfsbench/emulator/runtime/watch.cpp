#include "watch.h"

#include <link.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "machine.h"
#include "worker.h"

namespace emu {

namespace {

uint64_t value_at(const char* address, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, address, std::min(bytes, sizeof value));
    return value;
}

// Returns true if two accesses to the same word are never a race, because both are atomic or volatile and the
// scope of each includes the other thread.
bool both_strong(const Past& a, const Past& b, bool one_block) {
    if (a.scope() == Scope::none || b.scope() == Scope::none) return false;
    return one_block || (a.scope() != Scope::block && b.scope() != Scope::block);
}

// Returns the kernel's arguments of the size of a pointer. Returns none if an argument is larger, because such
// an argument may contain pointers, too.
std::vector<const char*> pointers_passed(const Grid& grid) {
    std::vector<const char*> found;
    for (unsigned i = 0; i < grid.kernel.parameters; ++i) {
        size_t bytes = grid.kernel.parameter_sizes[i];
        if (bytes > sizeof(char*)) return {};
        if (bytes < sizeof(char*)) continue;
        found.emplace_back();
        memcpy(&found.back(), grid.arguments[i], bytes);
    }
    return found;
}

// Calls visit(word, mask) for each word of a range of bytes. `mask` has a bit for each of the word's bytes in
// the range.
template <class Visit>
void each_word(size_t offset, size_t bytes, Visit visit) {
    constexpr size_t kWord = Shadow::kWordBytes;
    for (size_t end = offset + bytes; offset < end;) {
        size_t first = offset % kWord, part = std::min(kWord - first, end - offset);
        visit(offset / kWord, ((1u << part) - 1) << first);
        offset += part;
    }
}

}  // namespace

// An invalid access within this number of bytes after the end of a block's shared memory is reported as an
// access to shared memory.
constexpr size_t kNearShared = 1 << 16;

__thread Watch* watching = nullptr;
const char* device_range = nullptr;
size_t device_range_bytes = 0;
const char* variable_range = nullptr;
size_t variable_range_bytes = 0;
__thread __attribute__((tls_model("initial-exec"))) int64_t steps_left = 0;

void Watch::begin_launch(const Grid& grid, const ChildLaunch* child) {
    grid_ = &grid;
    ++launch_;
    steps_left = kStepsBetweenLooks;
    looks_ = 0;
    seen_.clear();
    sites_.forget_places();
    raced_ = {};
    if (!child) clocks.begin_family();
    // A tail launch begins after all other grids have ended, so its accesses do not race with the accesses of
    // other grids.
    if (child && child->shape.stream == cudaStreamTailLaunch) clocks.begin_era();
    clocks.begin_grid(grid, child ? child->parent : 0, child ? child->known : nullptr,
                      child && !child->shape.stream ? child->block : Clocks::kNoStream);
    launch_began_ = clocks.next_moment();
}

void Watch::end_launch() {
    complete_record();
    steps_left = 0;
    has_error_ = grid_->error_is_found();
    grid_ = nullptr;
}

void Watch::begin_block(ResidentBlock& block) {
    clocks.begin_block(block);
    if (block.shadow && block.shadow->fits(block.arena_bytes)) return block.shadow->clear();
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

namespace {
bool can_run(const Fiber& fiber) { return !fiber.exited && fiber.waits_at == Wait::none && fiber.last_address; }
}  // namespace

void Watch::look_for_end(const void* site) {
    steps_left = kStepsBetweenLooks;  // a report may run code that counts steps
    if (std::exchange(thread_ended_, false) && allows_long_launches) {
        looks_ = 0;
        return seen_.clear();
    }
    bool is_first = looks_++ == 0, is_new = allows_long_launches && reach_new_memory();
    progress_ |= is_new && !is_first;
    if (looks_ % kLooks) return;
    if (std::exchange(progress_, false) && allows_long_launches && looks_ < kMostLooks) return;
    report_endless(site);
}

// Looks at the last address that each runnable thread has accessed. Returns true if one of these addresses is
// new, that is, if look_for_end() has not yet seen the thread access it. A thread that waits for a word reads
// the same few addresses again and again, so it soon has no new addresses.
bool Watch::reach_new_memory() {
    size_t before = seen_.size();
    for (const ResidentBlock* block : worker->resident()) {
        for (const Fiber& fiber : block->fibers) {
            if (can_run(fiber)) seen_.emplace(&fiber, fiber.last_address);
        }
    }
    return seen_.size() > before;
}

// Ends a launch that has run too long. Reports the last access of one runnable thread in each of up to four
// blocks. This access shows what the thread waits for. If no runnable thread has accessed memory, reports
// `site`, an instruction of the current thread.
void Watch::report_endless(const void* site) {
    unsigned left = 4;
    for (const ResidentBlock* block : worker->resident()) {
        for (const Fiber& fiber : block->fibers) {
            if (!can_run(fiber) || left == 0) continue;
            --left;
            if (is_known(Fault::endless, fiber.last, nullptr)) break;
            report(Fault::endless, variable_at(find(fiber.last_address, *block), fiber.last_address), fiber.last_address, fiber,
                   fiber.last, nullptr);
            break;
        }
    }
    Past now(0, sites_.at(site).number, Act::read, Scope::none);
    if (left == 4 && !is_known(Fault::endless, now, nullptr)) {
        report(Fault::endless, {}, nullptr, here(), now, nullptr);
    }
    emu::end_launch(true, "the launch has no end: threads still run after %" PRId64 " steps", looks_ * kStepsBetweenLooks);
}

void Watch::end_thread(const Thread& thread) {
    thread_ended_ = true;
    if (thread.last_error) lose_launch(thread);
}

void Watch::lose_launch(const Thread& thread) {
    Past now(0, sites_.at(thread.refused_launch).number, Act::update, Scope::none);
    const char* error = nullptr;
    if (is_known(Fault::lost_launch, now, nullptr)) return;
    report(Fault::lost_launch, {}, error + thread.last_error, thread, now, nullptr);
}

void Watch::report_index(const char* array, int64_t index, const void* site, Act act) {
    Past now(0, sites_.at(site).number, act, Scope::none);
    Place place{nullptr, array, 0, 1, Space::array};
    if (is_known(Fault::out_of_bounds, now, nullptr)) return;
    report(Fault::out_of_bounds, place, array + index, here(), now, nullptr);
}

void Watch::report_lane(Fault fault, CallSite from) {
    report_wait(fault, here(), from, nullptr);
}

void Watch::report_wait(Fault fault, const Fiber& fiber, CallSite from, const Fiber* other, const std::string& waits) {
    // The sum of the file name's address and the line number identifies a line.
    auto at = [&](CallSite place) { return Past(0, sites_.at(place.file + place.line).number, Act::update, Scope::none); };
    auto actor = [&](const Fiber& of, CallSite place) {
        return Actor{place.file + place.line, static_cast<int>(Act::update), static_cast<int>(Scope::none), place_in_grid(of), place};
    };
    Actor first = actor(fiber, from), second{};
    if (other) second = actor(*other, block_of(*other).place_of_wait(*other));
    // The order in which threads arrive depends on the schedule. So the finding always lists the earlier
    // source line first.
    if (other && second.from.line < first.from.line) std::swap(first, second);
    Past now = at(first.from), then = other ? at(second.from) : now;
    if (is_known(fault, now, other ? &then : nullptr)) return;
    findings_.push_back({static_cast<int>(fault), static_cast<int>(Space::nowhere), first, second, nullptr, 0, 1, 0, 1,
                         grid_->kernel.name, waits});
}

void Watch::report_misaligned(const char* address, Act act, const void* site) {
    Past now(0, sites_.at(site).number, act, Scope::none);
    if (is_known(Fault::misaligned, now, nullptr)) return;
    report(Fault::misaligned, variable_at(find(address), address), address, here(), now, nullptr);
}

Watch::Place Watch::find_shared(const char* address, const ResidentBlock& from) {
    for (ResidentBlock* block : from.cluster->blocks) {
        auto offset = static_cast<size_t>(address - block->arena_begin);
        if (offset < block->arena_bytes) {
            return {block->shadow.get(), block->arena_begin, block->arena_bytes, 1, Space::block, block};
        }
    }
    return {};
}

Watch::Place Watch::find(const char* address, const ResidentBlock& from) {
    Place global = find_global(address);
    return global.shadow ? global : find_shared(address, from);
}

Watch::Place Watch::find_global(const char* address) {
    Place place;
    if (auto [begin, region] = buffers_.at(address); region) {
        if (!region->shadow) region->shadow = std::make_unique<Shadow>(region->bytes);
        place = {region->shadow.get(), begin, region->bytes, region->element, Space::buffer, nullptr, region->origin};
    } else {
        auto next = modules_.upper_bound(address);
        if (next == modules_.begin()) return {};
        auto& [first, variables] = *std::prev(next);
        if (static_cast<size_t>(address - first) >= variables->bytes) return {};
        place = {variables->shadow.get(), first, variables->bytes, 1, Space::module};
    }
    if (static_cast<size_t>(address - device_range) >= device_range_bytes) streams.check_host(place.begin, place.bytes);
    return place;
}

void Watch::access_elsewhere(const char* address, size_t bytes, Past now, Order order, const void* where) {
    Fiber& fiber = here();
    if (StackPool::is_on(fiber.stack, address)) return;
    complete_record();
    sites_.at(where).width = static_cast<uint32_t>(bytes);
    Place place = find(address);
    if (!place.shadow) refuse(place, address, bytes, now);
    auto offset = static_cast<size_t>(address - place.begin);
    bool outside = offset + bytes > place.bytes;
    if (place.block) outside |= !place.block->variable_at(*grid_, offset).has(offset, bytes);
    if (outside) refuse(place, address, bytes, now);
    fiber.last = now;
    fiber.last_address = address;
    check(*place.shadow, offset, bytes, now, address);
    if (now.scope() != Scope::none) clocks.atomic(address, now.act(), now.scope(), order);
    if (recording_) return record(place, address, bytes, now.act(), where);
    keep_place(sites_.at(where), place, offset);
}

// Remembers the buffer or variable that an instruction has accessed, so that its next access needs no search.
// Shared memory of other blocks of the cluster is not remembered.
void Watch::keep_place(Site& site, const Place& place, size_t offset) {
    if (!place.block) {
        site.shared = false;
        site.origin = place.begin, site.first = 0, site.bytes = place.bytes, site.shadow = place.shadow;
    } else if (place.block == &block_of(here())) {
        auto [begin, end, name] = place.block->variable_at(*grid_, offset);
        site.shared = true;
        site.first = begin, site.bytes = end - begin;
    }
}

bool Watch::check_unaligned(Shadow& shadow, size_t offset, size_t bytes, Past now, const char* address) {
    bool written = true;
    each_word(offset, bytes, [&](size_t word, unsigned mask) { written &= check_word(shadow, word, mask, now, address); });
    return written;
}

void Watch::meet(const Past& past, const Past& now, const char* address) {
    if (!(past.bytes() & now.bytes())) return;
    if (clocks.before_era(past.moment())) return meet_operation(past, now, address);
    if (clocks.over(past)) return;
    const Instant &then = clocks.instant(past), &at = clocks.instant(now);
    bool one_block = then.block == at.block, one_warp = one_block && then.thread / kWarpSize == at.thread / kWarpSize;
    // Lanes that exchange values through volatile shared memory rely on lockstep, which GPUs no longer
    // guarantee. So their accesses race although they are volatile.
    bool count_on_lockstep = one_warp && past.scope() == Scope::by_volatile && now.scope() == Scope::by_volatile &&
                             find_shared(address, block_of(here())).block;
    if (!count_on_lockstep && both_strong(past, now, one_block)) return;
    // Most races are in the same variable as the previous race. So the emulator looks up the variable only if
    // the address lies outside of the previous variable.
    if (static_cast<size_t>(address - raced_.begin) >= raced_.bytes) raced_ = variable_at(find(address), address);
    if (is_known(Fault::race, now, &past, &raced_)) return;
    report(Fault::race, raced_, address, here(), now, &past);
}

void Watch::meet_operation(const Past& past, const Past& now, const char* address) {
    if (!streams.beside_running(past.moment())) return;
    std::optional<Operation> other = streams.operation(past.moment());
    if (!other) return;
    if (both_strong(past, now, false)) {
        // The two kernels may use the word to pass data from one to the other, for example as a lock. So
        // from now on, all work that the host has issued to the earlier kernel's stream counts as ordered
        // before the running operation.
        if (past.act() != Act::read && now.act() != Act::write) streams.take_up(other->stream);
        return;
    }
    const void* before = other->is_launch ? sites_.address(past.site()) : nullptr;
    const void* after = streams.running().is_launch ? sites_.address(now.site()) : nullptr;
    report_streams({*other, past.act(), before}, {streams.running(), now.act(), after}, address);
}

void Watch::report_streams(const StreamRace::Side& first, const StreamRace::Side& second, const char* address) {
    StreamRace* race = streams.add_race(first, second);
    if (!race) return;
    Place place = find_global(address);
    race->origin = place.origin;
    std::string offset = "byte " + std::to_string(address - place.begin) + " of ";
    if (place.space == Space::buffer) race->where = offset + "a buffer of " + std::to_string(place.bytes) + " bytes";
    else race->where = place.space == Space::module ? "a variable outside functions" : "memory of the host";
}

void Watch::touch(const char* address, size_t bytes, Act act) {
    Place place = find_global(address);
    if (!place.shadow) return streams.copy_to_host(address, bytes);
    Shadow& shadow = *place.shadow;
    auto offset = static_cast<size_t>(address - place.begin);
    Past access(clocks.moment_of_operation(), 0, act, Scope::none);
    each_word(offset, std::min(bytes, place.bytes - offset), [&](size_t word, unsigned mask) {
        Past now = access.to(mask);
        auto meet = [&](const Past& past) {
            bool meets = !clocks.settled(past.moment()) && past.bytes() & mask;
            if (meets) meet_operation(past, now, place.begin + word * Shadow::kWordBytes);
        };
        meet(shadow.write(word));
        Past& first = shadow.first_read(word);
        if (act == Act::read) {
            bool over = clocks.settled(first.moment()) || !streams.beside_running(first.moment());
            (over ? first : shadow.last_read(word)) = now;
            return;
        }
        meet(first);
        meet(shadow.last_read(word));
        shadow.write(word) = now;
        shadow.last_write_near(word) = now.moment();
    });
}

void Watch::touch_by_host(const char* address, size_t bytes, Act act, Scope scope, const Operation& host) {
    StreamRace::Side here{host, act, nullptr};
    here.operation.stream = Streams::kHost;
    auto copy = streams.copy_beside_host(address, bytes);
    if (copy && scope == Scope::none) report_streams({*copy, Act::write, nullptr}, here, address);
    Place place = find_global(address);
    if (!place.shadow) return;
    auto offset = static_cast<size_t>(address - place.begin);
    each_word(offset, std::min(bytes, place.bytes - offset), [&](size_t word, unsigned mask) {
        auto meet = [&](const Past& past) {
            if (!(past.bytes() & mask)) return;
            std::optional<Operation> other = streams.beside_host(past.moment());
            if (!other) return;
            if (scope == Scope::none) {
                const void* instruction = other->is_launch ? sites_.address(past.site()) : nullptr;
                report_streams({*other, past.act(), instruction}, here, place.begin + word * Shadow::kWordBytes);
            } else if (past.act() != Act::read) {
                streams.host_waits_for(other->stream);  // a kernel may tell the host by this word what it has done
            }
        };
        meet(place.shadow->write(word));
        if (act == Act::read) return;
        meet(place.shadow->first_read(word));
        meet(place.shadow->last_read(word));
    });
}

void Watch::require_constant(const char* address, size_t bytes, const void* where) {
    constexpr size_t kWord = Shadow::kWordBytes;
    const Site& site = sites_.at(where);
    auto offset = static_cast<size_t>(address - site.origin);
    if (!site.shared && site.has(offset, bytes)) {  // this condition holds for nearly all reads
        Moment first = site.shadow->last_write_near(offset / kWord);
        if (first < launch_began_ && site.shadow->last_write_near((offset + bytes - 1) / kWord) < launch_began_) return;
    }
    Place place = find(address);
    // If the address is not valid, another check reports it. Shared memory needs no check.
    if (!place.shadow || place.block) return;
    offset = static_cast<size_t>(address - place.begin);
    if (offset + bytes > place.bytes) return;
    for (size_t word = offset / kWord; word * kWord < offset + bytes; ++word) {
        const Past& write = place.shadow->write(word);
        if (write.moment() < launch_began_) continue;
        Past now(0, sites_.at(where).number, Act::read, Scope::none);
        const Past* other = clocks.before_era(write.moment()) ? nullptr : &write;
        if (is_known(Fault::stale, now, nullptr)) return;
        return report(Fault::stale, variable_at(place, address), address, here(), now, other);
    }
}

void Watch::report_unwritten(const char* address, const Past& now) {
    Place memory = variable_at(find(address), address);
    if (is_known(Fault::uninitialised, now, nullptr, &memory)) return;
    report(Fault::uninitialised, memory, address, here(), now, nullptr);
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

// Stores the new value of the last recorded access. An access is recorded before it is executed, so its new
// value is known only at the next access.
void Watch::complete_record() {
    if (!incomplete_) return;
    Record& last = records_.back();
    last.after = value_at(last.begin + last.offset, last.bytes);
    incomplete_ = false;
}

void Watch::set_recording(bool on) {
    complete_record();
    recording_ = on;
    sites_.forget_places();
    records_.clear();
    launch_ = 0;
}

const std::vector<Record>& Watch::records() {
    complete_record();
    return records_;
}

void Watch::forget_findings() {
    findings_.clear();
    known_.clear();
}

Watch::Place Watch::variable_at(const Place& place, const char* address) const {
    Place found = place;
    if (place.block) {
        auto [begin, end, name] = place.block->variable_at(*grid_, static_cast<size_t>(address - place.begin));
        if (end) found.begin += begin, found.bytes = end - begin, found.name = name;
    } else if (place.space == Space::module) {
        auto variable = device_variable_at(address);
        if (variable) found.begin = variable->begin, found.bytes = variable->bytes, found.name = variable->name;
    }
    return found;
}

// Returns whether the same fault was found before. If so, increments the finding's count. Two faults are the
// same if they have the same kind, the same instruction of `now`, the same instruction of `other`, and the
// same memory. `other` and `memory` may be null. All buffers that one instruction of the host has allocated
// count as one memory. So do the copies of a shared variable in all blocks.
bool Watch::is_known(Fault fault, const Past& now, const Past* other, const Place* memory) {
    constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
    uint64_t others = other ? other->site() + uint64_t{1} : 0;
    uint64_t key = (static_cast<uint64_t>(fault) << 16 | now.site()) << 17 | others;
    if (memory) {
        const void* site = memory->origin.site;
        const void* itself = site ? site : memory->begin;
        uint64_t in_block = memory->block ? static_cast<uint64_t>(memory->begin - memory->block->arena_begin) + 1 : 0;
        key ^= (in_block ? in_block : reinterpret_cast<uint64_t>(itself)) * kSpread;
    }
    auto [known, added] = known_.try_emplace(key, findings_.size());
    if (!added) ++findings_[known->second].count;
    return !added;
}

void Watch::report(Fault fault, const Place& place, const char* address, const Thread& thread, const Past& now,
                   const Past* other) {
    auto actor = [&](const Past& past, const ThreadPlace& at) {
        auto [act, scope] = std::make_pair(static_cast<int>(past.act()), static_cast<int>(past.scope()));
        return Actor{sites_.address(past.site()), act, scope, at};
    };
    Actor first = actor(now, place_in_grid(thread)), second{};
    if (other) second = actor(*other, clocks.thread_of(*other));
    findings_.push_back({static_cast<int>(fault), static_cast<int>(place.space), first, second, place.begin,
                         place.bytes, place.element, address - place.begin, 1, grid_->kernel.name, "", place.name, place.origin,
                         sites_.at(first.site).width});
}

// Reports an access outside of all valid memory, and ends the accessing thread. The access is not executed.
void Watch::refuse(const Place& place, const char* address, size_t bytes, const Past& now) {
    Place nearest = place;
    Fault fault = Fault::out_of_bounds;
    if (nearest.space == Space::nowhere) {
        auto [begin, size, element, freed, origin] = buffers_.nearest(address, pointers_passed(*grid_));
        const ResidentBlock& block = block_of(here());
        auto beyond = static_cast<size_t>(address - block.arena_begin);
        constexpr ptrdiff_t kGuard = Buffers::kGuardBytes;
        bool in_guard = begin && address >= begin - kGuard && address < begin + size + kGuard;
        // An address in guard bytes counts as an address of the buffer, even if the block's shared memory
        // lies right before these guard bytes.
        if (!in_guard && beyond < block.arena_bytes + kNearShared)
            nearest = {nullptr, block.arena_begin, block.arena_bytes, 1, Space::block, &block};
        else if (begin)
            nearest = {nullptr, begin, size, element, Space::buffer, nullptr, origin};
        if (freed) fault = Fault::use_after_free;
    }
    nearest = variable_at(nearest, address);
    if (!is_known(fault, now, nullptr, &nearest)) report(fault, nearest, address, here(), now, nullptr);
    const char* verb = now.act() == Act::read ? "reads" : "writes";
    if (fault == Fault::use_after_free) fail_thread("%s memory that has been freed", verb);
    if (nearest.space == Space::block) fail_thread("%s outside the variables in shared memory", verb);
    if (nearest.space != Space::buffer) fail_thread("%s %zu bytes at %p, where no buffer is", verb, bytes, address);
    fail_thread("%s %zu bytes at offset %td of a buffer of %zu bytes", verb, bytes, address - nearest.begin,
         nearest.bytes);
}

namespace {

// access_watched() and step_and_acquire() are separate functions because they use much stack. watch() should
// use little stack, because its part of the stack is copied while the thread waits.
__attribute__((noinline)) void access_watched(const char* place, size_t bytes, Act act, Scope scope, Order order,
                                              const void* site) {
    watching->access(place, bytes, act, scope, order, site);
}
__attribute__((noinline)) void step_and_acquire(Counting& counting, const char* place, const void* site, size_t bytes,
                                                Kind kind) {
    counting.step(here(), place, site, bytes, kind);
    counting.acquire(block_of(here()));
}

}  // namespace

void watch(const void* address, size_t bytes, Act act, Scope scope, const void* site, Order order) {
    auto* place = static_cast<const char*>(address);
    if (watching) return access_watched(place, bytes, act, scope, order, site);
    check_host_access(place, bytes, act, scope, site);
    if (!trace.runs() || trace.is_own(place)) return;
    Counting& counting = *worker->machine.counting;
    if (act == Act::read && scope == Scope::none) return counting.load(here(), place, bytes, site);
    auto kind = static_cast<Kind>(act);
    if (order == Order::acquire || order == Order::acq_rel) return step_and_acquire(counting, place, site, bytes, kind);
    counting.step(here(), place, site, bytes, kind);
}

void refuse_index(const char* array, int64_t index, const void* site, Act act) {
    if (watching) watching->report_index(array, index, site, act);
    fail_thread("index %" PRId64 " is outside of an array of type %s", index, array);
}

void refuse_misaligned(const void* address, size_t alignment, Act act, const void* site) {
    if (watching) watching->report_misaligned(static_cast<const char*>(address), act, site);
    fail_thread("%s at %p, which is not a multiple of %zu", act == Act::read ? "reads" : "writes", address, alignment);
}

void read_only(const void* address, size_t bytes, const void* site) {
    if (watching) watching->require_constant(static_cast<const char*>(address), bytes, site);
}

void part() {
    if (trace.runs() && trace.part()) await_room(here());
}

void fence(Scope scope) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    await_stores(here());
    yield_point();
    if (watching) watching->clocks.fence(scope);
    if (trace.runs() && scope == Scope::device) worker->machine.counting->acquire(block_of(here()));
}

}  // namespace emu
