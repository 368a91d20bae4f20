#include "position.h"

#include <algorithm>

namespace emu {

void Position::jump_elsewhere(Loops& loops, const void* place) {
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
        // A position lists a loop only from the loop's second iteration on. If both lanes are inside a
        // loop and only one position lists the loop, the other lane is still in the first iteration. So
        // the other lane is behind.
        bool in_others = others && others->loop->has(place_), in_mine = mine && mine->loop->has(other.place_);
        if (in_others && in_mine) return others->loop->first < mine->loop->first;
        if (in_others || in_mine) return in_others;
        break;
    }
    return place_ != other.place_ ? place_ < other.place_ : parted_ < other.parted_;
}

}  // namespace emu
