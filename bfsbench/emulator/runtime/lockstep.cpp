#include "lockstep.h"

#include <algorithm>
#include <cstring>

#include "counting.h"

namespace emu {

namespace {

// A warp normally advances the lanes that are behind. Once in this number of operations, it instead advances
// the lanes that are furthest ahead, for kAhead operations. A lane may wait in a loop for a lane that is
// ahead, such as the owner of a lock, and would wait for ever in strict lockstep. kPollPatience is for loops
// that only repeat a few accesses, and kLockstepPatience is for all other loops.
constexpr uint64_t kPollPatience = 1024, kLockstepPatience = 1 << 16;
constexpr unsigned kAhead = 64;

// Number of rounds in a row for which one block runs before other blocks run. In each round every warp of the
// block performs one operation.
constexpr unsigned kTurn = 16;

// The lane mask of a full warp. For a full warp, loops over the lanes have a fixed length, so the compiler
// can vectorise them.
constexpr unsigned kAllLanes = ~0u;

bool is_one(unsigned lanes) { return !(lanes & (lanes - 1)); }

}  // namespace

void WarpRun::begin(unsigned lanes) {
    traced = waiting = together = awaits = put_off = stores = 0;
    empty = ~0u;
    runs = false;
    issued = 0;
    groups = 1, groups_waiting = groups_issued = common = leads = others = 0;
    group[0].lanes = lanes;
    group[0].position.begin();
    std::fill(lately, lately + kLately, uint64_t{0});
    last = repeats = only_reads = ahead = 0;
    epoch = 0;
    steps = {};
    length = 0;
    recent.assign(kRecent, 0);
}

unsigned WarpRun::divide(unsigned from, unsigned lanes) {
    if (group[from].lanes == lanes) return from;
    auto free = static_cast<unsigned>(__builtin_ctz(~groups));
    groups |= 1u << free;
    group[from].lanes &= ~lanes;
    group[free].lanes = lanes;
    group[free].position = group[from].position;
    return free;
}

void Lockstep::begin(unsigned threads, unsigned on) {
    multiprocessor = on;
    num_warps_ = (threads + kWarpSize - 1) / kWarpSize;
    if (warps_.size() < num_warps_) {
        warps_.resize(num_warps_);
        traces_.resize(num_warps_);
        stores_.resize(num_warps_);
    }
    for (unsigned index = 0; index < num_warps_; ++index) {
        unsigned first = index * kWarpSize, lanes = std::min(threads - first, kWarpSize);
        warps_[index].begin(lanes == kWarpSize ? ~0u : (1u << lanes) - 1);
        Traces& traces = traces_[index];
        memset(traces.begin, 0, sizeof traces.begin);
        memset(traces.end, 0, sizeof traces.end);
        stores_[index].begin();
    }
    turns_.clear();
    next_ = traced_ = traced_warps_ = changed_warps_ = rounds_ = 0;
    leave_ = Leave::no;
    time = close_until_ = 0;
}

unsigned Lockstep::most_behind(const WarpRun& warp, unsigned groups, bool furthest) const {
    auto chosen = static_cast<unsigned>(__builtin_ctz(groups));
    for (unsigned left = groups & (groups - 1); left; left &= left - 1) {
        auto other = static_cast<unsigned>(__builtin_ctz(left));
        if (warp.group[other].position.is_behind(warp.group[chosen].position) != furthest) chosen = other;
    }
    return chosen;
}

void Lockstep::take_up(Trace& trace, unsigned rank, const void* place, const char* stack) {
    trace.take_up(*this, counting.ops, counting.changes(), traces_[rank / kWarpSize], rank, place, stack);
}

// Returns the index of the group of lanes that performs the warp's next operation. Usually it is the
// group that is furthest behind in the program. Now and then (see kPollPatience), it is the group that is
// furthest ahead.
unsigned Lockstep::next_group(WarpRun& warp) const {
    uint64_t patience = warp.spins() ? kPollPatience : kLockstepPatience;
    if (warp.issued % patience == patience - 1) warp.ahead = kAhead;
    bool furthest = warp.ahead > 0;
    warp.ahead -= furthest;
    return most_behind(warp, warp.groups_waiting, furthest);
}

// Takes the next entry from the traces of all lanes at once. The traces are the columns of the table
// Traces::rows. The function takes the entries only if they lie in one row of the table and have equal
// operations. The row must also be the last row of every trace, or of no trace. Returns false if it takes
// nothing.
bool Lockstep::pop_row(unsigned index, unsigned& done) {
    WarpRun& warp = warps_[index];
    Traces& traces = traces_[index];
    uint8_t rows_differ = 0, row = traces.begin[0], least = Traces::kRoom, most = 0;
    for (uint8_t begin : traces.begin) rows_differ |= begin ^ row;
    for (uint8_t end : traces.end) least = std::min(least, end), most = std::max(most, end);
    const Entry* entries = traces.rows[row];
    uint64_t differ = 0, first = entries[0].bits();
    for (unsigned lane = 0; lane < kWarpSize; ++lane) differ |= entries[lane].bits() ^ first;
    bool last = most == row + 1;
    if (rows_differ || Entry::op_of(differ) || (!last && least <= row + 1)) return false;
    memcpy(warp.now, entries, sizeof warp.now);
    memset(traces.begin, last ? 0 : row + 1, sizeof traces.begin);
    if (!last) return true;
    memset(traces.end, 0, sizeof traces.end);
    done = warp.empty = kAllLanes;
    return true;
}

// Compares the next entry (a recorded operation) in the traces of `lanes`. Takes the entry from the first
// lane, and from all lanes with the same operation. Returns these lanes. Adds lanes whose traces are now
// empty to `done`.
unsigned Lockstep::pop_entries(unsigned index, unsigned lanes, unsigned& done) {
    WarpRun& warp = warps_[index];
    if (lanes == kAllLanes && pop_row(index, done)) return lanes;
    Traces& traces = traces_[index];
    auto first = static_cast<unsigned>(__builtin_ctz(lanes));
    unsigned op = traces.rows[traces.begin[first]][first].op(), same = 0, last = 0;
    for (unsigned left = lanes, later; left; left = later) {
        later = left & (left - 1);
        auto lane = static_cast<size_t>(__builtin_ctz(left));
        size_t row = traces.begin[lane];
        const Entry* entry = &traces.rows[row][lane];
        Traces::fetch_after(entry);
        if (entry->op() != op) continue;
        warp.now[lane] = *entry;
        same |= left ^ later;
        if (++row == traces.end[lane]) last |= left ^ later;
        traces.begin[lane] = static_cast<uint8_t>(row);
    }
    each_lane(last, [&](unsigned lane) { traces.begin[lane] = traces.end[lane] = 0; });
    warp.empty |= last;
    done |= last;
    return same;
}

// Moves `position` to the place in the program at which the operation `op` was recorded. Returns true if the
// operation is a memory access or a barrier, and false if it is a jump or an exit from a loop.
[[gnu::always_inline]] bool Lockstep::step_to(Position& position, const WarpRun& warp, const Op& op) {
    switch (op.kind) {
        case Kind::part: position.part(loops_, op.site, warp.issued); return false;
        case Kind::jump: position.jump(loops_, op.from, op.site); return false;
        default: position.move(loops_, op.site); return true;
    }
}

// Takes entries from the trace of a lane that is alone in its group, up to the next access or barrier.
// Returns false if the trace ends before an access or barrier.
[[gnu::always_inline]] bool Lockstep::pop_to_step(unsigned index, unsigned group, unsigned lane) {
    WarpRun& warp = warps_[index];
    Traces& traces = traces_[index];
    size_t row = traces.begin[lane], end = traces.end[lane];
    bool found = false;
    while (!found && row < end) {
        Entry entry = warp.now[lane] = traces.rows[row++][lane];
        found = step_to(warp.group[group].position, warp, counting.ops[entry.op()]);
    }
    if (row == end) {
        row = traces.end[lane] = 0;
        warp.empty |= 1u << lane;
    }
    traces.begin[lane] = static_cast<uint8_t>(row);
    return found;
}

// Records that lanes of a group wait at a memory access or a barrier until their warp performs this
// operation.
[[gnu::always_inline]] void Lockstep::wait(WarpRun& warp, unsigned group, unsigned lanes) {
    warp.waiting |= lanes;
    warp.groups_waiting |= 1u << group;
    counting.fetch_step(warp, lanes);
}

// The lanes of a group have just taken equal entries (recorded operations) from their traces. The
// function moves the group to the instruction of this entry. If the entry is an access or a barrier, the
// lanes wait there, and the function returns true.
[[gnu::always_inline]] bool Lockstep::come_to_step(unsigned index, unsigned group, unsigned lanes) {
    WarpRun& warp = warps_[index];
    const Op& op = counting.ops[warp.now[__builtin_ctz(lanes)].op()];
    if (!step_to(warp.group[group].position, warp, op)) return false;
    wait(warp, group, lanes);
    return true;
}

// Takes the next access or barrier from the traces of a warp whose lanes have all followed one path so far.
// Returns the lanes that take part in it. Returns 0 in three cases: the lanes take different paths from here,
// a lane outside the path has recorded operations, or the traces end before an access or barrier.
unsigned Lockstep::take_together(unsigned index) {
    WarpRun& warp = warps_[index];
    while (can_issue(index) && warp.together) {
        unsigned lanes = warp.traced, done = 0;
        if (lanes & ~warp.together) {  // further lanes of the warp have recorded operations
            scatter(index);
            return 0;
        }
        if (is_one(lanes)) {
            warp.together = lanes;
            warp.common = warp.divide(warp.common, lanes);
            if (pop_to_step(index, warp.common, static_cast<unsigned>(__builtin_ctz(lanes)))) return lanes;
            end(index, lanes);
            return 0;
        }
        unsigned same = pop_entries(index, lanes, done);
        if (same != lanes) {
            warp.together = 0;
            unsigned ended = arrive(index, warp.common, same, done) | advance(index, warp.common, lanes & ~same);
            if (ended) end(index, ended);
            return 0;
        }
        warp.together = lanes;
        warp.common = warp.divide(warp.common, lanes);  // lanes without entries stay in the old group
        const Op& op = counting.ops[warp.now[__builtin_ctz(lanes)].op()];
        if (step_to(warp.group[warp.common].position, warp, op)) return lanes;
        if (done) end(index, done);
    }
    return 0;
}

// Ends the common path of a warp's lanes. From now on the lanes advance in several groups.
void Lockstep::scatter(unsigned index) {
    WarpRun& warp = warps_[index];
    unsigned lanes = warp.together & warp.traced;
    warp.together = 0;
    if (unsigned done = advance(index, warp.common, lanes)) end(index, done);
}

// Lets the group that performed the warp's previous operation (`leads`) perform the next operation too,
// if it is still behind all other waiting groups. Returns the group's lanes. Otherwise returns 0, and
// take_last() must choose a group. take_last() also chooses if no other group waits, while the lanes that
// are furthest ahead run first (warp.ahead), and once in kPollPatience operations.
[[gnu::always_inline]] unsigned Lockstep::take_leading(WarpRun& warp) {
    unsigned others = warp.groups_waiting & ~warp.leads;
    bool asks = warp.ahead || warp.issued % kPollPatience == kPollPatience - 1;
    if (!(warp.groups_waiting & warp.leads) || !others || asks) return 0;
    if (others != warp.others) {
        warp.others = others;
        warp.next_behind = most_behind(warp, others, false);
    }
    const Group& leading = warp.group[__builtin_ctz(warp.leads)];
    if (!leading.position.is_behind(warp.group[warp.next_behind].position)) return 0;
    warp.groups_issued = warp.leads;
    warp.groups_waiting = others;
    warp.waiting &= ~leading.lanes;
    return leading.lanes;
}

// Takes the operation of the group that next_group() chooses. Other groups of lanes at the same place in the
// program take part in this operation. Returns the participating lanes.
unsigned Lockstep::take_last(WarpRun& warp) {
    unsigned chosen = next_group(warp);
    Group& next = warp.group[chosen];
    warp.groups_issued = 1u << chosen;
    unsigned lanes = next.lanes;
    for (unsigned left = warp.groups_waiting & ~(1u << chosen); left; left &= left - 1) {
        auto other = static_cast<unsigned>(__builtin_ctz(left));
        Group& group = warp.group[other];
        if (!group.position.is_with(next.position)) continue;
        group.position.join(next.position);
        lanes |= group.lanes;
        warp.groups_issued |= 1u << other;
    }
    warp.groups_waiting &= ~warp.groups_issued;
    warp.waiting &= ~lanes;
    bool all = lanes == warp.traced;
    for (unsigned left = warp.groups_issued & ~(1u << chosen); left; left &= left - 1) {
        auto other = static_cast<unsigned>(__builtin_ctz(left));
        if (!all && !warp.group[other].position.is_same_as(next.position)) continue;
        next.lanes |= warp.group[other].lanes;
        warp.groups &= ~(1u << other);
        warp.groups_issued &= ~(1u << other);
    }
    if (all) warp.together = lanes, warp.common = chosen;
    warp.leads = warp.groups_issued == 1u << chosen ? warp.groups_issued : 0;
    warp.others = 0;
    return lanes;
}

unsigned Lockstep::take(unsigned index) {
    WarpRun& warp = warps_[index];
    unsigned lanes = warp.together ? take_together(index) : 0;
    if (!lanes && !can_issue(index)) return 0;
    if (!lanes) lanes = take_leading(warp);
    if (!lanes) lanes = take_last(warp);
    ++warp.issued;
    return lanes;
}

void Lockstep::release(unsigned index, unsigned lanes) {
    WarpRun& warp = warps_[index];
    unsigned ended = lanes & warp.empty, stores = lanes & warp.put_off;
    if (stores && counting.ops[warp.now[__builtin_ctz(lanes)].op()].kind != Kind::write) stores = 0;
    if (!warp.together) {
        for (unsigned left = warp.groups_issued; left; left &= left - 1) {
            auto group = static_cast<unsigned>(__builtin_ctz(left));
            if (unsigned on = warp.group[group].lanes & ~ended & ~stores) ended |= advance(index, group, on);
        }
    }
    if (ended | stores) end(index, ended, stores);
}

// Moves lanes of a group to their next accesses or barriers. The lanes' traces must not be empty. Returns
// those lanes whose traces end before an access or barrier.
unsigned Lockstep::advance(unsigned index, unsigned from, unsigned lanes) {
    unsigned ended = 0;
    while (lanes) {
        if (is_one(lanes)) return ended | advance_one(index, from, lanes);
        unsigned done = 0, same = pop_entries(index, lanes, done);
        if (same != lanes) {
            ended |= arrive(index, from, same, done);
            lanes &= ~same;
            continue;
        }
        from = warps_[index].divide(from, lanes);
        if (come_to_step(index, from, lanes)) break;
        ended |= done;
        lanes &= ~done;
    }
    return ended;
}

// Moves one lane of a group to its next access or barrier. Returns the lane's bit if the lane's trace ends
// before an access or barrier, and otherwise 0.
[[gnu::always_inline]] unsigned Lockstep::advance_one(unsigned index, unsigned from, unsigned lane) {
    WarpRun& warp = warps_[index];
    unsigned group = warp.divide(from, lane);
    if (!pop_to_step(index, group, static_cast<unsigned>(__builtin_ctz(lane)))) return lane;
    wait(warp, group, lane);
    return 0;
}

// Advances lanes to their next accesses or barriers. These lanes have just taken equal entries from their traces.
// `done` contains the lanes whose traces are now empty. Returns the lanes whose traces end before an access or
// barrier.
unsigned Lockstep::arrive(unsigned index, unsigned from, unsigned lanes, unsigned done) {
    unsigned group = warps_[index].divide(from, lanes);
    if (come_to_step(index, group, lanes)) return 0;
    return done | advance(index, group, lanes & ~done);
}

// Records that the traces of `lanes` are empty. A lane that has waited until its trace is empty may run
// again. Lanes in `stores` may write a delayed store to memory.
void Lockstep::end(unsigned index, unsigned lanes, unsigned stores) {
    WarpRun& warp = warps_[index];
    warp.waiting &= ~lanes;
    warp.traced &= ~lanes;
    traced_ -= static_cast<unsigned>(__builtin_popcount(lanes));
    if (!warp.traced) traced_warps_ &= ~(1u << index);
    unsigned on = lanes & warp.awaits;
    if (!(on | stores)) return;
    warp.awaits &= ~on;
    warp.runs = true;
    changed_warps_ |= 1u << index;
    each_lane(on | stores, [&](unsigned lane) {
        turns_.emplace_back(index * kWarpSize + lane, stores >> lane & 1, on >> lane & 1);
    });
}

bool Lockstep::ends_wait_for_stores(unsigned rank) {
    unsigned& waiting = warps_[rank / kWarpSize].stores;
    unsigned bit = 1u << rank % kWarpSize;
    if (!(waiting & bit) || has_stores(rank)) return false;
    waiting &= ~bit;
    return true;
}

void Lockstep::begin_trace_anew(unsigned rank, uint32_t stores) {
    Traces& traces = traces_[rank / kWarpSize];
    unsigned lane = rank % kWarpSize, left = traces.end[lane] - traces.begin[lane];
    for (unsigned row = 0; row < left; ++row) traces.rows[row][lane] = traces.rows[traces.begin[lane] + row][lane];
    traces.begin[lane] = 0;
    traces.end[lane] = static_cast<uint8_t>(left);
    warps_[rank / kWarpSize].stores_before[lane] = stores;
}

void Lockstep::begin_round() {
    turns_.clear();
    next_ = 0;
    unsigned changed = changed_warps_ & traced_warps_;
    changed_warps_ &= ~changed;
    each_lane(changed, [this](unsigned index) {
        WarpRun& warp = warps_[index];
        warp.runs = false;
        unsigned fresh = warp.traced & ~warp.waiting & ~warp.together, ended = 0;
        if (!fresh) return;
        for (unsigned left = warp.groups & ~warp.groups_waiting; left; left &= left - 1) {
            auto group = static_cast<unsigned>(__builtin_ctz(left));
            ended |= advance(index, group, warp.group[group].lanes & fresh);
        }
        if (ended) end(index, ended);
    });
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
