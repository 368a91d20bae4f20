"""Which points each worker takes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

from bfsbench.bench.point import Point


class Shares:
    """Points that no worker has yet, by graph.

    A worker stays with a graph while that has points. Then it takes the graph with the most work left per
    worker on it, itself included. So workers spread over the graphs, and share the last ones. The work of a
    point is estimated by the number of edges, ``sizes``. This is crude, but is corrected whenever a worker
    needs a graph.
    """

    def __init__(self, points: Sequence[Point], sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._waiting: dict[str, deque[Point]] = {}
        self._graph_of: dict[str, str] = {}
        for point in points:
            self._waiting.setdefault(point.graph, deque()).append(point)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self, worker: str) -> Point | None:
        """The next point for a worker; None when there is none."""
        if not self._waiting.get(self._graph_of.get(worker, "")):
            self.leave(worker)
            others = Counter(self._graph_of.values())
            left = {
                graph: len(points) * max(1, self._sizes[graph]) / (1 + others[graph])
                for graph, points in self._waiting.items()
                if points
            }
            if not left:
                return None
            self._graph_of[worker] = max(left, key=lambda graph: left[graph])
        return self._waiting[self._graph_of[worker]].popleft()

    def give_back(self, point: Point) -> None:
        """Return a point that was taken and not run; it is the next of its graph."""
        self._waiting[point.graph].appendleft(point)

    def leave(self, worker: str) -> None:
        """The worker has no graph any more."""
        self._graph_of.pop(worker, None)
