// The state of one kernel launch: its shape, the blocks that have not started, and the data that its workers
// share.
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

// A child launch that a kernel has queued. The child waits until its parent grid has ended.
struct ChildLaunch {
    const Kernel* kernel;
    void (*entry)();
    LaunchShape shape;
    std::vector<std::vector<char>> values;  // for each argument, the bytes of its value

    // Members for the race detector: the accesses that happen before the launch, and the numbers of the
    // launching thread's grid and block.
    std::shared_ptr<const Knowledge> known;
    unsigned parent, block;
};

class Grid {
  public:
    // Creates a grid. At most `max_resident` blocks are in progress at once. `random` shuffles the order of
    // the blocks, unless it is null.
    Grid(const Kernel& kernel, void (*entry)(), const LaunchShape& shape, void** arguments,
         unsigned max_resident, Random* random);

    const Kernel& kernel;
    void (*const entry)();
    const dim3 blocks, threads;
    const size_t dynamic_shared;
    const bool cooperative;
    void** const arguments;

    void join();

    // Takes the next cluster that has not started, and stores its index in `cluster`. Returns false if no
    // cluster is left or the device has no room for another cluster.
    bool take(uint3& cluster);
    void end_blocks(unsigned count);

    // Arrives at the grid barrier on behalf of a block whose threads have all arrived. Returns whether this
    // is the last block, which completes the barrier.
    bool arrive();
    unsigned phase() const { return phase_.load(std::memory_order_acquire); }

    // Waits until `worker` can run threads again. Returns false if no work is left for the worker, or if the
    // grid is aborted. If all workers wait for each other, the function aborts the grid.
    bool wait_for_work(Worker& worker);

    // Ends the grid early. After this call, error() returns the message of the first call. `is_found` tells
    // whether the fault is already in the list of findings.
    void abort(const std::string& message, bool is_found = false);
    // Stores the error message of a fault that is already in the list of findings, unless the grid already
    // has an error. The grid continues.
    void note(const std::string& message);
    bool aborted() const { return aborted_.load(std::memory_order_relaxed); }
    const std::string& error() const { return error_; }
    // Returns whether the fault that error() describes is already in the list of findings, so that it need
    // not be reported a second time.
    bool error_is_found() const { return is_found_; }

  private:
    bool can_start() const {
        return next_ < clusters_ && in_progress_ + volume(kernel.cluster) <= max_resident_;
    }
    void changed();
    void record(const std::string& message, bool is_found);
    std::string deadlock_report(const Worker& worker) const;

    const unsigned max_resident_, clusters_;
    std::vector<unsigned> order_;  // order in which clusters start; an empty vector means ascending order

    std::mutex mutex_;
    std::condition_variable change_;
    unsigned epoch_ = 0;  // number of changes that have woken idle workers
    unsigned members_ = 0, idle_ = 0;
    unsigned next_ = 0, in_progress_ = 0;
    unsigned arrived_ = 0;
    bool deadlock_ = false;
    std::atomic<unsigned> phase_{0};
    std::atomic<bool> aborted_{false};
    std::string error_;
    bool is_found_ = false;
};

}  // namespace emu
