#include "program.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <map>
#include <thread>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "faults.h"
#include "graphs.h"
#include "report.h"
#include "worker.h"

namespace emu {

__thread Configured* configured = nullptr;
thread_local cudaError_t last_error = cudaSuccess;

namespace {

constexpr uint64_t kMostPolls = 20'000'000;
constexpr size_t kUsualShared = 48 << 10;
constexpr Limits kLimits{1024, 8, 2048, 32, 16, 2048, (1u << 31) - 1, 227 << 10, 228 << 10};
constexpr unsigned kMostInY = 65535, kMostThreadsInZ = 64;

Mode mode = Mode::plain;
bool mode_known = false;
const char* interpreter = nullptr;
constexpr int kFound = 86;  // exit code of a program that was built with race detection and has findings
thread_local CallSite api_call{};
ProgramDevice* made = nullptr;
constexpr int kDeadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr unsigned kMostSecondsToReport = 60;

uint64_t number_from(const char* name) {
    const char* value = getenv(name);
    return value ? strtoull(value, nullptr, 10) : 0;
}

void say(const std::string& message) {
    fflush(stdout);
    fprintf(stderr, "bfsbench: %s\n", message.c_str());
}

// Returns CUDA's error code for the message of a failed kernel.
cudaError_t kind_of(const std::string& message) {
    auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
    if (says("assertion")) return cudaErrorAssert;
    if (says("not a multiple of")) return cudaErrorMisalignedAddress;
    if (says("illegal memory") || says("reads ") || says("writes ") || says("wrote element ") || says("index ")) return cudaErrorIllegalAddress;
    if (says("has no end")) return cudaErrorLaunchTimeout;
    return cudaErrorLaunchFailure;
}

unsigned workers() {
    if (mode != Mode::plain || number_from("BFSBENCH_SEED")) return 1;
    uint64_t wanted = number_from("BFSBENCH_CORES");
    unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    return wanted ? static_cast<unsigned>(wanted) : cores;
}

}  // namespace

// Writes the report of a process that ends. `death` says which signal kills the process, or is empty. `site`
// is one byte past the start of the instruction that caused the signal, or null.
static void finish(int status, const std::string& death, const void* site) {
    fflush(nullptr);
    const char* wanted = getenv("BFSBENCH_REPORT");
    std::string path = wanted ? wanted : "/tmp/bfsbench-" + std::to_string(getpid()) + ".report";
    if (wanted && !made) ProgramDevice::get();  // the program has used no device, so the report is empty
    if (made && !death.empty()) made->die(death, site);
    bool found = made && made->report(status, path.c_str());
    if (wanted || !made || mode == Mode::plain) return;
    pid_t child = fork();
    if (child == 0) {
        execl(interpreter, interpreter, "-m", "bfsbench.emulator.program_run", path.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    int result = 0;
    if (child > 0) waitpid(child, &result, 0);
    bool undeclared = WIFEXITED(result) && WEXITSTATUS(result) == 1;
    unlink(path.c_str());
    if (found && undeclared) _exit(kFound);
}

// Writes the report at the very end of the process, after all of the program's own exit handlers.
void finish_program(int status, void*) { finish(status, "", nullptr); }

// Writes the report before a signal kills the process, so that the report's findings are not lost. The
// interrupted code may hold a lock that the report needs. In this case an alarm ends the process.
static void on_deadly_signal(int number, siginfo_t*, [[maybe_unused]] void* context) {
    for (int one : kDeadly) signal(one, SIG_DFL);
    alarm(kMostSecondsToReport);
    const char* site = nullptr;
#ifdef __x86_64__
    site = reinterpret_cast<const char*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]) + 1;
#endif
    finish(128 + number, std::string("a signal kills the program: ") + strsignal(number) + "; the rest of the program did not run", site);
    raise(number);
}

Program::Program(Mode built, const char* python) {
    interpreter = python;
    if (!mode_known && built != Mode::plain) {
        on_exit(finish_program, nullptr);
        new SignalStack;  // the handler runs after an overflow of the usual stack, too
        struct sigaction action = {};
        action.sa_sigaction = on_deadly_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        for (int number : kDeadly) sigaction(number, &action, nullptr);
    }
    if (mode_known && mode != built) {
        say("the program's objects were built in different modes (plain, watched, counting)");
        _Exit(EXIT_FAILURE);
    }
    mode = built;
    mode_known = true;
}

ProgramDevice::ProgramDevice()
    : machine(kLimits, number_from("BFSBENCH_SEED"), workers(), mode == Mode::watched), memory(machine.buffers), limits(kLimits) {
    machine.stops_bad_shuffles = false;
    for (auto [begin, bytes] : segments_of("")) {
        if (machine.watch) machine.watch->add_module(begin, bytes);
    }
    if (machine.watch) {
        machine.watch->goes_on = !number_from("BFSBENCH_STOP_AT_FIRST");
        machine.watch->allows_long_launches = true;
        device_range = memory.begin();
        device_range_bytes = memory.range();
    }
    if (mode == Mode::counting) {
        machine.counting = std::make_unique<Counting>(machine.buffers, kMostPolls);
        for (auto [begin, bytes] : segments_of("")) machine.counting->add_module(begin, bytes);
    }
    made = this;
}

ProgramDevice& ProgramDevice::get() {
    // The device is never destroyed, because destructors of the program may call the runtime API.
    static ProgramDevice& device = *new ProgramDevice;
    return device;
}

cudaError_t ProgramDevice::note(cudaError_t error) {
    if (sticky != cudaSuccess) error = sticky;
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

size_t ProgramDevice::dynamic_shared_allowed(const Kernel& kernel) const {
    auto found = dynamic_shared_.find(&kernel);
    size_t usual = kUsualShared - std::min(kUsualShared, kernel.shared_bytes());
    return found == dynamic_shared_.end() ? usual : std::max(usual, found->second);
}

cudaError_t ProgramDevice::allow_dynamic_shared(const Kernel& kernel, int bytes) {
    if (bytes < 0 || kernel.shared_bytes() + static_cast<size_t>(bytes) > limits.shared_per_block) return cudaErrorInvalidValue;
    dynamic_shared_[&kernel] = static_cast<size_t>(bytes);
    return cudaSuccess;
}

cudaError_t ProgramDevice::launch(const Kernel& kernel, const LaunchShape& shape, void** arguments, bool cooperative, CallSite from) {
    if (sticky != cudaSuccess) return note(sticky);
    if (cudaGraph_t graph = recording(shape.stream)) return record_launch(graph, kernel, shape, arguments, cooperative, from);
    std::string refused = machine.refusal(kernel, shape);
    cudaError_t why = cudaErrorInvalidConfiguration;
    if (refused.empty() && (shape.grid.y > kMostInY || shape.grid.z > kMostInY || shape.block.z > kMostThreadsInZ)) {
        refused = std::string("kernel '") + kernel.name + "': a grid has at most 65535 blocks in y and z, a block 64 threads in z";
    }
    if (refused.empty() && shape.shared > dynamic_shared_allowed(kernel)) {
        why = cudaErrorInvalidValue;
        refused = std::string("kernel '") + kernel.name + "': " + std::to_string(shape.shared) +
                  " bytes of dynamic shared memory need cudaFuncAttributeMaxDynamicSharedMemorySize";
    }
    uint64_t blocks = uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
    if (refused.empty() && cooperative && blocks > machine.resident_blocks(kernel, volume(shape.block), shape.shared)) {
        why = cudaErrorCooperativeLaunchTooLarge;
        refused = std::string("kernel '") + kernel.name + "': the device does not hold " + std::to_string(blocks) + " blocks at once";
    }
    if (!refused.empty()) {
        say("refused: " + refused + " (" + to_string(from) + ")");
        lose_error();
        unasked_ = from;
        unasked_kernel_ = kernel.name;
        return note(why);
    }
    std::unique_lock<std::mutex> working(working_, std::defer_lock);
    if (machine.watch) {
        working.lock();
        machine.watch->begin_operation(number_of(shape.stream), {kernel.name, from, nullptr, true});
    }
    unawaited_ = true;
    LaunchShape wanted = shape;
    wanted.cooperative = cooperative;
    std::string failure = machine.launch(kernel, wanted, arguments);
    if (failure.empty()) return cudaSuccess;
    say(failure);
    // A program with race detection continues after a fault, so that its later launches are also checked.
    if (machine.watch) {
        if (!machine.watch->has_error()) failures_.push_back(failure);
        return cudaSuccess;
    }
    if (mode == Mode::counting) failures_.push_back(failure + "; later launches did not run");
    sticky = kind_of(failure);
    return note(sticky);
}

// Returns whether all `bytes` bytes from `address` on belong to one buffer of the device. Also returns true
// for an address in the host's memory.
bool ProgramDevice::reaches(const void* address, size_t bytes) {
    if (!memory.has(address)) return true;
    auto [begin, region] = machine.buffers.at(static_cast<const char*>(address));
    return region && static_cast<size_t>(static_cast<const char*>(address) - begin) + bytes <= region->bytes;
}

// Checks whether an operation that the host issues races with work of other streams. `waits` says whether the
// host waits for the end of the operation.
void ProgramDevice::order(const Call& call, bool waits, std::initializer_list<Touched> accesses) {
    if (waits) count_wait();
    if (!streams()) return;
    std::lock_guard<std::mutex> working(working_);
    machine.watch->begin_operation(number_of(call.stream), {call.name, call.from, call.site, false});
    for (auto [address, bytes, act] : accesses) {
        // The access need not be recorded if no later operation can race with it. This holds if the host
        // waits for the end of this operation, or if the access is to device memory and the program has only
        // one stream.
        bool is_ordered = waits || (memory.has(address) && !streams()->has_several());
        if (!address || (is_ordered && machine.watch->clocks.runs_alone())) continue;
        machine.watch->touch(static_cast<const char*>(address), bytes, act);
    }
    if (waits) streams()->host_waits_for(number_of(call.stream));
}

cudaError_t ProgramDevice::copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const Call& call) {
    if (sticky != cudaSuccess) return note(sticky);
    if (!bytes) return cudaSuccess;
    if (cudaGraph_t graph = recording(call.stream)) {
        return record(graph, cudaGraphNodeTypeMemcpy, [=](cudaStream_t stream) { return copy(to, from, bytes, kind, call.in(stream)); });
    }
    auto refuse = [&](const std::string& what, cudaError_t error) {
        find("bad copy", what, call.from, call.site);
        return note(error);
    };
    if (static_cast<unsigned>(kind) > cudaMemcpyDefault) return refuse("no such direction", cudaErrorInvalidMemcpyDirection);
    bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
    bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
    if (!to || !from) return refuse("a null pointer", cudaErrorInvalidValue);
    bool wrong = kind != cudaMemcpyDefault && ((to_host && memory.has(to)) || (from_host && memory.has(from)));
    if (wrong) return refuse("the direction does not fit the pointers", cudaErrorInvalidValue);
    for (const void* side : {static_cast<const void*>(to), from}) {
        if (reaches(side, bytes)) continue;
        bool is_buffer = machine.buffers.at(static_cast<const char*>(side)).second != nullptr;
        const char* where = is_buffer ? " bytes reach outside of a buffer" : " bytes, of memory that is not allocated or was freed";
        return refuse(std::to_string(bytes) + where, cudaErrorInvalidValue);
    }
    bool is_result = machine.watch && memory.has(from) && !memory.has(to);
    if (is_result && !machine.buffers.is_written(static_cast<const char*>(from), bytes)) {
        find("uninitialised copy", "to the host, of memory that nobody has written", call.from, call.site);
    }
    bool known = kind != cudaMemcpyDefault;
    bool host_to = known ? to_host : !memory.has(to), host_from = known ? from_host : !memory.has(from);
    if (host_to != host_from) count_copy(bytes, call);
    // The driver copies pageable memory of the host to its own buffer before the call returns. So the program
    // may change the pageable memory afterwards. cudaMemcpy waits for the end of each copy to or from the
    // host.
    bool is_staged = host_from && !machine.buffers.at(static_cast<const char*>(from)).second;
    bool waits = call.is_async ? host_to && host_from : host_to || host_from;
    order(call, waits, {{is_staged ? nullptr : from, bytes, Act::read}, {to, bytes, Act::write}});
    memmove(to, from, bytes);
    if (machine.watch) machine.buffers.set_written(static_cast<const char*>(to), bytes);
    return cudaSuccess;
}

cudaError_t ProgramDevice::set(void* to, int value, size_t bytes, const Call& call) {
    if (sticky != cudaSuccess) return note(sticky);
    if (!bytes) return cudaSuccess;
    if (cudaGraph_t graph = recording(call.stream)) {
        return record(graph, cudaGraphNodeTypeMemset, [=](cudaStream_t stream) { return set(to, value, bytes, call.in(stream)); });
    }
    if (!to || !reaches(to, bytes)) {
        find("bad copy", "a memset of " + std::to_string(bytes) + " bytes outside of a buffer", call.from, call.site);
        return note(cudaErrorInvalidValue);
    }
    order(call, !call.is_async && !memory.has(to), {{to, bytes, Act::write}});
    memset(to, value, bytes);
    if (machine.watch) machine.buffers.set_written(static_cast<const char*>(to), bytes);
    return cudaSuccess;
}

void calls_from(CallSite from) { api_call = from; }

Call::Call(const char* name, const void* site, bool is_async, cudaStream_t stream)
    : name(name), site(site), is_async(is_async), stream(stream), from(api_call) {
    api_call = {};
}

cudaError_t refuse_symbol(size_t size, size_t bytes) {
    Call call("a copy of a symbol", nullptr);
    ProgramDevice::get().find("bad copy", std::to_string(bytes) + " bytes reach outside of a symbol of " + std::to_string(size) + " bytes", call.from, call.site);
    return ProgramDevice::get().note(cudaErrorInvalidValue);
}

void ProgramDevice::find(const char* kind, const std::string& what, CallSite from, const void* site) {
    if (!machine.watch) return;
    std::lock_guard<std::mutex> lock(mutex_);
    for (HostFinding& known : findings_) {
        bool there = known.site == site && known.from.line == from.line && known.from.file == from.file;
        if (there && known.kind == kind) return void(++known.count);
    }
    findings_.push_back({kind, what, from, site, 1});
}

void ProgramDevice::remember(void* place, const Call& call) {
    if (!machine.watch) return;
    if (!call.is_async && streams()) streams()->order_all();
    if (call.is_async) order(call, false, {{place, memory.allocations().at(static_cast<char*>(place)), Act::write}});
    std::lock_guard<std::mutex> lock(mutex_);
    taken_.insert_or_assign(place, call);
    auto is_same = [&](const Call& known) { return known.site == call.site; };
    if (std::none_of(allocating_.begin(), allocating_.end(), is_same)) allocating_.push_back(call);
    machine.buffers.set_origin(static_cast<char*>(place), {call.from, call.site});
}

// cudaFree() waits for all streams before it frees memory from cudaMalloc(). It does not wait before it frees
// memory from cudaMallocAsync(), so this free may race with other work.
void ProgramDevice::before_free(void* place, const Call& call) {
    auto allocation = memory.allocations().find(static_cast<char*>(place));
    if (!call.is_async && allocation != memory.allocations().end()) count_wait();
    if (!streams() || allocation == memory.allocations().end()) return;
    size_t bytes = allocation->second;
    if (call.is_async) return order(call, false, {{place, bytes, Act::write}});
    std::unique_lock<std::mutex> lock(mutex_);
    auto taken = taken_.find(place);
    bool was_async = taken != taken_.end() && taken->second.is_async;
    lock.unlock();
    if (!was_async) return streams()->host_waits_for_all();
    machine.watch->touch_by_host(allocation->first, bytes, Act::write, Scope::none, {call.name, call.from, call.site, false});
}

// Reports a refused launch whose error the program has not read. The function is called when the next launch
// is refused, and when the program ends.
void ProgramDevice::lose_error() {
    if (!unasked_.file) return;
    find("unseen error", std::string("the launch of kernel '") + unasked_kernel_ + "' was refused, and nobody asked", unasked_, nullptr);
    unasked_ = {};
}

// Maps the first byte of each device variable to the variable's size in bytes and its name.
static std::map<const char*, std::pair<size_t, const char*>>& device_variables() {
    static std::map<const char*, std::pair<size_t, const char*>> variables;
    return variables;
}

std::optional<DeviceVariableRange> device_variable_at(const char* address) {
    auto next = device_variables().upper_bound(address);
    if (next == device_variables().begin()) return {};
    const auto& [begin, variable] = *std::prev(next);
    if (static_cast<size_t>(address - begin) >= variable.first) return {};
    return DeviceVariableRange{begin, variable.first, variable.second};
}

void add_device_variable(const void* begin, size_t bytes, const char* name) {
    if (mode != Mode::watched) return;
    auto& variables = device_variables();
    variables[static_cast<const char*>(begin)] = {bytes, name};
    auto& [last, end] = *variables.rbegin();
    variable_range = variables.begin()->first;
    variable_range_bytes = static_cast<size_t>(last + end.first - variable_range);
}

void report_host_access(const char* address, size_t bytes, Act act, Scope scope, const void* site) {
    ProgramDevice& device = ProgramDevice::get();
    if (auto variable = device_variable_at(address)) {
        const char* verb = act == Act::read ? "reads" : "writes";
        device.find("host access", std::string("the host ") + verb + " its own copy of the device's variable '" + variable->name + "'", {}, site);
    }
    if (!device.memory.has(address)) return device.machine.watch->touch_by_host(address, bytes, act, scope, {"", {}, site, false});
    bool freed = device.machine.buffers.at(address).second == nullptr;
    if (!device.machine.watch->streams.checks_host && !freed) {
        if (act != Act::read) device.machine.buffers.set_written(address, bytes);
        return;
    }
    std::string what = act == Act::read ? "reads" : "writes";
    device.find("host access", "the host " + what + (freed ? " memory of the device where no buffer is" : " memory of the device"), {}, site);
}

namespace {

// Returns the offset of an instruction in the program's executable, or 0 if the instruction is in a library.
uint64_t place_in_program(const void* site) {
    Dl_info info{};
    static const void* const own = [] {
        const void* base = nullptr;
        auto visit = [](dl_phdr_info* first, size_t, void* found) {
            *static_cast<const void**>(found) = reinterpret_cast<const void*>(first->dlpi_addr);
            return 1;
        };
        dl_iterate_phdr(visit, &base);
        return base;
    }();
    if (!site || !dladdr(site, &info)) return 0;
    bool inside = info.dli_fbase == own || !own;
    return inside ? static_cast<uint64_t>(static_cast<const char*>(site) - static_cast<const char*>(own)) : 0;
}

}  // namespace

void ProgramDevice::die(const std::string& death, const void* site) {
    killed_ = true;
    if (!machine.watch || !place_in_program(site)) return failures_.push_back(death);
    find("crash", death, {}, site);
}

bool ProgramDevice::report(int status, const char* path) {
    if (!killed_) lose_error();
    if (machine.watch && !killed_) {
        auto lose = [&](void* place, size_t bytes) {
            auto taken = taken_.find(place);
            bool known = taken != taken_.end();
            find("leak", std::to_string(bytes) + " bytes are never freed", known ? taken->second.from : CallSite{},
                 known ? taken->second.site : nullptr);
        };
        for (auto& [place, bytes] : memory.allocations()) lose(place, bytes);
        for (auto& [place, bytes] : managed) lose(place, bytes);
    }
    FILE* file = fopen(path, "w");
    if (!file) return say(std::string("cannot write ") + path), true;
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[std::max<ssize_t>(length, 0)] = 0;
    fprintf(file, "program\t%d\t%s\n", status, program);
    for (const Call& call : allocating_) {
        fprintf(file, "allocation\t%s\t%d\t%" PRIu64 "\n", call.from.file ? call.from.file : "", call.from.line, place_in_program(call.site));
    }
    fprintf(file, "waits\t%" PRIu64 "\n", waits_.load());
    fprintf(file, "copies\t%" PRIu64 "\t%" PRIu64 "\n", copies_.load(), copied_bytes_.load());
    for (const std::string& failure : failures_) fprintf(file, "failure\t%s\n", failure.c_str());
    for (const HostFinding& found : findings_) {
        fprintf(file, "host\t%s\t%s\t%d\t%" PRIu64 "\t%" PRIu64 "\t%s\n", found.kind, found.from.file ? found.from.file : "",
                found.from.line, place_in_program(found.site), found.count, found.what.c_str());
    }
    if (machine.watch) write_stream_races(file, machine.watch->streams, place_in_program);
    write_findings(file, machine, place_in_program);
    write_counts(file, machine, place_in_program);
    fclose(file);
    return (machine.watch && !(machine.watch->findings().empty() && machine.watch->streams.races().empty())) || !findings_.empty() || !failures_.empty();
}

void launch_program_kernel(const Kernel& kernel, const LaunchShape& shape, const void* const* arguments, const size_t* sizes,
                           unsigned count, const void* site, CallSite from) {
    if (current) {
        launch_child(kernel, kernel.entry, shape.grid, shape.block, shape.shared, shape.stream, arguments, sizes, count, site);
    } else {
        ProgramDevice::get().launch(kernel, shape, const_cast<void**>(arguments), shape.cooperative, from);
    }
}

void* device_malloc(size_t bytes) { return ProgramDevice::get().memory.take(std::max<size_t>(bytes, 1)); }
bool device_free(void* place) {
    if (!made || !made->memory.has(place)) return false;
    made->memory.give_back(place);
    return true;
}

bool forget_host_accesses() {
    if (Streams* streams = ProgramDevice::get().streams()) streams->checks_host = false;
    return true;
}
bool is_in_shared_memory(const void* address) {
    const ResidentBlock& block = block_of(here());
    auto* byte = static_cast<const char*>(address);
    return byte >= block.arena_begin && byte < block.arena_begin + block.arena_bytes;
}
bool is_on_own_stack(const void* address) { return StackPool::is_on(here().stack, static_cast<const char*>(address)); }

const Kernel* describe(const void* kernel) {
    Configured question(LaunchShape(1, 1));
    question.describes = true;
    reinterpret_cast<void (*)()>(const_cast<void*>(kernel))();
    return question.described;
}

cudaError_t launch_by_pointer(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream, bool cooperative) {
    ProgramDevice& device = ProgramDevice::get();
    const Kernel* kernel = function ? describe(function) : nullptr;
    if (!kernel) return device.note(cudaErrorInvalidDeviceFunction);
    Call call("cudaLaunchKernel", nullptr);
    return device.launch(*kernel, LaunchShape(grid, block, shared, stream), arguments, cooperative, call.from);
}

cudaError_t attributes_of(cudaFuncAttributes* attributes, const void* function) {
    ProgramDevice& device = ProgramDevice::get();
    const Kernel* kernel = function ? describe(function) : nullptr;
    if (!kernel) return device.note(cudaErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->sharedSizeBytes = kernel->shared_bytes();
    attributes->maxThreadsPerBlock = static_cast<int>(kernel->max_threads ? kernel->max_threads : device.limits.max_threads_per_block);
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(device.dynamic_shared_allowed(*kernel));
    return cudaSuccess;
}

cudaError_t name_of(const char** name, const void* function) {
    const Kernel* kernel = function ? describe(function) : nullptr;
    if (!kernel) return ProgramDevice::get().note(cudaErrorInvalidDeviceFunction);
    *name = kernel->name;
    return cudaSuccess;
}

cudaError_t set_attribute(const void* function, cudaFuncAttribute attribute, int value) {
    ProgramDevice& device = ProgramDevice::get();
    const Kernel* kernel = function ? describe(function) : nullptr;
    if (!kernel) return device.note(cudaErrorInvalidDeviceFunction);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    return device.note(device.allow_dynamic_shared(*kernel, value));
}

cudaError_t occupancy(int* blocks, const void* function, int threads, size_t shared) {
    ProgramDevice& device = ProgramDevice::get();
    const Kernel* kernel = function ? describe(function) : nullptr;
    if (!kernel) return device.note(cudaErrorInvalidDeviceFunction);
    if (threads < 1) return device.note(cudaErrorInvalidValue);
    bool fits = static_cast<unsigned>(threads) <= device.limits.max_threads_per_block;
    *blocks = fits ? static_cast<int>(device.machine.resident_blocks(*kernel, static_cast<unsigned>(threads), shared) / device.limits.multiprocessors) : 0;
    return cudaSuccess;
}

cudaError_t best_block(int* grid, int* block, const void* function, size_t (*shared)(int, const void*), const void* state, int limit) {
    cudaFuncAttributes attributes;
    if (cudaError_t error = attributes_of(&attributes, function)) return error;
    int most = attributes.maxThreadsPerBlock, best = 0;
    if (limit > 0 && limit < most) most = limit;
    for (int threads = most / 32 * 32; threads >= 32; threads -= 32) {
        int blocks = 0;
        occupancy(&blocks, function, threads, shared(threads, state));
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *block = threads;
        *grid = blocks * static_cast<int>(ProgramDevice::get().limits.multiprocessors);
    }
    return best ? cudaSuccess : ProgramDevice::get().note(cudaErrorInvalidConfiguration);
}

}  // namespace emu
