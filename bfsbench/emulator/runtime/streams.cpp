#include "streams.h"

#include <iterator>
#include <tuple>

namespace emu {

const char* host_range = nullptr;
size_t host_range_bytes = 0;

unsigned Streams::create(bool blocking) {
    std::lock_guard<std::mutex> lock(mutex_);
    unsigned number = kFirst;
    while (number < streams_.size() && streams_[number].in_use) ++number;
    if (number == streams_.size()) streams_.emplace_back();
    streams_[number].in_use = true;
    streams_[number].blocking = blocking;
    return number;
}

void Streams::destroy(unsigned stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    streams_[stream].in_use = false;
}

// Brings the clock of a stream up to date, and returns it. The clock then includes all operations that end
// before the stream's next operation begins.
StreamClock& Streams::ready(unsigned stream) {
    StreamClock& clock = streams_[stream].clock;
    clock.join(host_);
    clock.join(ordered_);
    if (stream != kDefault) {
        if (streams_[stream].blocking) clock.join(streams_[kDefault].clock);
        return clock;
    }
    for (const Stream& other : streams_) {
        if (other.blocking) clock.join(other.clock);
    }
    return clock;
}

StreamClock Streams::all() const {
    StreamClock all;
    for (unsigned i = 0; i < streams_.size(); ++i) all.set(i, streams_[i].issued);
    return all;
}

Moment Streams::begin(unsigned stream, Operation operation, Moment first) {
    std::lock_guard<std::mutex> lock(mutex_);
    StreamClock& clock = ready(stream);
    operation.stream = stream;
    operation.number = ++streams_[stream].issued;
    operation.first = first;
    clock.set(stream, operation.number);
    operations_.push_back(operation);
    streams_[stream].first.push_back(first);
    running_ = operation;
    asked_count_ = 0;
    Moment earliest = ~Moment{0};
    for (unsigned i = 0; i < streams_.size(); ++i) {
        const Stream& other = streams_[i];
        uint32_t known = clock.get(i) - other.forgotten;
        if (known < other.first.size()) earliest = std::min(earliest, other.first[known]);
    }
    return earliest;
}

const Operation* Streams::operation_at(Moment moment) const {
    auto later = [](Moment wanted, const Operation& operation) { return wanted < operation.first; };
    auto next = std::upper_bound(operations_.begin(), operations_.end(), moment, later);
    return next == operations_.begin() ? nullptr : &*std::prev(next);
}

bool Streams::beside_running(Moment moment) {
    if (moment - asked_ < asked_count_) return answer_;
    std::lock_guard<std::mutex> lock(mutex_);
    const Operation* found = operation_at(moment);
    if (!found) return false;
    asked_ = found->first;
    asked_count_ = (found == &operations_.back() ? ~Moment{0} : found[1].first) - found->first;
    return answer_ = streams_[running_.stream].clock.get(found->stream) < found->number;
}

std::optional<Operation> Streams::operation(Moment moment) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Operation* found = operation_at(moment);
    return found ? std::optional<Operation>(*found) : std::nullopt;
}

std::optional<Operation> Streams::beside_host(Moment moment) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Operation* found = operation_at(moment);
    if (!found || host_.get(found->stream) >= found->number) return {};
    return *found;
}

void Streams::take_up(unsigned stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    streams_[running_.stream].clock.join(streams_[stream].clock);
    asked_count_ = 0;
}

StreamClock Streams::record(unsigned stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    return ready(stream);
}

void Streams::wait(unsigned stream, const StreamClock& event) {
    std::lock_guard<std::mutex> lock(mutex_);
    ready(stream).join(event);
}

void Streams::host_waits(const StreamClock& event) {
    std::lock_guard<std::mutex> lock(mutex_);
    host_takes_up(event);
}

void Streams::host_waits_for(unsigned stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    host_takes_up(stream == kDefault ? ready(stream) : streams_[stream].clock);
}

void Streams::host_waits_for_all() {
    std::lock_guard<std::mutex> lock(mutex_);
    host_takes_up(all());
}

// Records that the host has waited for all operations that `clock` includes. If the host has now waited for
// every operation, the function removes the records of operations, because no later access can race with
// them.
void Streams::host_takes_up(const StreamClock& clock) {
    host_.join(clock);
    auto over = [&](const HostCopy& copy) { return host_.get(copy.operation.stream) >= copy.operation.number; };
    copies_.erase(std::remove_if(copies_.begin(), copies_.end(), over), copies_.end());
    for (unsigned i = 0; i < streams_.size(); ++i) {
        if (host_.get(i) < streams_[i].issued) return;
    }
    for (Stream& stream : streams_) {
        stream.forgotten = stream.issued;
        stream.first.clear();
    }
    operations_.clear();
    host_range_bytes = 0;
}

void Streams::order_all() {
    std::lock_guard<std::mutex> lock(mutex_);
    ordered_ = all();
}

void Streams::copy_to_host(const char* begin, size_t bytes) {
    check_host(begin, bytes);
    std::lock_guard<std::mutex> lock(mutex_);
    copies_.push_back({begin, bytes, running_});
}

std::optional<Operation> Streams::copy_beside_host(const char* begin, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const HostCopy& copy : copies_) {
        if (begin < copy.begin + copy.bytes && copy.begin < begin + bytes) return copy.operation;
    }
    return {};
}

void Streams::check_host(const char* begin, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!checks_host || operations_.empty()) return;
    const char* end = begin + bytes;
    if (host_range_bytes) end = std::max(end, host_range + host_range_bytes), begin = std::min(begin, host_range);
    host_range = begin;
    host_range_bytes = static_cast<size_t>(end - begin);
}

StreamRace* Streams::add_race(const StreamRace::Side& first, const StreamRace::Side& second) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto place = [](const StreamRace::Side& side) {
        const Operation& of = side.operation;
        return std::make_tuple(side.instruction, side.act, side.instruction ? nullptr : of.site, of.from.line, of.from.file);
    };
    for (StreamRace& known : races_) {
        if (place(known.sides[0]) != place(first) || place(known.sides[1]) != place(second)) continue;
        ++known.count;
        return nullptr;
    }
    races_.push_back({{first, second}, "", 1, {}});
    return &races_.back();
}

}  // namespace emu
