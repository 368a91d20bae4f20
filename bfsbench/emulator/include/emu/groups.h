// CUDA's cooperative groups: the thread block, tiles of a warp, the grid and the cluster.
#pragma once

namespace cooperative_groups {

class thread_block {
  public:
    EMU_OWN void sync(emu::CallSite from = EMU_HERE) const {
        emu::block_barrier(false, from, EMU_SITE);
    }
    unsigned thread_rank() const { return emu::rank(); }
    unsigned num_threads() const { return emu::volume(blockDim); }
    unsigned size() const { return num_threads(); }
    dim3 group_index() const { return blockIdx; }
    dim3 thread_index() const { return threadIdx; }
    dim3 dim_threads() const { return blockDim; }
    dim3 group_dim() const { return blockDim; }
    static constexpr bool is_valid() { return true; }
};

inline thread_block this_thread_block() { return {}; }

// Represents some lanes of one warp by a 32-bit mask. Tiles and coalesced groups derive from this class.
// thread_rank() and the bits of ballot() count only the lanes in the mask.
class lane_group {
  public:
    EMU_OWN void sync(emu::CallSite from = EMU_HERE) const {
        emu::note_barrier(EMU_SITE);
        emu::warp_collective(mask_, emu::Collective::sync, 0, from);
    }
    unsigned thread_rank() const { return __popc(mask_ & ((1u << emu::lane()) - 1)); }
    unsigned num_threads() const { return __popc(mask_); }
    unsigned size() const { return num_threads(); }

    template <class T>
    T shfl(T value, int rank, emu::CallSite from = EMU_HERE) const {
        return emu::shuffle(mask_, value, lane_of(static_cast<unsigned>(rank) % num_threads()), from);
    }
    template <class T>
    T shfl_up(T value, unsigned delta, emu::CallSite from = EMU_HERE) const {
        unsigned rank = thread_rank();
        return emu::shuffle(mask_, value, lane_of(rank < delta ? rank : rank - delta), from);
    }
    template <class T>
    T shfl_down(T value, unsigned delta, emu::CallSite from = EMU_HERE) const {
        unsigned rank = thread_rank();
        return emu::shuffle(mask_, value, lane_of(num_threads() - 1 - rank < delta ? rank : rank + delta), from);
    }
    template <class T>
    T shfl_xor(T value, unsigned mask, emu::CallSite from = EMU_HERE) const {
        return emu::shuffle(mask_, value, lane_of((thread_rank() ^ mask) & (num_threads() - 1)), from);
    }
    unsigned ballot(int predicate, emu::CallSite from = EMU_HERE) const {
        return by_rank(__ballot_sync(mask_, predicate, from));
    }
    int any(int predicate, emu::CallSite from = EMU_HERE) const { return __any_sync(mask_, predicate, from); }
    int all(int predicate, emu::CallSite from = EMU_HERE) const { return __all_sync(mask_, predicate, from); }
    template <class T>
    unsigned match_any(T value, emu::CallSite from = EMU_HERE) const {
        return by_rank(lanes_with(value, from));
    }
    // Returns a mask of the lanes in this group that pass the same value as the calling lane. Each bit of the
    // mask is one lane of the warp. CUDA has no such function.
    template <class T>
    unsigned lanes_with(T value, emu::CallSite from) const {
        return __match_any_sync(mask_, value, from);
    }

  protected:
    explicit lane_group(unsigned mask) : mask_(mask) {}

  private:
    // Returns the lane number of the group's member with rank `rank`.
    unsigned lane_of(unsigned rank) const {
        unsigned lanes = mask_;
        if (is_contiguous()) return __ffs(static_cast<int>(lanes)) - 1 + rank;
        for (; rank; --rank) lanes &= lanes - 1;
        return __ffs(static_cast<int>(lanes)) - 1;
    }
    // Converts a mask of lanes to a mask of members: bit r of the result is the bit of the lane whose rank in
    // the group is r.
    unsigned by_rank(unsigned lanes) const {
        if (is_contiguous()) return lanes >> lane_of(0);
        unsigned members = 0, rank = 0;
        for (unsigned rest = mask_; rest; rest &= rest - 1, ++rank) members |= (lanes & rest & -rest ? 1u : 0u) << rank;
        return members;
    }
    bool is_contiguous() const {
        unsigned first = mask_ & -mask_;
        return ((mask_ + first) & mask_) == 0;
    }
    unsigned mask_;
};

// CUDA programs use this type to reserve shared memory for tiles of several warps. Here it is empty,
// because the emulator itself reserves memory for these tiles.
template <unsigned kMostThreads = 1024>
struct block_tile_memory {
    static_assert(kMostThreads <= 1024);
};
template <unsigned kMostThreads>
inline thread_block this_thread_block(block_tile_memory<kMostThreads>&) {
    return {};
}

template <unsigned kSize>
class warp_tile : public lane_group {
    static_assert(kSize >= 1 && (kSize & (kSize - 1)) == 0);

  public:
    warp_tile() : lane_group((~0u >> (emu::kWarpSize - kSize)) << (emu::lane() & ~(kSize - 1))) {}
};
template <unsigned kSize>
class block_tile;  // of several warps

// A tile: `kSize` neighbouring threads of a group of type `Parent`. The type without `Parent` can hold a
// tile of any group.
template <unsigned kSize, class Parent = void>
class thread_block_tile : public thread_block_tile<kSize> {
    using thread_block_tile<kSize>::thread_block_tile;
};
template <unsigned kSize>
class thread_block_tile<kSize, void> : public std::conditional_t<(kSize <= emu::kWarpSize), warp_tile<kSize>, block_tile<kSize>> {
  public:
    template <class Parent>
    explicit thread_block_tile(const Parent& parent)
        : meta_rank_(parent.thread_rank() / kSize), meta_size_((parent.size() + kSize - 1) / kSize) {}
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }

  private:
    unsigned meta_rank_, meta_size_;
};

template <unsigned kSize, class Parent>
inline thread_block_tile<kSize, Parent> tiled_partition(const Parent& parent) {
    return thread_block_tile<kSize, Parent>(parent);
}

// Represents a whole block or a group of lanes of one warp. The type does not tell which of the two it is, so
// member functions test this at run time.
class thread_group : public lane_group {
  public:
    thread_group(const thread_block&) : lane_group(~0u), whole_(true) {}
    thread_group(const lane_group& lanes) : lane_group(lanes) {}
    EMU_OWN void sync(emu::CallSite from = EMU_HERE) const { whole_ ? thread_block().sync(from) : lane_group::sync(from); }
    unsigned thread_rank() const { return whole_ ? emu::rank() : lane_group::thread_rank(); }
    unsigned num_threads() const { return whole_ ? emu::volume(blockDim) : lane_group::num_threads(); }
    unsigned size() const { return num_threads(); }

  private:
    bool whole_ = false;
};

class lane_segment : public lane_group {
  public:
    explicit lane_segment(unsigned size) : lane_group((~0u >> (emu::kWarpSize - size)) << (emu::lane() & ~(size - 1))) {}
};
template <class Parent>
inline thread_group tiled_partition(const Parent&, unsigned size) {
    return lane_segment(size);
}

class coalesced_group : public lane_group {
  public:
    explicit coalesced_group(unsigned mask) : lane_group(mask) {}
};

inline coalesced_group coalesced_threads(emu::CallSite from = EMU_HERE) { return coalesced_group(__activemask(from)); }

// Divides a group of lanes into one group for each value of `label`. Returns the calling lane's group.
template <class Label>
inline coalesced_group labeled_partition(const lane_group& group, Label label, emu::CallSite from = EMU_HERE) {
    return coalesced_group(group.lanes_with(label, from));
}
inline coalesced_group binary_partition(const lane_group& group, bool predicate, emu::CallSite from = EMU_HERE) {
    return labeled_partition(group, static_cast<int>(predicate), from);
}

#define EMU_OPERATION(name, formula)                             \
    template <class T>                                           \
    struct name {                                                \
        T operator()(T a, T b) const { return formula; }         \
    };
EMU_OPERATION(plus, a + b)
EMU_OPERATION(less, b < a ? b : a)
EMU_OPERATION(greater, a < b ? b : a)
EMU_OPERATION(bit_and, a & b)
EMU_OPERATION(bit_or, a | b)
EMU_OPERATION(bit_xor, a ^ b)
#undef EMU_OPERATION

// Combines the values of all members of the group by `operation`, in order of rank. Returns the result to
// each member.
template <class T, class Operation>
inline T reduce(const lane_group& group, T value, Operation operation, emu::CallSite from = EMU_HERE) {
    T all = group.shfl(value, 0, from);
    for (unsigned rank = 1; rank < group.size(); ++rank) all = operation(all, group.shfl(value, rank, from));
    return all;
}

template <class T, class Operation = plus<T>>
inline T inclusive_scan(const lane_group& group, T value, Operation operation = {}, emu::CallSite from = EMU_HERE) {
    T before = group.shfl(value, 0, from);
    for (unsigned rank = 1; rank < group.size(); ++rank) {
        T next = group.shfl(value, rank, from);
        if (rank <= group.thread_rank()) before = operation(before, next);
    }
    return before;
}

// Combines the values of all members with a lower rank than the calling member. Returns the result. The
// member of rank 0 gets a zero.
template <class T, class Operation = plus<T>>
inline T exclusive_scan(const lane_group& group, T value, Operation operation = {}, emu::CallSite from = EMU_HERE) {
    T before = group.shfl_up(inclusive_scan(group, value, operation, from), 1, from);
    return group.thread_rank() == 0 ? T{} : before;
}

// invoke_one() calls `call` in one member of the group. invoke_one_broadcast() also returns the result of
// the call to all members.
template <class Group, class Call, class... Arguments>
inline void invoke_one(const Group& group, Call&& call, Arguments&&... arguments) {
    if (group.thread_rank() == 0) call(std::forward<Arguments>(arguments)...);
}
template <class Group, class Call, class... Arguments>
inline auto invoke_one_broadcast(const Group& group, Call&& call, Arguments&&... arguments) {
    decltype(call(std::forward<Arguments>(arguments)...)) result{};
    if (group.thread_rank() == 0) result = call(std::forward<Arguments>(arguments)...);
    return group.shfl(result, 0);
}

class grid_group {
  public:
    bool is_valid() const { return emu::has_grid_barrier(); }
    EMU_OWN void sync(emu::CallSite from = EMU_HERE) const {
        emu::note_barrier(EMU_SITE);
        emu::grid_barrier(from);
    }
    unsigned long long block_rank() const { return emu::linear(blockIdx, gridDim); }
    unsigned long long num_blocks() const { return emu::volume(gridDim); }
    unsigned long long thread_rank() const {
        return block_rank() * emu::volume(blockDim) + emu::rank();
    }
    unsigned long long num_threads() const { return num_blocks() * emu::volume(blockDim); }
    unsigned long long size() const { return num_threads(); }
    dim3 group_dim() const { return gridDim; }
};

inline grid_group this_grid() { return {}; }

class cluster_group {
  public:
    struct arrival_token {};
    static arrival_token barrier_arrive() {
        emu::cluster_arrive();
        return {};
    }
    EMU_OWN static void barrier_wait(emu::CallSite from = EMU_HERE) {
        emu::note_barrier(EMU_SITE);
        emu::cluster_wait(from);
    }
    EMU_OWN static void barrier_wait(arrival_token&&, emu::CallSite from = EMU_HERE) {
        emu::note_barrier(EMU_SITE);
        emu::cluster_wait(from);
    }
    EMU_OWN static void sync(emu::CallSite from = EMU_HERE) {
        emu::note_barrier(EMU_SITE);
        emu::cluster_arrive();
        emu::cluster_wait(from);
    }
    static dim3 block_index() { return emu::cluster_place().rank; }
    static dim3 dim_blocks() { return emu::cluster_place().blocks; }
    static unsigned num_blocks() { return emu::volume(dim_blocks()); }
    static unsigned block_rank() {
        emu::ClusterPlace place = emu::cluster_place();
        return emu::linear(place.rank, place.blocks);
    }
    static unsigned thread_rank() { return block_rank() * emu::volume(blockDim) + emu::rank(); }
    static unsigned num_threads() { return num_blocks() * emu::volume(blockDim); }
    static unsigned size() { return num_threads(); }
    template <class T>
    static T* map_shared_rank(T* address, int rank) {
        return static_cast<T*>(emu::map_shared(const_cast<std::remove_cv_t<T>*>(address), rank));
    }
    static unsigned query_shared_rank(const void* address) { return emu::shared_owner(address); }
};

inline cluster_group this_cluster() { return {}; }

template <class Group>
inline void sync(const Group& group, emu::CallSite from = EMU_HERE) {
    group.sync(from);
}

}  // namespace cooperative_groups
