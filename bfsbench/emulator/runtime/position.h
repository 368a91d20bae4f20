// The position of a lane: its instruction, and its iterations of the loops around it.
//
// Positions say which lane is behind. The compiler lays code out as in the source, so later code has higher
// addresses. A backward jump begins another iteration of a loop. The loop reaches from the jump's target to
// the highest place that has jumped to it. Two lanes are compared by their iterations, from the outermost
// common loop inwards, and then by their instructions.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace emu {

// A loop: from its first basic block to the highest place from which a lane has jumped back to that block.
struct Loop {
    const void *first, *last;
    bool has(const void* place) const { return place >= first && place <= last; }
};
// The loops found by all lanes, launches and modules, by their first blocks.
using Loops = std::unordered_map<const void*, Loop>;

class Position {
  public:
    void begin() { place_ = parted_at_ = nullptr, parted_ = 0, depth_ = 0; }
    // Moves to a basic block or a step.
    void move(Loops& loops, const void* place) {
        if (place <= parted_at_) parted_ = 0, parted_at_ = nullptr;  // another iteration of an outer loop
        if (place <= place_) jump_back(loops, place);
        while (depth_ && !iterations_[depth_ - 1].loop->has(place)) --depth_;
        place_ = place;
    }
    // Moves by a backward jump.
    void jump(Loops& loops, const void* from, const void* to) {
        if (from > place_) move(loops, from);
        move(loops, to);
    }
    bool is_behind(const Position& other) const;
    // Leaves a loop early. Lanes that leave a loop after one step of their warp stay together.
    void part(Loops& loops, const void* place, uint64_t step) {
        if (place > place_) move(loops, place);
        parted_ = step, parted_at_ = place;
    }
    void join(const Position& other) { parted_ = other.parted_; }
    // Returns whether two positions have equal places and iterations, and the lanes have not left a loop by
    // different exits.
    bool is_with(const Position& other) const {
        if (place_ != other.place_ || depth_ != other.depth_) return false;
        if (parted_ != other.parted_ && other.parted_) return false;
        for (unsigned i = depth_; i-- > 0;) {
            if (iterations_[i].number != other.iterations_[i].number) return false;
            if (iterations_[i].loop != other.iterations_[i].loop) return false;
        }
        return true;
    }
    // Returns whether two positions, for which is_with() holds, stay equal while their lanes execute equal
    // instructions.
    bool is_same_as(const Position& other) const { return parted_ == other.parted_ && parted_at_ == other.parted_at_; }

    Position() = default;
    Position(const Position& other) { *this = other; }
    // Copies only the iterations in use.
    Position& operator=(const Position& other) {
        place_ = other.place_, parted_at_ = other.parted_at_, parted_ = other.parted_, depth_ = other.depth_;
        for (unsigned i = 0; i < depth_; ++i) iterations_[i] = other.iterations_[i];
        return *this;
    }

  private:
    static constexpr unsigned kDepth = 8;  // deeper loops are not distinguished
    struct Iteration {
        Loop* loop;
        unsigned number;
    };
    void jump_back(Loops& loops, const void* place) {
        if (!depth_ || iterations_[depth_ - 1].loop->first != place) return jump_elsewhere(loops, place);
        Iteration& next = iterations_[depth_ - 1];  // most jumps stay in the innermost loop
        if (next.loop->last < place_) next.loop->last = place_;
        ++next.number;
    }
    void jump_elsewhere(Loops& loops, const void* place);
    const void* place_ = nullptr;
    const void* parted_at_ = nullptr;
    uint64_t parted_ = 0;  // the step after which the lanes left a loop; 0 if they have not
    unsigned depth_ = 0;
    // Iterations of the loops around the place, outermost loop first, without first iterations.
    Iteration iterations_[kDepth];
};

}  // namespace emu
