"""All-pairs shortest paths: the distance from every vertex to every other one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bfsbench.families.apsp.family import AllPairsShortestPaths

if TYPE_CHECKING:
    from bfsbench.families.apsp.distances import WrongDistancesError
    from bfsbench.families.apsp.problem import AllPairs

__all__ = ["AllPairs", "AllPairsShortestPaths", "WrongDistancesError"]


def __getattr__(name: str) -> Any:
    """Import what needs NumPy when it is first asked for: the declaration alone is quick."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from bfsbench.families.apsp import distances, problem

    return getattr(problem if name == "AllPairs" else distances, name)
