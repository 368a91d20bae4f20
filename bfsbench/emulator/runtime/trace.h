// What lanes of a warp have done that their warp has not: their steps, and jumps backwards between them.
#pragma once

#include <cstdint>
#include <cstring>

namespace emu {

class Lockstep;

enum class Kind : int { read, write, update, barrier, note, jump, part };  // note: see Counting::note_levels_at

// What one lane is about to do. A jump leads from `address` to `site`; parting is no step either, but leaving a loop
// early.
struct Step {
    const void* site;
    const char* address;
    unsigned bytes;
    Kind kind;
    bool plain = false;  // a load that may find an old value
};

// All of it but the site, in one word.
class Deed {
  public:
    Deed() = default;
    explicit Deed(const Step& step)
        : bits_(uint64_t{step.bytes < kMostBytes ? step.bytes : kMostBytes} << kBytesAt | uint64_t{step.plain} << kPlainAt |
                static_cast<uint64_t>(step.kind) << kKindAt | reinterpret_cast<uint64_t>(step.address)) {}
    const char* address() const { return reinterpret_cast<const char*>(bits_ & ((uint64_t{1} << kKindAt) - 1)); }
    Kind kind() const { return static_cast<Kind>(bits_ >> kKindAt & 7); }
    Step step(const void* site) const {
        return {site, address(), static_cast<unsigned>(bits_ >> kBytesAt), kind(), (bits_ >> kPlainAt & 1) != 0};
    }
    // Steps to different addresses are alike, jumps from different places are not.
    bool is_like(Deed other) const { return (kind() >= Kind::jump ? bits_ ^ other.bits_ : (bits_ ^ other.bits_) >> kKindAt) == 0; }

  private:
    static constexpr unsigned kKindAt = 48, kPlainAt = 51, kBytesAt = 52, kMostBytes = 4095;
    uint64_t bits_ = 0;
};

// The beginning of the traces of a warp, as far as lanes have done the same: one runs after the other, and as most of
// them do what the first has done, their entries need not be compared again when the warp makes them.
struct Path {
    static constexpr unsigned kRoom = 64;
    bool open = true;  // for lanes to begin with
    unsigned length = 0;
    const void* sites[kRoom] = {};  // null behind the last
    Deed deeds[kRoom];              // of the first lane

    void clear() {
        memset(sites, 0, length * sizeof *sites);
        length = 0;
        open = true;
    }
};

class Trace {
  public:
    void begin(Lockstep& of, Path& path, unsigned rank) {
        of_ = &of, path_ = &path, rank_ = rank;
        place_ = nullptr;
        waits = false;
        clear();
    }

    // The lane has come to a basic block, or to a step. If there is no room for another one, it has to wait.
    bool come_to(const void* place) {
        if (place > place_) {
            place_ = place;
            return false;
        }
        return jump_to(place);
    }
    bool come_to(const void* site, Deed deed) {
        if (site <= place_) jump_to(site);
        place_ = site;
        add(site, deed);
        return full();
    }

    // It leaves a loop early.
    bool part() {
        add(place_, Deed({place_, nullptr, 0, Kind::part}));
        return full();
    }

    bool empty() const { return first_ == end_; }
    unsigned size() const { return end_ - first_; }
    unsigned first() const { return first_; }
    // Entries before this one are those of the path.
    unsigned followed() const { return follows_ ? end_ : followed_; }
    Deed deed(unsigned index) const { return deeds_[index]; }
    // The next entry, which is there.
    const void* site() const { return first_ < followed() ? path_->sites[first_] : sites_[first_]; }
    Deed deed() const { return deeds_[first_]; }
    bool is_like(const Trace& other) const { return site() == other.site() && deed().is_like(other.deed()); }
    // The next entry is that of the index.
    void go_to(unsigned index) {
        first_ = index;
        if (empty()) clear();
    }
    Step take() {
        Step step = deed().step(site());
        go_to(first_ + 1);
        return step;
    }

    bool waits = false;         // the lane does, until all this is done
    uint64_t stores_before = 0;  // by others, when the first of it was done

  private:
    void clear() { first_ = end_ = followed_ = 0, follows_ = false; }
    bool full() const { return end_ + 2 > Path::kRoom; }  // for another jump and a step
    void begin_to_follow();

    __attribute__((noinline)) bool jump_to(const void* place) {
        add(place, Deed({place, static_cast<const char*>(place_), 0, Kind::jump}));
        place_ = place;
        return full();
    }

    void add(const void* site, Deed deed) {
        unsigned index = end_++;
        deeds_[index] = deed;
        if (index == 0) begin_to_follow();
        if (follows_) {
            if (path_->sites[index] == site && path_->deeds[index].is_like(deed)) return;
            if (index == path_->length) {
                path_->sites[index] = site;
                path_->deeds[index] = deed;
                ++path_->length;
                return;
            }
            follows_ = false;
            followed_ = index;
        }
        sites_[index] = site;
    }

    const void* place_ = nullptr;
    unsigned first_ = 0, end_ = 0, followed_ = 0, rank_ = 0;
    bool follows_ = false;
    Path* path_ = nullptr;
    Lockstep* of_ = nullptr;
    Deed deeds_[Path::kRoom];
    const void* sites_[Path::kRoom];
};

}  // namespace emu
