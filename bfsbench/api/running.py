"""The public functions, re-exported by the package itself."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bfsbench.bench import axes as axis_language
from bfsbench.bench import results
from bfsbench.bench.plan import Axes, Crossing, Part, chosen_variants, launches
from bfsbench.bench.runner import Method, Order
from bfsbench.bench.sampling import Sampling
from bfsbench.bench.session import Session
from bfsbench.bench.sources import SourceChoice, check_source
from bfsbench.bench.sweep import Request, SweepProgress
from bfsbench.bench.sweep import sweep as carry_out
from bfsbench.cluster.runners import runner_maker
from bfsbench.errors import UsageError
from bfsbench.families.apsp.next_hops import path_between
from bfsbench.families.base import Family
from bfsbench.families.bfs.parents import path
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import canonical_spec
from bfsbench.graphs.generators import generate as generate_edges
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.interop import GraphLike, as_graph
from bfsbench.graphs.load import load, resolve
from bfsbench.graphs.recipe import Recipe
from bfsbench.programs import KnobValue, Variant
from bfsbench.variants import all_variants, family_of, find, find_family

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AllPairsResult",
    "Graph",
    "SearchResult",
    "Solution",
    "all_pairs",
    "generate",
    "list_variants",
    "load",
    "path",
    "path_between",
    "read_results",
    "search",
    "solve",
    "sweep",
]


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

    answer: npt.NDArray[Any]
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
    _require_positive(grid=shape.grid, block=shape.block, repeats=shape.repeats)
    settings = variant.knob_values(knobs)
    ((grid, block),) = launches(variant, settings, Axes([variant], [shape.grid], [shape.block]))
    if source is not None:
        source = check_source(graph, operator.index(source))
    session = Session(None if variant.host else shape.backend)
    try:
        session.use(graph)
        problem = session.problem(family.name, source)
        prepared = session.build(variant.name, grid, block, settings)
        run = problem.run(prepared)
        timing = session.time(prepared, problem, Sampling.of(shape.repeats))
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


Values = str | KnobValue | Sequence[str | KnobValue]
"""Values of an axis: one, several, or text as on the command line, where ``32:1024:x2`` is a range."""


def sweep(
    graphs: str | Graph | Sequence[str | Graph],
    variants: str | Sequence[str] = "all",
    *,
    family: str | None = None,
    grid: Values = "auto",
    block: Values = "auto",
    preset: str = "default",
    sources: int | Sequence[int] | None = None,
    source_ids: Sequence[int | str] | None = None,
    seed: int = 0,
    repeats: int = 5,
    timeout: float = 60.0,
    warmup: int = 1,
    min_samples: int | None = None,
    max_samples: int | None = None,
    max_noise: float | None = None,
    min_time: float = 0.0,
    cold: bool = False,
    energy: bool = False,
    order: str = "sequential",
    backend: str = "auto",
    schedule_seed: int = 0,
    cluster: str | None = None,
    mixed_devices: bool = False,
    tls: Path | str | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    profile: bool = False,
    parents: bool = False,
    progress: SweepProgress | None = None,
    **knobs: Values,
) -> pd.DataFrame:
    """Measure every combination of graph, source, variant, grid, block and knob values, as ``bfsbench run``.

    Points run in a separate process, which is replaced when a point crashes or hangs. So a script must call
    this below ``if __name__ == "__main__":``, as :mod:`multiprocessing` requires. ::

        rows = bfsbench.sweep("soc-Epinions1", ["push", "virtual_warp"], block="64:256:x2", W_SZ=[8, 32])
        rows[rows.status == "ok"].groupby("variant").search_ms.min()

    Parameters
    ----------
    graphs
        Names, files or generators as for ``--dataset``, or graphs of :func:`load` and :func:`generate`.
    variants
        Names or aliases; ``"all"`` is all of the ``family``, ``"bfs"`` unless variants say otherwise.
    grid, block
        Most blocks of a launch, and threads a block; ``"auto"`` is what suits the work and the variant.
    knobs
        Values by name, for the variants that have the knob. Others have the values of ``preset``:
        ``"default"``, ``"paper"`` or ``"auto"``, by the paper's rules for the graph.
    sources
        How many to choose by ``seed``, or which vertices, counted from 0; by default one is chosen.
    source_ids
        Instead of ``sources``: which vertices, by their ids or names in the graph's file.
    repeats, timeout
        Timed runs a point, and seconds that a point may take, compiling included.
    warmup, min_samples, max_samples, max_noise, min_time, cold, energy, order
        How points are sampled, as the options of these names say it: ``max_noise`` in percent, ``min_time``
        in seconds, ``order`` ``"sequential"``, ``"interleaved"`` or ``"shuffled:SEED"``.
    backend, schedule_seed, cluster, mixed_devices, tls
        Where points run, as the options of these names say it.
    out, resume, retry_failed
        The result file to write, or None; whether to continue it; whether to measure failed points again.
    profile, parents
        Level profiles beside ``out``; trees or next hops after the timed runs.
    progress
        Called for every point; by default nothing is shown.

    Returns
    -------
    The rows of all points, also of those that failed, in the order of the points: the columns of result
    files, with counts as Int64, other numbers as float64 (NA or NaN where a row has none), the samples in
    ``search_ms_samples`` and ``wall_ms_samples`` as lists of floats in ms, and the rest as text.

    Raises UsageError for unknown names, values out of range and files that cannot be written or resumed,
    BfsbenchError when nothing can run at all. An interrupt ends the running point; rows in ``out`` stay.
    """
    _require_positive(sources=sources if isinstance(sources, int) else None)
    chosen = chosen_variants([variants] if isinstance(variants, str) else variants, family)
    count = sources if isinstance(sources, int) else None
    given = source_ids if isinstance(sources, int) or sources is None else sources
    if source_ids is not None and given is not source_ids:
        raise UsageError("sources and source_ids exclude each other")
    values = {name: axis_language.expand(_listed(value)) for name, value in knobs.items()}
    grids, blocks = axis_language.grids(_listed(grid)), axis_language.blocks(_listed(block))
    names = [_named(graph) for graph in ([graphs] if isinstance(graphs, str | Graph) else graphs)]
    choice = SourceChoice.of(family_of(chosen), given, count, seed, source_ids is not None)
    work = Crossing([Part(list(dict.fromkeys(names)), Axes(chosen, grids, blocks, values, preset), choice)])
    runner = runner_maker(
        cluster, mixed_devices, schedule_seed, lambda line: None, Path(tls) if tls else None
    )
    sampling = Sampling.of(
        repeats, min_samples, max_samples, max_noise, min_time, warmup=warmup, cold=cold, energy=energy
    )
    method = Method(sampling, timeout, profile, parents, Order.of(order))
    path = None if out is None else Path(out)
    outcome = carry_out(Request(work, method, path, resume, retry_failed, backend, runner), progress)
    return results.table(outcome.rows)


def _listed(values: Values) -> str:
    """The values of an axis in the command line's syntax."""
    return str(values) if isinstance(values, str | int | float) else ",".join(map(str, values))


def _named(graph: str | Graph) -> str:
    """The name by which other processes load a graph. Raises UsageError if the name gives another graph."""
    if isinstance(graph, str):
        return resolve(graph).locator
    found = load(graph.locator or graph.full_name)
    if found.checksum != graph.checksum:
        raise UsageError(f"{graph.full_name} names another graph than the one given: sweep what has a name")
    return found.locator
