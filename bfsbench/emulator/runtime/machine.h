// The emulated device: its limits, its workers, and its launches, of which it runs one at a time.
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

// The resources of the emulated GPU. Python passes them as an array of integers in this order (device.py).
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
    // With seed 0, `workers` threads run blocks in the fastest order. Any other seed gives a random order,
    // which is repeatable with one worker. With `watches`, the machine checks every memory access. It then
    // needs one worker and kernels that were compiled for it.
    Machine(const Limits& limits, uint64_t seed, unsigned workers, bool watches);
    ~Machine();
    Machine(const Machine&) = delete;

    // Returns why a launch is impossible, or an empty string.
    std::string refusal(const Kernel& kernel, const LaunchShape& shape) const;

    unsigned resident_blocks(const Kernel& kernel, unsigned threads, size_t dynamic_shared) const;

    // Runs a grid and all its descendants. Returns the error message, or an empty string.
    std::string launch(const Kernel& kernel, const LaunchShape& shape, void** arguments);

    Buffers buffers;
    const std::unique_ptr<Watch> watch;  // null unless the machine watches
    // In a machine that watches: whether threads are interrupted at every access, in some spells of time.
    const bool dense;
    std::unique_ptr<Counting> counting;  // null unless the machine counts

    // Reserves a place for a child launch. Returns false if too many are pending.
    bool reserve_child();

    // free_stacks() counts stacks that no thread uses, allocated_stacks() all stacks. Between launches the two
    // counts are equal.
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

    std::vector<std::unique_ptr<Worker>> workers_;  // the first worker runs on the caller's thread
    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    Grid* grid_ = nullptr;
    unsigned openings_ = 0, active_ = 0;
    bool stopping_ = false;
};

}  // namespace emu
