// Threads that stay alive between the loops they share.
//
// Starting threads takes tens of microseconds, longer than many levels of a search. A team starts them once. Between
// two loops its members first spin, since the next loop usually follows at once, and then sleep.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "cores.h"

namespace bfsbench {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

class Team {
  public:
    using Body = std::function<void(int)>;

    // With 0 threads, as many as the process may use. Throws std::system_error if they cannot all be started.
    explicit Team(int threads) {
        const int available = available_cores();
        const int members = threads > 0 ? threads : available;
        spins_ = members <= available ? kSpins : 1;
        try {
            for (int member = 1; member < members; ++member) others_.emplace_back([this, member] { serve(member); });
        } catch (...) {
            dismiss();
            throw;
        }
    }

    ~Team() { dismiss(); }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int size() const { return static_cast<int>(others_.size()) + 1; }

    // body(member) on every member; returns when all have ended.
    void run(const Body& body) {
        body_ = &body;
        busy_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
        wake();
        body(0);
        for (int spin = 0; busy_.load(std::memory_order_acquire) > 0; ++spin) pause(spin);
    }

    // body(begin, end) on blocks of `grain` items, handed out as members become free. The caller does a single block
    // itself.
    template <class Block>
    void share(int64_t items, int64_t grain, const Block& body) {
        if (items <= grain || others_.empty()) return body(int64_t{0}, items);
        std::atomic<int64_t> next{0};
        run([&](int) {
            for (;;) {
                const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
                if (begin >= items) return;
                body(begin, std::min(begin + grain, items));
            }
        });
    }

  private:
    static constexpr int kSpins = 4000;  // about as long as it takes to put a thread to sleep and wake it up

    void dismiss() {
        stopping_ = true;
        wake();
        for (std::thread& thread : others_) thread.join();
    }

    void pause(int spin) const {
        if (spin < spins_)
            relax();
        else
            std::this_thread::yield();
    }

    // A member that is about to sleep counts itself before it looks at the epoch; here the epoch moves before the
    // sleepers are counted. So at least one of them sees the other's change.
    void wake() {
        epoch_.fetch_add(1);
        if (sleepers_.load() == 0) return;
        std::lock_guard<std::mutex> guard(mutex_);
        changed_.notify_all();
    }

    void serve(int member) {
        for (unsigned seen = 0;;) {
            seen = await(seen);
            if (stopping_) return;
            (*body_)(member);
            busy_.fetch_sub(1, std::memory_order_release);
        }
    }

    // Waits for the epoch after `seen` and returns it.
    unsigned await(unsigned seen) {
        for (int spin = 0; spin < spins_; ++spin) {
            if (epoch_.load(std::memory_order_acquire) != seen) return seen + 1;
            relax();
        }
        std::unique_lock<std::mutex> lock(mutex_);
        sleepers_.fetch_add(1);
        changed_.wait(lock, [&] { return epoch_.load() != seen; });
        sleepers_.fetch_sub(1);
        return seen + 1;
    }

    std::vector<std::thread> others_;
    int spins_;
    const Body* body_ = nullptr;
    std::atomic<bool> stopping_{false};
    // Each on a cache line of its own: members spin on one while the others change.
    alignas(64) std::atomic<unsigned> epoch_{0};
    alignas(64) std::atomic<int> busy_{0};
    alignas(64) std::atomic<int> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
};

}  // namespace bfsbench
