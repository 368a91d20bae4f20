"""Next hops of all-pairs shortest paths: checked, and followed to a path.

``next_hops`` is int32[V, V] throughout: the vertex after the row's on a shortest path to the column's, the
vertex itself on the diagonal, -1 where there is no path.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bfsbench.errors import NoPathError, UsageError
from bfsbench.families.apsp.distances import WrongDistancesError
from bfsbench.graphs.matrix import INFINITY, Matrix

TARGETS_AT_A_TIME = 256
"""Columns checked at once, which bounds the memory that checking takes."""


def check_next_hops(weights: Matrix, distances: Matrix, next_hops: Matrix) -> None:
    """Raises WrongDistancesError unless following next hops takes every pair's distance.

    This holds when each hop is an arc whose weight is the decrease of the distance, and when hops reach their
    targets: arcs of weight 0 could form a cycle. The latter is tested by pointer jumping, 2^k hops after k
    rounds. All three are int32[V, V].
    """
    num_vertices = len(weights)
    sources = np.arange(num_vertices)[:, None]
    for first in range(0, num_vertices, TARGETS_AT_A_TIME):
        targets = np.arange(first, min(first + TARGETS_AT_A_TIME, num_vertices))
        hops, left = next_hops[:, targets], distances[:, targets].astype(np.int64)
        reached = left < INFINITY
        _require(
            ((hops >= 0) == reached) & (hops >= -1) & (hops < num_vertices), targets, "no vertex to go to"
        )
        at = np.where(reached, hops, sources)
        length = weights[sources, at] + np.take_along_axis(left, at, axis=0)
        _require(~reached | (length == left), targets, "a hop that is on no shortest path")
        for _ in range(num_vertices.bit_length()):
            at = np.take_along_axis(at, at, axis=0)
        _require(~reached | (at == targets), targets, "hops that never get there")


def _require(right: npt.NDArray[np.bool_], targets: npt.NDArray[np.int64], what: str) -> None:
    wrong = np.argwhere(~right)
    if len(wrong):
        source, column = wrong[0]
        raise WrongDistancesError(f"next hops from {source} to {targets[column]}: {what}")


def path_between(next_hops: Matrix | None, source: int, target: int) -> npt.NDArray[np.int32]:
    """The vertices of a shortest path from ``source`` to ``target``, both included, int32.

    Raises UsageError when there are no next hops, for a number that is not a vertex and for hops that do not
    reach the target, NoPathError when there is no path.
    """
    if next_hops is None:
        raise UsageError("there are no next hops to follow: ask for them with next_hops=True")
    for vertex in (source, target):
        if not 0 <= vertex < len(next_hops):
            raise UsageError(f"vertex {vertex} is out of range: there are 0 .. {len(next_hops) - 1}")
    if next_hops[source, target] < 0:
        raise NoPathError(f"there is no path from {source} to {target}")
    found = [source]
    while found[-1] != target:
        hop = int(next_hops[found[-1], target])
        if not 0 <= hop < len(next_hops) or len(found) == len(next_hops):
            raise UsageError(f"these next hops lead from vertex {source} not to {target}")
        found.append(hop)
    return np.array(found, np.int32)
