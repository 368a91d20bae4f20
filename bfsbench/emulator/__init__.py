"""Runs CUDA kernels on a CPU: ``.cu`` files are compiled as C++, and a fiber runs each CUDA thread.

README.md in this folder says what is emulated and what is not. Times on the emulator do not predict times on
a GPU.

    with Emulator() as device:
        x = device.upload(np.arange(100, dtype=np.int32))
        double = device.module(Path("double.cu"), {}).kernel("twice").bind(x, 100, block=64)
        double(2)
        x.download()
"""

from bfsbench.emulator.device import (
    WARP_SIZE as WARP_SIZE,
    Buffer as Buffer,
    Emulator as Emulator,
    Event as Event,
    Hardware as Hardware,
    Signal as Signal,
)
from bfsbench.emulator.kernel import Kernel as Kernel, Launch as Launch, Module as Module
from bfsbench.emulator.watch import (
    DECLARATIONS as DECLARATIONS,
    Access as Access,
    Actor as Actor,
    Count as Count,
    Finding as Finding,
    Line as Line,
    PhaseCount as PhaseCount,
)
