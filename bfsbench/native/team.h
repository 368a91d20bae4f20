// A team of threads that stay alive between the parallel loops of a search.
//
// Starting threads takes tens of microseconds, longer than many levels of a search. So a team starts its threads
// once. After a loop, threads spin for a while, because the next loop usually follows immediately, and then sleep. A
// loop does not wait for threads that have not joined it, because they may be asleep, or their cores may be busy.
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

class Team {
  public:
    // Starts `threads` - 1 threads, but at most one for each further core that the process may use. The calling
    // thread is member 0 of the team. Throws std::system_error if the system refuses a thread.
    explicit Team(int64_t threads) {
        const int64_t members = std::min<int64_t>(threads, available_cores());
        try {
            for (int member = 1; member < members; ++member) others_.emplace_back([this, member] { serve(member); });
        } catch (...) {
            dismiss();
            throw;
        }
    }

    ~Team() { dismiss(); }

    int size() const { return static_cast<int>(others_.size()) + 1; }

    // Calls body(member) on the calling thread, and on every member that joins before the calling thread has
    // finished. Returns when all these calls have finished. So body() must do all the work that no other member has
    // taken.
    void run(const std::function<void(int)>& body) {
        if (others_.empty()) return body(0);
        body_ = &body;
        state_.fetch_add(kEpoch | kOpen);
        wake();
        body(0);
        state_.fetch_sub(kOpen);
        for (int spin = 0; state_.load(std::memory_order_acquire) & kMembers; ++spin)
            spin < kSpins ? relax() : std::this_thread::yield();
    }

    // Calls body(begin, end, member) on blocks of `grain` items. A member that becomes free takes the next block. If
    // there are at most kBlocksAlone blocks, the calling thread takes all.
    template <class Body>
    void share(int64_t items, int64_t grain, const Body& body) {
        if (items <= kBlocksAlone * grain || others_.empty()) {
            for (int64_t begin = 0; begin < items; begin += grain) body(begin, std::min(begin + grain, items), 0);
            return;
        }
        std::atomic<int64_t> next{0};
        run([&](int member) {
            for (int64_t begin; (begin = next.fetch_add(grain, std::memory_order_relaxed)) < items;)
                body(begin, std::min(begin + grain, items), member);
        });
    }

  private:
    static constexpr int kSpins = 4000;  // takes about as long as putting a thread to sleep and waking it up
    static constexpr int64_t kBlocksAlone = 8;
    // Fields of state_: the number of members at work (kMembers), whether more members may join the loop (kOpen), and
    // the loop's number (kEpoch).
    static constexpr uint64_t kMembers = 0xFFFF, kOpen = 0x10000, kEpoch = uint64_t{1} << 32;

    static void relax() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }

    void dismiss() {
        stopping_ = true;
        state_.fetch_add(kEpoch);
        wake();
        for (std::thread& thread : others_) thread.join();
    }

    // Wakes sleeping members. The caller has changed the loop's number before it reads sleepers_. A member
    // increments sleepers_ before it reads the loop's number. So the caller sees the new sleeper, or the member sees
    // the new number.
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

    // Waits until the loop's number differs from `seen`.
    void await(uint64_t seen) {
        const auto changed = [&] { return state_.load() / kEpoch != seen; };
        for (int spin = 0; spin < kSpins; ++spin, relax())
            if (changed()) return;
        std::unique_lock<std::mutex> lock(mutex_);
        sleepers_.fetch_add(1);
        changed_.wait(lock, changed);
        sleepers_.fetch_sub(1);
    }

    std::vector<std::thread> others_;
    const std::function<void(int)>* body_ = nullptr;
    std::atomic<bool> stopping_{false};
    // state_ and sleepers_ have separate cache lines, because members spin on state_ while sleepers_ changes.
    alignas(64) std::atomic<uint64_t> state_{0};
    alignas(64) std::atomic<int> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
};

}  // namespace bfsbench
