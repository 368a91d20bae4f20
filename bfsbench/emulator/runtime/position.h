// The position of a lane in its kernel: the lane's instruction, and the number of its iteration in each loop
// around the instruction.
//
// Positions tell which lane of a warp is behind the other lanes in the program. The compiler lays code out as
// in the source, so later code has higher addresses. A backward jump begins another iteration of a loop. The
// loop reaches from the jump's target to the highest address from which a lane has jumped to this target. Two
// lanes are compared by their iterations, from the outermost common loop inwards, and then by their
// instructions.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace emu {

// A loop in a kernel: from its first basic block to the highest address from which a lane has jumped back to
// this block.
struct Loop {
    const void *first, *last;
    bool has(const void* place) const { return place >= first && place <= last; }
};
// Maps the address of a loop's first basic block to the loop, for all loops that any lane has run in any
// launch.
using Loops = std::unordered_map<const void*, Loop>;

class Position {
  public:
    void begin() { place_ = parted_at_ = nullptr, parted_ = 0, depth_ = 0; }
    // Moves the lane to `place`, the address of a basic block, memory access or barrier.
    void move(Loops& loops, const void* place) {
        // The lane has jumped back to an address before the place where it left a loop early. It is now in
        // another iteration of an enclosing loop, so it no longer runs apart from the other lanes.
        if (place <= parted_at_) parted_ = 0, parted_at_ = nullptr;
        if (place <= place_) jump_back(loops, place);
        while (depth_ && !iterations_[depth_ - 1].loop->has(place)) --depth_;
        place_ = place;
    }
    // Moves the lane along a backward jump.
    void jump(Loops& loops, const void* from, const void* to) {
        if (from > place_) move(loops, from);
        move(loops, to);
    }
    bool is_behind(const Position& other) const;
    // Records that the lane leaves a loop early. Lanes that leave loops early after the same operation of
    // their warp stay together.
    void part(Loops& loops, const void* place, uint64_t step) {
        if (place > place_) move(loops, place);
        parted_ = step, parted_at_ = place;
    }
    void join(const Position& other) { parted_ = other.parted_; }
    // Returns whether this lane may perform an operation together with the lane `other`. Both lanes must be
    // at the same place, and in the same iterations of all loops. If `other` has left a loop early, this lane
    // must have left a loop after the same operation of the warp.
    bool is_with(const Position& other) const {
        if (place_ != other.place_ || depth_ != other.depth_) return false;
        if (parted_ != other.parted_ && other.parted_) return false;
        for (unsigned i = depth_; i-- > 0;) {
            if (iterations_[i].number != other.iterations_[i].number) return false;
            if (iterations_[i].loop != other.iterations_[i].loop) return false;
        }
        return true;
    }
    // Compares the early exits of two lanes from a loop. Returns true if both lanes have left at the same
    // operation and the same place, or if neither lane has left early. The caller must first check that
    // is_with() returns true for the two positions. If is_same_as() also returns true, the positions stay
    // equal as long as the lanes execute equal instructions.
    bool is_same_as(const Position& other) const { return parted_ == other.parted_ && parted_at_ == other.parted_at_; }

    Position() = default;
    Position(const Position& other) { *this = other; }
    // Copies only the used elements of `iterations_`, to save time.
    Position& operator=(const Position& other) {
        place_ = other.place_, parted_at_ = other.parted_at_, parted_ = other.parted_, depth_ = other.depth_;
        for (unsigned i = 0; i < depth_; ++i) iterations_[i] = other.iterations_[i];
        return *this;
    }

  private:
    // Largest number of nested loops whose iterations are counted.
    static constexpr unsigned kDepth = 8;
    struct Iteration {
        Loop* loop;
        unsigned number;
    };
    void jump_back(Loops& loops, const void* place) {
        if (!depth_ || iterations_[depth_ - 1].loop->first != place) return jump_elsewhere(loops, place);
        Iteration& next = iterations_[depth_ - 1];  // most backward jumps belong to the innermost loop
        if (next.loop->last < place_) next.loop->last = place_;
        ++next.number;
    }
    void jump_elsewhere(Loops& loops, const void* place);
    const void* place_ = nullptr;
    const void* parted_at_ = nullptr;
    // Number of the warp's operation after which the lane left a loop early, or 0 if it has not left a loop
    // early.
    uint64_t parted_ = 0;
    unsigned depth_ = 0;
    // The loops around the lane's instruction, outermost loop first. Each element also has the number of the
    // lane's current iteration. A loop is added at the lane's second iteration.
    Iteration iterations_[kDepth];
};

}  // namespace emu
