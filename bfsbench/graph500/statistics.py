"""Graph500's statistics of times and rates."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bfsbench.graph500 import EDGE_FACTOR

_ORDER = ("min", "firstquartile", "median", "thirdquartile", "max")


@dataclass(frozen=True)
class Outcome:
    """What is reported of a benchmark; times in s.

    ``seconds``, ``edges`` (of the list, within the tree: loops and repeated edges count) and ``validation_s``
    have an element for each source.
    """

    scale: int
    generation_s: float
    construction_s: float
    seconds: Sequence[float]
    edges: Sequence[int]
    validation_s: Sequence[float]

    @property
    def teps(self) -> list[float]:
        """Traversed edges per second, of each search."""
        return [edges / seconds for edges, seconds in zip(self.edges, self.seconds, strict=True)]

    def lines(self) -> Iterator[str]:
        """The report in Graph500's form: a name and a value in each line."""
        yield f"SCALE: {self.scale}"
        yield f"edgefactor: {EDGE_FACTOR}"
        yield f"NBFS: {len(self.seconds)}"
        yield f"graph_generation: {self.generation_s:.6g}"
        yield f"construction_time: {self.construction_s:.6g}"
        for name, values in {"time": self.seconds, "nedge": self.edges}.items():
            yield from (f"bfs {part}_{name}: {value:.6g}" for part, value in spread(values).items())
            yield f"bfs mean_{name}: {statistics.mean(values):.6g}"
            yield f"bfs stddev_{name}: {statistics.stdev(values):.6g}"
        yield from (f"bfs {part}_TEPS: {value:.6g}" for part, value in spread(self.teps).items())
        mean, deviation = harmonic(self.teps)
        yield f"bfs harmonic_mean_TEPS: {mean:.6g}"
        yield f"bfs harmonic_stddev_TEPS: {deviation:.6g}"
        yield from (f"bfs {part}_validate: {value:.6g}" for part, value in spread(self.validation_s).items())


def spread(values: Sequence[float]) -> dict[str, float]:
    """Minimum, quartiles and maximum, by Graph500's names."""
    found = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="averaged_inverted_cdf")
    return dict(zip(_ORDER, found.tolist(), strict=True))


def harmonic(rates: Sequence[float]) -> tuple[float, float]:
    """The harmonic mean, and its standard error as the specification has it (Norris, 1940).

    Raises ValueError for fewer than two rates.
    """
    if len(rates) < 2:
        raise ValueError("a standard error needs two rates")
    mean = statistics.harmonic_mean(rates)
    squares = sum((1 / rate - 1 / mean) ** 2 for rate in rates)
    return mean, math.sqrt(squares) / (len(rates) - 1) * mean**2
