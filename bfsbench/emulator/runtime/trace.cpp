#include "trace.h"

#include "lockstep.h"

namespace emu {

namespace {

// The largest number of operations that an Entry (an operation in a trace) can name by a 16-bit number.
constexpr size_t kMostOps = 1 << 16;

}  // namespace

void Ops::fill(Slot& slot, const void* site, uint32_t form, const void* from) {
    auto [first, last] = numbers_.equal_range(site);
    bool waits = false;
    for (auto found = first; found != last; ++found) {
        const Op& op = all_[found->second];
        waits |= op.waits;
        if (shape(op.bytes, op.kind, op.plain) != form || op.from != from) continue;
        slot = {site, from, form, op.waits, {found->second, nullptr}};
        return;
    }
    if (all_.size() == kMostOps) fail("more than %zu instructions and jumps", kMostOps);
    if (all_.empty()) all_.push_back({});  // operation 0 stands for no operation
    auto number = static_cast<uint16_t>(all_.size());
    all_.push_back({site, from, form >> 4, static_cast<Kind>(form >> 1 & 7), (form & 1) != 0, waits});
    numbers_.emplace(site, number);
    slot = {site, from, form, waits, {number, nullptr}};
}

void Ops::wait_at(const void* site) {
    auto [first, last] = numbers_.equal_range(site);
    for (auto found = first; found != last; ++found) all_[found->second].waits = true;
    for (Slot& slot : slots_) slot.waits |= slot.site == site;
    Quick& load = loads_[reinterpret_cast<uintptr_t>(site) % kSlots];
    if (load.site == site) load = {};
}

}  // namespace emu
