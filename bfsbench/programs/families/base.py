"""Defines the base classes of families. A family is a problem on a graph, with all that is specific to this
problem.

The rest of the project uses these declarations to plan, time, write and report points of any family.
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

PICTURES = ("bars", "heatmap", "ablation", "knobs", "speedup", "curve", "spread", "history")
"""Kinds of pictures that need only times, and are available for every family."""


@dataclass(frozen=True)
class Column:
    """A column of result files or profiles that a family fills."""

    name: str
    meaning: str
    heading: str = ""
    """Its heading in text. By default it is the name with spaces."""
    kind: Literal["count", "number", "text"] = "count"
    total: str = ""
    """In a profile, the label for the sum of this column over the steps of a run. Tables show the sum if this
    is set."""

    @property
    def numeric(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True)
class Figure(Column):
    """A column with a figure of merit, and how to combine it over sources."""

    kind: Literal["count", "number", "text"] = "number"
    harmonic: bool = False
    """True to combine by the harmonic mean, which is right for rates. Otherwise the median is used."""
    quartiles: bool = False
    """True if tables also have the columns ``NAME_q1``, ``NAME_median`` and ``NAME_q3``."""
    shown: bool = True
    """True if text tables show the figure. CSV and JSON files always contain it."""

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Returns the names of its columns in machine-readable tables."""
        spread = ("q1", "median", "q3") if self.quartiles else ()
        return (self.name, *(f"{self.name}_{part}" for part in spread))

    @property
    def headings(self) -> dict[str, str]:
        """Returns the headings of its columns in text, by column name."""
        own = self.heading or self.name.replace("_", " ")
        parts = {f"{self.name}_{part}": f"{own} {said}" for part, said in _SPREAD.items()}
        return {self.name: own, **(parts if self.quartiles else {})}


_SPREAD = {"q1": "Q1", "median": "median", "q3": "Q3"}


@dataclass(frozen=True)
class Paths:
    """Links that lead along paths, and the time in ms to find them. ``links`` is int32 in the shape of the
    family's answer: parents of a search, or next hops of all pairs."""

    links: npt.NDArray[np.int32]
    milliseconds: float


@dataclass(frozen=True)
class Run:
    """A prepared variant together with a problem, which it can solve repeatedly."""

    poison: Callable[[], None]
    """Overwrites the last answer with a value that no run writes, so that only another run can make it
    right."""
    reset: Callable[[], None]
    """Initialises a run. This is the first part of the timed run."""
    solve: Callable[[], None]
    """Issues all the work of a run. The work may not be finished on return."""
    answer: Callable[[], npt.NDArray[Any]]
    """Waits for the run. Returns the last answer."""
    check: Callable[[], None]
    """Raises WrongResultError unless the last answer is right."""


class Problem(ABC):
    """A problem on one graph, with the reference for its check."""

    @abstractmethod
    def run(self, variant: Variant) -> Run:
        """Returns a run of this problem by a variant. Raises UsageError for a variant of another family."""

    def other_sources(self, count: int) -> list[int]:
        """Returns at most ``count`` random sources of similar problems, which no program can foresee."""
        return []

    @abstractmethod
    def columns(self, milliseconds: float) -> dict[str, str]:
        """Returns the family's own columns of a result row, for a run of ``milliseconds``."""

    def paths(self, variant: Variant) -> Paths:
        """Find paths after ``variant`` has solved the problem. Returns the checked paths with the time to
        find them.

        Raises UsageError if the family has no paths. Raises WrongResultError, DeviceError.
        """
        raise UsageError(f"variants of family {variant.family} find no paths")

    def profile(self, variant: Variant) -> list[dict[str, str]]:
        """Returns the cost of each step of a run: one row per step, with the family's own columns of a
        profile.

        ``variant`` must not be prepared. The result is empty if there is no profile. Raises WrongResultError,
        DeviceError.
        """
        return []


class Family(ABC):
    """A kind of problem on a graph, and the variants that solve it. Subclasses with a ``name`` are discovered
    in this package and in the folders that ``BFSBENCH_VARIANTS`` names."""

    name: ClassVar[str]
    """The name in ``Variant.family`` and on the command line."""
    title: ClassVar[str]
    """The name of the problem in words."""
    baseline: ClassVar[str]
    """The variant that speed-ups compare with."""
    one: ClassVar[str]
    """The words for one run of a variant."""
    from_sources: ClassVar[bool]
    """True if the problem has a source vertex, which is then a part of every point."""
    draws_sources: ClassVar[bool] = False
    """True if ``--sources`` asks for one point that starts from many sources. ``source`` is then their
    number."""
    columns: ClassVar[tuple[Column, ...]] = ()
    """The family's own columns of result files."""
    profile: ClassVar[tuple[Column, ...]] = ()
    """The family's own columns of profiles (``run --profile``). Empty if it has no profiles."""
    pictures: ClassVar[tuple[str, ...]] = PICTURES
    """Kinds of pictures that the family's rows support."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Returns the columns that are figures of merit."""
        return tuple(column for column in self.columns if isinstance(column, Figure))

    @abstractmethod
    def require(self, graph: Graph) -> None:
        """Check that the problem is defined on a graph. Raises UsageError if not."""

    def require_size(self, name: str, num_vertices: int) -> None:  # noqa: B027
        """Check whether the problem is defined on a graph of this name and size, before its arcs are known.
        Raises UsageError if not."""

    @abstractmethod
    def problem(self, graph: Graph, source: int | None) -> Problem:
        """Returns the problem on a graph. Raises UsageError if it is not defined on the graph."""

    def path(self, links: npt.NDArray[np.int32] | None, source: int, target: int) -> Ids:
        """Returns the vertices of a path from ``source`` to ``target``, including both.

        ``links`` is from ``Paths``. Raises NoPathError if there is no path, and UsageError if the family has
        no paths.
        """
        raise UsageError(f"{self.title} have no paths")

    def foreign(self) -> type[ForeignProgram]:
        """Returns the base class for programs of other authors in this family. Raises UsageError if the
        family has none."""
        raise UsageError(f"{self.title} take no programs of others")

    def advice(self, rows: pd.DataFrame) -> Iterator[str]:
        """Yield warnings, one line each, for readers of the best times in ``rows``."""
        return iter(())
