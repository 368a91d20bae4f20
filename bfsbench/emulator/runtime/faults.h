// Turns machine faults inside a kernel (bad address, stack overflow, division by zero) into kernel errors.
#pragma once

namespace emu {

// Handlers are in place while any guard exists; faults outside kernels go to the previous handlers.
class FaultHandlers {
  public:
    FaultHandlers();
    ~FaultHandlers();
    FaultHandlers(const FaultHandlers&) = delete;
};

// The calling thread handles signals on a stack of its own, since a fault may be a full stack.
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
