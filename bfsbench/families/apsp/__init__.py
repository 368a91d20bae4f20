"""All-pairs shortest paths: the distance from every vertex to every other one."""

from bfsbench.families.apsp.distances import WrongDistancesError
from bfsbench.families.apsp.family import AllPairs, AllPairsShortestPaths

__all__ = ["AllPairs", "AllPairsShortestPaths", "WrongDistancesError"]
