"""Runs CUDA kernels on a CPU. ``.cu`` files are compiled as C++, and a fiber runs each CUDA thread.

README.md in this folder says what is emulated and what is not. Times on the emulator do not predict times on
a GPU.

    with Emulator() as device:
        x = device.upload(np.arange(100, dtype=np.int32))
        double = device.module(Path("double.cu"), {}).kernel("twice").bind(x, 100, block=64)
        double(2)
        x.download()
"""

from bfsbench.emulator.device import (
    WARP_SIZE,
    Buffer,
    Emulator,
    Event,
    Hardware,
    Kernel,
    Launch,
    Module,
    Signal,
)
from bfsbench.emulator.watch import (
    DECLARATIONS,
    ENDING_LAUNCH,
    Access,
    Actor,
    Count,
    Finding,
    Line,
    PhaseCount,
)

__all__ = [
    "DECLARATIONS",
    "ENDING_LAUNCH",
    "WARP_SIZE",
    "Access",
    "Actor",
    "Buffer",
    "Count",
    "Emulator",
    "Event",
    "Finding",
    "Hardware",
    "Kernel",
    "Launch",
    "Line",
    "Module",
    "PhaseCount",
    "Signal",
]
