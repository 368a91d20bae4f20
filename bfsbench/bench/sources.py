"""Choosing source vertices: the same list on every machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bfsbench.errors import UsageError
from bfsbench.families.base import Family
from bfsbench.graphs.graph import Graph
from bfsbench.numerals import whole


def _mix(value: int) -> int:
    """SplitMix64's output function: a 64-bit hash by integer arithmetic alone."""
    mask = 2**64 - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


def choose_sources(graph: Graph, count: int, seed: int) -> list[int]:
    """``count`` distinct vertices of non-zero out-degree, which depend on the graph and the seed only; all of
    them, in a seeded order, when there are fewer. Raises UsageError when there is none.
    """
    candidates = np.flatnonzero(np.diff(graph.row_offsets))
    if len(candidates) == 0:
        raise UsageError(f"{graph.full_name}: no vertex has an edge, so name a --source")
    chosen: dict[int, None] = {}
    draw = _mix(seed)
    wanted = min(count, len(candidates))
    while len(chosen) < wanted:
        draw = _mix(draw)
        chosen.setdefault(int(candidates[draw % len(candidates)]))
    return list(chosen)


def check_source(graph: Graph, source: int) -> int:
    """The source itself. Raises UsageError, with what there is, when the graph has no such vertex."""
    if not 0 <= source < graph.num_vertices:
        there = f"{graph.full_name} has vertices 0 .. {graph.num_vertices - 1}"
        ids = graph.original_ids
        if ids is not None and len(ids):
            there += f", whose ids in its file, for --source-id, lie within {ids[0]} .. {ids[-1]}"
        raise UsageError(f"source {source} is out of range: {there}")
    return source


def _listed(given: Iterable[int | str], published: bool) -> tuple[int | str, ...]:
    """The sources given, names among them only where they are ``published``. Raises UsageError."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"sources are given in a list, not as {given!r}")
    listed = tuple(one if published and isinstance(one, str) else whole("a source", one) for one in given)
    if not listed:
        raise UsageError("no source is given")
    return listed


@dataclass(frozen=True)
class SourceChoice:
    """Which sources to search from: those given, or ``count`` chosen by ``seed``."""

    given: tuple[int | str, ...]
    count: int
    seed: int
    published: bool = False
    """Whether the given sources are ids or names of the graph's file; otherwise vertices are counted from
    0."""

    @classmethod
    def of(
        cls,
        family: Family,
        given: Iterable[int | str] | None,
        count: int | None,
        seed: int,
        published: bool = False,
    ) -> SourceChoice:
        """The choice for one family: the sources given, or ``count`` of them, by default 1; none for a family
        without sources. Raises UsageError."""
        if not family.from_sources:
            if given is not None or count is not None:
                raise UsageError(f"{family.title} have no source to choose")
            return cls((), 0, seed)
        if given is not None and count is not None:
            raise UsageError("give sources or a number of them, not both")
        if given is None:
            return cls((), count or 1, whole("seed", seed))
        return cls(_listed(given, published), 0, whole("seed", seed), published)

    def choose(self, graph: Graph) -> list[int | None]:
        """The sources in a graph; one None for a family without.

        Raises UsageError for one that the graph does not have.
        """
        if self.given:
            if self.published:
                return [graph.vertex(source) for source in self.given]
            return [check_source(graph, int(source)) for source in self.given]
        return [*choose_sources(graph, self.count, self.seed)] if self.count else [None]

    def stand_ins(self) -> list[int | None]:
        """Placeholders, one for each source, for counting points before the graph is loaded."""
        numbers = [number for number in self.given if isinstance(number, int)]
        return [*(numbers or range(len(self.given) or self.count))] or [None]
