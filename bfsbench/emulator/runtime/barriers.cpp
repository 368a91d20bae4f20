// Barriers of blocks, clusters and grids. A barrier does not wait for threads that have exited. The last
// thread to arrive or to exit releases all waiting threads.

#include "emu/block.h"

#include "machine.h"
#include "worker.h"

namespace emu {

namespace {

// Ends the launch, because the thread `other` of the block waits at a different barrier than the current
// thread. The function is not inlined, because inlining would slow down kernels without this fault.
[[noreturn]] __attribute__((noinline)) void refuse_barrier(CallSite from, const Fiber& other) {
    if (watching) watching->report_wait(Fault::barrier, here(), from, &other);
    end_launch(watching != nullptr, "divergent barrier: it waits at %s, others of its block at %s", to_string(from).c_str(),
               to_string(other.waits_from).c_str());
}

void require_same_barrier(const ResidentBlock& block, Wait where, CallSite from) {
    const ThreadSet& waiting = block.waiting(where);
    if (waiting.count() == 0) return;
    const Fiber& other = block.fibers[waiting.next_from(0)];
    if (!same_place(other.waits_from, from)) refuse_barrier(from, other);
}

// Empties the first-level cache that the emulator models for the block's multiprocessor. The block has passed
// a barrier with other blocks, so its later loads must return current values. The function does nothing
// unless the emulator counts memory accesses.
void acquire(const ResidentBlock& block) {
    if (block.lockstep) block.lockstep->counting.acquire(block);
}

}  // namespace

// Waits until all threads of the block have arrived at a block barrier. When the emulator counts memory
// accesses, meet() first waits for the other lanes of the warp. During this wait, Worker::next_lane() may
// already count the thread's arrival at the barrier. In this case `arrival.due` is false after meet(), and
// the thread has already passed the barrier.
Votes block_barrier(bool predicate, CallSite from, const void* site) {
    Fiber& fiber = here();
    ResidentBlock& block = block_of(fiber);
    fiber.arrival = {true, predicate, from};
    meet(site);
    if (fiber.arrival.due) {
        require_same_barrier(block, Wait::block, from);
        block.arrive(fiber);
        worker->suspend(fiber);
    }
    unsigned parity = (block.barriers - 1) % 2;  // parity of the barrier that the thread has just passed
    return {block.votes[parity], block.voters[parity]};
}

void named_barrier(unsigned number, unsigned count, bool waits, CallSite from, const void* site) {
    Fiber& fiber = here();
    ResidentBlock& block = block_of(fiber);
    auto threads = static_cast<unsigned>(block.fibers.size());
    unsigned whole_warps = static_cast<unsigned>(block.warps.size()) * kWarpSize;
    if (count == whole_warps) count = threads;  // a GPU counts the missing lanes of the last warp, too
    if (number == 0 && count == threads) {  // this is the barrier of __syncthreads()
        if (!waits) fail("barrier 0: bar.arrive for the whole block is not supported");
        block_barrier(false, from, site);
        return;
    }
    if (number >= kNamedBarriers) fail("barrier %u: a block has barriers 0 to %u", number, kNamedBarriers - 1);
    if (count == 0 || count > threads || (count != threads && count % kWarpSize)) {
        fail("barrier %u: %u threads are no multiple of %u up to the block's %u", number, count, kWarpSize, threads);
    }
    meet(site);
    await_stores(fiber);
    NamedBarrier& barrier = block.named[number];
    if (barrier.arrived == 0) barrier.expected = count;
    if (barrier.expected != count) {
        fail("barrier %u: one thread names %u threads, another names %u", number, barrier.expected, count);
    }
    // The detector treats an arrival like an atomic update of the barrier, and the end of a wait like a read.
    auto pass = [&](Act act) {
        if (watching) watching->clocks.atomic(&barrier, act, Scope::block, act == Act::read ? Order::acquire : Order::acq_rel);
        fiber.moment = 0;
    };
    pass(Act::update);
    if (++barrier.arrived == count) {
        barrier.arrived = 0;
        for (unsigned rank : barrier.waiting) block.ready.insert(rank);
        barrier.waiting.clear();
    } else if (waits) {
        fiber.waits_at = Wait::named;
        fiber.waits_from = from;
        barrier.waiting.push_back(fiber.rank);
        worker->suspend(fiber);
        pass(Act::read);
    }
}

bool has_grid_barrier() { return worker->grid->cooperative; }

void grid_barrier(CallSite from) {
    if (!has_grid_barrier()) fail("the kernel waits for its grid, but the launch is not cooperative (line %d of %s)", from.line, from.file);
    Fiber& fiber = here();
    ResidentBlock& block = block_of(fiber);
    require_same_barrier(block, Wait::grid, from);
    block.park(fiber, Wait::grid, from);
    if (block.waiting(Wait::grid).count() == block.live) worker->arrive_at_grid(block);
    worker->suspend(fiber);
    acquire(block);
}

void cluster_arrive() {
    Fiber& fiber = here();
    await_stores(fiber);
    Cluster& cluster = *block_of(fiber).cluster;
    if (fiber.arrived_at_cluster) fail("cluster barrier: arrived twice without waiting");
    fiber.arrived_at_cluster = true;
    if (worker->machine.watch) Clocks::arrive_at_cluster();
    fiber.cluster_phase = cluster.phase;
    ++cluster.arrived;
    cluster.complete_if_all_arrived();
}

void cluster_wait(CallSite from) {
    Fiber& fiber = here();
    ResidentBlock& block = block_of(fiber);
    if (!fiber.arrived_at_cluster) fail("cluster barrier: waits without having arrived");
    if (fiber.cluster_phase == block.cluster->phase) {
        block.park(fiber, Wait::cluster, from);
        worker->suspend(fiber);
    }
    fiber.arrived_at_cluster = false;
    acquire(block);
    if (worker->machine.watch) Clocks::leave_cluster();
}

ClusterPlace cluster_place() {
    const Block& block = *current->block;
    dim3 shape = worker->grid->kernel.cluster;
    uint3 cluster = {block.index.x / shape.x, block.index.y / shape.y, block.index.z / shape.z};
    return {cluster, {block.index.x % shape.x, block.index.y % shape.y, block.index.z % shape.z}, shape};
}

void* map_shared(void* address, unsigned block_rank) {
    const ResidentBlock& mine = block_of(*current);
    const Cluster& cluster = *mine.cluster;
    if (block_rank >= cluster.blocks.size()) {
        fail("map_shared_rank(%u): the cluster has %zu blocks", block_rank, cluster.blocks.size());
    }
    auto offset = static_cast<size_t>(static_cast<char*>(address) - mine.arena_begin);
    if (offset > mine.arena_bytes) fail("map_shared_rank: %p is not in this block's shared memory", address);
    const ResidentBlock& other = *cluster.blocks[block_rank];
    if (other.live == 0) fail("map_shared_rank(%u): that block has already exited", block_rank);
    return other.arena_begin + offset;
}

unsigned shared_owner(const void* address) {
    const Cluster& cluster = *block_of(*current).cluster;
    for (unsigned rank = 0; rank < cluster.blocks.size(); ++rank) {
        const ResidentBlock& block = *cluster.blocks[rank];
        auto offset = static_cast<size_t>(static_cast<const char*>(address) - block.arena_begin);
        if (offset < block.arena_bytes) return rank;
    }
    fail("%p is not in the shared memory of this cluster", address);
}

// Number of low bits that hold the offset in a 32-bit address of shared memory. The higher bits hold the
// block's rank in the cluster.
constexpr unsigned kOffsetBits = 24;

uint32_t shared_address(const void* address) {
    unsigned rank = shared_owner(address);
    const ResidentBlock& block = *block_of(*current).cluster->blocks[rank];
    return rank << kOffsetBits | static_cast<uint32_t>(static_cast<const char*>(address) - block.arena_begin);
}

void* shared_at(uint32_t number) {
    const Cluster& cluster = *block_of(*current).cluster;
    unsigned rank = number >> kOffsetBits, offset = number & ((1u << kOffsetBits) - 1);
    if (rank >= cluster.blocks.size()) fail("0x%08x is no address in shared memory", number);
    return cluster.blocks[rank]->arena_begin + offset;
}

}  // namespace emu
