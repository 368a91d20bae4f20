"""Samples in turns: one of each point of a graph, then the next of each, so that drift affects all
equally."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bfsbench.bench.advice import advise_times
from bfsbench.bench.measure import sample_columns
from bfsbench.bench.point import Point
from bfsbench.bench.runner import Measured, Method, Runner
from bfsbench.bench.sampling import Sampling
from bfsbench.graphs.graph import Graph

FIRST_TURN = ("prepare_ms", "preprocess_ms", "parents_ms", "energy_j", "power_w")
"""Columns that only the first turn fills, or that are about the first time."""


def run_in_turns(
    runner: Runner, points: Sequence[Point], graphs: Mapping[str, Graph], method: Method
) -> Iterator[Measured]:
    """The rows of points, graph after graph, each combined from its turns. See Runner.run.

    In each turn a point is prepared, run untimed and sampled once. ``runner`` yields rows in the order of the
    points. A point that fails in a turn gets no further one.
    """
    for _, of_graph in itertools.groupby(points, key=lambda point: point.graph):
        yield from _graph_in_turns(runner, list(of_graph), graphs, method)


def _graph_in_turns(
    runner: Runner, points: list[Point], graphs: Mapping[str, Graph], method: Method
) -> Iterator[Measured]:
    shuffle = None if method.order.seed is None else random.Random(method.order.seed)
    once = Sampling(1, 1, warmup=method.sampling.warmup, cold=method.sampling.cold)
    turn = replace(method, sampling=replace(once, energy=method.sampling.energy))
    turns: dict[Point, list[Measured]] = {point: [] for point in points}
    pending = points
    while pending:
        if shuffle is not None:
            pending = shuffle.sample(pending, len(pending))
        for point, measured in zip(pending, runner.run(pending, graphs, turn), strict=True):
            turns[point].append(measured)
        pending = [point for point in pending if not _done(turns[point], method.sampling)]
        turn = replace(method, sampling=once, profile=False, parents=False)
    for point in points:
        yield _together(turns[point], method)


def _done(turns: Sequence[Measured], sampling: Sampling) -> bool:
    return turns[-1].row["status"] != "ok" or sampling.enough([float(one.row["search_ms"]) for one in turns])


def _together(turns: Sequence[Measured], method: Method) -> Measured:
    """One row of all turns: the figures of the fastest or, for a failed point, the row that says why."""
    first, last = turns[0].row, turns[-1].row
    if last["status"] != "ok":
        return Measured(last | {"method": method.words})
    rows = [one.row for one in turns]
    search, wall = ([float(row[name]) for row in rows] for name in ("search_ms", "wall_ms"))
    told = [text for row in rows for text in row["warnings"].split("; ") if text]
    columns = {
        **{name: first[name] for name in FIRST_TURN},
        **sample_columns(search, wall),
        "reset_ms": min((row["reset_ms"] for row in rows), key=float),
        "samples_discarded": str(sum(int(row["samples_discarded"]) for row in rows)),
        "reason": first.get("reason", ""),
        "method": method.words,
        "warnings": "; ".join(dict.fromkeys([*advise_times(search), *told])),
    }
    fastest = min(rows, key=lambda row: float(row["search_ms"]))
    return Measured(fastest | columns, turns[0].levels, turns[0].worker)
