#include "faults.h"

#include <signal.h>

#include <mutex>

#include "fiber.h"
#include "resident_block.h"

namespace emu {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE};
constexpr int kCount = sizeof kSignals / sizeof *kSignals;
constexpr size_t kSignalStackBytes = 64 << 10;

std::mutex mutex;
int users = 0;
struct sigaction before[kCount];

// Handles a signal that an instruction has caused, such as SIGSEGV. The handler runs on a separate stack for
// signals. It never returns to the faulting instruction of a kernel, because fail() jumps to the worker's
// loop.
void on_fault(int signal, siginfo_t* info, void*) {
    // If no kernel is running, the program's own handler is restored. It receives the signal when the
    // instruction runs again.
    if (!current) {
        for (int i = 0; i < kCount; ++i) {
            if (kSignals[i] == signal) sigaction(signal, &before[i], nullptr);
        }
        return;
    }
    if (signal == SIGFPE) fail("integer division by zero");
    if (StackPool::in_guard(static_cast<Fiber*>(current)->stack, info->si_addr)) {
        fail("stack overflow (%zu KiB a thread)", StackPool::kBytes >> 10);
    }
    fail("illegal memory access at address %p", info->si_addr);
}

}  // namespace

FaultHandlers::FaultHandlers() {
    std::lock_guard<std::mutex> lock(mutex);
    if (users++ > 0) return;
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < kCount; ++i) sigaction(kSignals[i], &action, &before[i]);
}

FaultHandlers::~FaultHandlers() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--users > 0) return;
    for (int i = 0; i < kCount; ++i) sigaction(kSignals[i], &before[i], nullptr);
}

SignalStack::SignalStack() : memory_(new char[kSignalStackBytes]), before_(new stack_t) {
    stack_t own = {};
    own.ss_sp = memory_;
    own.ss_size = kSignalStackBytes;
    sigaltstack(&own, static_cast<stack_t*>(before_));
}

SignalStack::~SignalStack() {
    auto* former = static_cast<stack_t*>(before_);
    sigaltstack(former, nullptr);
    delete former;
    delete[] memory_;
}

}  // namespace emu
