"""Plan a sweep: choose the sources in each graph, and list the points. A point is one configuration to
measure.

The choice of sources depends on a seed and the graph, not on the machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from bfsbench.backends.base import Limits
from bfsbench.graphs.graph import Graph, Vertex
from bfsbench.graphs.load import GraphName, known_vertices
from bfsbench.programs.families import DEFAULT
from bfsbench.programs.families.base import Family
from bfsbench.rows.point import KnobValue, Point
from bfsbench.support.errors import UsageError, whole
from bfsbench.variants import every_variant, family_of, find
from bfsbench.variants.base import PRESETS, Variant


def _mix(value: int) -> int:
    """Return SplitMix64's output for ``value``: a 64-bit hash that needs only integer arithmetic."""
    mask = 2**64 - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


def choose_sources(graph: Graph, count: int, seed: int) -> list[int]:
    """Choose and return ``count`` distinct vertices of non-zero out-degree.

    The choice depends only on the graph and the seed. If the graph has fewer vertices of non-zero out-degree,
    all of them are returned, in an order that depends on the seed. Raises UsageError if every vertex has
    out-degree zero.
    """
    candidates = np.flatnonzero(np.diff(graph.row_offsets))
    if len(candidates) == 0:
        raise UsageError(f"{graph.full_name}: no vertex has an edge, so name a source")
    chosen: dict[int, None] = {}
    draw = _mix(seed)
    wanted = min(count, len(candidates))
    while len(chosen) < wanted:
        draw = _mix(draw)
        chosen.setdefault(int(candidates[draw % len(candidates)]))
    return list(chosen)


def check_source(graph: Graph, source: int) -> int:
    """Return ``source`` if the graph has this vertex.

    Otherwise raises UsageError, whose message names the valid vertices.
    """
    ids = graph.original_ids
    hint = "" if ids is None or not len(ids) else f", whose ids in its file lie within {ids[0]} .. {ids[-1]}"
    return _in_range(source, graph.full_name, graph.num_vertices, hint)


def _in_range(source: int, graph: str, num_vertices: int, hint: str = "") -> int:
    """Return ``source`` if it is one of the ``num_vertices`` vertices of the graph with the name ``graph``.

    Otherwise raises UsageError, whose message names the valid vertices, and ends with ``hint``.
    """
    if not 0 <= source < num_vertices:
        there = f"{graph} has vertices 0 .. {num_vertices - 1}"
        raise UsageError(f"source {source} is out of range: {there}{hint}")
    return source


def _listed(given: Iterable[Vertex], published: bool) -> tuple[Vertex, ...]:
    """Return the given sources as a tuple. Sources are vertex numbers or, if ``published`` is true, ids or
    names from the graph's file.

    Raises UsageError for any other value, for a text instead of a list, and for an empty list.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"sources are given in a list, not as {given!r}")
    named = str | tuple if published else ()
    listed = tuple(one if isinstance(one, named) else whole("a source", one) for one in given)
    if not listed:
        raise UsageError("no source is given")
    return listed


@dataclass(frozen=True)
class SourceChoice:
    """How to choose the vertices to search from: either the vertices in ``given``, or ``count`` vertices
    chosen by ``seed``.
    """

    given: tuple[Vertex, ...]
    count: int
    seed: int
    number: int | None = None
    """The number of sources per point, in families whose points have many sources. None stands for every
    vertex."""
    published: bool = False
    """True if the given sources are ids or names in the graph's file. Otherwise they are vertices counted
    from 0."""

    @classmethod
    def of(
        cls,
        family: Family,
        given: Iterable[Vertex] | None,
        count: int | None,
        seed: int,
        published: bool = False,
    ) -> SourceChoice:
        """Return the SourceChoice for one family of problems. ``given`` are the sources to search from, and
        ``count`` is the number of sources that ``seed`` chooses. By default one source is chosen.

        Raises UsageError if the family does not allow ``given`` or ``count``, if both are set, and for values
        in ``given`` that are not vertices.
        """
        if not family.from_sources:
            if given is not None or (count is not None and not family.draws_sources):
                raise UsageError(f"{family.title} have no source to choose")
            return cls((), 0, seed, number=count)
        if given is not None and count is not None:
            raise UsageError("give sources or a number of them, not both")
        if given is None:
            return cls((), count or 1, whole("seed", seed))
        return cls(_listed(given, published), 0, whole("seed", seed), published=published)

    def choose(self, graph: Graph) -> list[int | None]:
        """Return the sources to search from in a graph.

        In some families, one problem has many sources. For such a family, the list has a single element: the
        number of sources, or None if every vertex is a source. For a family without sources, the list is
        [None]. Raises UsageError for a source that the graph does not have. Also raises UsageError if sources
        must be chosen in a graph without arcs.
        """
        if self.given:
            if self.published:
                return [graph.vertex(source) for source in self.given]
            return [check_source(graph, whole("a source", source)) for source in self.given]
        return [*choose_sources(graph, self.count, self.seed)] if self.count else [self.number]

    def check(self, graph: str, num_vertices: int) -> None:
        """Raise UsageError if a given source is not a vertex of the graph with the name ``graph``. Sources
        that are given as ids or names are not checked."""
        for source in () if self.published else self.given:
            _in_range(whole("a source", source), graph, num_vertices)

    def stand_ins(self) -> list[int | None]:
        """Return one placeholder per source. Placeholders suffice to count the points of a sweep before its
        graph is loaded.
        """
        numbers = [number for number in self.given if isinstance(number, int)]
        return [*(numbers or range(len(self.given) or self.count))] or [self.number]


Row = Mapping[str, str]


@dataclass(frozen=True)
class Batch:
    """A list of points (configurations) to measure, and their result rows in the order of the points.

    The sweep adds the rows before it asks for the next batch.
    """

    points: Sequence[Point]
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Setting:
    """The facts that are known when a sweep begins to measure: the graphs, the backend and the device's
    limits."""

    graphs: Mapping[str, Graph]
    backend: str
    """The name of the backend for kernels, as in result rows."""
    limits: Limits | None
    """The limits of the device. None if only host programs can run."""


@dataclass(frozen=True)
class Questions:
    """The batches of points (configurations) that a sweep measures. ``batches`` yields at most ``total``
    points in all."""

    total: int
    batches: Iterator[Batch]


Known = Callable[[Point], Row | None]
"""A function that returns the row that a result file has for a point (configuration), or None."""


class Work(Protocol):
    """A protocol for the contents of a sweep: its graphs, its variants, and the points (configurations) to
    measure.
    """

    @property
    def graphs(self) -> Sequence[GraphName]: ...

    @property
    def variants(self) -> Sequence[type[Variant]]: ...

    def check(self, limits: Limits | None) -> None:
        """Raise UsageError if a device with these limits cannot run the sweep."""

    def ask(self, setting: Setting) -> Questions:
        """Return the batches of points (configurations) to measure. The batches are made one by one during
        the sweep, because later points may depend on the result rows of earlier points. Raises UsageError for
        values that the variants, the graph or the device do not allow.
        """

    def planned(self, setting: Setting, known: Known = lambda point: None) -> list[Point]:
        """Return the points (configurations) that a sweep would measure, without measuring them. A point
        is left out if ``known`` returns a row for it.

        A graph that is not in ``setting.graphs`` has not been loaded, so its points have placeholders instead
        of source vertices. If later points depend on the rows of earlier points, the list is as long as the
        longest possible sweep.
        """


@dataclass(frozen=True)
class Axes:
    """The values that a sweep combines: variants, grids, blocks and knob values.

    The values of a knob apply to each variant that has this knob. All other knobs have the values of
    ``preset``. A block of None stands for the variant's default block.
    """

    variants: Sequence[type[Variant]]
    grids: Sequence[int | None]
    blocks: Sequence[int | None]
    knobs: Mapping[str, Sequence[KnobValue]] = field(default_factory=dict)
    preset: str = PRESETS[0]


def check_axes(axes: Axes, limits: Limits | None) -> None:
    """Check the values that a sweep combines.

    Raises UsageError for an unknown preset, for knobs that no variant has, and for knob values out of range.
    Also raises UsageError for blocks or grids above the device's limits, and for 2^31 threads or more.
    """
    if axes.preset not in PRESETS:
        raise UsageError(f"'{axes.preset}' is not a preset of knobs: choose from {', '.join(PRESETS)}")
    check_knobs(axes.variants, axes.knobs)
    if limits is None:
        return
    blocks = [block for variant in axes.variants for block in blocks_of(variant, axes)]
    block = max(blocks, default=0)
    if block > limits.max_threads_per_block:
        raise UsageError(f"block {block} is over the device's limit of {limits.max_threads_per_block}")
    for grid in filter(None, axes.grids):
        if grid > limits.max_grid:
            raise UsageError(f"grid {grid} is over the device's limit of {limits.max_grid} blocks")
        if grid * block >= 2**31:
            raise UsageError(f"grid {grid} x block {block} is 2^31 threads or more")


def check_knobs(variants: Sequence[type[Variant]], knobs: Mapping[str, Sequence[KnobValue]]) -> None:
    """Raise UsageError for knobs that none of the variants has, and for values out of range."""
    for name, values in knobs.items():
        owned = [knob for variant in variants for knob in variant.knobs if knob.name == name]
        for knob, value in itertools.product(owned, values):
            knob.check(value)
        if not owned:
            chosen = ", ".join(variant.name for variant in variants)
            raise UsageError(f"knob {name} belongs to none of the variants chosen ({chosen})")


def knob_settings(
    variant: type[Variant], given: Mapping[str, Sequence[KnobValue]], preset: Mapping[str, KnobValue]
) -> list[tuple[tuple[str, KnobValue], ...]]:
    """Return all combinations of knob values for one variant. Each combination is a tuple of pairs: a knob's
    name and its value.

    The values of a knob are taken from ``given``. A knob that is not in ``given`` gets its value from
    ``preset``, or else its default.
    """
    lists = [
        [
            (knob.name, knob.check(value))
            for value in given.get(knob.name, [preset.get(knob.name, knob.default)])
        ]
        for knob in variant.knobs
    ]
    return list(itertools.product(*lists))


def blocks_of(variant: type[Variant], axes: Axes) -> list[int]:
    """Return the block sizes, in threads, with which to run a variant. A block of None in ``axes`` stands for
    the variant's default block.
    """
    return [variant.usual_block if block is None else block for block in axes.blocks]


def launches(
    variant: type[Variant], knobs: Mapping[str, KnobValue], axes: Axes
) -> list[tuple[int | None, int | None]]:
    """Return the pairs of grid and block with which to run a variant.

    Grid and block are None for a variant that launches no kernels. If the variant's knobs determine its
    block, the list has a single pair, with this block.
    """
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
    """Return the points (configurations) of a sweep, ordered so that the graph changes least often.

    The keys of ``sources`` and ``statistics`` are locators. A locator is the text by which a graph is loaded.
    ``statistics`` may be empty if the preset does not need the statistics of graphs. Raises UsageError for a
    knob value out of range.
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
    """Return the variants with these names or aliases. The name ``all`` stands for all variants of one family
    that can run here.

    This family is ``family`` or, if it is None, the family of the first name. Raises UsageError for an
    unknown name, for a variant of another family, and for a variant that cannot run here. If the names
    contain ``all``, also raises UsageError if a variant cannot be loaded.
    """
    named = [find(name) for name in names if name != "all"]
    for variant in named:
        if family is not None and variant.family != family:
            raise UsageError(f"variant {variant.name} is of family {variant.family}, not {family}")
        if reason := variant.missing():
            raise UsageError(reason)
    meant = family or (named[0].family if named else DEFAULT)
    loaded = every_variant() if "all" in names else []
    every = [one for one in loaded if one.family == meant and not one.missing()]
    chosen = [v for name in names for v in (every if name == "all" else [find(name)])]
    return list(dict.fromkeys(chosen))


@dataclass(frozen=True)
class Crossing:
    """A plain sweep, which measures every combination of graph, variant, grid, block, knobs and source."""

    graphs: Sequence[GraphName]
    axes: Axes
    sources: SourceChoice

    @property
    def variants(self) -> Sequence[type[Variant]]:
        return self.axes.variants

    def check(self, limits: Limits | None) -> None:
        check_axes(self.axes, limits)

    def ask(self, setting: Setting) -> Questions:
        """Return all points (configurations) of the sweep in one batch."""
        points = self.planned(setting)
        return Questions(len(points), iter([Batch(points)]))

    def planned(self, setting: Setting, known: Known = lambda point: None) -> list[Point]:
        """Return the points (configurations) of the sweep, graph after graph. A point is left out if
        ``known`` returns a row for it. Raises UsageError for a source that a graph does not have, and for a
        graph that the family does not support.

        A graph that is not in ``setting.graphs`` has not been loaded. Its points have placeholders instead of
        source vertices, and the knob values of the first preset. Only the size of the graph is checked, if it
        is known.
        """
        points, graphs, backend = [], setting.graphs, setting.backend
        family = family_of(self.axes.variants)
        for named in self.graphs:
            name = named.locator
            if name in graphs:
                family.require(graphs[name])
                sources, statistics = self.sources.choose(graphs[name]), graphs[name].statistics
                points += plan(self.axes, {name: sources}, {name: statistics}, backend)
            else:
                if vertices := known_vertices(named):
                    family.require_size(named.full_name, vertices)
                    self.sources.check(named.full_name, vertices)
                axes = replace(self.axes, preset=PRESETS[0])
                points += plan(axes, {name: self.sources.stand_ins()}, {}, backend)
        return [point for point in dict.fromkeys(points) if known(point) is None]


@dataclass(frozen=True)
class Several:
    """Several sweeps that are measured one after the other, into one result file."""

    works: Sequence[Work]

    @property
    def graphs(self) -> list[GraphName]:
        return list(dict.fromkeys(graph for work in self.works for graph in work.graphs))

    @property
    def variants(self) -> list[type[Variant]]:
        return list(dict.fromkeys(variant for work in self.works for variant in work.variants))

    def check(self, limits: Limits | None) -> None:
        for work in self.works:
            work.check(limits)

    def ask(self, setting: Setting) -> Questions:
        """Return the batches of points (configurations) of all sweeps in ``works``, one sweep after the
        other.

        Each sweep gets the result rows of its own points. Its next points may depend on these rows.
        """
        questions = [work.ask(setting) for work in self.works]
        batches = itertools.chain.from_iterable(one.batches for one in questions)
        return Questions(sum(one.total for one in questions), batches)

    def planned(self, setting: Setting, known: Known = lambda point: None) -> list[Point]:
        return list(dict.fromkeys(point for work in self.works for point in work.planned(setting, known)))
