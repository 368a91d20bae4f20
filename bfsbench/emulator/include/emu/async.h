// CUDA's asynchronous copies, and the barriers and pipelines that wait for them. In the emulator a copy is
// complete when its call returns.
#pragma once

#include "atomic_ref.h"
#include "groups.h"

namespace emu {

// Copies the words or bytes `first`, `first + step`, and so on.
inline void copy_part(void* to, const void* from, size_t bytes, size_t first, size_t step) {
    auto all = [&](auto unit) {
        using Unit = decltype(unit);
        for (size_t i = first; i < bytes / sizeof(Unit); i += step) static_cast<Unit*>(to)[i] = static_cast<const Unit*>(from)[i];
    };
    bool by_words = (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % 4 == 0;
    by_words ? all(unsigned()) : all(char());
}

}  // namespace emu

namespace cuda {

template <size_t kAlignment>
struct aligned_size_t {
    size_t value;
    explicit constexpr aligned_size_t(size_t value) : value(value) {}
    constexpr operator size_t() const { return value; }
};

// The last thread that arrives begins the next phase.
template <thread_scope kScope>
class barrier {
    template <class T> using Ref = atomic_ref<T, kScope>;

  public:
    using arrival_token = unsigned;
    barrier() = default;
    explicit barrier(int expected) : expected_(expected), left_(expected), phase_(0) {}
    friend void init(barrier* place, int expected) { new (place) barrier(expected); }

    arrival_token arrive(int count = 1) {
        unsigned phase = Ref<unsigned>(phase_).load(memory_order_acquire);
        if (Ref<int>(left_).fetch_sub(count, memory_order_acq_rel) == count) {
            Ref<int>(left_).store(Ref<int>(expected_).load(memory_order_relaxed), memory_order_relaxed);
            Ref<unsigned>(phase_).fetch_add(1, memory_order_acq_rel);
        }
        return phase;
    }
    void wait(arrival_token phase) const {
        while (Ref<unsigned>(phase_).load(memory_order_acquire) == phase) {
        }
    }
    void arrive_and_wait() { wait(arrive()); }
    void arrive_and_drop() {
        Ref<int>(expected_).fetch_sub(1, memory_order_relaxed);
        arrive();
    }

  private:
    mutable int expected_, left_;
    mutable unsigned phase_;
};

template <thread_scope kScope, unsigned kStages>
struct pipeline_shared_state {};

// All threads of a pipeline are producers and consumers.
template <thread_scope kScope>
class pipeline {
  public:
    void producer_acquire() {}
    void producer_commit() {}
    void consumer_wait() { meet(); }
    void consumer_release() { meet(); }
    bool quit() { return true; }

  private:
    static void meet() {
        if constexpr (kScope == thread_scope_block) __syncthreads();
    }
};
inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <class Group, thread_scope kScope, unsigned kStages>
pipeline<kScope> make_pipeline(const Group&, pipeline_shared_state<kScope, kStages>*) { return {}; }
template <unsigned kPrior, thread_scope kScope>
void pipeline_consumer_wait_prior(pipeline<kScope>& pipe) { pipe.consumer_wait(); }

// `Sync` is a barrier or a pipeline.
template <class Size, class Sync>
void memcpy_async(void* to, const void* from, Size bytes, Sync&) { emu::copy_part(to, from, bytes, 0, 1); }
template <class Group, class Size, class Sync>
void memcpy_async(const Group& group, void* to, const void* from, Size bytes, Sync&) {
    emu::copy_part(to, from, bytes, group.thread_rank(), group.size());
}

}  // namespace cuda

namespace cooperative_groups {

template <class Group, class Size>
void memcpy_async(const Group& group, void* to, const void* from, Size bytes) {
    emu::copy_part(to, from, bytes, group.thread_rank(), group.size());
}
template <class Group>
void wait(const Group& group, emu::CallSite from = EMU_HERE) { group.sync(from); }
template <unsigned kPrior, class Group>
void wait_prior(const Group& group, emu::CallSite from = EMU_HERE) { group.sync(from); }

}  // namespace cooperative_groups

inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
    emu::copy_part(to, from, bytes - zeros, 0, 1);
    for (size_t i = bytes - zeros; i < bytes; ++i) static_cast<char*>(to)[i] = 0;
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(unsigned) {}
