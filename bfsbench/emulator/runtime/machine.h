// The emulated device: its limits, its workers, and the launches they run one after the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "buffers.h"
#include "counting.h"
#include "grid.h"
#include "random.h"
#include "watch.h"
#include "worker.h"

namespace emu {

// Filled by the Python side, field by field.
struct Limits {
    unsigned max_threads_per_block;
    unsigned multiprocessors;
    unsigned threads_per_multiprocessor;
    unsigned blocks_per_multiprocessor;
    unsigned blocks_per_cluster;
    unsigned pending_children;
    uint64_t max_grid;
    uint64_t shared_per_block;
    uint64_t shared_per_multiprocessor;
};

class Machine {
  public:
    // A seed of 0 means the fastest order on `workers` cores; any other one a random order, repeatable on one
    // core. To watch memory takes one worker and kernels that were compiled for it.
    Machine(const Limits& limits, uint64_t seed, unsigned workers, bool watches);
    ~Machine();
    Machine(const Machine&) = delete;

    // Why a launch is impossible; empty if it is not.
    std::string refusal(const Kernel& kernel, const LaunchShape& shape) const;

    unsigned resident_blocks(const Kernel& kernel, unsigned threads, size_t dynamic_shared) const;

    // Runs a grid and all its descendants. Returns the error message, empty if all went well.
    std::string launch(const Kernel& kernel, const LaunchShape& shape, void** arguments);

    Buffers buffers;
    const std::unique_ptr<Watch> watch;  // null if nothing is watched
    const bool dense;                    // then, whether threads are interrupted wherever they can be, in spells
    std::unique_ptr<Counting> counting;  // null if nothing is counted

    // Takes up one more child launch, unless too many are pending.
    bool reserve_child();

    // Stacks that no thread has and those that exist; equal between launches.
    size_t free_stacks() const;
    size_t allocated_stacks() const;

  private:
    std::string run_grid(Grid& grid);
    void collect_children(std::vector<ChildLaunch>& stack);
    void help(unsigned index);

    const Limits limits_;
    Random random_;
    const bool seeded_;
    std::atomic<unsigned> pending_{0};
    std::mutex launching_;  // the device runs one launch of the host at a time

    std::vector<std::unique_ptr<Worker>> workers_;  // the first one runs on the caller's thread
    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    Grid* grid_ = nullptr;
    unsigned openings_ = 0, active_ = 0;
    bool stopping_ = false;
};

}  // namespace emu
