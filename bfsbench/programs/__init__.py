"""What a variant of any family is: a declaration, a host loop, and the clock that times it."""

from bfsbench.programs.check import POISON, ExpectedAnswer
from bfsbench.programs.clock import Clock, DeviceClock, HostClock
from bfsbench.programs.device_graph import DeviceGraph
from bfsbench.programs.knob import PRESETS, Knob, KnobValue
from bfsbench.programs.traffic import Traffic
from bfsbench.programs.variant import HostProgram, KernelProgram, KernelSetup, Variant

__all__ = [
    "POISON",
    "PRESETS",
    "Clock",
    "DeviceClock",
    "DeviceGraph",
    "ExpectedAnswer",
    "HostClock",
    "HostProgram",
    "KernelProgram",
    "KernelSetup",
    "Knob",
    "KnobValue",
    "Traffic",
    "Variant",
]
