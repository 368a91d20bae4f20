// The emulated GPU. A Machine has the limits of a GPU, and workers that run blocks. It runs one launch at a
// time.
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

// The resources of the emulated GPU. Python passes the members as an array of integers in this order
// (device.py).
struct Limits {
    uint64_t max_threads_per_block;
    uint64_t multiprocessors;
    uint64_t threads_per_multiprocessor;
    uint64_t blocks_per_multiprocessor;
    uint64_t blocks_per_cluster;
    uint64_t pending_children;
    uint64_t max_grid;
    uint64_t shared_per_block;
    uint64_t shared_per_multiprocessor;
};

class Machine {
  public:
    // Creates a machine. With seed 0, `workers` threads run blocks in the order that takes the least time.
    // Any other seed gives a random order, which is repeatable with one worker. If `watches` is true, the
    // machine checks every memory access. This mode needs one worker, and kernels that were compiled for the
    // checks.
    Machine(const Limits& limits, uint64_t seed, unsigned workers, bool watches);
    ~Machine();
    Machine(const Machine&) = delete;

    // Returns the reason why a launch is impossible, or an empty string if it is possible.
    std::string refusal(const Kernel& kernel, const LaunchShape& shape) const;

    unsigned resident_blocks(const Kernel& kernel, unsigned threads, size_t dynamic_shared) const;

    // Runs a grid and all child grids that it launches. Returns the error message, or an empty string.
    std::string launch(const Kernel& kernel, const LaunchShape& shape, void** arguments);

    Buffers buffers;
    const std::unique_ptr<Watch> watch;  // null unless the machine checks memory accesses
    // True if threads are interrupted at every access during some intervals of time. Used only if the machine
    // checks memory accesses.
    const bool dense;
    // True if the launch ends when a shuffle reads from a lane that does not take part.
    bool stops_bad_shuffles = true;
    std::unique_ptr<Counting> counting;  // null unless the machine counts memory accesses

    // Counts a child launch that a kernel queues. Returns false if too many child launches are already
    // waiting.
    bool reserve_child();

    // free_stacks() counts the stacks that no thread uses, and allocated_stacks() counts all stacks. Between
    // launches the two numbers are equal.
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
    // Locked while a launch runs, because the device runs one launch of the host at a time.
    std::mutex launching_;

    std::vector<std::unique_ptr<Worker>> workers_;  // the first worker runs on the thread of the caller
    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    Grid* grid_ = nullptr;
    unsigned openings_ = 0, active_ = 0;
    bool stopping_ = false;
};

}  // namespace emu
