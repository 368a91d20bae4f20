// Where lanes are: at an instruction, in iterations of loops.
//
// Who is behind? Code is laid out as in the source: what comes later stands higher. A jump backwards begins another
// iteration of a loop, which reaches from where it leads to the highest place that it has been made from. Lanes are
// compared by their iterations, from the outermost loop that they share, then by where they are.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace emu {

// From its first basic block to the highest place from which a lane has jumped back to that.
struct Loop {
    const void *first, *last;
    bool has(const void* place) const { return place >= first && place <= last; }
};
// By their first blocks; of all lanes, launches and modules.
using Loops = std::unordered_map<const void*, Loop>;

class Position {
  public:
    void begin() { place_ = parted_at_ = nullptr, parted_ = 0, depth_ = 0; }
    // Lanes have come to a basic block, or to a step.
    void move(Loops& loops, const void* place) {
        if (place <= parted_at_) parted_ = 0, parted_at_ = nullptr;  // another iteration of an outer loop
        if (place <= place_) jump_back(loops, place);
        while (depth_ && !iterations_[depth_ - 1].loop->has(place)) --depth_;
        place_ = place;
    }
    // They have jumped backwards.
    void jump(Loops& loops, const void* from, const void* to) {
        if (from > place_) move(loops, from);
        move(loops, to);
    }
    bool is_behind(const Position& other) const;
    // They leave a loop early, with those that do so behind the same step of their warp.
    void part(Loops& loops, const void* place, uint64_t step) {
        if (place > place_) move(loops, place);
        parted_ = step, parted_at_ = place;
    }
    void join(const Position& other) { parted_ = other.parted_; }
    // At the same place, in the same iterations, and not after different exits from a loop.
    bool is_with(const Position& other) const {
        if (place_ != other.place_ || depth_ != other.depth_) return false;
        if (parted_ != other.parted_ && other.parted_) return false;
        for (unsigned i = depth_; i-- > 0;) {
            if (iterations_[i].number != other.iterations_[i].number) return false;
            if (iterations_[i].loop != other.iterations_[i].loop) return false;
        }
        return true;
    }
    // Of two that are with each other: whether they will be for as long as their lanes do the same.
    bool is_same_as(const Position& other) const { return parted_ == other.parted_ && parted_at_ == other.parted_at_; }

    Position() = default;
    Position(const Position& other) { *this = other; }
    // Without what lies behind the depth.
    Position& operator=(const Position& other) {
        place_ = other.place_, parted_at_ = other.parted_at_, parted_ = other.parted_, depth_ = other.depth_;
        for (unsigned i = 0; i < depth_; ++i) iterations_[i] = other.iterations_[i];
        return *this;
    }

  private:
    static constexpr unsigned kDepth = 8;  // deeper loops are not told apart
    struct Iteration {
        Loop* loop;
        unsigned number;
    };
    void jump_back(Loops& loops, const void* place) {
        if (!depth_ || iterations_[depth_ - 1].loop->first != place) return jump_elsewhere(loops, place);
        Iteration& next = iterations_[depth_ - 1];  // of the same loop, most times
        if (next.loop->last < place_) next.loop->last = place_;
        ++next.number;
    }
    void jump_elsewhere(Loops& loops, const void* place);
    const void* place_ = nullptr;
    const void* parted_at_ = nullptr;
    uint64_t parted_ = 0;  // behind which step; 0: they have not
    unsigned depth_ = 0;
    Iteration iterations_[kDepth];  // of the loops that they are in, outermost first; 0th ones are left out
};

}  // namespace emu
