"""Variants run in this process: their answers as arrays, checked and timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bfsbench.bench.plan import Axes, launches
from bfsbench.bench.sampling import Sampling
from bfsbench.bench.session import Session
from bfsbench.bench.sources import check_source
from bfsbench.families.base import Family
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import canonical_spec
from bfsbench.graphs.generators import generate as generate_edges
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.interop import GraphLike, as_graph
from bfsbench.graphs.recipe import Recipe
from bfsbench.numerals import positive_or_none, whole
from bfsbench.programs import KnobValue, Variant
from bfsbench.variants import all_variants, find, find_family


@dataclass(frozen=True)
class SearchResult:
    """A verified search. ``levels`` is int32[V], -1 where unreached; times in ms as in result files.

    ``parents``, None unless asked for, is int32[V]: for each vertex its predecessor on a shortest path from
    the source. The source is its own parent; -1 where unreached. :func:`path` follows them.
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
    """All variants by name; their class attributes describe them."""
    return all_variants()


@dataclass(frozen=True)
class Solution:
    """A verified answer by a variant of any family; times in ms as in result files.

    ``answer`` is an array: levels, distances, or what else the family asks for. ``figures`` are the family's
    columns of a result row. ``links``, None unless asked for, are the parents or next hops that lead along
    paths.
    """

    answer: npt.NDArray[np.int32]
    backend: str
    search_ms: list[float]
    wall_ms: list[float]
    reset_ms: float
    figures: dict[str, str]
    links: npt.NDArray[np.int32] | None = None
    links_ms: float | None = None


def solve(
    graph: GraphLike,
    variant: str,
    source: int | None = None,
    *,
    grid: int | None = None,
    block: int | None = None,
    backend: str = "auto",
    repeats: int = 1,
    paths: bool = False,
    **knobs: KnobValue,
) -> Solution:
    """Run a variant of any family in this process, check its answer against the family's reference, time it.

    ``graph`` is a Graph or what :func:`bfsbench.graphs.interop.as_graph` makes one of: a name, a path, a
    matrix of SciPy, a graph of NetworkX, a DataFrame of edges, arrays. Without ``block``, blocks are as large
    as suits the variant. With ``paths``, parents or next hops are found and checked after the timed runs.
    Raises UsageError for unknown names, values out of range and requests that the family does not support,
    DeviceError or a subclass when the device fails, WrongResultError when the answer is wrong.
    """
    declared = find(variant)
    shape = _Shape(grid, block, backend, repeats, paths)
    return _solve(as_graph(graph), declared, find_family(declared.family), source, shape, knobs)


@dataclass(frozen=True)
class _Shape:
    """How a variant is run."""

    grid: int | None
    block: int | None
    backend: str
    repeats: int
    paths: bool


def _solve(
    graph: Graph,
    variant: type[Variant],
    family: Family,
    source: int | None,
    shape: _Shape,
    knobs: Mapping[str, KnobValue],
) -> Solution:
    """Run a variant on a problem of a family. Raises UsageError for a variant of another family."""
    grids, blocks = [positive_or_none("grid", shape.grid)], [positive_or_none("block", shape.block)]
    sampling = Sampling.of(shape.repeats)
    settings = variant.knob_values(knobs)
    ((grid, block),) = launches(variant, settings, Axes([variant], grids, blocks))
    if source is not None:
        source = check_source(graph, whole("source", source))
    session = Session(None if variant.host else shape.backend)
    try:
        session.use(graph)
        problem = session.problem(family.name, source)
        prepared = session.build(variant.name, grid, block, settings)
        run = problem.run(prepared)
        timing = session.time(prepared, problem, sampling)
        where = "host" if session.device is None else session.device.backend
        found = session.paths(prepared, problem) if shape.paths else None
        return Solution(
            run.answer(),
            where,
            timing.search_ms,
            timing.wall_ms,
            timing.reset_ms,
            problem.columns(min(timing.search_ms)),
            found.links if found else None,
            found.milliseconds if found else None,
        )
    finally:
        session.close()


def search(
    graph: GraphLike,
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

    ``graph`` as for :func:`solve`.
    Without ``block``, blocks are as large as suits the variant. ``parents`` asks for the breadth-first tree
    as well, derived and checked after the timed searches. Raises UsageError for unknown names and values out
    of range, DeviceError or a subclass when the device fails, WrongLevelsError when the levels differ,
    WrongParentsError when the tree breaks a rule.
    """
    shape = _Shape(grid, block, backend, repeats, parents)
    found = _solve(as_graph(graph), find(variant), find_family("bfs"), source, shape, knobs)
    return SearchResult(
        found.answer,
        found.backend,
        found.search_ms,
        found.wall_ms,
        found.reset_ms,
        int(found.figures["edges_traversed"]),
        found.links,
        found.links_ms,
    )


def all_pairs(
    graph: GraphLike,
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

    ``graph`` as for :func:`solve`; arcs weigh 1 where it has no weights. Variants that choose their own
    launches ignore ``grid`` and ``block``. With ``next_hops``, one more run after the timed ones records the
    paths. Raises UsageError for unknown names, values out of range and graphs that no matrix can hold,
    DeviceError or a subclass when the device fails, WrongDistancesError when distances or next hops are
    wrong.
    """
    shape = _Shape(grid, block, backend, repeats, next_hops)
    found = _solve(as_graph(graph), find(variant), find_family("apsp"), None, shape, knobs)
    return AllPairsResult(
        found.answer,
        found.backend,
        found.search_ms,
        found.wall_ms,
        found.reset_ms,
        found.links,
        found.links_ms,
    )
