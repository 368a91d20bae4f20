"""Base classes of variants of all-pairs shortest paths, as :mod:`bfsbench.variants.base` has them too."""

from bfsbench.families.apsp.variants import AllPairsVariant, HostAllPairs, KernelAllPairs

__all__ = ["AllPairsVariant", "HostAllPairs", "KernelAllPairs"]
