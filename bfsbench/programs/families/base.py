"""What a family of algorithms is: a problem on a graph, and everything specific to it. The rest of the
project plans, times, writes and reports points of any family by these declarations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from bfsbench.graphs.graph import Graph, Ids
    from bfsbench.programs import ForeignProgram, Variant

PICTURES = ("bars", "heatmap", "ablation", "knobs", "speedup", "curve", "spread")
"""Kinds of pictures that need times only, available for every family."""


@dataclass(frozen=True)
class Column:
    """A column of result files or profiles that a family fills."""

    name: str
    meaning: str
    heading: str = ""
    """Its heading in text; by default its name with spaces."""
    kind: Literal["count", "number", "text"] = "count"
    total: str = ""
    """Of a profile: what people read above its sum over the steps of a run, which tables then have."""

    @property
    def numeric(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True)
class Figure(Column):
    """A column with a figure of merit, and how it is combined over sources."""

    kind: Literal["count", "number", "text"] = "number"
    harmonic: bool = False
    """By the harmonic mean, which suits rates; the median otherwise."""
    quartiles: bool = False
    """With columns ``NAME_q1``, ``NAME_median`` and ``NAME_q3`` in tables."""
    shown: bool = True
    """Whether text tables show it; CSV and JSON always do."""

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Its columns in a table for programs."""
        spread = ("q1", "median", "q3") if self.quartiles else ()
        return (self.name, *(f"{self.name}_{part}" for part in spread))

    @property
    def headings(self) -> dict[str, str]:
        """The headings of these columns in text."""
        own = self.heading or self.name.replace("_", " ")
        parts = {f"{self.name}_{part}": f"{own} {said}" for part, said in _SPREAD.items()}
        return {self.name: own, **(parts if self.quartiles else {})}


_SPREAD = {"q1": "Q1", "median": "median", "q3": "Q3"}


@dataclass(frozen=True)
class Paths:
    """Links that lead along paths, and the time in ms to find them. ``links`` is int32 in the shape of the
    family's answer: parents of a search, next hops of all pairs.
    """

    links: npt.NDArray[np.int32]
    milliseconds: float


@dataclass(frozen=True)
class Run:
    """A prepared variant with a problem, which it can solve repeatedly."""

    poison: Callable[[], None]
    """Overwrites the last answer with a value that no run writes, so that only another run can make it
    right."""
    reset: Callable[[], None]
    """Initialises a run: its first, timed, part."""
    solve: Callable[[], None]
    """Does the work. On return all of it has been issued, but may not be finished."""
    answer: Callable[[], npt.NDArray[Any]]
    """Waits, and returns the last answer."""
    check: Callable[[], None]
    """Raises WrongResultError unless the last answer is right."""


class Problem(ABC):
    """A problem on one graph, with the reference for its check."""

    @abstractmethod
    def run(self, variant: Variant) -> Run:
        """A run of this problem by a variant. Raises UsageError for a variant of another family."""

    def other_sources(self, count: int) -> list[int]:
        """Returns at most ``count`` random sources of problems alike, which no program can foresee."""
        return []

    @abstractmethod
    def columns(self, milliseconds: float) -> dict[str, str]:
        """The family's own columns of a result row, for a run of this many ms."""

    def paths(self, variant: Variant) -> Paths:
        """Find paths after ``variant`` has solved the problem, time that and check it.

        Raises UsageError where the family has no paths; WrongResultError, DeviceError.
        """
        raise UsageError(f"variants of family {variant.family} find no paths")

    def profile(self, variant: Variant) -> list[dict[str, str]]:
        """The cost of each step of a run: the family's own columns of a profile, a row per step.

        ``variant`` is not prepared. Empty without a profile. Raises WrongResultError, DeviceError.
        """
        return []


class Family(ABC):
    """One kind of problem on a graph, and the variants that solve it. Subclasses with a ``name`` are
    discovered in this package and in the folders that ``BFSBENCH_VARIANTS`` names.
    """

    name: ClassVar[str]
    """The name in ``Variant.family`` and on the command line."""
    title: ClassVar[str]
    """In words."""
    baseline: ClassVar[str]
    """The baseline variant of speed-ups."""
    one: ClassVar[str]
    """What one run of a variant is called."""
    from_sources: ClassVar[bool]
    """Whether the problem has a source vertex, which is then a part of every point."""
    draws_sources: ClassVar[bool] = False
    """Whether ``--sources`` asks for one point that starts from many sources; ``source`` is their number."""
    columns: ClassVar[tuple[Column, ...]] = ()
    """Its own columns of result files."""
    profile: ClassVar[tuple[Column, ...]] = ()
    """Its own columns of profiles (``run --profile``); empty without profiles."""
    pictures: ClassVar[tuple[str, ...]] = PICTURES
    """Kinds of pictures that its rows support."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its columns that are figures of merit."""
        return tuple(column for column in self.columns if isinstance(column, Figure))

    @abstractmethod
    def require(self, graph: Graph) -> None:
        """Raises UsageError for a graph that the problem is not defined on."""

    def require_size(self, name: str, num_vertices: int) -> None:  # noqa: B027
        """Raises UsageError as ``require`` does for a graph of this name and size, whatever its arcs."""

    @abstractmethod
    def problem(self, graph: Graph, source: int | None) -> Problem:
        """The problem on a graph. Raises UsageError as ``require`` does."""

    def path(self, links: npt.NDArray[np.int32] | None, source: int, target: int) -> Ids:
        """The vertices of a path from ``source`` to ``target``, both included, by the links of ``Paths``.

        Raises NoPathError when there is none, UsageError where the family has no paths.
        """
        raise UsageError(f"{self.title} have no paths")

    def foreign(self) -> type[ForeignProgram]:
        """The base class of programs of others. Raises UsageError where the family takes none."""
        raise UsageError(f"{self.title} take no programs of others")

    def advice(self, rows: pd.DataFrame) -> Iterator[str]:
        """Warnings for readers of the best times of these rows, a line each."""
        return iter(())
