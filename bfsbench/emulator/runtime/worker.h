// A worker runs blocks of a grid on one operating-system thread.
//
// Two levels of scheduling: within a block, threads switch directly to each other; when a block has ended, is
// stuck, or has long been waiting for something outside, control returns to the worker's loop, which goes on
// with another of its blocks or starts a new one. So blocks normally run one after the other to their ends,
// and side by side as soon as one of them waits for another.
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
    // `random` decides everything that CUDA leaves open; null means the fastest order.
    Worker(Machine& machine, Random* random) : machine(machine), random_(random) {}

    Machine& machine;
    Grid* grid = nullptr;
    std::vector<ChildLaunch> children;  // asked for by the current grid

    // Runs blocks until none is left for this worker or the grid is aborted.
    void run(Grid& grid);

    // Called on a fiber: hand the core to someone else. The fiber must have been parked or made ready.
    void suspend(Fiber& fiber);
    void give_way(Fiber& fiber);
    void finish(Fiber& fiber);
    // The fiber waits until its warp has made the steps of its trace.
    void await_steps(Fiber& fiber);
    // The same for its stores in the buffer, of which there are some.
    void await_stores(Fiber& fiber);
    // All threads of the block wait at the grid barrier.
    void arrive_at_grid(ResidentBlock& block);
    // Leaves a fiber for good.
    [[noreturn]] void abandon();

    // Called with the grid's lock held.
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
    __attribute__((noinline)) Fiber* next_lane(ResidentBlock& block);  // apart: frames of those who wait are kept
    // A thread that has returned, and whose stores are made, leaves its block.
    void end(Fiber& fiber);
    // It waits for its turn in lockstep.
    void await_turn(Fiber& fiber);
    // In a machine that counts: whether others are to go on now.
    bool ends_turn(ResidentBlock& block);
    void go(Context* save, Fiber* to);
    bool begin(Fiber& fiber, char* stack);
    // Where threads share a stack: to another one, and to the loop.
    void exchange(Fiber& from, Fiber& to);
    void leave(Fiber& fiber);
    int draw_patience();

    Random* random_;
    bool restless_ = false;
    unsigned spell_ = 0;  // in a machine that watches: which part of the time it is so
    StackPool stacks_;
    char* shared_ = nullptr;  // in a machine that counts, the stack of all threads
    Context loop_ = nullptr;
    std::vector<ResidentBlock*> resident_;
    unsigned at_grid_barrier_ = 0;  // of these, how many wait there
    ResidentBlock* running_ = nullptr;
    size_t last_ = 0;        // index in resident_ of the block that ran last
    bool gave_way_ = false;  // it was left although it could have gone on
    std::vector<std::unique_ptr<ResidentBlock>> spare_;
};

// The worker of this operating-system thread.
extern __thread Worker* worker __attribute__((tls_model("initial-exec")));

// The thread runs now; null: none does.
void set_current(Fiber* fiber);

std::string place_of(const Grid& grid, const Thread& thread);

}  // namespace emu
