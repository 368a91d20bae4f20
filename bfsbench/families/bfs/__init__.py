"""Breadth-first search: the level of every vertex below a source."""

from bfsbench.families.bfs.family import BreadthFirstSearch, Search
from bfsbench.families.bfs.levels import Levels, WrongLevelsError, check_levels, reference_levels

__all__ = [
    "BreadthFirstSearch",
    "Levels",
    "Search",
    "WrongLevelsError",
    "check_levels",
    "reference_levels",
]
