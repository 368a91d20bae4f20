"""Define the interface of runners. A runner is a worker process or a cluster that runs the points of a sweep.

The samples of several points can be interleaved: one sample of each point, then the next sample of each. So a
drift of the clocks affects all points equally.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from bfsbench.bench.measure import advise_times, enough, is_settled, sample_columns
from bfsbench.bench.options import SOURCE_RULES, Method
from bfsbench.graphs.graph import Graph
from bfsbench.rows.point import Point
from bfsbench.rows.results import axes_of
from bfsbench.support.machine import available_memory

if TYPE_CHECKING:
    from bfsbench.bench.worker import DeviceInfo


Graphs = Mapping[str, Graph]
"""Graphs by their locators."""


@dataclass(frozen=True)
class Measured:
    """The outcome of a point: its row, and its level profile if one was taken."""

    row: dict[str, str]
    levels: list[dict[str, str]] = field(default_factory=list)
    worker: str = ""
    """The name of the worker that ran the point, if there are several workers."""


class Runner(Protocol):
    """Runs points and makes a row of each. If a point breaks its worker process, no other point is lost."""

    device: DeviceInfo | None
    """The device that runs the points, known after ``start``. None if only host programs can run."""

    def start(self) -> object:
        """Start the runner unless it runs already.

        Raises BfsbenchError if there is no device or worker to run points.
        """

    def origins(self) -> list[dict[str, str]]:
        """Return the provenance columns of the rows to come, one entry per device.

        The runner must be started.
        """

    def run(self, points: Sequence[Point], graphs: Graphs, method: Method) -> Iterator[Measured]:
        """Yield the outcome of each point as it is made, in any order.

        ``graphs`` has the graphs by their locators.
        """

    def close(self) -> None:
        """Let idle processes end by themselves."""

    def stop(self) -> None:
        """End all processes, whether they are idle or not."""


_SHARE = 4
"""The reference answers of points that are timed together take at most 1/``_SHARE`` of the memory."""


def together(points: Sequence[Point], graphs: Graphs) -> Iterator[list[Point]]:
    """Yield groups of consecutive points that differ only in their sources. A group is timed together.

    If the reference answers of a group do not fit into memory, the group is split.
    """
    memory = available_memory() or sys.maxsize
    for setting, same in itertools.groupby(points, key=lambda point: replace(point, source=None)):
        group = list(same)
        most = max(2, memory // _SHARE // (4 * graphs[setting.graph].num_vertices + 1))
        yield from evenly(group, -(-len(group) // most))


def evenly(points: Sequence[Point], parts: int) -> Iterator[list[Point]]:
    """Split points into ``parts`` parts of about equal length."""
    ends = [len(points) * part // parts for part in range(parts + 1)]
    return (list(points[start:end]) for start, end in itertools.pairwise(ends))


FIRST_TURN = ("prepare_ms", "compile_ms", "preprocess_ms", "parents_ms", "energy_j", "power_w")
"""Columns of a row whose values come from the point's first turn, if points take turns."""


def run_in_turns(
    runner: Runner, points: Sequence[Point], graphs: Graphs, method: Method
) -> Iterator[Measured]:
    """Measure the points of each graph in turns, with one sample per turn, and yield the outcome of each
    point.

    In each turn a point is prepared, run untimed and sampled once. The row of a point combines the samples of
    its turns. A point that fails gets no further turn. If the order is shuffled, points run one by one.
    """
    for _, of_graph in itertools.groupby(points, key=lambda point: point.graph):
        yield from _graph_in_turns(runner, list(of_graph), graphs, method)


def _graph_in_turns(
    runner: Runner, points: list[Point], graphs: Graphs, method: Method
) -> Iterator[Measured]:
    shuffle = None if method.shuffle_seed is None else random.Random(method.shuffle_seed)
    one_sample = replace(method, repeats=1, min_samples=None, max_samples=None, max_noise=None, min_time=0.0)
    turn = replace(one_sample, until_decided=False)
    turns: dict[Point, list[Measured]] = {point: [] for point in points}
    pending = points
    while pending:
        taken: Iterator[Measured] = runner.run(pending, graphs, turn)
        if shuffle is not None:
            pending = shuffle.sample(pending, len(pending))
            taken = (one for point in pending for one in runner.run([point], graphs, turn))
        named = {axes_of(point.axes()): point for point in pending}
        for measured in taken:
            turns[named[axes_of(measured.row)]].append(measured)
        pending = [*_unfinished({point: turns[point] for point in pending}, method)]
        turn = replace(turn, energy=False, profile=False, parents=False)
    for point in points:
        yield _together(turns[point], method)


def _unfinished(turns: Mapping[Point, Sequence[Measured]], method: Method) -> Iterator[Point]:
    """Yield the points that need further turns. Points that failed need none.

    With ``until_decided``, all points of a source go on until the fastest is known, so that they have equally
    many samples.
    """
    times: dict[int | None, dict[Point, list[float]]] = {}
    for point, taken in turns.items():
        if taken[-1].row["status"] == "ok":
            together = times.setdefault(point.source, {})
            together[point] = [float(one.row["search_ms"]) for one in taken]
    for together in times.values():
        wanting = [point for point, samples in together.items() if not enough(method, samples)]
        if method.until_decided:
            exhausted = any(len(samples) >= method.most for samples in together.values())
            if wanting or not (exhausted or is_settled([*together.values()])):
                wanting = [*together]
        yield from wanting


def source_rule(method: str) -> str:
    """Return the word about the order of sources in a text of the column ``method``; empty if it has none."""
    return next((word for word in method.split() if word in SOURCE_RULES), "")


def _together(turns: Sequence[Measured], method: Method) -> Measured:
    """Combine several outcomes of one point, with one sample each, into one row.

    Most columns come from the fastest outcome. If the last outcome is a failure, its row is returned.
    """
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
        "method": method.said(source_rule(last["method"])),
        "warnings": "; ".join(dict.fromkeys([*advise_times(search), *told])),
    }
    fastest = min(rows, key=lambda row: float(row["search_ms"]))
    return Measured(fastest | columns, turns[0].levels, turns[0].worker)
