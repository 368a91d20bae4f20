"""What a family of algorithms is: a question about a graph, and all that is particular to it.

The rest of the project plans, times, writes and reports points of any family by what is declared here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from bfsbench.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from bfsbench.graphs.graph import Graph, Ids
    from bfsbench.programs import Variant

PICTURES = ("bars", "heatmap", "ablation", "knobs", "speedup", "curve", "spread")
"""Kinds of pictures that need times only, which every family has."""


@dataclass(frozen=True)
class Column:
    """A column of result files, or of profiles, that one family fills."""

    name: str
    meaning: str
    heading: str = ""
    """What people read above it; its name with spaces by default."""
    kind: Literal["count", "number", "text"] = "count"
    total: str = ""
    """Of a profile: what people read above its sum over the steps of a run, which tables then have."""

    @property
    def numeric(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True)
class Figure(Column):
    """A column that says how well a run did, and how several sources are put together."""

    kind: Literal["count", "number", "text"] = "number"
    harmonic: bool = False
    """By the harmonic mean, which suits rates; the median otherwise."""
    quartiles: bool = False
    """With columns ``NAME_q1``, ``NAME_median`` and ``NAME_q3`` in tables."""
    shown: bool = True
    """In tables that people read, beside those for programs."""

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Its columns in a table for programs."""
        spread = ("q1", "median", "q3") if self.quartiles else ()
        return (self.name, *(f"{self.name}_{part}" for part in spread))

    @property
    def headings(self) -> dict[str, str]:
        """What people read above these."""
        own = self.heading or self.name.replace("_", " ")
        parts = {f"{self.name}_{part}": f"{own} {said}" for part, said in _SPREAD.items()}
        return {self.name: own, **(parts if self.quartiles else {})}


_SPREAD = {"q1": "Q1", "median": "median", "q3": "Q3"}


@dataclass(frozen=True)
class Paths:
    """What paths are followed by, and what finding it took, in ms.

    ``links`` is int32 with an element for each of the family's answers: parents of a search, next hops of all
    pairs.
    """

    links: npt.NDArray[np.int32]
    milliseconds: float


class Run(Protocol):
    """A prepared variant with a problem to solve, as often as wanted."""

    def poison(self) -> None:
        """Overwrite the last answer by what no run writes, so that only another run can make it right."""

    def reset(self) -> None:
        """Initialise what a run of its own needs: the first, timed, part of it."""

    def solve(self) -> None:
        """Do the work; on return all of it has been issued, not necessarily finished."""

    def answer(self) -> npt.NDArray[Any]:
        """Wait, and return the last answer."""

    def check(self) -> None:
        """Raises WrongResultError unless the last answer is right."""


class Problem(ABC):
    """A question about one graph, with all that is needed to judge answers to it."""

    @abstractmethod
    def run(self, variant: Variant) -> Run:
        """What poses the question to a variant. Raises UsageError for a variant of another family."""

    @abstractmethod
    def columns(self, milliseconds: float) -> dict[str, str]:
        """The family's own columns of a result row, for a run of this many ms."""

    def paths(self, variant: Variant) -> Paths:
        """Find paths after ``variant`` has solved the problem, time that and check it.

        Raises UsageError where the family has no paths; WrongResultError, DeviceError.
        """
        raise UsageError(f"variants of family {variant.family} find no paths")

    def profile(self, variant: Variant) -> list[dict[str, str]]:
        """What each step of a run cost: the family's own columns of a profile, a row a step.

        ``variant`` is not prepared. Empty where nothing is known. Raises WrongResultError, DeviceError.
        """
        return []


class Family(ABC):
    """One kind of question about a graph, and the variants that answer it.

    A subclass with a ``name`` is found by looking, into this package and into the folders of variants that
    ``BFSBENCH_VARIANTS`` names.
    """

    name: ClassVar[str]
    """As ``Variant.family`` and the command line have it."""
    title: ClassVar[str]
    """In words."""
    baseline: ClassVar[str]
    """The variant that speed-ups refer to."""
    one: ClassVar[str]
    """What one run of a variant is, in words."""
    from_sources: ClassVar[bool]
    """Whether the question is about one source vertex, which is then a part of every point."""
    columns: ClassVar[tuple[Column, ...]] = ()
    """Its own columns of result files."""
    profile: ClassVar[tuple[Column, ...]] = ()
    """Its own columns of profiles (``run --profile``); empty when it has none."""
    pictures: ClassVar[tuple[str, ...]] = PICTURES
    """Kinds of pictures that make sense of its rows."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Those of its columns that say how well a run did."""
        return tuple(column for column in self.columns if isinstance(column, Figure))

    @abstractmethod
    def require(self, graph: Graph) -> None:
        """Raises UsageError for a graph that the question cannot be asked about."""

    @abstractmethod
    def problem(self, graph: Graph, source: int | None) -> Problem:
        """The question about a graph. Raises UsageError as ``require`` does."""

    def path(self, links: npt.NDArray[np.int32] | None, source: int, target: int) -> Ids:
        """The vertices of a path from ``source`` to ``target``, both included, by the links of ``Paths``.

        Raises NoPathError when there is none, UsageError where the family has no paths.
        """
        raise UsageError(f"{self.title} have no paths")

    def advice(self, rows: pd.DataFrame) -> Iterator[str]:
        """What a reader of the best times should know about these rows, a line each."""
        return iter(())
