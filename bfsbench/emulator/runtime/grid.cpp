#include "grid.h"

#include "worker.h"

namespace emu {

Grid::Grid(const Kernel& kernel, void (*entry)(), const LaunchShape& shape, void** arguments,
           unsigned max_resident, Random* random)
    : kernel(kernel),
      entry(entry),
      blocks(shape.grid),
      threads(shape.block),
      dynamic_shared(shape.shared),
      cooperative(shape.cooperative),
      arguments(arguments),
      max_resident_(max_resident),
      clusters_(volume(shape.grid) / volume(kernel.cluster)) {
    if (!random) return;
    order_.resize(clusters_);
    for (unsigned i = 0; i < clusters_; ++i) order_[i] = i;
    random->shuffle(order_);
}

void Grid::join() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++members_;
}

bool Grid::take(uint3& cluster) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!can_start()) return false;
    in_progress_ += volume(kernel.cluster);
    unsigned i = order_.empty() ? next_ : order_[next_];
    ++next_;
    unsigned width = blocks.x / kernel.cluster.x, height = blocks.y / kernel.cluster.y;
    cluster = {i % width, i / width % height, i / width / height};
    return true;
}

void Grid::end_blocks(unsigned count) {
    std::lock_guard<std::mutex> lock(mutex_);
    bool was_full = next_ < clusters_ && !can_start();
    in_progress_ -= count;
    if (was_full) changed();
}

// Wakes idle workers after a change of the grid. All workers count as busy again, because any worker may now
// have work.
void Grid::changed() {
    ++epoch_;
    idle_ = 0;
    change_.notify_all();
}

bool Grid::arrive() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (++arrived_ < volume(blocks)) return false;
    arrived_ = 0;
    phase_.fetch_add(1, std::memory_order_release);
    changed();
    return true;
}

bool Grid::wait_for_work(Worker& worker) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        if (deadlock_) {
            std::string report = deadlock_report(worker);
            if (!report.empty()) record(report, watching != nullptr);
        }
        if (aborted()) return false;
        if (can_start() || worker.released()) return true;
        if (worker.idle() && next_ == clusters_) {
            --members_;
            changed();
            return false;
        }
        if (++idle_ == members_) {
            deadlock_ = true;
            changed();
            continue;
        }
        change_.wait(lock, [this, seen = epoch_] { return epoch_ != seen; });
    }
}

std::string Grid::deadlock_report(const Worker& worker) const {
    std::string report = worker.describe_waits();
    if (report.empty() || next_ == clusters_) return report;
    unsigned missing = (clusters_ - next_) * volume(kernel.cluster);
    return report + "; " + std::to_string(missing) + " blocks could not start: the device holds " +
           std::to_string(max_resident_) + " of them at once";
}

void Grid::abort(const std::string& message, bool is_found) {
    std::lock_guard<std::mutex> lock(mutex_);
    record(message, is_found);
}

void Grid::note(const std::string& message) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!error_.empty()) return;
    error_ = message;
    is_found_ = true;
}

void Grid::record(const std::string& message, bool is_found) {
    if (!aborted()) {
        error_ = message;
        is_found_ = is_found;
    }
    aborted_.store(true, std::memory_order_relaxed);
    changed();
}

}  // namespace emu
