// Warp functions with which lanes exchange values. Lanes that call the same function with the same mask form
// a group. When the last lane of the group has arrived, it computes the results of all lanes of the group. So
// no lane reads a value that another lane has already overwritten.

#include <cstdio>
#include <utility>

#include "worker.h"

namespace emu {

namespace {

// Marks a shuffle whose source lane has exited, does not exist, or is not in the mask.
constexpr unsigned char kNobody = 0xff;

uint64_t combine(Collective kind, uint64_t a, uint64_t b) {
    switch (kind) {
        case Collective::add: return a + b;
        case Collective::minimum: return static_cast<int64_t>(b) < static_cast<int64_t>(a) ? b : a;
        case Collective::maximum: return static_cast<int64_t>(a) < static_cast<int64_t>(b) ? b : a;
        case Collective::bit_and: return a & b;
        case Collective::bit_or: return a | b;
        default: return a ^ b;
    }
}

void set_all(Warp& warp, unsigned lanes, uint64_t word) {
    each_lane(lanes, [&](unsigned lane) { warp.result[lane] = word; });
}

unsigned lanes_with(const Warp& warp, unsigned lanes, uint64_t word) {
    unsigned equal = 0;
    each_lane(lanes, [&](unsigned lane) { equal |= unsigned{warp.deposit[lane] == word} << lane; });
    return equal;
}

void compute(Warp& warp, const LaneGroup& group) {
    unsigned lanes = group.arrived;
    uint64_t first = warp.deposit[__builtin_ctz(lanes)];
    switch (group.kind) {
        case Collective::sync: return;
        case Collective::shuffle:
            each_lane(lanes, [&](unsigned lane) {
                unsigned char& source = warp.source[lane];
                if (source != kNobody && lanes >> source & 1)
                    warp.result[lane] = warp.deposit[source];
                else
                    source = kNobody;
            });
            return;
        case Collective::ballot: return set_all(warp, lanes, lanes_with(warp, lanes, 1));
        case Collective::match_any:
            each_lane(lanes, [&](unsigned lane) {
                warp.result[lane] = lanes_with(warp, lanes, warp.deposit[lane]);
            });
            return;
        case Collective::match_all:
            return set_all(warp, lanes, lanes_with(warp, lanes, first) == lanes ? lanes : 0);
        default: {
            uint64_t total = first;
            each_lane(lanes & (lanes - 1),
                      [&](unsigned lane) { total = combine(group.kind, total, warp.deposit[lane]); });
            return set_all(warp, lanes, total);
        }
    }
}

// Computes the results of a warp function when all lanes of the group have arrived. Of all warp functions,
// only __syncwarp also orders memory accesses.
void finish(ResidentBlock& block, unsigned index, const LaneGroup& group) {
    compute(block.warps[index], group);
    if (group.kind == Collective::sync && !block.clocks.empty()) {
        Clocks::meet_lanes(block, index, group.arrived);
    }
}

bool complete(const Warp& warp, const LaneGroup& group) {
    return (group.mask & warp.present & ~(group.arrived | warp.exited)) == 0;
}

// Ends the launch, because lanes with the same mask call different functions. The function is not inlined,
// because inlining would slow down kernels without this fault.
[[noreturn]] __attribute__((noinline)) void refuse_function(const LaneGroup& group, CallSite from) {
    const Fiber& fiber = here();
    unsigned first = fiber.rank / kWarpSize * kWarpSize + static_cast<unsigned>(__builtin_ctz(group.arrived));
    if (watching) watching->report_wait(Fault::mismatch, fiber, from, &block_of(fiber).fibers[first]);
    end_launch(watching != nullptr, "warp collective mismatch: lanes of mask 0x%08x call different functions, at %s and %s", group.mask,
               to_string(from).c_str(), to_string(group.from).c_str());
}

LaneGroup& join_group(Warp& warp, unsigned mask, Collective kind, CallSite from) {
    for (unsigned i = 0; i < warp.groups; ++i) {
        LaneGroup& group = warp.group[i];
        if (group.mask != mask) continue;
        if (group.kind == kind) return group;
        refuse_function(group, from);
    }
    warp.group[warp.groups] = {mask, 0, kind, from};
    return warp.group[warp.groups++];
}

void remove_group(Warp& warp, LaneGroup& group) { group = warp.group[--warp.groups]; }

// Handles a shuffle from a lane that takes no part in the shuffle. With race detection, the shuffle is
// reported and the lane continues. Otherwise the shuffle ends the launch, unless the machine allows such
// shuffles. On a GPU the result is undefined.
void refuse_source(CallSite from, unsigned source, const char* why) {
    if (watching) return watching->report_lane(Fault::shuffle, from);
    if (worker->machine.stops_bad_shuffles) fail("warp shuffle at %s reads lane %u, which %s", to_string(from).c_str(), source, why);
}

}  // namespace

void complete_collectives(ResidentBlock& block, unsigned index) {
    Warp& warp = block.warps[index];
    for (unsigned i = warp.groups; i-- > 0;) {
        LaneGroup& group = warp.group[i];
        if (!complete(warp, group)) continue;
        finish(block, index, group);
        block.release_lanes(index, group.arrived);
        remove_group(warp, group);
    }
}

uint64_t warp_collective(unsigned mask, Collective kind, uint64_t value, CallSite from, unsigned source) {
    Fiber& fiber = here();
    await_stores(fiber);
    ResidentBlock& block = block_of(fiber);
    unsigned index = fiber.rank / kWarpSize, lane = fiber.rank % kWarpSize;
    Warp& warp = block.warps[index];
    // It is a fault if the mask lacks the calling lane. With race detection, the lane continues without
    // waiting for other lanes, so that the emulator also finds later faults.
    if (!(mask >> lane & 1) && watching) {
        watching->report_lane(Fault::mask, from);
        return value;
    }
    if (!(mask >> lane & 1)) {
        fail("warp collective at %s: lane %u is not in its own mask 0x%08x", to_string(from).c_str(), lane, mask);
    }
    if (kind == Collective::shuffle && !(source < kWarpSize && mask >> source & 1)) {
        char why[40];
        snprintf(why, sizeof why, "is not in the mask 0x%08x", mask);
        refuse_source(from, source, why);
        source = kNobody;
    }
    LaneGroup& group = join_group(warp, mask, kind, from);
    group.arrived |= 1u << lane;
    warp.deposit[lane] = value;
    warp.source[lane] = static_cast<unsigned char>(source);
    if (complete(warp, group)) {
        finish(block, index, group);
        unsigned others = group.arrived & ~(1u << lane);
        remove_group(warp, group);
        block.release_lanes(index, others);
    } else {
        fiber.waits_at = Wait::warp;
        worker->suspend(fiber);
    }
    if (kind == Collective::shuffle && warp.source[lane] == kNobody) {
        if (source != kNobody) refuse_source(from, source, "has ended or does not exist");
        return value;
    }
    return warp.result[lane];
}

// Implements __activemask(). The mask must contain all lanes that can reach the call, as on a GPU. So each
// lane waits in the call until one of these conditions holds:
// 1. All lanes of the warp wait in __activemask().
// 2. No other thread of the block can run.
// 3. Other threads have yielded so often that they may be waiting for this lane.
unsigned active_lanes(CallSite from) {
    Fiber& fiber = here();
    await_stores(fiber);
    ResidentBlock& block = block_of(fiber);
    unsigned index = fiber.rank / kWarpSize, lane = fiber.rank % kWarpSize;
    Warp& warp = block.warps[index];
    warp.asking |= 1u << lane;
    fiber.waits_from = from;
    if ((warp.present & ~warp.exited & ~warp.asking) == 0) {
        block.release_lanes(index, block.answer_warp(index) & ~(1u << lane));
    } else {
        if (!block.lanes_ask) block.turns_asked = 0;
        block.lanes_ask = true;
        fiber.waits_at = Wait::warp;
        worker->suspend(fiber);
    }
    return static_cast<unsigned>(warp.result[lane]);
}

}  // namespace emu
