// Records which operations of CUDA's streams may run at the same time. The emulator runs all operations in the order
// in which the host issues them, but on a GPU the streams run side by side. Vector clocks show the order that CUDA
// guarantees.
//
// Each stream, each recorded event and the host have a clock. A clock holds a number n for each stream: the first n
// operations of the stream end before the clock's owner continues. These rules change the clocks:
// - An operation begins after the earlier operations of its stream, and after all operations for which the
// host has waited.
// - An operation of the default stream also begins after the earlier operations of all blocking streams. An
// operation of a blocking stream begins after the earlier operations of the default stream.
// - When a stream or the host waits for an event or for another stream, it takes over the clock of that event
// or stream.
//
// The host issues its operations one after another. So all earlier accesses of the host happen before an
// operation, and only the host's later accesses can race with it.
#pragma once

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "buffers.h"
#include "emu/call_site.h"
#include "shadow.h"

namespace emu {

class StreamClock {
  public:
    uint32_t get(unsigned stream) const { return stream < numbers_.size() ? numbers_[stream] : 0; }
    void set(unsigned stream, uint32_t number) {
        if (stream >= numbers_.size()) numbers_.resize(stream + 1);
        numbers_[stream] = number;
    }
    void join(const StreamClock& other) {
        for (unsigned i = 0; i < other.numbers_.size(); ++i) set(i, std::max(get(i), other.numbers_[i]));
    }

  private:
    std::vector<uint32_t> numbers_;
};

// A launch, a copy, a memset, an allocation or a free. `from` or `site` says where the host issues it.
struct Operation {
    const char* name;  // name of the kernel, or of the function of the runtime API
    CallSite from;
    const void* site;
    bool is_launch;
    // Streams::begin() sets the stream, the operation's number in the stream, and its first moment.
    unsigned stream = 0;
    uint32_t number = 0;
    Moment first = 0;
};

// Two accesses to one address, by operations that may run at the same time.
struct StreamRace {
    struct Side {
        Operation operation;
        Act act;
        const void* instruction;  // the instruction of a kernel; null for other operations
    };
    Side sides[2];
    std::string where;
    uint64_t count;
    Origin origin{};  // the place at which the host has allocated the memory, if it is a buffer
};

class Streams {
  public:
    // Numbers of streams. cudaStreamCreate assigns the numbers from kFirst on. kHost stands for accesses of
    // the host itself.
    static constexpr unsigned kDefault = 0, kFirst = 1, kHost = ~0u;

    unsigned create(bool blocking);
    // Ends a stream. A later stream may reuse its number. In this case the emulator treats the work of the
    // ended stream as ordered before the work of the later stream.
    void destroy(unsigned stream);

    // Returns whether the program has used any stream besides the default stream.
    bool has_several() const { return streams_.size() > kFirst; }
    // Begins an operation, whose accesses have the moments from `first` on. Returns the first moment of the
    // earliest operation that may run at the same time as the new operation. Returns the largest Moment if
    // there is none.
    Moment begin(unsigned stream, Operation operation, Moment first);
    const Operation& running() const { return running_; }
    // Returns whether the operation that made the accesses of a moment may run at the same time as the
    // running operation.
    bool beside_running(Moment moment);
    // Returns the operation that made the accesses of a moment, or nothing if the host has since waited for
    // all operations.
    std::optional<Operation> operation(Moment moment);
    // Returns the operation that made the accesses of a moment, or nothing if the host has waited for this
    // operation.
    std::optional<Operation> beside_host(Moment moment);
    // Records that the work issued to a stream so far happens before the running operation. The caller calls
    // this function when an atomic of the running operation reads a word that an atomic of the stream has
    // written.
    void take_up(unsigned stream);

    // Returns the clock of an event that the host records in a stream.
    StreamClock record(unsigned stream);
    void wait(unsigned stream, const StreamClock& event);
    void host_waits(const StreamClock& event);
    // Records that the host waits for a stream. If it is the default stream, the host also waits for all
    // blocking streams.
    void host_waits_for(unsigned stream);
    void host_waits_for_all();
    // Records that all work issued so far happens before all later work. Later accesses of the host may still
    // race with the earlier work.
    void order_all();

    // Records that the running operation copies to pageable memory of the host. The race detector has no
    // other record of accesses to this memory.
    void copy_to_host(const char* begin, size_t bytes);
    // Looks for an unfinished copy that writes any of these bytes of pageable memory. Returns the copy, or
    // nothing.
    std::optional<Operation> copy_beside_host(const char* begin, size_t bytes);
    // Starts checking accesses of the host to this memory. The check lasts until the host has waited for all
    // streams.
    void check_host(const char* begin, size_t bytes);
    bool checks_host = true;

    // Counts a race. Returns the race if it is new, so that the caller can describe its place. Otherwise
    // returns null.
    StreamRace* add_race(const StreamRace::Side& first, const StreamRace::Side& second);
    const std::deque<StreamRace>& races() const { return races_; }

  private:
    struct Stream {
        bool blocking = true, in_use = true;
        StreamClock clock;
        uint32_t issued = 0, forgotten = 0;
        std::vector<Moment> first;  // first moments of the operations from number `forgotten` + 1 on
    };
    struct HostCopy {
        const char* begin;
        size_t bytes;
        Operation operation;
    };
    StreamClock& ready(unsigned stream);
    StreamClock all() const;
    const Operation* operation_at(Moment moment) const;
    void host_takes_up(const StreamClock& clock);

    std::mutex mutex_;
    std::vector<Stream> streams_ = std::vector<Stream>(kFirst);
    StreamClock host_, ordered_;         // `ordered_`: the work before the last order_all()
    std::vector<Operation> operations_;  // in order of issue; empty if the host has waited for all
    std::vector<HostCopy> copies_;
    Operation running_{};
    // Cache of beside_running(): its last result is valid for the moments from `asked_` to `asked_ + asked_count_ -
    // 1`.
    Moment asked_ = 0, asked_count_ = 0;
    bool answer_ = false;
    std::deque<StreamRace> races_;
};

// A range of the host's memory, in which check_host_access() checks accesses of the host. The range contains
// all host memory that unfinished operations have accessed. An operation counts as finished when the host has
// waited for it.
extern const char* host_range;
extern size_t host_range_bytes;

}  // namespace emu
