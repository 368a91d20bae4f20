// CUDA's asynchronous copies, and the barriers and pipelines that wait for them. In the emulator a copy is
// complete when its call returns.
#pragma once

#include "atomic_ref.h"
#include "groups.h"

namespace emu {

// Copies every `step`-th word of four bytes to the same place in `to`, beginning with word number `first`.
// Copies single bytes instead of words if one of the addresses or `bytes` is not a multiple of four.
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

// A barrier at which a given number of threads wait for each other. The last thread that arrives begins the
// next phase.
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

enum class pipeline_role { producer, consumer };

// The barriers of a pipeline. Each stage has one barrier for produced data and one barrier for consumed data.
// Each use of a stage is one phase of its two barriers.
template <thread_scope kScope, unsigned kStages>
struct pipeline_shared_state {
    barrier<kScope> produced[kStages], consumed[kStages];
    unsigned producers;
};

// A pipeline of asynchronous copies. The pipeline of a single thread has no stages and never waits, because a
// copy is complete when its call returns.
template <thread_scope kScope>
class pipeline {
  public:
    pipeline() = default;
    template <unsigned kStages>
    explicit pipeline(pipeline_shared_state<kScope, kStages>* state)
        : produced_(state->produced), consumed_(state->consumed), stages_(kStages) {}

    void producer_acquire() {
        if (stages_ && head_ >= stages_) consumed_[head_ % stages_].wait(head_ / stages_ - 1);
    }
    void producer_commit() {
        if (stages_) produced_[head_ % stages_].arrive();
        ++head_;
    }
    void consumer_wait() {
        if (stages_) produced_[tail_ % stages_].wait(tail_ / stages_);
    }
    void consumer_release() {
        if (stages_) consumed_[tail_ % stages_].arrive();
        ++tail_;
    }
    bool quit() { return true; }

  private:
    barrier<kScope>*produced_ = nullptr, *consumed_ = nullptr;
    unsigned stages_ = 0, head_ = 0, tail_ = 0;  // head_ counts the thread's commits, and tail_ its releases
};
inline pipeline<thread_scope_thread> make_pipeline() { return {}; }

// Makes a pipeline for a group of threads: `producers` threads of the group produce, and `consumers` threads
// consume.
template <class Group, thread_scope kScope, unsigned kStages>
pipeline<kScope> make_pipeline(const Group& group, pipeline_shared_state<kScope, kStages>* state, unsigned producers, unsigned consumers) {
    if (group.thread_rank() == 0)
        for (unsigned stage = 0; stage < kStages; ++stage) {
            init(&state->produced[stage], producers);
            init(&state->consumed[stage], consumers);
        }
    group.sync();
    return pipeline<kScope>(state);
}
template <class Group, thread_scope kScope, unsigned kStages>
pipeline<kScope> make_pipeline(const Group& group, pipeline_shared_state<kScope, kStages>* state) {
    return make_pipeline(group, state, group.size(), group.size());
}
template <class Group, thread_scope kScope, unsigned kStages>
pipeline<kScope> make_pipeline(const Group& group, pipeline_shared_state<kScope, kStages>* state, size_t producers) {
    return make_pipeline(group, state, producers, group.size() - producers);
}
template <class Group, thread_scope kScope, unsigned kStages>
pipeline<kScope> make_pipeline(const Group& group, pipeline_shared_state<kScope, kStages>* state, pipeline_role role) {
    if (group.thread_rank() == 0) state->producers = 0;
    group.sync();
    if (role == pipeline_role::producer) atomic_ref<unsigned, kScope>(state->producers).fetch_add(1, memory_order_relaxed);
    group.sync();
    return make_pipeline(group, state, size_t{state->producers});
}
template <unsigned kPrior, thread_scope kScope>
void pipeline_consumer_wait_prior(pipeline<kScope>& pipe) { pipe.consumer_wait(); }

// Copies `bytes` bytes immediately, although CUDA's function copies asynchronously. So the function
// ignores its last argument, the barrier or pipeline at which threads later wait for the copy.
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
