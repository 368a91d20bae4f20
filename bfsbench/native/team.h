// A team of threads that stay alive between the parallel loops of a search.
//
// Starting threads takes tens of microseconds, longer than many levels of a search. So a team starts its
// threads once. After a loop, threads spin for a while, because the next loop usually follows immediately,
// and then sleep. A loop does not wait for threads that have not joined it, because they may be asleep, or
// their cores may be busy.
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

    // Starts a team of `threads` members, including the calling thread. The team has at most as many members
    // as the process may use cores; 0 means one member per core. Throws std::system_error if the system
    // refuses a thread.
    explicit Team(int threads) {
        const int cores = available_cores(), members = threads > 0 ? std::min(threads, cores) : cores;
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

    // Calls body(member) on the calling thread, which is member 0, and on every member that joins before the
    // caller has finished. Returns when all these calls have finished. So body() must do all the work that no
    // other member has taken.
    void run(const Body& body) {
        if (others_.empty()) return body(0);
        body_ = &body;
        state_.fetch_add(kEpoch | kOpen);
        wake();
        body(0);
        state_.fetch_sub(kOpen);
        for (int spin = 0; state_.load(std::memory_order_acquire) & kMembers; ++spin) pause(spin);
    }

    // Calls body(begin, end) on blocks of `grain` items. A member that becomes free takes the next block.
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
    // Number of spins that take about as long as putting a thread to sleep and waking it up.
    static constexpr int kSpins = 4000;
    // Fields of state_: the number of members at work (kMembers), whether more members may join the loop
    // (kOpen), and the loop's number (kEpoch).
    static constexpr uint64_t kMembers = 0xFFFF, kOpen = 0x10000, kEpoch = uint64_t{1} << 32;

    void dismiss() {
        stopping_ = true;
        state_.fetch_add(kEpoch);
        wake();
        for (std::thread& thread : others_) thread.join();
    }

    static void pause(int spin) {
        if (spin < kSpins)
            relax();
        else
            std::this_thread::yield();
    }

    // Wakes sleeping members. The caller has changed the loop's number before it reads sleepers_. A member
    // increments sleepers_ before it reads the loop's number. So the caller sees the new sleeper, or the
    // member sees the new number.
    void wake() {
        if (sleepers_.load() == 0) return;
        std::lock_guard<std::mutex> guard(mutex_);
        changed_.notify_all();
    }

    void serve(int member) {
        for (uint64_t seen = 0; !stopping_;) {
            await(seen);
            const uint64_t state = state_.fetch_add(1);
            seen = state / kEpoch;
            if (state & kOpen) (*body_)(member);
            state_.fetch_sub(1);
        }
    }

    void await(uint64_t seen) {
        for (int spin = 0; spin < kSpins; ++spin) {
            if (state_.load(std::memory_order_acquire) / kEpoch != seen) return;
            relax();
        }
        std::unique_lock<std::mutex> lock(mutex_);
        sleepers_.fetch_add(1);
        changed_.wait(lock, [&] { return state_.load() / kEpoch != seen; });
        sleepers_.fetch_sub(1);
    }

    std::vector<std::thread> others_;
    const Body* body_ = nullptr;
    std::atomic<bool> stopping_{false};
    // state_ and sleepers_ have separate cache lines, because members spin on state_ while sleepers_ changes.
    alignas(64) std::atomic<uint64_t> state_{0};
    alignas(64) std::atomic<int> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
};

}  // namespace bfsbench
