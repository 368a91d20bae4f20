// cuda::latch and cuda::counting_semaphore, at which threads wait for each other.
#pragma once

#include "async.h"

namespace cuda {

template <thread_scope kScope>
class latch {
    using Counter = atomic_ref<ptrdiff_t, kScope>;

  public:
    explicit constexpr latch(ptrdiff_t expected) : left_(expected) {}
    void count_down(ptrdiff_t count = 1) { Counter(left_).fetch_sub(count, memory_order_acq_rel); }
    bool try_wait() const { return Counter(left_).load(memory_order_acquire) == 0; }
    void wait() const {
        while (!try_wait()) {
        }
    }
    void arrive_and_wait(ptrdiff_t count = 1) {
        count_down(count);
        wait();
    }

  private:
    mutable ptrdiff_t left_;
};

template <thread_scope kScope, ptrdiff_t kMost = INT_MAX>
class counting_semaphore {
    using Counter = atomic_ref<ptrdiff_t, kScope>;

  public:
    explicit constexpr counting_semaphore(ptrdiff_t free) : free_(free) {}
    static constexpr ptrdiff_t max() { return kMost; }
    void release(ptrdiff_t count = 1) { Counter(free_).fetch_add(count, memory_order_acq_rel); }
    bool try_acquire() {
        ptrdiff_t free = Counter(free_).load(memory_order_acquire);
        while (free > 0) {
            if (Counter(free_).compare_exchange_strong(free, free - 1, memory_order_acq_rel)) return true;
        }
        return false;
    }
    void acquire() {
        while (!try_acquire()) {
        }
    }

  private:
    ptrdiff_t free_;
};
template <thread_scope kScope>
using binary_semaphore = counting_semaphore<kScope, 1>;

namespace std {
using latch = cuda::latch<thread_scope_system>;
template <ptrdiff_t kMost = INT_MAX>
using counting_semaphore = cuda::counting_semaphore<thread_scope_system, kMost>;
using binary_semaphore = counting_semaphore<1>;
template <class = void>
using barrier = cuda::barrier<thread_scope_system>;
}  // namespace std

}  // namespace cuda
