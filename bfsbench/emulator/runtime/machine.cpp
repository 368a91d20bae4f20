#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "faults.h"

namespace emu {

namespace {

// Smallest number of CUDA threads for which it is worth waking a further thread of the operating system.
// Waking it takes as long as running this many CUDA threads that do nothing.
constexpr uint64_t kThreadsWorthHelp = 2048;

}  // namespace

Machine::Machine(const Limits& limits, uint64_t seed, unsigned workers, bool watches)
    : watch(watches ? std::make_unique<Watch>(buffers) : nullptr),
      dense(seed % 3 == 0),
      limits_(limits),
      random_(seed),
      seeded_(seed != 0) {
    for (unsigned i = 0; i < workers; ++i) {
        workers_.push_back(std::make_unique<Worker>(*this, seeded_ ? &random_ : nullptr));
    }
    for (unsigned i = 1; i < workers; ++i) helpers_.emplace_back(&Machine::help, this, i);
}

Machine::~Machine() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
}

std::string Machine::refusal(const Kernel& kernel, const LaunchShape& shape) const {
    std::string name = std::string("kernel '") + kernel.name + "': ";
    auto exceeds = [&](uint64_t value, const char* what, uint64_t limit) {
        return name + std::to_string(value) + " " + what + ", the limit is " + std::to_string(limit);
    };
    uint64_t threads = uint64_t{shape.block.x} * shape.block.y * shape.block.z;
    uint64_t blocks = uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
    size_t shared = kernel.shared_bytes() + kernel.functions->shared_bytes() + shape.shared;
    dim3 cluster = kernel.cluster;
    if (threads == 0 || blocks == 0) return name + "the grid or its blocks are empty";
    if (threads > limits_.max_threads_per_block) {
        return exceeds(threads, "threads a block", limits_.max_threads_per_block);
    }
    if (kernel.max_threads && threads > kernel.max_threads) {
        return exceeds(threads, "threads a block (__launch_bounds__)", kernel.max_threads);
    }
    if (blocks > limits_.max_grid) return exceeds(blocks, "blocks", limits_.max_grid);
    if (shared > limits_.shared_per_block) {
        return exceeds(shared, "bytes of shared memory a block", limits_.shared_per_block);
    }
    if (volume(cluster) > limits_.blocks_per_cluster) {
        return exceeds(volume(cluster), "blocks a cluster", limits_.blocks_per_cluster);
    }
    if (shape.grid.x % cluster.x || shape.grid.y % cluster.y || shape.grid.z % cluster.z) {
        return name + "a grid of " + std::to_string(blocks) + " blocks is not a multiple of the cluster of " +
               std::to_string(volume(cluster));
    }
    if (resident_blocks(kernel, static_cast<unsigned>(threads), shape.shared) < volume(cluster)) {
        return name + "the device has no room for one cluster of such blocks";
    }
    return "";
}

unsigned Machine::resident_blocks(const Kernel& kernel, unsigned threads, size_t dynamic_shared) const {
    size_t shared = kernel.shared_bytes() + kernel.functions->shared_bytes() + dynamic_shared;
    unsigned warps = (threads + kWarpSize - 1) / kWarpSize;
    uint64_t blocks = limits_.blocks_per_multiprocessor;
    blocks = std::min<uint64_t>(blocks, limits_.threads_per_multiprocessor / (warps * kWarpSize));
    if (shared) blocks = std::min<uint64_t>(blocks, limits_.shared_per_multiprocessor / shared);
    return static_cast<unsigned>(blocks) * limits_.multiprocessors;
}

std::string Machine::launch(const Kernel& kernel, const LaunchShape& shape, void** arguments) {
    std::lock_guard<std::mutex> one_at_a_time(launching_);
    FaultHandlers handlers;
    SignalStack signal_stack;
    auto run = [&](const Kernel& k, void (*entry)(), const LaunchShape& s, void** values, const ChildLaunch* child) {
        Grid grid(k, entry, s, values, resident_blocks(k, volume(s.block), s.shared),
                  seeded_ ? &random_ : nullptr);
        if (watch) watch->begin_launch(grid, child);
        if (counting) counting->begin_launch(grid, limits_);
        std::string error = run_grid(grid);
        if (watch) watch->end_launch();
        std::string damage = buffers.damage();
        if (!error.empty() || damage.empty()) return error;
        return std::string("kernel '") + k.name + "' " + damage;
    };
    std::string error = run(kernel, kernel.entry, shape, arguments, nullptr);
    // A stack of child launches. The descendants of a child run before the child's younger siblings.
    std::vector<ChildLaunch> waiting;
    collect_children(waiting);
    while (error.empty() && !waiting.empty()) {
        ChildLaunch child = std::move(waiting.back());
        waiting.pop_back();
        --pending_;
        std::vector<void*> values;
        for (std::vector<char>& value : child.values) values.push_back(value.data());
        error = run(*child.kernel, child.entry, child.shape, values.data(), &child);
        collect_children(waiting);
    }
    pending_ = 0;
    fflush(stdout);  // prints what kernels have written with printf
    return error;
}

bool Machine::reserve_child() {
    if (pending_.fetch_add(1) < limits_.pending_children) return true;
    --pending_;
    return false;
}

// Puts the children of the grid that has just ended on the stack of launches. Ordinary children run first, in
// order of launch. Children of the tail stream run last. In a seeded schedule, fire-and-forget children take
// random places among the ordinary children.
void Machine::collect_children(std::vector<ChildLaunch>& stack) {
    std::vector<ChildLaunch> ordinary, free, tail;
    for (auto& worker : workers_) {
        for (ChildLaunch& child : worker->children) {
            bool last = child.shape.stream == cudaStreamTailLaunch;
            bool any = seeded_ && child.shape.stream == cudaStreamFireAndForget;
            (last ? tail : any ? free : ordinary).push_back(std::move(child));
        }
        worker->children.clear();
    }
    for (ChildLaunch& child : free) {
        unsigned place = random_.below(static_cast<unsigned>(ordinary.size()) + 1);
        ordinary.insert(ordinary.begin() + place, std::move(child));
    }
    std::move(tail.rbegin(), tail.rend(), std::back_inserter(stack));
    std::move(ordinary.rbegin(), ordinary.rend(), std::back_inserter(stack));
}

// Runs a grid. Returns its first error, or an empty string. The calling thread runs blocks, and helper
// threads may run further blocks.
std::string Machine::run_grid(Grid& grid) {
    uint64_t threads = uint64_t{volume(grid.blocks)} * volume(grid.threads);
    auto wanted = static_cast<unsigned>(
        std::min<uint64_t>({helpers_.size(), volume(grid.blocks) - 1u, (threads - 1) / kThreadsWorthHelp}));
    if (wanted) {
        std::lock_guard<std::mutex> lock(mutex_);
        grid_ = &grid;
        openings_ = wanted;
    }
    for (unsigned i = 0; i < wanted; ++i) wake_.notify_one();
    workers_[0]->run(grid);
    if (wanted) {
        std::unique_lock<std::mutex> lock(mutex_);
        openings_ = 0;
        done_.wait(lock, [this] { return active_ == 0; });
        grid_ = nullptr;
    }
    return grid.error();
}

void Machine::help(unsigned index) {
    SignalStack signal_stack;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return stopping_ || openings_ > 0; });
        if (stopping_) return;
        --openings_;
        ++active_;
        Grid* grid = grid_;
        lock.unlock();
        workers_[index]->run(*grid);
        lock.lock();
        if (--active_ == 0) done_.notify_one();
    }
}

size_t Machine::free_stacks() const {
    size_t count = 0;
    for (const auto& worker : workers_) count += worker->free_stacks();
    return count;
}

size_t Machine::allocated_stacks() const {
    size_t count = 0;
    for (const auto& worker : workers_) count += worker->allocated_stacks();
    return count;
}

void launch_child(const Kernel& kernel, void (*entry)(), dim3 grid, dim3 block, size_t shared,
                  cudaStream_t stream, const void* const* arguments, const size_t* sizes, unsigned count,
                  const void* site) {
    LaunchShape shape(grid, block, shared, stream);
    Machine& machine = worker->machine;
    auto refuse = [&](cudaError_t error) {
        current->last_error = error;
        current->refused_launch = site;
    };
    if (!machine.refusal(kernel, shape).empty()) return refuse(cudaErrorInvalidConfiguration);
    if (!machine.reserve_child()) return refuse(cudaErrorLaunchPendingCountExceeded);
    ChildLaunch child{&kernel, entry, shape, {}, nullptr, 0, 0};
    if (machine.watch) {
        const FamilyPlace& place = block_of(*current).place;
        child.known = machine.watch->clocks.launch();
        child.parent = place.grid;
        child.block = place.block;
    }
    for (unsigned i = 0; i < count; ++i) {
        auto* bytes = static_cast<const char*>(arguments[i]);
        child.values.emplace_back(bytes, bytes + sizes[i]);
    }
    worker->children.push_back(std::move(child));
}

}  // namespace emu
