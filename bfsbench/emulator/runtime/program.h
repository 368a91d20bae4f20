// The device of a program that has its own host code. It implements CUDA's runtime API.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "device_memory.h"
#include "emu/program.h"
#include "machine.h"

namespace emu {

// A fault of the host code, with the place where the emulator first saw it. The place is a source line or, if
// the line is unknown, an instruction.
struct HostFinding {
    const char* kind;
    std::string what;
    CallSite from;
    const void* site;
    uint64_t count;
};

class ProgramDevice {
  public:
    // Returns the device of this process. The first call creates it.
    static ProgramDevice& get();

    Machine machine;
    DeviceMemory memory;
    const Limits& limits;
    cudaError_t sticky = cudaSuccess;  // error of a failed kernel, which all later calls return

    // In a watched program: notes a fault of the host at the current API call.
    void find(const char* kind, const std::string& what, const void* site);
    // Notes that the program has read the error of a refused launch.
    void ask_for_errors() { unasked_.file = nullptr; }
    // Records the call site that allocated the memory at `place`.
    void remember(void* place, const void* site);
    // Writes findings and counts to a file. Returns whether there is any finding.
    bool report(int status, const char* path);
    // Returns the call site that a wrapper of the API has stored. Sets `site` to null if there is one.
    CallSite called_from(const void*& site);

    // Stores an error for cudaGetLastError and returns it.
    cudaError_t note(cudaError_t error);
    cudaError_t launch(const Kernel& kernel, const LaunchShape& shape, void** arguments, bool cooperative, CallSite from);
    // Copies or sets memory. `site` is the call in the program.
    cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const void* site);
    cudaError_t set(void* to, int value, size_t bytes, const void* site);
    cudaError_t allow_dynamic_shared(const Kernel& kernel, int bytes);
    size_t dynamic_shared_allowed(const Kernel& kernel) const;

  private:
    ProgramDevice();
    bool reaches(const void* address, size_t bytes);

    void lose_error();

    std::unordered_map<const Kernel*, size_t> dynamic_shared_;
    std::mutex mutex_;
    std::vector<HostFinding> findings_;
    std::map<void*, std::pair<CallSite, const void*>> taken_;
    std::vector<std::string> failures_;
    CallSite unasked_{};
    const char* unasked_kernel_ = nullptr;
};

extern thread_local cudaError_t last_error;

// Returns the description of a kernel, or null if `kernel` is not a kernel.
const Kernel* describe(const void* kernel);

}  // namespace emu
