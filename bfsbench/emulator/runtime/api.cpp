// The C functions of the emulator's runtime library that Python calls.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "machine.h"
#include "report.h"

namespace {

// The message that emu_message() returns. Each thread of the operating system has its own.
thread_local std::string message;

}  // namespace

extern "C" EMU_API const char* emu_message() { return message.c_str(); }

extern "C" EMU_API emu::Machine* emu_create(const emu::Limits* limits, uint64_t seed, unsigned workers,
                                            int watches) {
    return new emu::Machine(*limits, seed, workers, watches != 0);
}

// Makes the machine count the memory accesses of its kernels, which must be compiled for counting. The
// machine must have one worker and must not detect races.
extern "C" EMU_API void emu_start_counting(emu::Machine* machine, uint64_t most_polls) {
    machine->counting = std::make_unique<emu::Counting>(machine->buffers, most_polls);
}

// Returns the findings and the counts since the last call of this function, as text (report.h). The text is
// valid until the next call.
extern "C" EMU_API const char* emu_report(emu::Machine* machine) {
    static char* text = nullptr;
    size_t size = 0;
    free(text);
    FILE* file = open_memstream(&text, &size);
    auto place = [](const void* site) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(site)); };
    emu::write_findings(file, *machine, place);
    emu::write_counts(file, *machine, place);
    fclose(file);
    if (machine->watch) machine->watch->forget_findings();
    if (machine->counting) machine->counting->forget();
    return text;
}

// Declares a buffer that divides a kernel into phases, such as the levels of a search. When a kernel stores
// to element i of the buffer, phase i begins.
extern "C" EMU_API void emu_note_phases_at(emu::Machine* machine, const char* begin, size_t bytes, size_t element) {
    machine->counting->note_phases_at(begin, bytes, element);
}

extern "C" EMU_API void emu_destroy(emu::Machine* machine) { delete machine; }

// Returns the number of guard bytes of a buffer. The caller must leave this many bytes free before and after
// each buffer.
extern "C" EMU_API size_t emu_guard_bytes() { return emu::Buffers::kGuardBytes; }

// Adds a buffer of `bytes` bytes to the machine. From now on the emulator reports a write just outside the
// buffer as an error of the writing kernel.
extern "C" EMU_API void emu_add_buffer(emu::Machine* machine, char* begin, size_t bytes, size_t element) {
    machine->buffers.add(begin, bytes, element);
}

// Adds memory of the host as a buffer without guard bytes. So writes just outside this buffer are found only
// if the machine checks every access.
extern "C" EMU_API void emu_adopt_buffer(emu::Machine* machine, char* begin, size_t bytes, size_t element) {
    machine->buffers.adopt(begin, bytes, element);
    if (machine->watch) machine->buffers.set_written(begin, bytes);
}

// Marks bytes of a buffer as written by the host, so that kernels may read them.
extern "C" EMU_API void emu_set_written(emu::Machine* machine, char* first, size_t bytes) {
    if (machine->watch) machine->buffers.set_written(first, bytes);
}

extern "C" EMU_API void emu_remove_buffer(emu::Machine* machine, char* begin) {
    machine->buffers.remove(begin);
}

// Loads a compiled kernel library, whose symbols stay invisible to other libraries. Returns the library's
// handle, or null if loading fails.
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

// Returns the description of the kernel called `name` in a loaded library, or null if the library has no such
// kernel.
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

// Returns 0 if the device can run one cluster of the kernel, which is the smallest grid that the kernel
// allows. Each block has `threads` threads and `shared` bytes of dynamic shared memory. Returns 1 if the
// device cannot run it.
extern "C" EMU_API int emu_check(const emu::Machine* machine, const emu::Kernel* kernel, unsigned threads,
                                 size_t shared) {
    message = machine->refusal(*kernel, {kernel->cluster, threads, shared});
    return message.empty() ? 0 : 1;
}

// Runs a kernel. Returns 0 if the kernel has run, 1 if the launch was refused, and 2 if the kernel failed.
extern "C" EMU_API int emu_launch(emu::Machine* machine, const emu::Kernel* kernel, unsigned blocks,
                                  unsigned threads, size_t shared, void** arguments) {
    emu::LaunchShape shape(blocks, threads, shared);
    message = machine->refusal(*kernel, shape);
    if (!message.empty()) return 1;
    message = machine->launch(*kernel, shape, arguments);
    return message.empty() ? 0 : 2;
}

// Returns the load address of the library that contains the instruction `site`, or null if no library
// contains it. Stores the library's path in *path.
extern "C" EMU_API const void* emu_module_of(const void* site, const char** path) {
    Dl_info info{};
    if (!dladdr(site, &info)) return nullptr;
    *path = info.dli_fname;
    return info.dli_fbase;
}

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
