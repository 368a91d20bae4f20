"""What runs the points of a sweep: one worker process, or those of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bfsbench.bench.point import Point
from bfsbench.bench.sampling import Sampling
from bfsbench.errors import UsageError
from bfsbench.graphs.graph import Graph
from bfsbench.numerals import positive_finite

if TYPE_CHECKING:
    from bfsbench.bench.worker import DeviceInfo

LONGEST_TIMEOUT_S = 1e6
"""Longer limits are cut to this, which the clocks of the operating system can still count."""


@dataclass(frozen=True)
class Order:
    """In which order samples are taken: all of a point, or of all points of a graph in turn."""

    turns: bool = False
    seed: int | None = None
    """Shuffles the points in each turn; None keeps their order."""

    @classmethod
    def of(cls, text: str) -> Order:
        """``sequential``, ``interleaved`` or ``shuffled:SEED``, 0 by default. Raises UsageError."""
        kind, _, seed = text.partition(":")
        if text in ("sequential", "interleaved"):
            return cls(text == "interleaved")
        if kind != "shuffled" or (":" in text and not (seed.isascii() and seed.isdigit())):
            raise UsageError(f"--order: '{text}' is none of sequential, interleaved and shuffled[:SEED]")
        return cls(True, int(seed or 0))

    @property
    def words(self) -> str:
        """The text that ``of`` parses; empty for ``sequential``."""
        if not self.turns:
            return ""
        return "interleaved" if self.seed is None else f"shuffled:{self.seed}"


@dataclass(frozen=True)
class Method:
    """How every point of a sweep is measured."""

    sampling: Sampling
    limit_s: float
    """Seconds after which a point is given up, at most LONGEST_TIMEOUT_S."""
    profile: bool = False
    """Whether to take a level profile after the timed searches."""
    parents: bool = False
    """Whether to derive, time and check the breadth-first tree after the timed searches."""
    order: Order = Order()

    def __post_init__(self) -> None:
        limit_s = min(positive_finite("timeout", self.limit_s), LONGEST_TIMEOUT_S)
        object.__setattr__(self, "limit_s", limit_s)
        if self.sampling.min_time_s >= self.limit_s:
            asked, limit = f"--min-time {self.sampling.min_time_s:g}", f"--timeout {self.limit_s:g}"
            raise UsageError(f"{asked}: samples for so many seconds do not fit into {limit}")

    @property
    def words(self) -> str:
        """What differs from the defaults, as in the column ``method``."""
        return " ".join(filter(None, (self.sampling.words, self.order.words)))


@dataclass(frozen=True)
class Measured:
    """The outcome of a point."""

    row: dict[str, str]
    levels: list[dict[str, str]] = field(default_factory=list)
    """Rows of its level profile."""
    worker: str = ""
    """Which of several workers ran it."""


class Runner(Protocol):
    """Runs points and makes a row of each. A point that breaks its worker process loses only itself."""

    device: DeviceInfo | None
    """The device that points run on, known once started; None when only host programs can run."""

    def start(self) -> object:
        """Start, unless started. Raises BfsbenchError when there is nothing to run on."""

    def origins(self) -> list[dict[str, str]]:
        """Once started: provenance columns of the rows to come, one entry a device."""

    def run(self, points: Sequence[Point], graphs: Mapping[str, Graph], method: Method) -> Iterator[Measured]:
        """The points' rows as they are made, in any order. ``graphs`` are by the names in the points."""

    def close(self) -> None:
        """Let idle processes end by themselves."""

    def stop(self) -> None:
        """End all processes, whatever they are doing."""
