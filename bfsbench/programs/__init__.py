"""Defines what a variant of any family consists of: a declaration, a host loop, and a clock that times its
runs."""

from bfsbench.programs.check import POISON as POISON, ExpectedAnswer as ExpectedAnswer
from bfsbench.programs.device_graph import DeviceGraph as DeviceGraph
from bfsbench.programs.variant import (
    PRESETS as PRESETS,
    Clock as Clock,
    DeviceClock as DeviceClock,
    ForeignProgram as ForeignProgram,
    HostClock as HostClock,
    HostProgram as HostProgram,
    KernelProgram as KernelProgram,
    KernelSetup as KernelSetup,
    Knob as Knob,
    KnobValue as KnobValue,
    Traffic as Traffic,
    Variant as Variant,
)
