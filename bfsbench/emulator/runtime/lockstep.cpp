#include "lockstep.h"

#include <algorithm>

#include "counting.h"

namespace emu {

namespace {

// A lane that waits in a loop for one further on in its warp would hold it up for ever: once in this number of
// issues, the lanes that are the furthest go first. Loops that only look are recognised, others (a lock) are not.
constexpr uint64_t kPollPatience = 1024, kLockstepPatience = 1 << 16;

// Rounds of issues before a block hands over to others, so that they make their steps side by side.
constexpr unsigned kTurn = 16;

}  // namespace

void Position::jump_back(Loops& loops, const void* place) {
    if (depth_ && iterations_[depth_ - 1].loop->first == place) {  // the next iteration, most times
        Loop& loop = *iterations_[depth_ - 1].loop;
        loop.last = std::max(loop.last, place_);
        ++iterations_[depth_ - 1].number;
        return;
    }
    Loop& loop = loops.try_emplace(place, Loop{place, place_}).first->second;
    loop.last = std::max(loop.last, place_);
    while (depth_ && iterations_[depth_ - 1].loop->first > place) --depth_;
    if (depth_ && iterations_[depth_ - 1].loop == &loop) {
        ++iterations_[depth_ - 1].number;
    } else if (depth_ < kDepth) {
        iterations_[depth_++] = {&loop, 1};
    }
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

void WarpRun::begin() {
    std::vector<const char*> room = std::move(recent);
    room.clear();
    *this = {};
    recent = std::move(room);
}

bool WarpRun::had_lately(const char* sector, size_t index) {
    if (recent.empty()) recent.resize(kRecent);
    const char*& slot = recent[index % kRecent];
    bool had = slot == sector;
    slot = sector;
    return had;
}

void Lockstep::begin(unsigned threads) {
    steps_.resize(threads);
    positions_.resize(threads);
    traces_.resize(threads);
    for (Position& position : positions_) position.begin();
    warps_.resize((threads + kWarpSize - 1) / kWarpSize);
    paths_.resize(warps_.size());
    for (Path& path : paths_) path.clear();
    for (unsigned rank = 0; rank < threads; ++rank) traces_[rank].begin(*this, paths_[rank / kWarpSize], rank);
    for (WarpRun& warp : warps_) warp.begin();
    turns_.clear();
    next_ = traced_ = rounds_ = 0;
    leave_ = Leave::no;
    time = close_until_ = 0;
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

// If all lanes of the warp are at one place and do the same next, the step that this leads to.
unsigned Lockstep::take_together(unsigned index) {
    WarpRun& warp = warps_[index];
    while (can_issue(index) && warp.together) {
        if (warp.traced & ~warp.together) {  // others have come
            end_rows(index);
            scatter(index);
            return 0;
        }
        if (!warp.rows_end && !begin_rows(index)) {
            if (unsigned lanes = take_alike(index)) return lanes;
        } else if (unsigned lanes = take_row(index)) {
            return lanes;
        }
    }
    return 0;
}

// Whether the next entries of all lanes are those of the path.
bool Lockstep::begin_rows(unsigned index) {
    WarpRun& warp = warps_[index];
    unsigned first_rank = index * kWarpSize, first = traces_[first_rank + __builtin_ctz(warp.traced)].first();
    unsigned end = Path::kRoom;
    for (unsigned left = warp.together; left; left &= left - 1) {
        unsigned rank = first_rank + __builtin_ctz(left);
        if (!(warp.traced & left & -left)) {
            positions_[rank] = warp.common;  // it stays behind
            continue;
        }
        end = traces_[rank].first() == first ? std::min(end, traces_[rank].followed()) : 0;
    }
    warp.together = warp.traced;
    if (end <= first) return false;
    warp.row = first;
    warp.rows_end = end;
    return true;
}

unsigned Lockstep::take_row(unsigned index) {
    WarpRun& warp = warps_[index];
    const Path& path = paths_[index];
    unsigned row = warp.row++;
    const void* site = path.sites[row];
    if (!step_to(warp.common, warp, path.deeds[row].step(site))) {
        if (warp.row == warp.rows_end) end_rows(index);
        return 0;
    }
    for (unsigned left = warp.together; left; left &= left - 1) {
        unsigned rank = index * kWarpSize + __builtin_ctz(left);
        steps_[rank] = traces_[rank].deed(row).step(site);
    }
    return warp.together;
}

void Lockstep::end_rows(unsigned index) {
    WarpRun& warp = warps_[index];
    if (!warp.rows_end) return;
    warp.rows_end = 0;
    for (unsigned left = warp.together; left; left &= left - 1) {
        unsigned rank = index * kWarpSize + __builtin_ctz(left);
        traces_[rank].go_to(warp.row);
        if (traces_[rank].empty()) end(rank);
    }
}

// A step of all lanes, if their next entries are alike.
unsigned Lockstep::take_alike(unsigned index) {
    WarpRun& warp = warps_[index];
    unsigned lanes = warp.together, first_rank = index * kWarpSize;
    const Trace& first = traces_[first_rank + __builtin_ctz(lanes)];
    for (unsigned left = lanes & (lanes - 1); left; left &= left - 1) {
        if (!traces_[first_rank + __builtin_ctz(left)].is_like(first)) return scatter(index), 0;
    }
    for (unsigned left = lanes; left; left &= left - 1) {
        unsigned rank = first_rank + __builtin_ctz(left);
        steps_[rank] = traces_[rank].take();
    }
    if (!step_to(warp.common, warp, steps_[first_rank + __builtin_ctz(lanes)])) {
        release(index, lanes);
        return 0;
    }
    return lanes;
}

// Lanes that were together are each on their own.
void Lockstep::scatter(unsigned index) {
    WarpRun& warp = warps_[index];
    unsigned lanes = warp.together;
    warp.together = 0;
    for (unsigned left = lanes; left; left &= left - 1) {
        unsigned rank = index * kWarpSize + __builtin_ctz(left);
        positions_[rank] = warp.common;
        if (warp.traced >> rank % kWarpSize & 1) advance(rank);
    }
}

unsigned Lockstep::take(unsigned index) {
    WarpRun& warp = warps_[index];
    unsigned lanes = warp.together ? take_together(index) : 0;
    if (!lanes) {
        if (!can_issue(index)) return 0;
        const Position next = positions_[next_lane(index)];
        for (unsigned left = warp.waiting; left; left &= left - 1) {
            unsigned lane = __builtin_ctz(left);
            Position& position = positions_[index * kWarpSize + lane];
            if (!position.is_with(next)) continue;
            position.join(next);
            lanes |= 1u << lane;
        }
        warp.waiting &= ~lanes;
        if (lanes == warp.traced) {
            warp.together = lanes;
            warp.common = next;
        }
    }
    ++warp.issued;
    return lanes;
}

void Lockstep::note_first(unsigned rank) {
    unsigned& traced = warps_[rank / kWarpSize].traced;
    unsigned bit = 1u << rank % kWarpSize;
    // A step that has left the trace may have yet to be issued: others let its lane go on from a collective.
    if (!(traced & bit)) ++traced_;
    traced |= bit;
    traces_[rank].stores_before = counting.stores();
}

void Lockstep::release(unsigned index, unsigned lanes) {
    const WarpRun& warp = warps_[index];
    if (warp.rows_end) {
        if (warp.row == warp.rows_end) end_rows(index);
        return;
    }
    for (; lanes; lanes &= lanes - 1) {
        unsigned rank = index * kWarpSize + __builtin_ctz(lanes);
        bool together = warp.together >> rank % kWarpSize & 1;
        if (traces_[rank].empty()) {
            end(rank);
        } else if (!together) {
            advance(rank);
        }
    }
}

// Moves to the place of an entry, and returns whether that is a step.
bool Lockstep::step_to(Position& position, const WarpRun& warp, const Step& entry) {
    if (entry.kind == Kind::part) {
        position.part(loops_, entry.site, warp.issued);
        return false;
    }
    if (entry.kind == Kind::jump) {
        position.jump(loops_, entry.address, entry.site);
        return false;
    }
    position.move(loops_, entry.site);
    return true;
}

// To the next step of its trace, which is not empty.
void Lockstep::advance(unsigned rank) {
    Trace& trace = traces_[rank];
    do {
        WarpRun& warp = warps_[rank / kWarpSize];
        steps_[rank] = trace.take();
        if (step_to(positions_[rank], warp, steps_[rank])) {
            warp.waiting |= 1u << rank % kWarpSize;
            return;
        }
    } while (!trace.empty());
    end(rank);
}

// Of its trace: the lane goes on, if it waits for that.
void Lockstep::end(unsigned rank) {
    WarpRun& warp = warps_[rank / kWarpSize];
    unsigned bit = 1u << rank % kWarpSize;
    warp.waiting &= ~bit;
    warp.traced &= ~bit;
    --traced_;
    if (!warp.traced) paths_[rank / kWarpSize].clear();
    Trace& trace = traces_[rank];
    if (!trace.waits) return;
    trace.waits = false;
    turns_.push_back(rank);
    warp.runs = true;
}

void Lockstep::begin_round() {
    turns_.clear();
    next_ = 0;
    for (unsigned index = 0; index < warps(); ++index) {
        WarpRun& warp = warps_[index];
        warp.runs = false;
        paths_[index].open = !warp.traced;
        for (unsigned left = warp.traced & ~warp.waiting & ~warp.together; left; left &= left - 1) {
            advance(index * kWarpSize + __builtin_ctz(left));
        }
    }
}

void Lockstep::end_round(bool all_poll) {
    if (all_poll) {
        leave_ = Leave::waits;
    } else if (++rounds_ >= (time < close_until_ ? 1 : kTurn)) {
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
