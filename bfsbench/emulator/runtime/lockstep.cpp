#include "lockstep.h"

#include <algorithm>

namespace emu {

namespace {

// A lane that waits in a loop for one further on in its warp would hold it up for ever: once in this number of
// issues, the lanes that are the furthest go first. Loops that only look are recognised, others (a lock) are not.
constexpr uint64_t kPollPatience = 1024, kLockstepPatience = 1 << 16;

// Rounds of issues before a block hands over to others, so that they make their steps side by side.
constexpr unsigned kTurn = 16;

}  // namespace

void Position::move(Loops& loops, const void* place) {
    if (place <= parted_at_) parted_ = 0, parted_at_ = nullptr;  // another iteration of an outer loop
    if (place <= place_) {
        Loop& loop = loops.try_emplace(place, Loop{place, place_}).first->second;
        loop.last = std::max(loop.last, place_);
        while (depth_ && iterations_[depth_ - 1].loop->first > place) --depth_;
        if (depth_ && iterations_[depth_ - 1].loop == &loop) {
            ++iterations_[depth_ - 1].number;
        } else if (depth_ < kDepth) {
            iterations_[depth_++] = {&loop, 1};
        }
    }
    while (depth_ && !iterations_[depth_ - 1].loop->has(place)) --depth_;
    place_ = place;
}

bool Position::is_behind(const Position& other) const {
    for (unsigned i = 0; i < depth_ || i < other.depth_; ++i) {
        const Iteration* mine = i < depth_ ? &iterations_[i] : nullptr;
        const Iteration* others = i < other.depth_ ? &other.iterations_[i] : nullptr;
        if (mine && others && mine->loop == others->loop) {
            if (mine->number == others->number) continue;
            return mine->number < others->number;
        }
        // A lane in the 0th iteration of the outer of two loops is behind one in a later iteration.
        bool in_others = others && others->loop->has(place_), in_mine = mine && mine->loop->has(other.place_);
        if (in_others && in_mine) return others->loop->first < mine->loop->first;
        if (in_others || in_mine) return in_others;
        break;
    }
    return place_ != other.place_ ? place_ < other.place_ : parted_ < other.parted_;
}

bool Position::is_with(const Position& other) const {
    auto same = [](const Iteration& a, const Iteration& b) { return a.loop == b.loop && a.number == b.number; };
    return place_ == other.place_ && (parted_ == other.parted_ || !other.parted_) &&
           std::equal(iterations_, iterations_ + depth_, other.iterations_, other.iterations_ + other.depth_, same);
}

void WarpRun::remember(const Step& step) {
    Read now{step.site, step.address};
    if (step.kind == Kind::read && std::find(reads, reads + kReads, now) != reads + kReads) {
        ++repeats;
        return;
    }
    std::copy_backward(reads, reads + kReads - 1, reads + kReads);
    reads[0] = step.kind == Kind::read ? now : Read{};
    repeats = 0;
}

bool WarpRun::had_lately(const char* sector, size_t index) {
    if (recent.empty()) recent.resize(kRecent);
    const char*& slot = recent[index % kRecent];
    bool had = slot == sector;
    slot = sector;
    return had;
}

Lockstep::Lockstep(Counting& counting, Loops& loops, unsigned threads)
    : counting(counting),
      loops_(loops),
      steps_(threads),
      positions_(threads),
      warps_((threads + kWarpSize - 1) / kWarpSize) {}

void Lockstep::wait(unsigned rank, const Step& step) {
    steps_[rank] = step;
    move(rank, step.site);
    warps_[rank / kWarpSize].waiting |= 1u << rank % kWarpSize;
    ++waiting_;
}

unsigned Lockstep::next_lane(unsigned index) const {
    const WarpRun& warp = warps_[index];
    uint64_t patience = warp.polls() ? kPollPatience : kLockstepPatience;
    bool furthest = warp.issued % patience == patience - 1;
    unsigned chosen = index * kWarpSize + __builtin_ctz(warp.waiting);
    for (unsigned left = warp.waiting & (warp.waiting - 1); left; left &= left - 1) {
        unsigned rank = index * kWarpSize + __builtin_ctz(left);
        if (positions_[rank].is_behind(positions_[chosen]) != furthest) chosen = rank;
    }
    return chosen;
}

unsigned Lockstep::take(unsigned index) {
    WarpRun& warp = warps_[index];
    const Position& next = positions_[next_lane(index)];
    unsigned lanes = 0;
    if (!has_next()) turns_.clear(), next_ = 0;
    for (unsigned left = warp.waiting; left; left &= left - 1) {
        unsigned lane = __builtin_ctz(left), rank = index * kWarpSize + lane;
        if (!positions_[rank].is_with(next)) continue;
        positions_[rank].join(next);
        lanes |= 1u << lane;
        turns_.push_back(rank);
    }
    warp.waiting &= ~lanes;
    ++warp.issued;
    waiting_ -= static_cast<unsigned>(__builtin_popcount(lanes));
    return lanes;
}

void Lockstep::end_round(bool all_poll) {
    if (all_poll) {
        leave_ = Leave::waits;
    } else if (++rounds_ >= kTurn) {
        leave_ = Leave::turn_over;
    }
}

Leave Lockstep::take_leave() {
    Leave leave = leave_;
    if (leave != Leave::no) rounds_ = 0;
    leave_ = Leave::no;
    return leave;
}

}  // namespace emu
