"""Define the public functions. The package ``bfsbench`` imports this module when one of these functions is
first used.

The functions read result files, check kernels, run variants in this process, and run sweeps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from inspect import signature
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bfsbench.backends import open_gpu
from bfsbench.bench import axes as axis_language
from bfsbench.bench.axes import Values
from bfsbench.bench.options import OPTIONS, Method, takes_options
from bfsbench.bench.plan import (
    Axes,
    Crossing,
    Several,
    SourceChoice,
    Work,
    check_axes,
    check_knobs,
    check_source,
    chosen_variants,
    launches,
)
from bfsbench.bench.session import Session
from bfsbench.bench.solution import (
    AllPairsResult as AllPairsResult,
    SearchResult as SearchResult,
    Solution as Solution,
)
from bfsbench.bench.sweep import SweepProgress as SweepProgress, SweepRequest, deadline_in, sweep as carry_out
from bfsbench.bench.tune import METHODS, NOT_TUNED, Tuning
from bfsbench.bench.tune_kernel import tune as tune
from bfsbench.cluster.address import runner_maker
from bfsbench.graphs.catalogue import Recipe, WeightPolicy
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import canonical_spec, generate as generate_edges
from bfsbench.graphs.given import loadable, several
from bfsbench.graphs.graph import Graph as Graph, Vertex
from bfsbench.graphs.interop import GraphLike, as_graph
from bfsbench.graphs.load import GraphName, load as load
from bfsbench.programs import KnobValue, Variant
from bfsbench.programs.families.apsp.problem import (
    WrongDistancesError as WrongDistancesError,
    path_between as path_between,
)
from bfsbench.programs.families.base import Family
from bfsbench.programs.families.bfs.parents import WrongParentsError as WrongParentsError, path as path
from bfsbench.programs.families.bfs.search import WrongLevelsError as WrongLevelsError, shared_levels
from bfsbench.programs.families.closeness.problem import WrongMeasuresError as WrongMeasuresError
from bfsbench.reports.asked import compare as compare, report as report
from bfsbench.reports.measured import NothingToDrawError as NothingToDrawError
from bfsbench.rows import results
from bfsbench.support.errors import (
    BfsbenchError as BfsbenchError,
    DeviceError as DeviceError,
    DeviceOutOfMemoryError as DeviceOutOfMemoryError,
    InputError as InputError,
    KernelError as KernelError,
    LaunchError as LaunchError,
    NoPathError as NoPathError,
    NotEnoughMemoryError as NotEnoughMemoryError,
    ToolchainError as ToolchainError,
    UnsupportedDeviceError as UnsupportedDeviceError,
    UsageError as UsageError,
    WrongResultError as WrongResultError,
    limit_or_none,
    listed,
    positive,
    positive_or_none,
    public,
    unknown_name,
    whole,
)
from bfsbench.tools import check as checks
from bfsbench.variants import add_folder, all_variants, family_of, find

if TYPE_CHECKING:
    import pandas as pd


@public
def read_results(*paths: os.PathLike[str] | str | Iterable[os.PathLike[str] | str]) -> pd.DataFrame:
    """Return the rows of result files, or of all result files in folders, as one table.

    The columns have the types that :func:`sweep` returns. The module bfsbench.rows.columns names and explains
    the columns. Raises InputError if a file cannot be read or is malformed.
    """
    lists = map(listed, paths)
    return results.typed(results.read_results([*chain.from_iterable(lists)]))


@public
def write_results(rows: pd.DataFrame, path: os.PathLike[str] | str) -> None:
    """Write rows of :func:`sweep` or :func:`read_results` to a result file, which :func:`read_results`,
    :func:`report`, :func:`compare` and the commands read. ::

        bfsbench.write_results(rows[rows.variant == "adaptive"], "adaptive.csv")

    The column ``file``, which :func:`read_results` adds, is left out. Raises UsageError if columns are
    missing, for columns that result files do not have, and if the file cannot be written.
    ``DataFrame.to_csv`` does not write a result file, because it writes the index and the lists of samples in
    another form.
    """
    results.write(rows, Path(path))


@public
def check(
    variants: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    graphs: GraphLike | Sequence[GraphLike] = (),
    *,
    seeds: int = 4,
    grid: int | None = None,
    block: int | None = None,
    **knobs: KnobValue,
) -> pd.DataFrame:
    """Run kernels in the emulator, which checks every memory access. The command ``bfsbench check`` does the
    same on the command line.

    ``variants`` are names, or folders with variants of your own. ``graphs`` is one graph that :func:`search`
    accepts, or a list of graphs. By default, each variant runs on small graphs. ``seeds`` is the number of
    thread schedules that are tried on each graph.

    Returns a table with one row per fault, which is empty if nothing was found. Its columns are:

    - ``variant``, ``fault`` and ``kernel``
    - ``where``: the memory in which the fault occurred
    - ``line`` and ``other_line``: lines of the source, as FILE:NUMBER
    - ``benign``: whether a comment declares the fault benign
    - ``runs`` and ``of_runs``: the fault occurred in ``runs`` of ``of_runs`` runs

    If a run fails or gives a wrong answer, the table has a row whose ``fault`` is the error's message.

    Raises UsageError for unknown names, programs, knobs out of range, and variants without kernels. The name
    ``all`` stands for all breadth-first searches with kernels.
    """
    seeds = positive("seeds", seeds)
    grid, block = positive_or_none("grid", grid), positive_or_none("block", block)
    given_names = [*map(os.fspath, listed(variants))]
    for name in given_names:
        if name.endswith((".cu", ".cpp")):
            raise UsageError(f"{name} is a program: 'bfsbench check {name}' checks programs")
    lists = (
        add_folder(Path(name)) if Path(name).is_dir() else chosen_variants([name]) for name in given_names
    )
    chosen = list(dict.fromkeys(chain.from_iterable(lists)))
    if given_names == ["all"]:
        chosen = [variant for variant in chosen if variant.launched]
    for variant in chosen:
        checks.require_kernels(variant)
    given = {name: axis_language.expand(value) for name, value in _spelt(knobs, chosen, check).items()}
    some = grid is not None or block is not None
    axes = Axes(chosen, [grid] if some else [], [block] if some else [], given)
    check_axes(axes, None)
    named = [*map(loadable, several(graphs))]
    found = [
        checks.check(variant, axes, named or checks.usual_graphs(variant, axes), seeds, lambda: None)
        for variant in chosen
    ]
    return checks.table(found)


@public
def generate(generator: str, *, symmetrise: bool = False, **parameters: int | float | str) -> Graph:
    """Return a generated graph in memory. Raises UsageError for an unknown generator or parameter."""
    edges = generate_edges(generator, **parameters)
    return build_graph(edges, canonical_spec(generator, parameters), Recipe(symmetrise=symmetrise))


@public
def list_variants() -> dict[str, type[Variant]]:
    """Return a dictionary that maps the names of all variants to their classes. The class attributes describe
    the variant.
    """
    return all_variants()


@public
def solve(
    graph: GraphLike,
    variant: str,
    source: Vertex | None = None,
    *,
    sources: int | None = None,
    grid: int | None = None,
    block: int | None = None,
    backend: str = "auto",
    repeats: int = 1,
    paths: bool = False,
    **knobs: KnobValue,
) -> Solution:
    """Run a variant in this process, time it, and check its answer against the reference of its family.

    ``graph`` is a Graph, or anything that :func:`bfsbench.graphs.interop.as_graph` converts: a name, a path,
    a SciPy matrix, a NetworkX graph, a DataFrame of edges, or arrays. ``source`` is a vertex counted from 0,
    or its name if vertices have names. For a variant that searches from many vertices at once, such as
    ``cpu_many``, give ``sources`` instead: the number of random vertices to search from. By default, this
    variant searches from every vertex. Without ``block``, the variant's default block is used. With
    ``paths``, the function also finds parents or next hops after the timed runs, and checks them.

    Raises UsageError for unknown names, values out of range and requests that the family does not support.
    Raises DeviceError or a subclass if the device fails, and WrongResultError if the answer is wrong.
    """
    family = family_of([find(variant)])
    if source is not None and not family.from_sources:
        instead = ": give a number of random vertices as sources" if family.draws_sources else ""
        raise UsageError(f"variant {variant} does not search from a single source{instead}")
    if sources is not None and not family.draws_sources:
        raise UsageError(
            f"sources is only for searches from many vertices: variant {variant} takes source, a vertex"
        )
    number = None if sources is None else positive("sources", sources)
    settings = _spelt(knobs, [find(variant)], solve)
    asked = (graph, variant, source, grid, block, backend, repeats, paths, settings)
    return _solve(Solution, family.name, *asked, number=number)


Result = TypeVar("Result", bound=Solution)


def _solve(
    result: type[Result],
    family: str,
    given: GraphLike,
    name: str,
    source: Vertex | None,
    grid: int | None,
    block: int | None,
    backend: str,
    repeats: int,
    paths: bool,
    knobs: Mapping[str, KnobValue],
    on_device: bool = False,
    number: int | None = None,
    weights: WeightPolicy | None = None,
    opened: Session | None = None,
) -> Result:
    """Run a variant on a problem of the family ``family``, and return an object of the class ``result``.

    With ``on_device``, the levels of a search stay on the device. ``number`` is the number of random
    source vertices, for families whose problems have several sources. ``weights`` has the meaning that
    :func:`all_pairs` describes. If ``opened`` is an open session, the variant runs in it. Otherwise, the
    function opens a session on ``backend``. Raises UsageError if the variant belongs to another family.
    """
    variant = find(name)
    if variant.family != family:
        raise UsageError(f"variant {name} is of family {variant.family}, not {family}")
    graph = as_graph(given, weights)
    axes = Axes([variant], [positive_or_none("grid", grid)], [positive_or_none("block", block)])
    method = Method(repeats)
    settings = variant.knob_values(knobs)
    ((grid, block),) = launches(variant, settings, axes)
    if source is not None:
        named = isinstance(source, str | tuple)
        number = graph.vertex(source) if named else check_source(graph, whole("source", source))
    own = closing(Session(None if variant.host else backend)) if opened is None else nullcontext(opened)
    with own as session:
        session.use(graph)
        problem = session.problem(family, number)
        prepared = session.build(variant.name, grid, block, settings)
        run = problem.run(prepared)
        timing = session.time(prepared, problem, method)
        found = session.paths(prepared, problem) if paths else None
        return result(
            variant.name,
            graph.full_name,
            shared_levels(prepared) if on_device else run.answer(),
            "host" if session.device is None else session.device.backend,
            timing.search_ms,
            timing.wall_ms,
            timing.reset_ms,
            problem.columns(min(timing.search_ms)),
            found.links if found else None,
            found.milliseconds if found else None,
            problem.sources,
        )


def _spelt(
    given: Mapping[str, Any], variants: Iterable[type[Variant]], function: Callable[..., object]
) -> dict[str, Any]:
    """Return a dictionary that maps the names of knobs to their given values. The names are spelt as the
    variants spell them: ``w_sz`` becomes ``W_SZ``.

    ``given`` contains the keyword arguments of the public function ``function``. Raises UsageError for a name
    that is not a knob of any variant. The message suggests a similar name: a knob of ``variants``, or an
    argument of ``function``.
    """
    names = {knob.name.lower(): knob.name for variant in variants for knob in variant.knobs}
    others = {knob.name.lower() for variant in all_variants().values() for knob in variant.knobs}
    for name in given:
        if name.lower() not in {*names, *others}:
            arguments = signature(function).parameters.values()
            known = [*names.values(), *(one.name for one in arguments if one.kind != one.VAR_KEYWORD)]
            raise unknown_name("argument", name, known, f"help(bfsbench.{function.__name__})")
    return {names.get(name.lower(), name): value for name, value in given.items()}


@public
def search(
    graph: GraphLike,
    variant: str,
    source: Vertex = 0,
    *,
    grid: int | None = None,
    block: int | None = None,
    backend: str = "auto",
    repeats: int = 1,
    parents: bool = False,
    on_device: bool = False,
    **knobs: KnobValue,
) -> SearchResult:
    """Search a graph in this process, time the search, and check the levels against a sequential search.

    ``graph`` is anything that :func:`solve` accepts. ``source`` is a vertex counted from 0, or its name if
    vertices have names. Without ``block``, the variant's default block is used. With ``parents``, the
    breadth-first tree is derived and checked after the timed searches. With ``on_device``, the levels of a
    search on a GPU stay in its memory, and ``shared_levels`` of the result gives them to other libraries.

    Raises UsageError for unknown names and values out of range. Raises DeviceError or a subclass if the
    device fails. Raises WrongLevelsError if the levels are wrong, and WrongParentsError if the tree breaks a
    rule.
    """
    settings = _spelt(knobs, [find(variant)], search)
    asked = (graph, variant, source, grid, block, backend, repeats, parents, settings)
    return _solve(SearchResult, "bfs", *asked, on_device)


@public
def all_pairs(
    graph: GraphLike,
    variant: str | None = None,
    *,
    grid: int | None = None,
    block: int | None = None,
    backend: str = "auto",
    repeats: int = 1,
    next_hops: bool = False,
    weights: WeightPolicy | None = None,
    **knobs: KnobValue,
) -> AllPairsResult:
    """Find all-pairs shortest paths in this process, time the run, and check the distances against SciPy.

    ``graph`` is anything that :func:`solve` accepts. Arcs of a graph without weights have the weight 1. If
    ``graph`` is not yet a Graph, ``weights="read"`` reads its weights, and ``"ignore"`` makes every arc weigh
    1. Without ``weights``, a graph with weights that were not read is refused. The default ``variant`` is
    ``apsp_fw_blocked``. Its kernels are slow in the emulator, so without a GPU the default is
    ``cpu_floyd_warshall``, unless ``backend``, ``grid``, ``block`` or a knob is given. Variants that choose
    their own grid and block ignore ``grid`` and ``block``. With ``next_hops``, one more run after the timed
    runs records the paths.

    Raises UsageError for unknown names, values out of range, and graphs that are too large for a matrix.
    Raises DeviceError or a subclass if the device fails, and WrongDistancesError if distances or next hops
    are wrong.
    """

    def run(name: str, opened: Session | None = None) -> AllPairsResult:
        settings = _spelt(knobs, [find(name)], all_pairs)
        asked = (graph, name, None, grid, block, backend, repeats, next_hops, settings)
        return _solve(AllPairsResult, "apsp", *asked, weights=weights, opened=opened)

    if variant is not None or backend != "auto" or grid or block or knobs:
        return run(variant or "apsp_fw_blocked")
    gpu = open_gpu(instead="cpu_floyd_warshall runs on the CPU")
    with closing(Session(gpu)) as session:
        return run("apsp_fw_blocked" if gpu else "cpu_floyd_warshall", session)


@public
@takes_options()
def sweep(
    graphs: GraphLike | Sequence[GraphLike],
    variants: str | Sequence[str] = "all",
    *,
    family: str | None = None,
    grid: Values = "auto",
    block: Values = "auto",
    preset: str = "default",
    sources: int | Sequence[int] | None = None,
    source_ids: Sequence[Vertex] | None = None,
    seed: int = 0,
    minutes: float | None = None,
    out: os.PathLike[str] | str | None = None,
    progress: SweepProgress | None = None,
    **words: Any,
) -> pd.DataFrame:
    """Measure every combination of graph, source, variant, grid, block and knob values, like ``bfsbench
    run``.

    Each combination (a point) runs in a separate process, which is replaced if it crashes or hangs. ::

        rows = bfsbench.sweep("soc-Epinions1", ["push", "virtual_warp"], block="64:256:x2", W_SZ=[8, 32])
        rows[rows.status == "ok"].groupby("variant").search_ms.min()

    Parameters
    ----------
    graphs
        Names, files or generators as for ``--dataset``, or any graph that :func:`search` takes. Several
        graphs are given in a list. A graph that no other process can load is written to the cache, where its
        vertices are numbered from 0. Rows have the graph's own name. A graph without a name is called
        ``graph-`` and the first 8 digits of its checksum.
    variants
        Names or aliases. ``"all"`` stands for all variants of ``family``, which is ``"bfs"`` unless variants
        of another family are named. Rows have the name that an alias stands for. For example, rows of
        ``push`` have the variant ``frontier_numbers``.
    grid, block
        The maximum number of blocks per launch, and the number of threads per block. ``"auto"`` chooses
        values that fit the work and the variant.
    words
        Measuring options by the names below. All other words are values of knobs by name, for the variants
        that have the knob. The ``preset`` gives values to all other knobs. It is ``"default"``, ``"paper"``,
        or ``"auto"``, which applies the paper's rules for the graph.
    sources
        The number of sources that ``seed`` chooses, or a list of vertices, counted from 0. By default one
        source is chosen.
    source_ids
        A list of vertices, by their ids or names in the graph's file. It replaces ``sources``. It is allowed
        for graphs given by name, and for one graph in memory.
    minutes
        A limit of time. No point begins after it, and the points that are left have no rows.
    out
        The result file to write, or None.
    progress
        An object whose methods are called for every point. By default nothing is shown.

    Returns
    -------
    The rows of all points in order, including points that failed. Rows have the columns of result files.
    Counts are Int64, or NA if a row has no value. Other numbers are float64, or NaN if a row has no value.
    The samples in ``search_ms_samples`` and ``wall_ms_samples`` are lists of floats in ms. All other columns
    are text.

    Raises UsageError for unknown names, values out of range, and files that cannot be written or resumed.
    Raises BfsbenchError if nothing can run at all. An interrupt ends the running point. The rows that ``out``
    already has are kept.
    """
    chosen = chosen_variants(listed(variants), family)
    choice = _source_choice(chosen, sources, source_ids, seed)
    method, values = _options(words, chosen, sweep)
    grids, blocks = axis_language.grids(grid), axis_language.blocks(block)
    names, choice = _graphs(graphs, family_of(chosen), choice, source_ids)
    work = Crossing(names, Axes(chosen, grids, blocks, values, preset), choice)
    return _measured(work, method, out, progress, minutes)


@public
@takes_options(*NOT_TUNED)
def tune_search(
    graphs: GraphLike | Sequence[GraphLike],
    variants: str | Sequence[str],
    *,
    grid: Values | None = None,
    block: Values | None = None,
    preset: str = "default",
    sources: int | Sequence[int] | None = None,
    source_ids: Sequence[Vertex] | None = None,
    seed: int = 0,
    method: str = METHODS[0],
    points: int | None = None,
    minutes: float | None = None,
    out: os.PathLike[str] | str | None = None,
    progress: SweepProgress | None = None,
    **words: Any,
) -> pd.DataFrame:
    """Find the fastest grid, block and knobs of each variant on each graph, like ``bfsbench tune``. ::

        rows = bfsbench.tune_search("soc-Epinions1", "virtual_warp", method="axes", minutes=5, sources=3)
        setting = ["graph", "variant", "grid", "block", "knobs"]
        times = rows[rows.status == "ok"].groupby(setting, dropna=False).search_ms.median()
        times.sort_values().groupby(["graph", "variant"]).head(1)  # the best setting and its time

    The parameters that :func:`sweep` has, too, mean the same here, with these exceptions. Without ``grid``,
    ``block`` or values of a knob, values to try are chosen. ``seed`` chooses configurations, too. ``method``
    is ``"optuna"``, ``"axes"``, ``"restarts"`` or ``"exhaustive"``, as for ``bfsbench tune --method``.
    ``points`` and ``minutes`` limit the measurements of each variant on each graph. With ``"optuna"``, one of
    them must be given.

    Returns the rows of all measured points, in the order measured. Raises the errors of :func:`sweep`. Raises
    ToolchainError if Optuna is needed and not installed.
    """
    chosen = chosen_variants(listed(variants))
    choice = _source_choice(chosen, sources, source_ids, seed)
    options, values = _options(words, chosen, tune_search)
    check_knobs(chosen, values)
    grids = [] if grid is None else axis_language.grids(grid)
    blocks = [] if block is None else axis_language.blocks(block)
    names, choice = _graphs(graphs, family_of(chosen), choice, source_ids)
    limits = positive_or_none("points", points), limit_or_none("minutes", minutes)
    tunings = []
    for name, variant in product(names, chosen):
        own = {knob.name: values[knob.name] for knob in variant.knobs if knob.name in values}
        axes = Axes([variant], grids, blocks, own, preset)
        tunings.append(Tuning(name, axes, choice, method, seed, *limits))
    return _measured(Several(tunings), options, out, progress)


def _options(
    words: dict[str, Any], chosen: Sequence[type[Variant]], function: Callable[..., object]
) -> tuple[Method, dict[str, list[KnobValue]]]:
    """Return the measuring options and the values of knobs among the keyword arguments of a function."""
    names = [name for name in signature(function).parameters if name in OPTIONS and name in words]
    method = Method(**{name: words.pop(name) for name in names})
    knobs = _spelt(words, chosen, function)
    return method, {name: axis_language.expand(value) for name, value in knobs.items()}


def _graphs(
    graphs: GraphLike | Sequence[GraphLike],
    family: Family,
    choice: SourceChoice,
    source_ids: Sequence[Vertex] | None,
) -> tuple[list[GraphName], SourceChoice]:
    """Return names by which worker processes load the graphs, and the choice of sources in these graphs.

    Raises UsageError if a graph in memory has weights that were not read, and ``family`` needs them. Worker
    processes cannot tell such a graph from a graph without weights.
    """
    given = [one if isinstance(one, str | os.PathLike) else as_graph(one) for one in several(graphs)]
    for one in given:
        if isinstance(one, Graph) and one.weights_unread:
            family.require(one)
    if source_ids is not None and (kept := [one for one in given if isinstance(one, Graph)]):
        if len(given) > 1:
            raise UsageError("source_ids go with one graph, or with graphs that are given by name")
        # Another process may know the vertices only by number.
        choice = replace(choice, given=tuple(map(kept[0].vertex, choice.given)), published=False)
    return list(dict.fromkeys(map(loadable, given))), choice


def _measured(
    work: Work,
    method: Method,
    out: os.PathLike[str] | str | None,
    progress: SweepProgress | None,
    minutes: float | None = None,
) -> pd.DataFrame:
    """Measure the points (configurations) of a sweep. Returns their result rows."""
    if progress is not None and not isinstance(progress, SweepProgress):
        raise UsageError(
            f"progress must be an object of a class derived from SweepProgress, not {progress!r}"
        )
    path, deadline = None if out is None else Path(out), deadline_in(limit_or_none("minutes", minutes))
    request = SweepRequest(work, method, path, runner_maker(method, lambda line: None), deadline)
    with progress or SweepProgress() as shown:
        return results.table(carry_out(request, shown).rows)


def _source_choice(
    chosen: Sequence[type[Variant]],
    sources: int | Sequence[int] | None,
    source_ids: Sequence[Vertex] | None,
    seed: int,
) -> SourceChoice:
    listed = sources if isinstance(sources, Iterable) else None
    count = None if sources is None or isinstance(sources, Iterable) else positive("sources", sources)
    if source_ids is not None and listed is not None:
        raise UsageError("sources and source_ids exclude each other")
    given = listed if source_ids is None else source_ids
    return SourceChoice.of(family_of(chosen), given, count, seed, source_ids is not None)
