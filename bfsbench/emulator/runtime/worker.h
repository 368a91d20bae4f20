// A worker runs blocks of a grid on one thread of the operating system.
//
// Scheduling has two levels. Within a block, CUDA threads switch directly to each other. The worker's loop
// takes over when a block has ended, cannot continue, or has waited a long time for another block. The loop
// then continues another of its blocks or starts a new block. If the order is not random (seed 0), the blocks
// of a worker normally run to their end one after another. The blocks run alternately as soon as a block
// waits for another block.
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
    // `random` decides everything that CUDA leaves open, such as the order of threads. If `random` is null,
    // the worker uses the fastest order.
    Worker(Machine& machine, Random* random) : machine(machine), random_(random) {}

    Machine& machine;
    Grid* grid = nullptr;
    std::vector<ChildLaunch> children;  // child launches that threads of the current grid have queued

    // Runs blocks of a grid until the grid is aborted or no block is left for this worker.
    void run(Grid& grid);

    // suspend(), give_way() and finish() run on the stack of a CUDA thread, and switch to another thread or
    // to the worker's loop. Before a call of suspend(), the caller must record that the thread is ready or
    // waits at a barrier.
    void suspend(Fiber& fiber);
    void give_way(Fiber& fiber);
    void finish(Fiber& fiber);
    // Suspends a thread until its warp has performed the memory accesses that the thread has recorded.
    void await_steps(Fiber& fiber);
    // Suspends a thread until its delayed stores have been written to memory. The thread must have delayed
    // stores.
    void await_stores(Fiber& fiber);
    // Marks a block as arrived at the grid barrier. All live threads of the block must already be waiting
    // there.
    void arrive_at_grid(ResidentBlock& block);
    // Leaves the current CUDA thread for ever and continues the worker's loop.
    [[noreturn]] void abandon();
    // Ends a CUDA thread after a fault and continues with other threads.
    [[noreturn]] void end_early(Fiber& fiber);

    // The grid calls idle(), released() and describe_waits() while the grid's lock is held.
    bool idle() const { return resident_.empty(); }
    bool released() const;
    std::string describe_waits() const;
    std::string describe_deadlock(const ResidentBlock& block) const;
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
    // The function is not inlined, to keep the stack frames of waiting threads small.
    __attribute__((noinline)) Fiber* next_lane(ResidentBlock& block);
    // Removes a thread from its block. The thread must have returned or failed, and its delayed stores must
    // have been performed.
    void end(Fiber& fiber);
    // Suspends a thread until its warp has performed the operations for which the thread waits.
    void await_turn(Fiber& fiber);
    // Returns whether other blocks should run now. Only a machine that counts memory accesses calls this
    // function.
    bool ends_turn(ResidentBlock& block);
    void go(Context* save, Fiber* to);
    bool begin(Fiber& fiber, char* stack);
    // If the emulator counts memory accesses, all CUDA threads of a worker share one stack. exchange() then
    // switches to another CUDA thread, and leave() switches to the worker's loop.
    void exchange(Fiber& from, Fiber& to);
    void leave(Fiber& fiber);
    int draw_patience();

    Random* random_;
    bool restless_ = false;
    // If `restless_` is set and accesses are checked, time is divided into intervals. In one of kOneInSpells
    // successive intervals, threads are interrupted at every access. `spell_` is the index of this interval.
    unsigned spell_ = 0;
    StackPool stacks_;
    char* shared_ = nullptr;  // the stack that all threads share if the emulator counts memory accesses
    Context loop_ = nullptr;
    std::vector<ResidentBlock*> resident_;
    unsigned at_grid_barrier_ = 0;  // number of blocks of this worker that wait at the grid barrier
    ResidentBlock* running_ = nullptr;
    size_t last_ = 0;        // index in resident_ of the block that ran last
    bool gave_way_ = false;  // true if the worker has left a block that could continue
    std::vector<std::unique_ptr<ResidentBlock>> spare_;
};

// The worker that runs on this thread of the operating system.
extern __thread Worker* worker __attribute__((tls_model("initial-exec")));

// Makes `fiber` the running thread. If `fiber` is null, no CUDA thread runs.
void set_current(Fiber* fiber);

// Reports an error and ends the current CUDA thread. The launch also ends, unless the emulator continues
// after faults.
[[noreturn]] void fail_thread(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Ends the launch with an error message about the current CUDA thread. `is_found` tells whether the fault is
// already in the list of findings.
[[noreturn]] void end_launch(bool is_found, const char* format, ...) __attribute__((format(printf, 2, 3)));

std::string place_of(const Grid& grid, const Thread& thread);

}  // namespace emu
