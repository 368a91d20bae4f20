// Implements tiles of more than 32 threads, as in cooperative groups. The threads of such a tile wait for
// each other and exchange values through shared memory.
#pragma once

#include "atomic_ref.h"
#include "groups.h"

namespace cooperative_groups {

template <unsigned kSize>
class block_tile {
    static_assert(kSize <= 1024 && (kSize & (kSize - 1)) == 0);
    using Counter = cuda::atomic_ref<unsigned, cuda::thread_scope_block>;
    struct Barriers {
        unsigned arrived[1024 / kSize], phase[1024 / kSize];
    };
    static Barriers& barriers() { return emu::shared_variable<Barriers, block_tile, emu::device_functions, 4>(); }
    template <class T>
    static T* values() {
        struct Values {
            alignas(T) char bytes[1024 * sizeof(T)];
        };
        auto& place = emu::shared_variable<Values, Values, emu::device_functions, alignof(T)>();
        return reinterpret_cast<T*>(place.bytes) + emu::rank() / kSize * kSize;
    }

  public:
    // Resets the barriers of all tiles. So all threads of the block must construct their tiles together.
    block_tile() {
        __syncthreads();
        if (emu::rank() % kSize == 0) barriers().arrived[emu::rank() / kSize] = barriers().phase[emu::rank() / kSize] = 0;
        __syncthreads();
    }
    unsigned thread_rank() const { return emu::rank() % kSize; }
    unsigned num_threads() const { return kSize; }
    unsigned size() const { return kSize; }
    void sync(emu::CallSite = EMU_HERE) const {
        Counter arrived(barriers().arrived[emu::rank() / kSize]), phase(barriers().phase[emu::rank() / kSize]);
        unsigned now = phase.load(cuda::memory_order_acquire);
        if (arrived.fetch_add(1, cuda::memory_order_acq_rel) < kSize - 1) {
            while (phase.load(cuda::memory_order_acquire) == now) {
            }
            return;
        }
        arrived.store(0, cuda::memory_order_relaxed);
        phase.fetch_add(1, cuda::memory_order_acq_rel);
    }
    // Calls `use` with the values of all threads, in order of rank. Returns the result of `use`.
    template <class T, class Use>
    auto exchange(T value, Use use) const {
        T* all = values<T>();
        all[thread_rank()] = value;
        sync();
        auto result = use(all);
        sync();
        return result;
    }
    template <class T>
    T shfl(T value, unsigned rank) const {
        return exchange(value, [&](const T* all) { return all[rank % kSize]; });
    }
    int any(int predicate) const { return count(predicate) > 0; }
    int all(int predicate) const { return count(predicate) == kSize; }

  private:
    unsigned count(int predicate) const {
        return exchange(predicate != 0, [](const bool* all) {
            unsigned sum = 0;
            for (unsigned i = 0; i < kSize; ++i) sum += all[i];
            return sum;
        });
    }
};

template <unsigned kSize, class T, class Operation>
inline T reduce(const block_tile<kSize>& group, T value, Operation operation) {
    return group.exchange(value, [&](const T* all) {
        T result = all[0];
        for (unsigned i = 1; i < kSize; ++i) result = operation(result, all[i]);
        return result;
    });
}
template <unsigned kSize, class T, class Operation = plus<T>>
inline T inclusive_scan(const block_tile<kSize>& group, T value, Operation operation = {}) {
    return group.exchange(value, [&](const T* all) {
        T result = all[0];
        for (unsigned i = 1; i <= group.thread_rank(); ++i) result = operation(result, all[i]);
        return result;
    });
}
template <unsigned kSize, class T, class Operation = plus<T>>
inline T exclusive_scan(const block_tile<kSize>& group, T value, Operation operation = {}) {
    return group.exchange(value, [&](const T* all) {
        T result = group.thread_rank() ? all[0] : T{};
        for (unsigned i = 1; i < group.thread_rank(); ++i) result = operation(result, all[i]);
        return result;
    });
}

}  // namespace cooperative_groups
