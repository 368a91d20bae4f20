"""Planning: the axes of a sweep, and the points they give."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from bfsbench.backends.base import Limits
from bfsbench.bench.point import KnobValue, Point
from bfsbench.bench.sources import SourceChoice
from bfsbench.errors import UsageError
from bfsbench.families import DEFAULT
from bfsbench.graphs.estimate import known_vertices
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import resolve
from bfsbench.variants import all_variants, family_of, find
from bfsbench.variants.base import PRESETS, Variant

Row = Mapping[str, str]
Batches = Generator[Sequence[Point], Sequence[Row], None]
"""Yields points to measure and is sent their rows, in the same order."""


@dataclass(frozen=True)
class Setting:
    """What a sweep knows when it begins to measure."""

    graphs: Mapping[str, Graph]
    """Graphs by their locators, as points name them."""
    backend: str
    """The backend in rows of kernels."""
    limits: Limits | None
    """Limits of the device; None when only host programs can run."""


@dataclass(frozen=True)
class Questions:
    """The points a sweep measures: at most ``total``, in ``batches``."""

    total: int
    batches: Batches


class Work(Protocol):
    """What a sweep measures: graphs, variants, and the points that depend on them."""

    @property
    def graphs(self) -> Sequence[str]:
        """The graphs' locators."""

    @property
    def variants(self) -> Sequence[type[Variant]]:
        """The variants."""

    def check(self, limits: Limits | None) -> None:
        """Raises UsageError for what a device of these limits cannot do."""

    def ask(self, setting: Setting) -> Questions:
        """The points; later ones may depend on the rows of earlier ones. Raises UsageError."""


class Plannable(Work, Protocol):
    """Work whose number of points is known beforehand."""

    def planned(self, graphs: Mapping[str, Graph], backend: str) -> list[Point]:
        """The points or, where they depend on rows, the most that there can be; without ``graphs``, sources
        are placeholders."""


@dataclass(frozen=True)
class Axes:
    """The axes of a sweep. Knob values are given by name and apply to each variant that has the knob; other
    knobs have the values of the ``preset``. A block of None is the variant's default."""

    variants: Sequence[type[Variant]]
    grids: Sequence[int | None]
    blocks: Sequence[int | None]
    knobs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    preset: str = PRESETS[0]


def check_axes(axes: Axes, limits: Limits | None) -> None:
    """Raises UsageError for unknown knobs, values out of range, blocks and grids over the limits."""
    if axes.preset not in PRESETS:
        raise UsageError(f"'{axes.preset}' is no preset of knobs: choose from {', '.join(PRESETS)}")
    check_knobs(axes.variants, axes.knobs)
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


def check_knobs(variants: Sequence[type[Variant]], knobs: Mapping[str, Sequence[str]]) -> None:
    """Raises UsageError for knobs that none of the variants has, and for values out of range."""
    for name, values in knobs.items():
        owned = [knob for variant in variants for knob in variant.knobs if knob.name == name]
        for knob, value in itertools.product(owned, values):
            knob.check(value)
        if not owned:
            chosen = ", ".join(variant.name for variant in variants)
            raise UsageError(f"knob {name} belongs to none of the variants chosen ({chosen})")


def knob_settings(
    variant: type[Variant], given: Mapping[str, Sequence[str]], preset: Mapping[str, KnobValue]
) -> list[tuple[tuple[str, KnobValue], ...]]:
    """All combinations of the knobs of one variant, with the preset's value, or the default, for knobs not
    given."""
    lists = [
        [
            (knob.name, knob.check(value))
            for value in given.get(knob.name, [str(preset.get(knob.name, knob.default))])
        ]
        for knob in variant.knobs
    ]
    return list(itertools.product(*lists))


def blocks_of(variant: type[Variant], axes: Axes) -> list[int]:
    """Threads per block of a variant that does not set them by its knobs."""
    return [variant.usual_block if block is None else block for block in axes.blocks]


def launches(
    variant: type[Variant], knobs: Mapping[str, KnobValue], axes: Axes
) -> list[tuple[int | None, int | None]]:
    """Grids and blocks to run a variant with: those of the axes, unless it has none or chooses its own."""
    if not variant.launched:
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

    ``sources`` and ``statistics`` are by what the graphs are loaded by; the latter may be empty where the
    preset needs none. Raises UsageError for a knob value out of range.
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


def chosen_variants(names: Sequence[str], family: str | None = None) -> list[type[Variant]]:
    """The variants of these names or aliases; ``all`` is every variant that can run here of the family given,
    or of the family of the other names. Raises UsageError for an unknown name, and for a variant of another
    family or one that cannot run here."""
    named = [find(name) for name in names if name != "all"]
    for variant in named:
        if family is not None and variant.family != family:
            raise UsageError(f"variant {variant.name} is of family {variant.family}, not {family}")
    meant = family or (named[0].family if named else DEFAULT)
    every = [one for one in all_variants().values() if one.family == meant and not one.missing()]
    for variant in named:
        if reason := variant.missing():
            raise UsageError(reason)
    chosen = [v for name in names for v in (every if name == "all" else [find(name)])]
    return list(dict.fromkeys(chosen))


@dataclass(frozen=True)
class Part:
    """Graphs, by their locators, and the axes and sources that they are crossed with."""

    graphs: Sequence[str]
    axes: Axes
    sources: SourceChoice


@dataclass(frozen=True)
class Crossing:
    """The work of a plain sweep: every combination in each of its parts."""

    parts: Sequence[Part]

    @property
    def graphs(self) -> list[str]:
        """The graphs' locators."""
        return list(dict.fromkeys(name for part in self.parts for name in part.graphs))

    @property
    def variants(self) -> list[type[Variant]]:
        return list(dict.fromkeys(variant for part in self.parts for variant in part.axes.variants))

    def check(self, limits: Limits | None) -> None:
        """Raises UsageError for unknown knobs, and for launches beyond these limits."""
        for part in self.parts:
            check_axes(part.axes, limits)

    def ask(self, setting: Setting) -> Questions:
        """All points at once."""
        points = self.planned(setting.graphs, setting.backend)
        return Questions(len(points), _once(points))

    def planned(self, graphs: Mapping[str, Graph], backend: str) -> list[Point]:
        """The points, graph after graph. Without ``graphs`` sources and preset values are placeholders.

        Raises UsageError for a source that a graph does not have, or a graph that a family cannot take: of
        one that is not among ``graphs``, if its size is known and too large.
        """
        points: list[Point] = []
        for part in self.parts:
            axes, sources, statistics = part.axes, {}, {}
            for name in part.graphs:
                family = family_of(axes.variants)
                if name in graphs:
                    family.require(graphs[name])
                    sources[name] = part.sources.choose(graphs[name])
                    statistics[name] = graphs[name].statistics
                else:
                    request = resolve(name)
                    if vertices := known_vertices(request):
                        family.require_size(request.full_name, vertices)
                    axes = replace(axes, preset=PRESETS[0])
                    sources[name] = part.sources.stand_ins()
            points += plan(axes, sources, statistics, backend)
        return list(dict.fromkeys(points))


def _once(points: Sequence[Point]) -> Batches:
    yield points


@dataclass(frozen=True)
class Several:
    """Several works, done one after the other into one file."""

    works: Sequence[Plannable]

    @property
    def graphs(self) -> list[str]:
        """Full names."""
        return list(dict.fromkeys(name for work in self.works for name in work.graphs))

    @property
    def variants(self) -> list[type[Variant]]:
        return list(dict.fromkeys(variant for work in self.works for variant in work.variants))

    def check(self, limits: Limits | None) -> None:
        """Check each work. Raises UsageError."""
        for work in self.works:
            work.check(limits)

    def ask(self, setting: Setting) -> Questions:
        """The points of each work, which is sent the rows of its own points."""
        questions = [work.ask(setting) for work in self.works]
        return Questions(sum(one.total for one in questions), _one_after_the_other(questions))

    def planned(self, graphs: Mapping[str, Graph], backend: str) -> list[Point]:
        """The planned points of each work."""
        return list(dict.fromkeys(point for work in self.works for point in work.planned(graphs, backend)))


def _one_after_the_other(questions: Sequence[Questions]) -> Batches:
    for one in questions:
        yield from one.batches
