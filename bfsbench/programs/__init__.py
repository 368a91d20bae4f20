"""Exports the base classes of variants, and the classes that variants use: knobs, clocks, and the arrays of a
graph on a device. A variant is one implementation of a graph problem."""

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
    OwnClock as OwnClock,
    Traffic as Traffic,
    Variant as Variant,
)
