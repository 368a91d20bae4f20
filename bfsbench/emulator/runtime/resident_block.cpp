#include "resident_block.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "grid.h"

namespace emu {

namespace {

constexpr size_t kArenaAlignment = 256;
constexpr int kPoison = 0xcd;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

bool same_place(const CallSite& a, const CallSite& b) { return a.line == b.line && !strcmp(a.file, b.file); }

std::string to_string(const CallSite& place) {
    const char* folder = strrchr(place.file, '/');
    return "line " + std::to_string(place.line) + " of " + (folder ? folder + 1 : place.file);
}

std::string number_or_coordinates(unsigned index, dim3 extents) {
    if (extents.y * extents.z <= 1) return std::to_string(index);
    unsigned x = index % extents.x, y = index / extents.x % extents.y, z = index / extents.x / extents.y;
    return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

ThreadPlace place_in_grid(const Thread& thread) {
    const Block& block = *thread.block;
    return {linear(block.index, block.grid), thread.rank, block.grid, block.threads};
}

void ResidentBlock::resize(dim3 shape) {
    threads = shape;
    unsigned count = volume(shape);
    fibers.assign(count, Fiber{});
    for (unsigned rank = 0; rank < count; ++rank) {
        Fiber& fiber = fibers[rank];
        fiber.index = {rank % shape.x, rank / shape.x % shape.y, rank / shape.x / shape.y};
        fiber.rank = rank;
        fiber.block = this;
    }
    warps.resize((count + kWarpSize - 1) / kWarpSize);
    ready.resize(count);
    for (ThreadSet& set : at_barrier) set.resize(count);
    start_order.resize(count);
    for (unsigned rank = 0; rank < count; ++rank) start_order[rank] = rank;
}

// Divides a block's shared memory into its variables. A GPU's shared memory holds arbitrary values when a
// block starts. The function writes a fixed pattern, which makes reads of unwritten memory visible.
void ResidentBlock::lay_out_shared(const Grid& grid) {
    size_t functions = round_up(grid.kernel.static_shared, kArenaAlignment);
    size_t dynamic = functions + round_up(grid.kernel.functions->static_shared, kArenaAlignment);
    arena_bytes = dynamic + round_up(grid.dynamic_shared, kArenaAlignment);
    if (arena.size() < arena_bytes + kArenaAlignment) arena.resize(arena_bytes + kArenaAlignment);
    auto start = reinterpret_cast<uintptr_t>(arena.data());
    arena_begin = arena.data() + (round_up(start, kArenaAlignment) - start);
    memset(arena_begin, kPoison, arena_bytes);
    shared = arena_begin;
    function_shared = arena_begin + functions;
    dynamic_shared = arena_begin + dynamic;
}

Extent ResidentBlock::variable_at(const Grid& launched, size_t offset) const {
    auto functions = static_cast<size_t>(function_shared - arena_begin);
    auto dynamic = static_cast<size_t>(dynamic_shared - arena_begin);
    if (offset >= dynamic && (launched.dynamic_shared || uses_dynamic)) return {dynamic, dynamic + launched.dynamic_shared, nullptr};
    bool of_kernel = offset < functions || !launched.kernel.functions->variable_count;
    size_t begin = of_kernel ? 0 : functions;
    Extent found = (of_kernel ? launched.kernel : *launched.kernel.functions).variable_at(offset - begin);
    return {begin + found.begin, begin + found.end, found.name};
}

void ResidentBlock::begin(const Grid& launched, uint3 place, std::shared_ptr<Cluster> owner,
                          Random* shuffle) {
    dim3 shape = launched.threads;
    if (fibers.empty() || shape.x != threads.x || shape.y != threads.y || shape.z != threads.z) resize(shape);
    index = place;
    grid = launched.blocks;
    arguments = launched.arguments;
    cluster = std::move(owner);
    started = position = turns = turns_asked = 0;
    must_start = false;
    live = static_cast<unsigned>(fibers.size());
    ready.clear();
    for (ThreadSet& set : at_barrier) set.clear();
    for (NamedBarrier& barrier : named) barrier = {};
    votes[0] = votes[1] = voters[0] = voters[1] = barriers = 0;
    arrived_at_grid = lanes_ask = uses_dynamic = false;
    kept_apart.clear();
    unsigned left = live;
    for (Warp& warp : warps) {
        warp.present = left >= kWarpSize ? ~0u : (1u << left) - 1;
        warp.exited = warp.groups = warp.asking = 0;
        left -= std::min(left, kWarpSize);
    }
    if (shuffle) shuffle->shuffle(start_order);
    lay_out_shared(launched);
}

Fiber* ResidentBlock::start_next() {
    Fiber& fiber = fibers[start_order[started++]];
    fiber.stack = nullptr;
    fiber.waits_at = Wait::none;
    fiber.exited = fiber.has_returned = fiber.arrived_at_cluster = fiber.arrival.due = false;
    fiber.place = nullptr;
    fiber.last_error = cudaSuccess;
    fiber.clock = 1;
    fiber.moment = 0;
    fiber.last_address = nullptr;
    return &fiber;
}

Fiber* ResidentBlock::pick(Random* random) {
    unsigned fresh = static_cast<unsigned>(fibers.size()) - started;
    if (ready.count() + fresh == 0) return nullptr;
    bool resume = ready.count() > 0 && !(std::exchange(must_start, false) && fresh);
    if (random && resume && fresh) resume = random->below(ready.count() + fresh) < ready.count();
    if (!resume) return start_next();
    unsigned rank = ready.next_from(random ? random->below(static_cast<unsigned>(fibers.size())) : position);
    ready.remove(rank);
    position = rank + 1;
    fibers[rank].waits_at = Wait::none;
    return &fibers[rank];
}

void ResidentBlock::make_room(Fiber& fiber) {
    constexpr size_t kEach = Kept::kRoom + Kept::kAligned;
    if (kept.size() < (fibers.size() + 1) * kEach) kept.resize((fibers.size() + 1) * kEach);
    size_t start = round_up(reinterpret_cast<uintptr_t>(kept.data()), Kept::kAligned);
    fiber.kept = {reinterpret_cast<char*>(start + fiber.rank * kEach), 0, Kept::kRoom};
}

void ResidentBlock::make_more_room(Fiber& fiber, size_t bytes) {
    fiber.kept.room = 2 * bytes;
    kept_apart.push_back(std::make_unique<char[]>(fiber.kept.room + Kept::kAligned));
    fiber.kept.place = kept_apart.back().get();
}

void ResidentBlock::park(Fiber& fiber, Wait where, CallSite from) {
    fiber.waits_at = where;
    fiber.waits_from = from;
    waiting(where).insert(fiber.rank);
}

void ResidentBlock::release(Wait where) {
    waiting(where).move_to(ready);
    position = 0;
}

void ResidentBlock::release_block_barrier() {
    if (!clocks.empty()) {
        Clocks::meet_block(*this);
        for (Fiber& fiber : fibers) fiber.moment = 0;
    }
    ++barriers;
    votes[barriers % 2] = voters[barriers % 2] = 0;
    release(Wait::block);
}

void ResidentBlock::arrive(Fiber& fiber) {
    fiber.arrival.due = false;
    unsigned parity = barriers % 2;
    votes[parity] += fiber.arrival.vote;
    ++voters[parity];
    park(fiber, Wait::block, fiber.arrival.from);
    if (waiting(Wait::block).count() == live) release_block_barrier();
}

bool ResidentBlock::is_at_other_barrier(const Fiber& fiber) const {
    const ThreadSet& there = waiting(Wait::block);
    return there.count() && !same_place(fibers[there.next_from(0)].waits_from, fiber.arrival.from);
}

void ResidentBlock::release_lanes(unsigned warp, unsigned lanes) {
    for (; lanes; lanes &= lanes - 1) ready.insert(warp * kWarpSize + __builtin_ctz(lanes));
}

unsigned ResidentBlock::answer_warp(unsigned index) {
    Warp& warp = warps[index];
    unsigned asking = std::exchange(warp.asking, 0);
    for (unsigned rest = asking; rest;) {
        const Fiber* lanes = &fibers[index * kWarpSize];
        CallSite from = lanes[__builtin_ctz(rest)].waits_from;
        unsigned together = 0;
        each_lane(rest, [&](unsigned lane) { together |= unsigned{same_place(lanes[lane].waits_from, from)} << lane; });
        each_lane(together, [&](unsigned lane) { warp.result[lane] = together; });
        rest &= ~together;
    }
    return asking;
}

bool ResidentBlock::answer_lanes() {
    bool any = false;
    turns_asked = 0;
    if (!std::exchange(lanes_ask, false)) return false;
    for (unsigned warp = 0; warp < warps.size(); ++warp) {
        unsigned lanes = answer_warp(warp);
        release_lanes(warp, lanes);
        any |= lanes != 0;
    }
    return any;
}

void ResidentBlock::exit_thread(Fiber& fiber) {
    fiber.exited = true;
    --live;
    --cluster->live;
    unsigned warp = fiber.rank / kWarpSize;
    warps[warp].exited |= 1u << fiber.rank % kWarpSize;
    if (warps[warp].groups) complete_collectives(*this, warp);
    unsigned waiters = waiting(Wait::block).count();
    if (waiters && waiters == live) release_block_barrier();
    if (fiber.arrived_at_cluster && fiber.cluster_phase == cluster->phase) --cluster->arrived;
    if (cluster->arrived) cluster->complete_if_all_arrived();
}

void Cluster::complete_if_all_arrived() {
    if (arrived < live) return;
    arrived = 0;
    ++phase;
    met = std::move(meeting);
    meeting = nullptr;
    for (ResidentBlock* block : blocks) block->release(Wait::cluster);
}

const Fiber* ResidentBlock::waiting_thread() const {
    for (unsigned i = 0; i < started; ++i) {
        const Fiber& fiber = fibers[start_order[i]];
        if (!fiber.exited && fiber.waits_at != Wait::none) return &fiber;
    }
    return nullptr;
}

CallSite ResidentBlock::place_of_wait(const Fiber& fiber) const {
    const Warp& warp = warps[fiber.rank / kWarpSize];
    for (unsigned i = 0; fiber.waits_at == Wait::warp && i < warp.groups; ++i) {
        if (warp.group[i].arrived >> fiber.rank % kWarpSize & 1) return warp.group[i].from;
    }
    return fiber.waits_from;
}

const Fiber* ResidentBlock::waiting_elsewhere(const Fiber& fiber) const {
    for (unsigned i = 0; i < started; ++i) {
        const Fiber& other = fibers[start_order[i]];
        if (!other.exited && other.waits_at != Wait::none && !same_place(place_of_wait(other), place_of_wait(fiber))) return &other;
    }
    return nullptr;
}

// Returns a text for an error message. It tells how many threads, or which threads, have not arrived at a
// barrier or warp function at which other threads wait.
std::string ResidentBlock::describe_missing(Wait where) const {
    char text[96] = "";
    if (where == Wait::block) {
        for (const Fiber& fiber : fibers) {
            if (fiber.exited || fiber.waits_at == Wait::block) continue;
            snprintf(text, sizeof text, " for %u others, first for thread %s", live - waiting(where).count(),
                     number_or_coordinates(fiber.rank, threads).c_str());
            return text;
        }
    }
    if (where == Wait::cluster) {
        snprintf(text, sizeof text, " for %u threads of the cluster", cluster->live - cluster->arrived);
    }
    if (where == Wait::named) return describe_named();
    return where == Wait::warp ? describe_groups() : text;
}

std::string ResidentBlock::describe_named() const {
    std::string text;
    for (unsigned number = 0; number < kNamedBarriers; ++number) {
        const NamedBarrier& barrier = named[number];
        if (barrier.waiting.empty()) continue;
        text += (text.empty() ? ": " : "; ") + std::to_string(barrier.arrived) + " of " + std::to_string(barrier.expected) +
                " threads have arrived at barrier " + std::to_string(number);
    }
    return text;
}

std::string ResidentBlock::describe_groups() const {
    size_t index = 0;
    while (index < warps.size() && !warps[index].groups) ++index;
    if (index == warps.size()) return "";
    const Warp& warp = warps[index];
    std::string text = ", in warp " + std::to_string(index) + " lanes";
    for (unsigned i = 0; i < warp.groups; ++i) {
        const LaneGroup& group = warp.group[i];
        char lanes[32], mask[64];
        snprintf(lanes, sizeof lanes, "%s 0x%08x at ", i ? " and" : "", group.arrived);
        snprintf(mask, sizeof mask, " with mask 0x%08x for 0x%08x", group.mask,
                 group.mask & warp.present & ~(group.arrived | warp.exited));
        text += lanes + to_string(group.from) + mask;
    }
    return text;
}

std::string ResidentBlock::describe_waits() const {
    static const char* const kPlaces[] = {"", "a block barrier", "a cluster barrier", "a grid barrier",
                                          "a named barrier", "a warp collective"};
    constexpr int kWaits = static_cast<int>(Wait::warp) + 1;
    unsigned counts[kWaits] = {}, exited = started;
    CallSite from[kWaits] = {};
    for (unsigned i = 0; i < started; ++i) {
        const Fiber& fiber = fibers[start_order[i]];
        if (fiber.exited) continue;
        int where = static_cast<int>(fiber.waits_at);
        ++counts[where];
        --exited;
        from[where] = fiber.waits_from;
    }
    std::string text;
    for (int where = 1; where < kWaits; ++where) {
        if (!counts[where]) continue;
        if (!text.empty()) text += ", ";
        text += std::to_string(counts[where]) + " threads wait at " + kPlaces[where];
        if (where != static_cast<int>(Wait::warp)) text += " (" + to_string(from[where]) + ")";
        text += describe_missing(static_cast<Wait>(where));
    }
    return text + ", " + std::to_string(exited) + " have exited";
}

}  // namespace emu
