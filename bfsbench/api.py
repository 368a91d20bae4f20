"""The public functions, re-exported by the package itself."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bfsbench.bench import results
from bfsbench.bench.next_hops import path_between
from bfsbench.bench.parents import path
from bfsbench.bench.point import KnobValue
from bfsbench.bench.session import Session
from bfsbench.bench.sources import check_source
from bfsbench.bench.sweep import Axes, launches
from bfsbench.errors import UsageError
from bfsbench.families.bfs import Search
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import canonical_spec
from bfsbench.graphs.generators import generate as generate_edges
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.graphs.recipe import Recipe
from bfsbench.variants import all_variants, find
from bfsbench.variants.all_pairs import AllPairsVariant
from bfsbench.variants.base import SearchVariant, Variant

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AllPairsResult",
    "SearchResult",
    "all_pairs",
    "generate",
    "list_variants",
    "load",
    "path",
    "path_between",
    "read_results",
    "search",
]


@dataclass(frozen=True)
class SearchResult:
    """A verified search. ``levels`` is int32[V], -1 where unreached; times in ms as in result files.

    ``parents``, None unless asked for, is int32[V]: of each vertex the one before it on a shortest path from
    the source, which is its own parent; -1 where unreached. :func:`path` follows them.
    """

    levels: npt.NDArray[np.int32]
    backend: str
    search_ms: list[float]
    wall_ms: list[float]
    reset_ms: float
    edges_traversed: int
    parents: npt.NDArray[np.int32] | None = None
    parents_ms: float | None = None


@dataclass(frozen=True)
class AllPairsResult:
    """Verified all-pairs shortest paths; times in ms as in result files.

    ``distances`` is int32[V, V], from row to column, ``bfsbench.graphs.matrix.INFINITY`` where there is no
    path. ``next_hops``, None unless asked for, is int32[V, V]: the vertex after the row's on a shortest path
    to the column's, -1 where there is none. :func:`path_between` follows them.
    """

    distances: npt.NDArray[np.int32]
    backend: str
    search_ms: list[float]
    wall_ms: list[float]
    reset_ms: float
    next_hops: npt.NDArray[np.int32] | None = None
    next_hops_ms: float | None = None


def generate(generator: str, *, symmetrise: bool = False, **parameters: int | float | str) -> Graph:
    """A generated graph in memory. Raises UsageError for an unknown generator or parameter."""
    edges = generate_edges(generator, **parameters)
    return build_graph(edges, canonical_spec(generator, parameters), Recipe(symmetrise=symmetrise))


def list_variants() -> dict[str, type[Variant]]:
    """All variants by name; their class attributes say what they are."""
    return all_variants()


def search(
    graph: Graph,
    variant: str,
    source: int = 0,
    *,
    grid: int | None = None,
    block: int | None = None,
    backend: str = "auto",
    repeats: int = 1,
    parents: bool = False,
    **knobs: KnobValue,
) -> SearchResult:
    """Search a graph in this process, check the levels against the sequential search, and time it.

    Without ``block``, blocks are as large as suits the variant. ``parents`` asks for the breadth-first tree
    as well, derived and checked after the timed searches. Raises UsageError for unknown names and values out
    of range, DeviceError and its kin when the device fails, WrongLevelsError when the levels differ,
    WrongParentsError when the tree breaks a rule.
    """
    _require_positive(grid=grid, block=block, repeats=repeats)
    declared = find(variant)
    settings = declared.knob_values(knobs)
    ((grid, block),) = launches(declared, settings, Axes([declared], [grid], [block]))
    source = check_source(graph, operator.index(source))
    session = Session(None if declared.host else backend)
    try:
        session.use(graph)
        prepared = session.build(declared.name, grid, block, settings)
        if not isinstance(prepared, SearchVariant):
            raise UsageError(f"variant {declared.name} is no breadth-first search")
        problem = Search(graph, source)
        timing = session.time(prepared, problem, repeats)
        where = "host" if session.device is None else session.device.backend
        tree = session.parents(prepared, source) if parents else None
        return SearchResult(
            prepared.levels(),
            where,
            timing.search_ms,
            timing.wall_ms,
            timing.reset_ms,
            problem.edges_traversed,
            tree.parents if tree else None,
            tree.milliseconds if tree else None,
        )
    finally:
        session.close()


def all_pairs(
    graph: Graph,
    variant: str = "apsp_fw_blocked",
    *,
    grid: int | None = None,
    block: int | None = None,
    backend: str = "auto",
    repeats: int = 1,
    next_hops: bool = False,
    **knobs: KnobValue,
) -> AllPairsResult:
    """Find all-pairs shortest paths in this process, check the distances against SciPy, and time it.

    Arcs weigh 1 where the graph has no weights. Variants that choose their own launches take no notice of
    ``grid`` and ``block``. ``next_hops`` asks for the paths as well, by a run of its own after the timed
    ones. Raises UsageError for unknown names, values out of range and graphs that no matrix can hold,
    DeviceError and its kin when the device fails, WrongDistancesError when distances or next hops are wrong.
    """
    _require_positive(grid=grid, block=block, repeats=repeats)
    declared = find(variant)
    settings = declared.knob_values(knobs)
    (shape,) = launches(declared, settings, Axes([declared], [grid], [block]))
    session = Session(None if declared.host else backend)
    try:
        session.use(graph)
        problem = session.problem("apsp", None)
        prepared = session.build(declared.name, *shape, settings)
        if not isinstance(prepared, AllPairsVariant):
            raise UsageError(f"variant {declared.name} finds no all-pairs shortest paths")
        timing = session.time(prepared, problem, repeats)
        where = "host" if session.device is None else session.device.backend
        paths = (
            session.next_hops(session.build(declared.name, *shape, settings), problem) if next_hops else None
        )
        return AllPairsResult(
            prepared.distances(),
            where,
            timing.search_ms,
            timing.wall_ms,
            timing.reset_ms,
            paths.next_hops if paths else None,
            paths.milliseconds if paths else None,
        )
    finally:
        session.close()


def _require_positive(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}")


def read_results(*paths: Path | str | Iterable[Path | str]) -> pd.DataFrame:
    """Rows of result files, or of folders of them, as one table; bfsbench.bench.results names the columns."""
    flat: list[Path | str] = []
    for item in paths:
        flat.extend([item] if isinstance(item, Path | str) else item)
    return results.read_results(flat)
