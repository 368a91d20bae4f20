// The emulated device of a program with its own host code. The program uses the device through CUDA's runtime
// API.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "device_memory.h"
#include "emu/program.h"
#include "machine.h"

struct emu_stream {
    int priority;
    unsigned number, flags;
    cudaGraph_t graph = nullptr;  // the graph into which the stream records its operations
};

namespace emu {

// A call of the runtime API. `name` is the name of the called function. `from` is the source line of the
// call, if it is known, and `site` is the address of the calling instruction. The call issues its work to
// `stream`. If `is_async` is true, the work may end after the function has returned.
struct Call {
    const char* name;
    const void* site;
    bool is_async;
    cudaStream_t stream;
    CallSite from;
    mutable bool is_counted = false;  // true if count_copy() has counted this call
    // Sets `from` to the source line that calls_from() has stored, if there is one.
    Call(const char* name, const void* site, bool is_async = false, cudaStream_t stream = nullptr);
    // Returns a copy of this call that issues its work to the stream `other`.
    Call in(cudaStream_t other) const {
        Call call = *this;
        return call.stream = other, call;
    }
};

// A fault of the host code, with the place where the emulator first saw the fault. The place is a source line
// or, if the line is unknown, the address of an instruction.
struct HostFinding {
    const char* kind;
    std::string what;
    CallSite from;
    const void* site;
    uint64_t count;
};

class ProgramDevice {
  public:
    // Returns the device of this process. The first call creates the device.
    static ProgramDevice& get();

    Machine machine;
    DeviceMemory memory;
    // The allocations of cudaMallocManaged() that have not been freed. Maps the address of an allocation
    // to its size in bytes.
    std::map<void*, size_t> managed;
    const Limits& limits;
    // The error of a failed kernel. All later calls of the runtime API return it.
    cudaError_t sticky = cudaSuccess;

    // Records a fault of the host code in a call of the runtime API. Only programs that are built with race
    // detection record such faults.
    void find(const char* kind, const std::string& what, CallSite from, const void* site);
    // Records that the program has read the error of a refused launch.
    void ask_for_errors() { unasked_.file = nullptr; }
    // Records the call that allocated the memory at `place`, for the report of leaks.
    void remember(void* place, const Call& call);
    // The runtime API calls this function before cudaFree() or cudaFreeAsync() frees device memory. The function
    // records which streams the free waits for, and reports races of the free with other work.
    void before_free(void* place, const Call& call);
    // Returns the object that records the order of the streams' work. Returns null in a program without race
    // detection, and while a kernel runs.
    Streams* streams() { return machine.watch && !current ? &machine.watch->streams : nullptr; }
    // Counts a wait of the host for the device, if the host has launched a kernel since it last waited.
    void count_wait() {
        if (!current) waits_ += unawaited_.exchange(false);
    }
    // Counts the bytes of a copy between the host and the device. The copies of several rows by one call of the
    // API count as one copy.
    void count_copy(size_t bytes, const Call& call) {
        copies_ += !std::exchange(call.is_counted, true);
        copied_bytes_ += bytes;
    }
    // Records that a signal kills the program. The report then lists no leaks and no unread errors, because
    // the program had no chance to free its memory and read its errors.
    void die(const std::string& death, const void* site);
    // Writes findings and counts to the file `path`. Returns whether there is any finding.
    bool report(int status, const char* path);
    // Stores an error, which cudaGetLastError returns later. Returns the error.
    cudaError_t note(cudaError_t error);
    cudaError_t launch(const Kernel& kernel, const LaunchShape& shape, void** arguments, bool cooperative, CallSite from);
    // copy() and set() copy and fill memory. They implement functions such as cudaMemcpy and cudaMemset.
    cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const Call& call);
    cudaError_t set(void* to, int value, size_t bytes, const Call& call);
    cudaError_t allow_dynamic_shared(const Kernel& kernel, int bytes);
    size_t dynamic_shared_allowed(const Kernel& kernel) const;

  private:
    ProgramDevice();
    bool reaches(const void* address, size_t bytes);
    struct Touched {
        const void* address;  // null if the access needs no check
        size_t bytes;
        Act act;
    };
    void order(const Call& call, bool waits, std::initializer_list<Touched> accesses);

    void lose_error();

    std::unordered_map<const Kernel*, size_t> dynamic_shared_;
    std::mutex mutex_;
    std::vector<HostFinding> findings_;
    std::map<void*, Call> taken_;
    std::vector<Call> allocating_;  // a call for each instruction that has allocated memory, in order of the first calls
    std::mutex working_;  // locked while an operation runs, so that operations get their moments one after another
    std::vector<std::string> failures_;
    bool killed_ = false;
    CallSite unasked_{};
    const char* unasked_kernel_ = nullptr;
    std::atomic<bool> unawaited_ = false;  // true if the host has launched a kernel since it last waited
    std::atomic<uint64_t> waits_ = 0, copies_ = 0, copied_bytes_ = 0;
};

extern thread_local cudaError_t last_error;

// Returns the number of a stream in Streams. CUDA has a default stream that all host threads share, and
// another default stream for each host thread. The emulator treats all of them as one stream, because a null
// pointer may stand for either kind.
inline unsigned number_of(cudaStream_t stream) {
    return stream > cudaStreamFireAndForget ? stream->number : Streams::kDefault;
}

// Returns the description of a kernel, or null if `kernel` does not point to a kernel.
const Kernel* describe(const void* kernel);

}  // namespace emu
