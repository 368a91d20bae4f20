#include "sites.h"

#include <utility>

namespace emu {

namespace {

// The largest number of instructions that a Past (a recorded access) can name by a 16-bit number.
constexpr size_t kMostSites = 1 << 16;

}  // namespace

Site& Sites::add(const void* address) {
    if (addresses_.size() == kMostSites) fail("more than %zu instructions touch memory", kMostSites);
    if (2 * (addresses_.size() + 1) > slots_.size()) {
        mask_ = 2 * slots_.size() - 1;
        std::vector<Site> before = std::exchange(slots_, std::vector<Site>(mask_ + 1));
        for (const Site& site : before) {
            if (!site.address) continue;
            size_t slot = slot_of(site.address);
            while (slots_[slot].address) slot = (slot + 1) & mask_;
            slots_[slot] = site;
        }
    }
    size_t slot = slot_of(address);
    while (slots_[slot].address) slot = (slot + 1) & mask_;
    slots_[slot].address = address;
    slots_[slot].number = static_cast<uint16_t>(addresses_.size());
    addresses_.push_back(address);
    return slots_[slot];
}

}  // namespace emu
