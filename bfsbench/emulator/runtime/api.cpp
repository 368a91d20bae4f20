// The functions that Python calls.

#include <dlfcn.h>

#include <exception>

#include "machine.h"

namespace {

// The message of the last failed call of this thread.
thread_local std::string message;

}  // namespace

extern "C" EMU_API const char* emu_message() { return message.c_str(); }

extern "C" EMU_API emu::Machine* emu_create(const emu::Limits* limits, uint64_t seed, unsigned workers,
                                            int watches) {
    return new emu::Machine(*limits, seed, workers, watches != 0);
}

// Counts from now on what kernels do that were compiled for it; on a machine of one worker that does not watch.
extern "C" EMU_API void emu_start_counting(emu::Machine* machine, uint64_t most_polls) {
    machine->counting = std::make_unique<emu::Counting>(machine->buffers, most_polls);
}

extern "C" EMU_API size_t emu_counts(const emu::Machine* machine, const emu::Count** counts) {
    *counts = machine->counting->counts().data();
    return machine->counting->counts().size();
}

extern "C" EMU_API size_t emu_level_counts(const emu::Machine* machine, const emu::LevelCount** levels) {
    *levels = machine->counting->levels().data();
    return machine->counting->levels().size();
}

extern "C" EMU_API void emu_forget_counts(emu::Machine* machine) { machine->counting->forget(); }

// Kernels note in this buffer, at the index of each level, that it begins.
extern "C" EMU_API void emu_note_levels_at(emu::Machine* machine, const char* begin, size_t bytes, size_t element) {
    machine->counting->note_levels_at(begin, bytes, element);
}

extern "C" EMU_API void emu_destroy(emu::Machine* machine) { delete machine; }

// Bytes to leave free before and behind a buffer.
extern "C" EMU_API size_t emu_guard_bytes() { return emu::Buffers::kGuardBytes; }

// From here on, writing outside the buffer is an error of the kernel that did it.
extern "C" EMU_API void emu_add_buffer(emu::Machine* machine, char* begin, size_t bytes, size_t element) {
    machine->buffers.add(begin, bytes, element);
}

// The same for memory of the host, which has no guards.
extern "C" EMU_API void emu_adopt_buffer(emu::Machine* machine, char* begin, size_t bytes, size_t element) {
    machine->buffers.adopt(begin, bytes, element);
    if (machine->watch) machine->buffers.set_written(begin, bytes);
}

// Marks bytes of a buffer as initialised by the host.
extern "C" EMU_API void emu_set_written(emu::Machine* machine, char* first, size_t bytes) {
    if (machine->watch) machine->buffers.set_written(first, bytes);
}

extern "C" EMU_API void emu_remove_buffer(emu::Machine* machine, char* begin) {
    machine->buffers.remove(begin);
}

// A module, loaded privately; null on failure.
extern "C" EMU_API void* emu_open(emu::Machine* machine, const char* path) {
    void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) message = dlerror();
    if (module && (machine->watch || machine->counting)) {
        for (auto [begin, bytes] : emu::segments_of(path)) {
            if (machine->watch) machine->watch->add_module(begin, bytes);
            if (machine->counting) machine->counting->add_module(begin, bytes);
        }
    }
    return module;
}

extern "C" EMU_API void emu_close(void* module) { dlclose(module); }

// Null if the module has no such kernel.
extern "C" EMU_API const emu::Kernel* emu_kernel(void* module, const char* name) {
    auto* kernel = static_cast<emu::Kernel**>(dlsym(module, (std::string("emu_kernel_") + name).c_str()));
    return kernel ? *kernel : nullptr;
}

extern "C" EMU_API unsigned emu_parameter_count(const emu::Kernel* kernel) { return kernel->parameters; }

extern "C" EMU_API size_t emu_parameter_size(const emu::Kernel* kernel, unsigned index) {
    return kernel->parameter_sizes[index];
}

extern "C" EMU_API unsigned emu_resident_blocks(const emu::Machine* machine, const emu::Kernel* kernel,
                                                unsigned threads, size_t shared) {
    return machine->resident_blocks(*kernel, threads, shared);
}

// Whether blocks of this kind could ever be launched, in a grid of as few as the kernel allows.
extern "C" EMU_API int emu_check(const emu::Machine* machine, const emu::Kernel* kernel, unsigned threads,
                                 size_t shared) {
    message = machine->refusal(*kernel, {kernel->cluster, threads, shared});
    return message.empty() ? 0 : 1;
}

// 0: done; 1: the launch was refused; 2: a kernel failed.
extern "C" EMU_API int emu_launch(emu::Machine* machine, const emu::Kernel* kernel, unsigned blocks,
                                  unsigned threads, size_t shared, void** arguments) {
    emu::LaunchShape shape(blocks, threads, shared);
    message = machine->refusal(*kernel, shape);
    if (!message.empty()) return 1;
    message = machine->launch(*kernel, shape, arguments);
    return message.empty() ? 0 : 2;
}

// Which module an instruction is in: the address where that was loaded; `path` gets its file.
extern "C" EMU_API const void* emu_module_of(const void* site, const char** path) {
    Dl_info info{};
    if (!dladdr(site, &info)) return nullptr;
    *path = info.dli_fname;
    return info.dli_fbase;
}

extern "C" EMU_API size_t emu_findings(const emu::Machine* machine, const emu::Finding** findings) {
    *findings = machine->watch->findings().data();
    return machine->watch->findings().size();
}

extern "C" EMU_API void emu_forget_findings(emu::Machine* machine) { machine->watch->forget_findings(); }

extern "C" EMU_API size_t emu_sites(emu::Machine* machine, const void* const** sites) {
    *sites = machine->watch->sites().data();
    return machine->watch->sites().size();
}

extern "C" EMU_API void emu_set_recording(emu::Machine* machine, int on) {
    machine->watch->set_recording(on != 0);
}

extern "C" EMU_API size_t emu_records(emu::Machine* machine, const emu::Record** records) {
    *records = machine->watch->records().data();
    return machine->watch->records().size();
}

extern "C" EMU_API size_t emu_stacks_in_use(const emu::Machine* machine) {
    return machine->allocated_stacks() - machine->free_stacks();
}
