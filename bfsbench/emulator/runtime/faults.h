// Turns machine faults inside a kernel (bad address, stack overflow, division by zero) into errors of the
// kernel.
#pragma once

namespace emu {

// Installs the signal handlers while any object of this class exists. Faults outside kernels go to the
// handlers that were installed before.
class FaultHandlers {
  public:
    FaultHandlers();
    ~FaultHandlers();
    FaultHandlers(const FaultHandlers&) = delete;
};

// Gives the calling thread of the operating system a separate stack for signals, because an overflow of the
// ordinary stack may cause a signal.
class SignalStack {
  public:
    SignalStack();
    ~SignalStack();
    SignalStack(const SignalStack&) = delete;

  private:
    char* memory_;
    void* before_;
};

}  // namespace emu
