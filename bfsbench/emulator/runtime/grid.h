// One launch: its shape, the blocks not started yet, and the state shared by its workers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emu/kernel.h"
#include "random.h"

namespace emu {

class Worker;
struct Knowledge;

// A child launch that has been asked for and waits for its parent to end.
struct ChildLaunch {
    const Kernel* kernel;
    void (*entry)();
    LaunchShape shape;
    std::vector<std::vector<char>> values;  // of the arguments

    // In a machine that watches: what its launcher knew, and which grid and block that is of.
    std::shared_ptr<const Knowledge> known;
    unsigned parent, block;
};

class Grid {
  public:
    // `max_resident`: how many blocks may be in progress at a time. `random` shuffles the order of blocks.
    Grid(const Kernel& kernel, void (*entry)(), const LaunchShape& shape, void** arguments,
         unsigned max_resident, Random* random);

    const Kernel& kernel;
    void (*const entry)();
    const dim3 blocks, threads;
    const size_t dynamic_shared;
    void** const arguments;

    void join();

    // The next cluster to start, if there is one and the device has room.
    bool take(uint3& cluster);
    void end_blocks(unsigned count);

    // Grid barrier. A block arrives when all its threads have; returns whether it was the last, which
    // completes the phase.
    bool arrive();
    unsigned phase() const { return phase_.load(std::memory_order_acquire); }

    // For a worker that cannot go on. Returns whether there is something to do again; if not, the worker is
    // done.
    bool wait_for_work(Worker& worker);

    // Ends the grid early. The first error is the one reported.
    void abort(const std::string& message);
    bool aborted() const { return aborted_.load(std::memory_order_relaxed); }
    const std::string& error() const { return error_; }

  private:
    bool can_start() const {
        return next_ < clusters_ && in_progress_ + volume(kernel.cluster) <= max_resident_;
    }
    void changed();
    void record(const std::string& message);
    std::string deadlock_report(const Worker& worker) const;

    const unsigned max_resident_, clusters_;
    std::vector<unsigned> order_;  // of clusters; empty means ascending

    std::mutex mutex_;
    std::condition_variable change_;
    unsigned epoch_ = 0;  // counts changes that idle workers may be waiting for
    unsigned members_ = 0, idle_ = 0;
    unsigned next_ = 0, in_progress_ = 0;
    unsigned arrived_ = 0;
    bool deadlock_ = false;
    std::atomic<unsigned> phase_{0};
    std::atomic<bool> aborted_{false};
    std::string error_;
};

}  // namespace emu
