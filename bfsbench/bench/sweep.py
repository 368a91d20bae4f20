"""Planning a sweep and carrying it out, into a result file."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bfsbench.backends.base import Limits
from bfsbench.bench import profile
from bfsbench.bench.point import KnobValue, Point
from bfsbench.bench.results import LEVELS_SUFFIX, ResultWriter, axes_of
from bfsbench.bench.runner import Measured, Method, Runner
from bfsbench.errors import UsageError
from bfsbench.graphs.graph import Graph
from bfsbench.variants.base import PRESETS, Variant

SAME_DEVICE = ("gpu", "compute_capability", "host_cpu")


@dataclass(frozen=True)
class Axes:
    """What a sweep crosses. Knob values are given by name and apply to each variant that has the knob; those
    of other knobs are a variant's ``preset`` for the graph. Where a block is None, it is the variant's usual
    one."""

    variants: Sequence[type[Variant]]
    grids: Sequence[int | None]
    blocks: Sequence[int | None]
    knobs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    preset: str = PRESETS[0]


def check_axes(axes: Axes, limits: Limits | None) -> None:
    """Raises UsageError for knobs nobody has, values out of range, blocks and grids over the limits."""
    for name, values in axes.knobs.items():
        owned = [knob for variant in axes.variants for knob in variant.knobs if knob.name == name]
        for knob, value in itertools.product(owned, values):
            knob.check(value)
        if not owned:
            chosen = ", ".join(variant.name for variant in axes.variants)
            raise UsageError(f"knob {name} belongs to none of the variants chosen ({chosen})")
    if limits is None:
        return
    blocks = {block for variant in axes.variants for block in blocks_of(variant, axes)}
    for block in sorted(blocks):
        if block > limits.max_threads_per_block:
            raise UsageError(f"block {block} is over the device's limit of {limits.max_threads_per_block}")
    for grid in axes.grids:
        if grid is not None and grid > limits.max_grid:
            raise UsageError(f"grid {grid} is over the device's limit of {limits.max_grid} blocks")
        if grid is not None and grid * max(blocks) >= 2**31:
            raise UsageError(f"grid {grid} x block {max(blocks)} is 2^31 threads or more")


def knob_settings(
    variant: type[Variant], given: Mapping[str, Sequence[str]], preset: Mapping[str, KnobValue]
) -> list[tuple[tuple[str, KnobValue], ...]]:
    """All combinations of the knobs of one variant, where none are given the preset's, else the default."""
    lists = [
        [
            (knob.name, knob.check(value))
            for value in given.get(knob.name, [str(preset.get(knob.name, knob.default))])
        ]
        for knob in variant.knobs
    ]
    return list(itertools.product(*lists))


def blocks_of(variant: type[Variant], axes: Axes) -> list[int]:
    """Threads a block, of a variant that does not choose them by its knobs."""
    return [variant.usual_block if block is None else block for block in axes.blocks]


def launches(
    variant: type[Variant], knobs: Mapping[str, KnobValue], axes: Axes
) -> list[tuple[int | None, int | None]]:
    """Grids and blocks to run a variant with: those of the axes, unless it has none or chooses its own."""
    if variant.host:
        return [(None, None)]
    own = variant.own_block(knobs)
    return [(None, own)] if own else list(itertools.product(axes.grids, blocks_of(variant, axes)))


def plan(
    axes: Axes,
    sources: Mapping[str, Sequence[int | None]],
    statistics: Mapping[str, Mapping[str, float]],
    backend: str,
) -> list[Point]:
    """The points of a sweep, ordered so that graphs change least often.

    ``sources`` and ``statistics`` are by the graphs' full names; the latter may be empty where the preset
    needs none.
    Raises UsageError for a knob value out of range.
    """
    points = []
    for graph, variant in itertools.product(sources, axes.variants):
        where = "host" if variant.host else backend
        preset = variant.preset(axes.preset, statistics.get(graph, {}))
        settings = knob_settings(variant, axes.knobs, preset)
        for knobs in settings:
            shapes = launches(variant, dict(knobs), axes)
            for (grid, block), source in itertools.product(shapes, sources[graph]):
                points.append(Point(graph, source, variant.name, where, grid, block, knobs))
    return list(dict.fromkeys(points))


class Output:
    """The files a sweep writes: results and, if wanted, level profiles in ``*.levels.csv`` beside them.

    A point's profile is written before its row. So a profile without a row is of a point that was
    interrupted; it is dropped here, as the point will be run again. ``retry`` drops the rows of failed points
    for the same purpose. Raises UsageError, InputError; also where rows lack the profiles or the parents
    (``with_profiles``, ``with_parents``) that the others are to have.
    """

    def __init__(
        self,
        path: Path,
        *,
        resume: bool,
        retry: bool = False,
        with_profiles: bool = False,
        with_parents: bool = False,
    ) -> None:
        self.path = path
        self.results = ResultWriter(path, resume=resume)
        self.profiles: ResultWriter | None = None
        try:
            if retry:
                self.results.keep_only(lambda row: row["status"] == "ok")
            if with_parents and any(
                row["status"] == "ok" and not row["parents_ms"] for row in self.results.rows
            ):
                raise UsageError(f"{path} has rows without parents: choose another --out")
            if with_profiles:
                self.profiles = self._open_profiles(resume)
        except BaseException:
            self.close()
            raise

    def _open_profiles(self, resume: bool) -> ResultWriter:
        beside = self.path.with_name(self.path.name.removesuffix(".csv") + LEVELS_SUFFIX)
        profiles = ResultWriter(beside, resume=resume, columns=profile.COLUMNS)
        finished = {axes_of(row) for row in self.results.rows}
        profiles.keep_only(lambda row: axes_of(row) in finished)
        profiled = {axes_of(row) for row in profiles.rows}
        for row in self.results.rows:
            if row["status"] == "ok" and row["backend"] != "host" and axes_of(row) not in profiled:
                profiles.close()
                raise UsageError(f"{self.path} has rows without level profiles: choose another --out")
        return profiles

    def remaining(self, points: Sequence[Point]) -> list[Point]:
        """The points that have no row yet."""
        done = {axes_of(row) for row in self.results.rows}
        return [point for point in points if tuple(point.axes().values()) not in done]

    def failed(self, points: Sequence[Point]) -> int:
        """How many of the points have a row without a time."""
        wanted = {tuple(point.axes().values()) for point in points}
        return sum(row["status"] != "ok" and axes_of(row) in wanted for row in self.results.rows)

    def check_continuity(self, graphs: Mapping[str, Graph], origins: Sequence[Mapping[str, str]]) -> None:
        """Raises UsageError unless the rows are of these graphs and of one of these machines.

        ``origins`` are the provenance columns of the rows to come, one entry a device.
        """
        for row in self.results.rows:
            graph = graphs.get(row["graph"])
            if graph is not None and row["graph_checksum"] != graph.checksum:
                raise UsageError(f"cannot resume: {row['graph']} has changed since {self.path} was begun")
            differences = [_difference(row, origin) for origin in origins]
            if differences and all(differences):
                raise UsageError(f"cannot resume: {differences[0]}")

    def close(self) -> None:
        self.results.close()
        if self.profiles is not None:
            self.profiles.close()


def _difference(row: Mapping[str, str], origin: Mapping[str, str]) -> str:
    """In what a row's device is not the one of ``origin``; empty if it is."""
    for name in ("host_cpu",) if row["backend"] == "host" else SAME_DEVICE:
        if name in origin and row[name] != origin[name]:
            return f"rows were taken with {name} '{row[name]}', this is '{origin[name]}'"
    return ""


def run_sweep(
    points: Sequence[Point],
    graphs: Mapping[str, Graph],
    runner: Runner,
    output: Output,
    method: Method,
    done: Callable[[Measured], None],
) -> Counter[str]:
    """Run the points and append their rows; returns how many ended with each status.

    ``done`` is called with what became of a point once it is on disk.
    """
    statuses: Counter[str] = Counter()
    for measured in runner.run(points, graphs, method):
        if output.profiles is not None:
            output.profiles.append(*measured.levels)
        output.results.append(measured.row)
        statuses[measured.row["status"]] += 1
        done(measured)
    return statuses
