"""Sweeps from Python, whose rows come back as a DataFrame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bfsbench import storage
from bfsbench.bench import axes as axis_language
from bfsbench.bench import results
from bfsbench.bench.plan import Axes, Crossing, Part, chosen_variants
from bfsbench.bench.runner import Method, Order
from bfsbench.bench.sampling import Sampling
from bfsbench.bench.sources import SourceChoice
from bfsbench.bench.sweep import Request, SweepProgress
from bfsbench.bench.sweep import sweep as carry_out
from bfsbench.cluster.runners import runner_maker
from bfsbench.errors import UsageError
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.interop import GraphLike, as_graph
from bfsbench.graphs.load import load, resolve
from bfsbench.numerals import positive
from bfsbench.paths import cache_dir
from bfsbench.programs import KnobValue, Variant
from bfsbench.variants import family_of

if TYPE_CHECKING:
    import pandas as pd

Values = str | KnobValue | Sequence[str | KnobValue]
"""Values of an axis: one, several, or text as on the command line, where ``32:1024:x2`` is a range."""


def sweep(
    graphs: GraphLike | Sequence[GraphLike],
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
        Names, files or generators as for ``--dataset``, or whatever :func:`search` takes; several in a list.
        A graph that no other process can load is put into the cache, where its vertices are numbered from 0;
        rows name it after its file there.
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
    chosen = chosen_variants([variants] if isinstance(variants, str) else variants, family)
    choice = _source_choice(chosen, sources, source_ids, seed)
    values = {name: axis_language.expand(_listed(value)) for name, value in knobs.items()}
    grids, blocks = axis_language.grids(_listed(grid)), axis_language.blocks(_listed(block))
    names = [_named(graph) for graph in _several(graphs)]
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


def _source_choice(
    chosen: Sequence[type[Variant]],
    sources: int | Sequence[int] | None,
    source_ids: Sequence[int | str] | None,
    seed: int,
) -> SourceChoice:
    """How a sweep's arguments choose the sources of each graph. Raises UsageError."""
    listed = sources if isinstance(sources, Iterable) else None
    count = None if sources is None or isinstance(sources, Iterable) else positive("sources", sources)
    if source_ids is not None and listed is not None:
        raise UsageError("sources and source_ids exclude each other")
    given = listed if source_ids is None else source_ids
    return SourceChoice.of(family_of(chosen), given, count, seed, source_ids is not None)


def _listed(values: Values) -> str:
    """The values of an axis in the command line's syntax."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return str(values)
    return ",".join(map(str, values))


def _several(graphs: GraphLike | Sequence[GraphLike]) -> Sequence[GraphLike]:
    """The graphs of a list, or of a tuple of names, paths and Graphs; else the one thing given."""
    if isinstance(graphs, list):
        return graphs
    if isinstance(graphs, tuple) and all(isinstance(one, str | Path | Graph) for one in graphs):
        return graphs
    return [cast(GraphLike, graphs)]


def _named(given: GraphLike) -> str:
    """The name by which other processes load a graph; one that has none is put into the cache."""
    if isinstance(given, str | Path):
        return resolve(str(given)).locator
    graph = as_graph(given)
    try:
        found = load(graph.locator or graph.full_name)
        if found.checksum == graph.checksum:
            return found.locator
    except UsageError:
        pass  # nobody else calls a graph so
    return _kept(graph)


def _kept(graph: Graph) -> str:
    """The name of a graph's file in the cache, which is written if need be.

    The file has arcs, weights and direction, and not the ids that vertices had elsewhere.
    """
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "_", graph.name) or "graph"
    path = cache_dir() / "given" / graph.checksum[:20] / f"{plain}.npz"
    orientation = "directed" if graph.direction == "directed" else "both_ways"
    weights = "ignore" if graph.weights is None else "read"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        import scipy.sparse

        with storage.replacing(path) as file:
            scipy.sparse.save_npz(file, graph.to_scipy(), compressed=False)
    request = resolve(f"{path}:orientation={orientation}:weights={weights}:{graph.direction}")
    if load(request.locator).checksum != graph.checksum:
        path.unlink()
        raise UsageError(
            f"{graph.full_name} cannot be kept for other processes: write it to a file and name that"
        )
    return request.locator
