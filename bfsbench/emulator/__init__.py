"""CUDA kernels on a CPU: ``.cu`` files compiled as C++, with a fiber for every CUDA thread.

README.md in this folder says what is emulated and what is not. Times taken here do not predict those of a
GPU.

    with Emulator() as device:
        x = device.upload(np.arange(100, dtype=np.int32))
        double = device.module(Path("double.cu"), {}).kernel("twice").bind(x, 100, block=64)
        double(2)
        x.download()
"""

from bfsbench.emulator.contract import Contract
from bfsbench.emulator.counting import Count, LevelCount
from bfsbench.emulator.device import Emulator, Event
from bfsbench.emulator.hardware import WARP_SIZE, Hardware
from bfsbench.emulator.kernel import Kernel, Launch, Module
from bfsbench.emulator.library import diagnose
from bfsbench.emulator.lines import Line
from bfsbench.emulator.memory import Buffer, Signal
from bfsbench.emulator.signature import Argument, Scalars, Signature
from bfsbench.emulator.structs import CType, Struct, struct_of
from bfsbench.emulator.translate import source_files
from bfsbench.emulator.watch import DECLARATIONS, Access, Actor, Finding

__all__ = [
    "DECLARATIONS",
    "WARP_SIZE",
    "Access",
    "Actor",
    "Argument",
    "Buffer",
    "CType",
    "Contract",
    "Count",
    "Emulator",
    "Event",
    "Finding",
    "Hardware",
    "Kernel",
    "Launch",
    "LevelCount",
    "Line",
    "Module",
    "Scalars",
    "Signal",
    "Signature",
    "Struct",
    "diagnose",
    "source_files",
    "struct_of",
]
