"""Breadth-first search: the level of every vertex below a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bfsbench.families.bfs.family import BreadthFirstSearch

if TYPE_CHECKING:
    from bfsbench.families.bfs.levels import Levels, WrongLevelsError, check_levels, reference_levels
    from bfsbench.families.bfs.search import Search

__all__ = [
    "BreadthFirstSearch",
    "Levels",
    "Search",
    "WrongLevelsError",
    "check_levels",
    "reference_levels",
]


def __getattr__(name: str) -> Any:
    """Import what needs NumPy when it is first asked for: the declaration alone is quick."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from bfsbench.families.bfs import levels, search

    return getattr(search if name == "Search" else levels, name)
