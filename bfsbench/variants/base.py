"""Everything an author of a variant imports. Declarations for variants of any family are in
:mod:`bfsbench.programs`, the base classes of searches in :mod:`bfsbench.families.bfs.searches`, those of
all-pairs shortest paths in :mod:`bfsbench.families.apsp.variants`.
"""

from bfsbench.families.apsp.variants import AllPairsVariant, HostAllPairs, KernelAllPairs
from bfsbench.families.bfs.searches import (
    LEVEL_SCAN,
    UNREACHED,
    HostVariant,
    KernelVariant,
    LevelKernelVariant,
    OneLaunchVariant,
    SearchVariant,
)
from bfsbench.programs import (
    POISON,
    PRESETS,
    DeviceGraph,
    HostProgram,
    KernelProgram,
    KernelSetup,
    Knob,
    KnobValue,
    Traffic,
    Variant,
)

__all__ = [
    "LEVEL_SCAN",
    "POISON",
    "PRESETS",
    "UNREACHED",
    "AllPairsVariant",
    "DeviceGraph",
    "HostAllPairs",
    "HostProgram",
    "HostVariant",
    "KernelAllPairs",
    "KernelProgram",
    "KernelSetup",
    "KernelVariant",
    "Knob",
    "KnobValue",
    "LevelKernelVariant",
    "OneLaunchVariant",
    "SearchVariant",
    "Traffic",
    "Variant",
]
