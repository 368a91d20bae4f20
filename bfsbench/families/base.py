"""What a family of algorithms says of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph
    from bfsbench.variants.base import Variant


class Run(Protocol):
    """A prepared variant with a problem to solve, as often as wanted."""

    def reset(self) -> None:
        """Initialise what a run of its own needs: the first, timed, part of it."""

    def solve(self) -> None:
        """Do the work; on return all of it has been issued, not necessarily finished."""

    def check(self) -> None:
        """Raises WrongResultError unless the last answer is right."""


class Problem(ABC):
    """A question about one graph, with all that is needed to judge answers to it."""

    @abstractmethod
    def run(self, variant: Variant) -> Run:
        """What poses the question to a variant. Raises UsageError for a variant of another family."""

    @abstractmethod
    def columns(self, milliseconds: float) -> dict[str, str]:
        """The result columns of the family alone, for a run of so many ms."""


class Family(ABC):
    """One kind of question about a graph, and the variants that answer it."""

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

    @abstractmethod
    def require(self, graph: Graph) -> None:
        """Raises UsageError for a graph that the question cannot be asked about."""

    @abstractmethod
    def problem(self, graph: Graph, source: int | None) -> Problem:
        """The question about a graph. Raises UsageError as ``require`` does."""
