"""Defines the base classes of families. A family is a problem on a graph, together with all code that is
specific to this problem.

All other code uses these classes to plan, time, record and report the runs of any family.
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

PICTURES = ("bars", "overview", "heatmap", "ablation", "knobs", "speedup", "curve", "spread", "history")
"""Kinds of pictures that need only times. They are available for every family."""


@dataclass(frozen=True)
class Column:
    """A column of result files, or of profiles, that belongs to one family."""

    name: str
    meaning: str
    heading: str = ""
    """The heading of the column in text tables. The default is the name with spaces instead of
    underscores."""
    kind: Literal["count", "number", "text"] = "count"
    total: str = ""
    """Label for the sum of this column over all steps of a profiled run. Tables show the sum only if the
    label is set."""

    @property
    def numeric(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True)
class Figure(Column):
    """A result column with a measure of performance, such as a rate. It also defines how the values of
    several sources are combined."""

    kind: Literal["count", "number", "text"] = "number"
    harmonic: bool = False
    """True if values of several sources are combined by the harmonic mean, which is right for rates. False if
    the median is used."""
    quartiles: bool = False
    """True if tables also have the quartile columns ``NAME_q1``, ``NAME_median`` and ``NAME_q3``."""
    shown: bool = True
    """True if text tables show the column. CSV and JSON files always contain it."""

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Returns the names of the columns of CSV and JSON tables that show this figure."""
        spread = ("q1", "median", "q3") if self.quartiles else ()
        return (self.name, *(f"{self.name}_{part}" for part in spread))

    @property
    def headings(self) -> dict[str, str]:
        """Returns the headings of this figure's columns in text tables, by column name."""
        own = self.heading or self.name.replace("_", " ")
        parts = {f"{self.name}_{part}": f"{own} {said}" for part, said in _SPREAD.items()}
        return {self.name: own, **(parts if self.quartiles else {})}


_SPREAD = {"q1": "Q1", "median": "median", "q3": "Q3"}


@dataclass(frozen=True)
class Paths:
    """Paths that a variant has found, and the time in ms to find them. ``links`` contains the parent of each
    vertex, int32[V], or the next hops of all pairs of vertices, int32[V, V]."""

    links: npt.NDArray[np.int32]
    milliseconds: float


@dataclass(frozen=True)
class Run:
    """The functions that run a prepared variant on a problem. The run can be repeated."""

    poison: Callable[[], None]
    """Overwrites the last result with a value that no run writes. The result can only become right again by
    another run."""
    reset: Callable[[], None]
    """Initialises a run. This is the first part of the timed work."""
    solve: Callable[[], None]
    """Starts all the work of a run. The work may not have finished when the function returns."""
    answer: Callable[[], npt.NDArray[Any]]
    """Waits for the run. Returns the array that the run has computed."""
    check: Callable[[], None]
    """Raises WrongResultError unless the result of the last run is right."""


class Problem(ABC):
    """A problem on one graph, with the reference result for checks."""

    sources: Ids | None = None
    """The vertices from which the problem searches. None unless it searches from several vertices at once."""

    @abstractmethod
    def run(self, variant: Variant) -> Run:
        """Returns a Run: the functions that reset, solve and check this problem with ``variant``. Raises
        UsageError if the variant belongs to another family."""

    def other_sources(self, count: int) -> list[int]:
        """Returns at most ``count`` further source vertices. They are chosen at random, so that no program
        can prepare for them. A run from each of these sources takes about as much work as a run from this
        problem's source. The list is empty unless the problem starts from one source."""
        return []

    @abstractmethod
    def columns(self, milliseconds: float) -> dict[str, str]:
        """Returns the values of the family's own result columns, by name, for a run that took
        ``milliseconds``."""

    def paths(self, variant: Variant) -> Paths:
        """Find paths after ``variant`` has solved the problem. Returns the checked paths, and the time in ms
        to find them.

        Raises UsageError if the family has no paths, WrongResultError if the paths are wrong, and DeviceError
        if the device fails.
        """
        raise UsageError(f"variants of family {variant.family} find no paths")

    def profile(self, variant: Variant) -> list[dict[str, str]]:
        """Run ``variant`` once more, and measure each step, such as a level. Returns one row per step, with
        the columns in ``Family.profile``.

        ``variant`` must not be prepared. The result is empty if the family has no profiles. Raises
        WrongResultError if the result is wrong, and DeviceError if the device fails.
        """
        return []


class Family(ABC):
    """A kind of problem on a graph. bfsbench finds all subclasses with a ``name``, in this package and in the
    folders that the environment variable ``BFSBENCH_VARIANTS`` lists."""

    name: ClassVar[str]
    """The name of the family in ``Variant.family`` and on the command line."""
    title: ClassVar[str]
    """The name of the problem in words, for texts."""
    baseline: ClassVar[str]
    """The name of the variant to which speed-ups refer."""
    one: ClassVar[str]
    """Words for one run of a variant, such as "a search". Texts use them."""
    from_sources: ClassVar[bool]
    """True if the problem starts from a source vertex. Results for different sources then have separate
    rows."""
    draws_sources: ClassVar[bool] = False
    """True if the option ``--sources`` asks for one run that starts from many sources. The column ``source``
    then has the number of sources."""
    columns: ClassVar[tuple[Column, ...]] = ()
    """The columns that result files have only for this family."""
    profile: ClassVar[tuple[Column, ...]] = ()
    """The columns that profiles (``run --profile``) have only for this family. The tuple is empty if the
    family has no profiles."""
    pictures: ClassVar[tuple[str, ...]] = PICTURES
    """Kinds of pictures that can be drawn from the results of this family."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Returns the result columns that measure performance."""
        return tuple(column for column in self.columns if isinstance(column, Figure))

    @abstractmethod
    def require(self, graph: Graph) -> None:
        """Check that the problem is defined on this graph. Raises UsageError if it is not."""

    def require_size(self, name: str, num_vertices: int) -> None:  # noqa: B027
        """Check that the problem is defined on graphs of this size, before the arcs are loaded. ``name`` is
        the name of the graph. Raises UsageError if the problem is not defined."""

    @abstractmethod
    def problem(self, graph: Graph, source: int | None) -> Problem:
        """Returns the problem for a graph and a source. ``source`` is None for a problem without a source.
        Raises UsageError if the problem is not defined on the graph, if a required source is missing, or if a
        source is given for a problem without a source."""

    def path(self, links: npt.NDArray[np.int32] | None, source: int, target: int) -> Ids:
        """Returns the vertices of a path from ``source`` to ``target``, including both ends.

        ``links`` contains parents or next hops, as in the class ``Paths``. If ``links`` contains parents,
        ``source`` is ignored, because parents always lead to the source of their search. Raises NoPathError
        if there is no path. Raises UsageError if the family has no paths, or if an end is not a vertex.
        Raises UsageError also if ``links`` is None or does not lead to the other end.
        """
        raise UsageError(f"{self.title} have no paths")

    def foreign(self) -> type[ForeignProgram]:
        """Returns the base class of the variants that run programs of other authors for this problem. Raises
        UsageError if the family accepts no programs of other authors."""
        raise UsageError(f"{self.title} accept no programs of other authors")

    def advice(self, rows: pd.DataFrame) -> Iterator[str]:
        """Yields warnings about the best times in ``rows``. Each warning is one line."""
        return iter(())
