"""Re-exports the classes and functions that the author of a variant needs.

Classes for variants of every family come from :mod:`bfsbench.programs`. Base classes of breadth-first
searches come from :mod:`bfsbench.programs.families.bfs.searches`. Base classes of all-pairs shortest paths
come from :mod:`bfsbench.programs.families.apsp.variants`.
"""

from bfsbench.programs import (
    POISON as POISON,
    PRESETS as PRESETS,
    DeviceGraph as DeviceGraph,
    HostProgram as HostProgram,
    KernelProgram as KernelProgram,
    KernelSetup as KernelSetup,
    Knob as Knob,
    KnobValue as KnobValue,
    Traffic as Traffic,
    Variant as Variant,
)
from bfsbench.programs.families.apsp.variants import (
    AllPairsVariant as AllPairsVariant,
    HostAllPairs as HostAllPairs,
    KernelAllPairs as KernelAllPairs,
)
from bfsbench.programs.families.bfs.searches import (
    LEVEL_SCAN as LEVEL_SCAN,
    UNREACHED as UNREACHED,
    HostVariant as HostVariant,
    KernelVariant as KernelVariant,
    LevelKernelVariant as LevelKernelVariant,
    OneLaunchVariant as OneLaunchVariant,
    SearchVariant as SearchVariant,
)
