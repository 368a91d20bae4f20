// A worker runs blocks of a grid on one thread of the operating system.
//
// Scheduling has two levels. Within a block, threads switch directly to each other. Control returns to the
// worker's loop when a block has ended, cannot continue, or has waited long for something outside. The loop
// then continues another of its blocks or starts a new one. So blocks normally run one after another, each to
// its end. They run side by side as soon as one waits for another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "grid.h"
#include "random.h"
#include "resident_block.h"

namespace emu {

class Machine;

class Worker {
  public:
    // `random` decides everything that CUDA leaves open. Null gives the fastest order.
    Worker(Machine& machine, Random* random) : machine(machine), random_(random) {}

    Machine& machine;
    Grid* grid = nullptr;
    std::vector<ChildLaunch> children;  // child launches of the current grid

    // Runs blocks until the grid is aborted or no block is left for this worker.
    void run(Grid& grid);

    // These three functions run on a fiber and switch to another flow. suspend() requires that the fiber is
    // parked or ready.
    void suspend(Fiber& fiber);
    void give_way(Fiber& fiber);
    void finish(Fiber& fiber);
    // Suspends a fiber until its warp has made the steps of its trace.
    void await_steps(Fiber& fiber);
    // Suspends a fiber until its warp has made the fiber's stores in the buffer. The fiber must have stores in
    // the buffer.
    void await_stores(Fiber& fiber);
    // Arrives at the grid barrier, because all live threads of the block wait there.
    void arrive_at_grid(ResidentBlock& block);
    // Leaves the current fiber for good, for the worker's loop.
    [[noreturn]] void abandon();
    // Ends a fiber's thread after a fault and continues with other threads.
    [[noreturn]] void end_early(Fiber& fiber);

    // The grid calls these three functions with its lock held.
    bool idle() const { return resident_.empty(); }
    bool released() const;
    std::string describe_waits() const;
    const std::vector<ResidentBlock*>& resident() const { return resident_; }

    size_t free_stacks() const { return stacks_.free(); }
    size_t allocated_stacks() const { return stacks_.allocated(); }

  private:
    ResidentBlock* next_block();
    bool wants_new_block();
    ResidentBlock* find_runnable();
    ResidentBlock* start_cluster();
    void wake_grid_waiters();
    void retire(ResidentBlock& block);
    void drop_everything();
    void check_progress(const ResidentBlock& block);
    Fiber* pick(ResidentBlock& block);
    __attribute__((noinline)) Fiber* next_lane(ResidentBlock& block);  // keeps frames of waiting threads small
    // Lets a thread leave its block. It has returned, and its stores have been made.
    void end(Fiber& fiber);
    // Suspends a fiber until its warp lets it continue.
    void await_turn(Fiber& fiber);
    // When the emulator counts: returns whether other blocks should run now.
    bool ends_turn(ResidentBlock& block);
    void go(Context* save, Fiber* to);
    bool begin(Fiber& fiber, char* stack);
    // With a shared stack: exchange() continues another fiber, and leave() continues the worker's loop.
    void exchange(Fiber& from, Fiber& to);
    void leave(Fiber& fiber);
    int draw_patience();

    Random* random_;
    bool restless_ = false;
    unsigned spell_ = 0;  // in a machine that watches: the part of the time in which restless_ applies
    StackPool stacks_;
    char* shared_ = nullptr;  // in a machine that counts: the stack that all threads share
    Context loop_ = nullptr;
    std::vector<ResidentBlock*> resident_;
    unsigned at_grid_barrier_ = 0;  // number of resident blocks that wait at the grid barrier
    ResidentBlock* running_ = nullptr;
    size_t last_ = 0;        // index in resident_ of the block that ran last
    bool gave_way_ = false;  // the last block was left although it could continue
    std::vector<std::unique_ptr<ResidentBlock>> spare_;
};

// The worker of this thread of the operating system.
extern __thread Worker* worker __attribute__((tls_model("initial-exec")));

// Makes a thread the running one. Null means that no thread runs.
void set_current(Fiber* fiber);

// Reports an error and ends the current thread. It also ends the launch, unless the watch continues after
// faults.
[[noreturn]] void fail_thread(const char* format, ...) __attribute__((format(printf, 1, 2)));

std::string place_of(const Grid& grid, const Thread& thread);

}  // namespace emu
