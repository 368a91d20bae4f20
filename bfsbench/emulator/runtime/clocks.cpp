#include "clocks.h"

#include <algorithm>

#include "grid.h"
#include "worker.h"

namespace emu {

namespace {

const ThreadClock& mine() { return block_of(here()).clocks[here().rank]; }

// Returns the ThreadClock of the current CUDA thread. Sets its member `used`, because the caller may change
// the ThreadClock.
ThreadClock& mine_used() {
    Fiber& fiber = here();
    fiber.alone = false;
    ResidentBlock& block = block_of(fiber);
    ThreadClock& thread = block.clocks[fiber.rank];
    block.clocks_used = thread.used = true;
    return thread;
}

uint32_t block_number(const ResidentBlock& block) { return block.place.block; }

// Advances the clock of the current CUDA thread by one, so that the race detector can distinguish the
// thread's next accesses from its earlier accesses.
void tick() {
    Fiber& fiber = here();
    mine_used().row[fiber.rank % kWarpSize] = fiber.clock;
    ++fiber.clock;
    fiber.moment = 0;
}

void absorb(Knowledge::Lanes& lanes, const Knowledge::Lanes& others) {
    lanes.phase = std::max(lanes.phase, others.phase);
    for (unsigned i = 0; i < kWarpSize; ++i) lanes.clock[i] = std::max(lanes.clock[i], others.clock[i]);
}

void absorb(Knowledge& all, const Knowledge& other) {
    for (auto [block, phase] : other.phases) {
        uint32_t& known = all.phases[block];
        known = std::max(known, phase);
    }
    for (const auto& [warp, lanes] : other.warps) {
        auto [place, added] = all.warps.insert({warp, lanes});
        if (!added) absorb(place->second, lanes);
    }
    all.grids.insert(other.grids.begin(), other.grids.end());
}

Known joined(const Known& a, const Known& b) {
    if (!a || a == b) return b;
    if (!b) return a;
    auto all = std::make_shared<Knowledge>(*a);
    absorb(*all, *b);
    return all;
}

// Extends the set `all` by those accesses of the current thread's own block that happen before the thread's
// next access:
// 1. the thread's own accesses,
// 2. the accesses of each lane of its warp before the last __syncwarp with this lane,
// 3. the accesses of all threads of its block before the last block barrier.
void absorb_self(Knowledge& all) {
    const Fiber& fiber = here();
    const ResidentBlock& block = block_of(fiber);
    uint32_t number = block_number(block), warp = block.place.first_warp + fiber.rank / kWarpSize;
    uint32_t& phase = all.phases[number];
    phase = std::max(phase, block.barriers);
    Knowledge::Lanes lanes{block.barriers, mine().row};
    lanes.clock[fiber.rank % kWarpSize] = fiber.clock;
    auto [place, added] = all.warps.insert({warp, lanes});
    if (!added) absorb(place->second, lanes);
}

Known snapshot() {
    const Known& known = mine().known;
    auto all = known ? std::make_shared<Knowledge>(*known) : std::make_shared<Knowledge>();
    absorb_self(*all);
    return all;
}

}  // namespace

namespace {

// Merges the sets of accesses that the threads at a barrier have in their ThreadClocks. After the barrier,
// each thread has the union of these sets.
class Meeting {
  public:
    void add(ThreadClock& thread) {
        auto each = thread.shared();
        for (unsigned i = 0; i < ThreadClock::kShared; ++i) gathered_[i].add(*each[i]);
    }
    // Computes the union of all sets, after the last thread has arrived. Returns false if no thread has a
    // set, so that leave() would change nothing.
    bool end() {
        bool any = false;
        for (unsigned i = 0; i < ThreadClock::kShared; ++i) any |= (all_[i] = gathered_[i].all()) != nullptr;
        return any;
    }
    void leave(ThreadClock& thread) const {
        auto each = thread.shared();
        for (unsigned i = 0; i < ThreadClock::kShared; ++i) *each[i] = all_[i];
    }

  private:
    Gathering gathered_[ThreadClock::kShared];
    Known all_[ThreadClock::kShared];
};

}  // namespace

void Gathering::add(const Known& known) {
    if (!known || !seen_.insert(known.get()).second) return;
    if (!first_) {
        first_ = known;
        return;
    }
    if (!own_) own_ = std::make_shared<Knowledge>(*first_);
    absorb(*own_, *known);
}

void Clocks::begin_grid(const Grid& grid, uint32_t parent, const Known& known, uint32_t stream) {
    uint32_t warps = (volume(grid.threads) + kWarpSize - 1) / kWarpSize;
    Shape shape{0, 0, warps, parent, grid.blocks, grid.threads};
    if (!shapes_.empty()) {
        const Shape& last = shapes_.back();
        shape.first_block = last.first_block + volume(last.blocks);
        shape.first_warp = last.first_warp + volume(last.blocks) * last.warps;
    }
    auto number = static_cast<uint32_t>(shapes_.size());
    shapes_.push_back(shape);
    at_launch_ = known;
    if (stream == kNoStream) return;
    if (auto before = streams_.find(stream); before != streams_.end()) {
        auto ended = std::make_shared<Knowledge>();
        // Adds the stream's previous grid, its child grids, and their descendants to the grids that have
        // ended.
        for (uint32_t i = before->second; i < number; ++i) {
            if (i == before->second || ended->grids.count(shapes_[i].parent)) ended->grids.insert(i);
        }
        at_launch_ = joined(known, ended);
    }
    streams_[stream] = number;
}

void Clocks::begin_block(ResidentBlock& block) const {
    const Shape& shape = shapes_.back();
    uint32_t number = linear(block.index, block.grid);
    block.place = {static_cast<uint32_t>(shapes_.size()) - 1, shape.first_block + number,
                   shape.first_warp + number * shape.warps};
    block.clocks.resize(block.fibers.size());
    if (!block.clocks_used && !at_launch_) return;  // most blocks of a large grid return here
    block.clocks_used = at_launch_ != nullptr;
    for (ThreadClock& thread : block.clocks) {
        if (thread.used) thread = {};
        if (!at_launch_) continue;
        thread.known = at_launch_;
        thread.used = true;
    }
}

Known Clocks::launch() {
    Known known = snapshot();
    tick();
    return known;
}

Moment Clocks::begin_moment(Fiber& fiber) {
    const ResidentBlock& block = block_of(fiber);
    fiber.moment = next_moment();
    fiber.alone = fiber.clock == 1 && block.barriers == 0 && !block.clocks[fiber.rank].used;
    instants_.push_back({block.place.grid, block.place.block, fiber.rank, fiber.clock, block.barriers});
    return fiber.moment;
}

bool Clocks::over(const Past& past) const {
    const Fiber& fiber = here();
    const ResidentBlock& block = block_of(fiber);
    if (fiber.alone) return past.moment() == fiber.moment;
    const ThreadClock& thread = block.clocks[fiber.rank];
    const Instant& then = instant(past);
    if (then.block == block_number(block)) {
        if (then.thread == fiber.rank || then.phase < block.barriers) return true;
        bool in_warp = then.thread / kWarpSize == fiber.rank / kWarpSize;
        if (in_warp && thread.row[then.thread % kWarpSize] >= then.clock) return true;
    }
    if (!thread.known) return false;
    if (thread.known->grids.count(then.grid)) return true;
    auto phase = thread.known->phases.find(then.block);
    if (phase != thread.known->phases.end() && then.phase < phase->second) return true;
    const Shape& shape = shapes_[then.grid];
    uint32_t index = then.block - shape.first_block;
    auto warp = thread.known->warps.find(shape.first_warp + index * shape.warps + then.thread / kWarpSize);
    return warp != thread.known->warps.end() && warp->second.clock[then.thread % kWarpSize] >= then.clock;
}

// Handles a memory fence of the current CUDA thread. Before the fence, the thread may have read atomic words
// to which other threads had attached sets of accesses. The fence adds these sets to `known`. A fence of
// block scope adds only the sets that threads of the same block had attached. The fence also stores in
// `released` all accesses that happen before it. The thread's later atomics attach these accesses to their
// words.
void Clocks::fence(Scope scope) {
    ThreadClock& thread = mine_used();
    thread.known = joined(thread.known, thread.acquired[0]);
    thread.acquired[0] = nullptr;
    if (scope == Scope::device) {
        thread.known = joined(thread.known, thread.acquired[1]);
        thread.acquired[1] = nullptr;
    }
    Known all = snapshot();
    thread.released[0] = all;
    if (scope == Scope::device) thread.released[1] = all;
    tick();
}

void Clocks::take_up(const void* word, Scope scope, bool now) {
    auto place = words_.find(word);
    if (place == words_.end()) return;
    ThreadClock& thread = mine_used();
    Word& found = place->second;
    bool own = found.block == block_number(block_of(here()));
    auto take = [&](unsigned i) {
        if (thread.taken_up[now][i] == found.passed_on[i]) return;
        Known& to = now ? thread.known : thread.acquired[i];
        thread.taken_up[now][i] = found.passed_on[i];
        to = joined(to, found.passed_on[i]);
    };
    if (own) take(0);
    if (scope == Scope::device) take(1);
}

// Attaches sets of accesses to an atomic word: `block_wide` for readers in the current thread's block, and
// `all` for readers in any block. `all` is attached only if `scope` is device scope. A set takes effect for a
// thread that reads the word with acquire order, or that reads it atomically and then executes a fence: the
// accesses in the set happen before the later accesses of this thread. If `replaces` is true (a store), the
// sets that were attached earlier are removed. Otherwise (an update) the new sets are added to them.
void Clocks::pass_on(const void* word, bool replaces, Scope scope, const Known& block_wide, const Known& all) {
    if (replaces) words_.erase(word);
    if (!block_wide) return;
    Word& given = words_[word];
    uint32_t block = block_number(block_of(here()));
    given.passed_on[0] = given.block == block ? joined(given.passed_on[0], block_wide) : block_wide;
    given.block = block;
    if (scope == Scope::device) given.passed_on[1] = joined(given.passed_on[1], all);
}

void Clocks::atomic(const void* word, Act act, Scope scope, Order order) {
    if (scope == Scope::by_volatile) scope = Scope::device;
    const ThreadClock& thread = mine();
    // Nothing needs to be done if no word has a set of accesses attached to it, and this thread has no set to
    // attach.
    if (words_.empty() && order == Order::relaxed && !thread.released[0]) return;
    bool acquires = order == Order::acquire || order == Order::acq_rel;
    bool releases = order == Order::release || order == Order::acq_rel;
    if (act != Act::write) take_up(word, scope, acquires);
    if (act == Act::read) return;
    if (!releases) return pass_on(word, act == Act::write, scope, thread.released[0], thread.released[1]);
    Known all = snapshot();
    pass_on(word, act == Act::write, scope, all, all);
    tick();
}

void Clocks::meet_lanes(ResidentBlock& block, unsigned warp, unsigned lanes) {
    std::array<uint32_t, kWarpSize> row{};
    Meeting meeting;
    auto each = [&](auto visit) {
        for (unsigned left = lanes; left; left &= left - 1) {
            auto lane = static_cast<unsigned>(__builtin_ctz(left));
            unsigned rank = warp * kWarpSize + lane;
            visit(block.clocks[rank], block.fibers[rank], lane);
        }
    };
    each([&](ThreadClock& thread, const Fiber& fiber, unsigned lane) {
        for (unsigned i = 0; i < kWarpSize; ++i) row[i] = std::max(row[i], thread.row[i]);
        row[lane] = std::max(row[lane], fiber.clock);
        meeting.add(thread);
    });
    meeting.end();
    block.clocks_used = true;
    each([&](ThreadClock& thread, Fiber& fiber, unsigned) {
        thread.used = true;
        thread.row = row;
        meeting.leave(thread);
        ++fiber.clock;
        fiber.moment = 0;
    });
}

void Clocks::meet_block(ResidentBlock& block) {
    if (!block.clocks_used) return;
    Meeting meeting;
    for (ThreadClock& thread : block.clocks) meeting.add(thread);
    if (!meeting.end()) return;
    for (ThreadClock& thread : block.clocks) {
        thread.used = true;
        meeting.leave(thread);
    }
}

void Clocks::arrive_at_cluster() {
    Cluster& cluster = *block_of(here()).cluster;
    ThreadClock& thread = mine_used();
    if (!cluster.meeting) cluster.meeting = std::make_shared<Knowledge>();
    if (thread.known && thread.known != cluster.last_known) {
        absorb(*cluster.meeting, *thread.known);
        cluster.last_known = thread.known;
    }
    absorb_self(*cluster.meeting);
    thread.arrived = thread.known;
    tick();
}

void Clocks::leave_cluster() {
    ThreadClock& thread = mine_used();
    const Known& met = block_of(here()).cluster->met;
    thread.known = thread.known == thread.arrived ? met : joined(thread.known, met);
}

}  // namespace emu
