"""Finding the fastest grid, block and knobs of a variant on a graph without measuring every combination.

A search strategy is a generator: it yields configurations and is sent the time of each. What it yields next
depends on these times and its seed only. So a tuning is resumed by starting it over: points that have rows
are answered from them, and measuring goes on where the rows end.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import statistics
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from bfsbench.backends.base import Limits
from bfsbench.bench.plan import Axes, Batches, Questions, Row, Setting, SourceChoice, blocks_of, check_axes
from bfsbench.rows.point import KnobValue, Point
from bfsbench.support.errors import ToolchainError, UsageError
from bfsbench.variants import find, find_family
from bfsbench.variants.base import Knob, Variant

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from bfsbench.graphs.graph import Graph
    from bfsbench.graphs.load import GraphName

BLOCKS = (32, 64, 128, 256, 512, 1024)
BLOCKS_PER_MULTIPROCESSOR = (1, 2, 4, 8, 16, 32)
FACTORS = (0.25, 0.5, 1, 2, 4)
"""A knob with bounds instead of a list of choices is tried at these multiples of its default."""
UP_FROM_ZERO = (0, 1, 2, 4, 8, 16)
"""Values to try where the default is 0."""

METHODS = ("optuna", "axes", "restarts", "exhaustive")
"""One axis at a time and then Optuna; one axis at a time until nothing changes; the same again from random
configurations; every configuration."""

Configuration = tuple[int, ...]
"""A configuration: an index into the values of each axis of a Space."""
Took = dict[Configuration, float | None]
"""The search time of each configuration in the order asked, in ms; None for one that failed."""
Strategy = Generator[Configuration, float | None, None]
"""Yields configurations, is sent their search time in ms, or None for one that failed."""


@dataclass(frozen=True)
class Axis:
    """One thing to choose: ``grid``, ``block`` or a knob. Numbers ascend; ``auto``, None, is last."""

    name: str
    values: tuple[KnobValue | None, ...]
    first: int
    """Index of the initial value."""

    @classmethod
    def of(cls, name: str, values: Iterable[KnobValue | None], first: KnobValue | None) -> Axis:
        ordered = tuple(sorted(dict.fromkeys(values), key=_rank))
        return cls(name, ordered, ordered.index(first) if first in ordered else 0)

    @property
    def ordered(self) -> bool:
        """Whether neighbouring values are similar: true of numbers, false of names."""
        return not any(isinstance(value, str) for value in self.values)


def _rank(value: KnobValue | None) -> float:
    """Sort key: numbers ascend, names keep their order."""
    return math.inf if value is None else 0 if isinstance(value, str) else value


@dataclass(frozen=True)
class Space:
    """All configurations of one variant on one graph."""

    graph: str
    variant: str
    backend: str
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, axes: Axes, graph: str, preset: Mapping[str, KnobValue], backend: str) -> Space:
        """The space of axes that have one variant, grids and blocks; knobs without values get some to try.
        The first configuration is that of ``run`` with this preset, as far as it is in the space. Raises
        UsageError for a knob value out of range.
        """
        (variant,) = axes.variants
        blocks = Axis.of("block", blocks_of(variant, axes), variant.usual_block)
        launch = [Axis.of("grid", axes.grids, None), blocks]
        knobs = []
        for knob in variant.knobs:
            first = preset.get(knob.name, knob.default)
            values = axes.knobs.get(knob.name) or _values_to_try(knob, first)
            knobs.append(Axis.of(knob.name, map(knob.check, values), first))
        if not variant.launched:
            return cls(graph, variant.name, "host" if variant.host else backend, tuple(knobs))
        if variant.own_block(variant.knob_values({})):
            return cls(graph, variant.name, backend, tuple(knobs))
        return cls(graph, variant.name, backend, (*launch, *knobs))

    @property
    def size(self) -> int:
        """How many configurations there are."""
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def first(self) -> Configuration:
        """The initial configuration."""
        return tuple(axis.first for axis in self.axes)

    def all(self) -> Iterator[Configuration]:
        """Every configuration, the last axis changing fastest."""
        return itertools.product(*(range(len(axis.values)) for axis in self.axes))

    def values(self, configuration: Configuration) -> dict[str, KnobValue | None]:
        """The values of a configuration, by the axes' names."""
        return {axis.name: axis.values[index] for axis, index in zip(self.axes, configuration, strict=True)}

    def point(self, configuration: Configuration, source: int | None) -> Point:
        """The point of a configuration."""
        values = self.values(configuration)
        grid, block = (_whole(values.pop(name, None)) for name in ("grid", "block"))
        knobs = tuple((name, value) for name, value in values.items() if value is not None)
        if self.backend != "host":
            block = find(self.variant).own_block(dict(knobs)) or block
        return Point(self.graph, source, self.variant, self.backend, grid, block, knobs)

    def nearest(self, start: Configuration, known: set[Configuration]) -> Configuration:
        """The unmeasured configuration the fewest single steps from ``start``; there must be one."""
        met, waiting = {start}, deque([start])
        while waiting[0] in known:
            fresh = [neighbour for neighbour in self._neighbours(waiting.popleft()) if neighbour not in met]
            met.update(fresh)
            waiting.extend(fresh)
        return waiting[0]

    def _neighbours(self, configuration: Configuration) -> Iterator[Configuration]:
        for position, axis in enumerate(self.axes):
            for index in (configuration[position] - 1, configuration[position] + 1):
                if 0 <= index < len(axis.values):
                    yield (*configuration[:position], index, *configuration[position + 1 :])


def _whole(value: KnobValue | None) -> int | None:
    return None if value is None else int(value)


def with_launches(axes: Axes, limits: Limits | None) -> Axes:
    """The axes; where grids or blocks are missing, with candidates for a device of these limits."""
    if limits is None:
        return axes
    counts = [limits.num_multiprocessors * factor for factor in BLOCKS_PER_MULTIPROCESSOR]
    grids = axes.grids or [None, *(count for count in counts if count <= limits.max_grid)]
    blocks = axes.blocks or [block for block in BLOCKS if block <= limits.max_threads_per_block]
    return replace(axes, grids=grids, blocks=blocks)


def _values_to_try(knob: Knob, first: KnobValue) -> list[KnobValue]:
    """The knob's choices, or legal values around its default; and the index of the initial one."""
    if knob.choices or isinstance(knob.default, str):
        return list(knob.choices)
    low = -math.inf if knob.minimum is None else knob.minimum
    high = math.inf if knob.maximum is None else knob.maximum
    around = [knob.default * factor for factor in FACTORS] if knob.default else UP_FROM_ZERO
    return [*(value for value in map(type(knob.default), around) if low <= value <= high), first]


def exhaustive(space: Space) -> Strategy:
    """Every configuration."""
    for configuration in space.all():
        _took = yield configuration


def require_optuna() -> None:
    """Raises ToolchainError when optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        raise ToolchainError("tuning needs optuna: pip install optuna (or choose --method exhaustive)")


def one_axis_at_a_time(space: Space) -> Strategy:
    """From the space's first configuration every value of an axis, the others at the best found so far, axis
    after axis, until a round has changed nothing."""
    chosen, before = space.first, None
    took = {chosen: (yield chosen)}
    while chosen != before:
        before = chosen
        for position, axis in enumerate(space.axes):
            for index in range(len(axis.values)):
                configuration = (*chosen[:position], index, *chosen[position + 1 :])
                if configuration not in took:
                    took[configuration] = yield configuration
            fastest = best(took)
            chosen = fastest[0] if fastest else chosen


def restarted(space: Space, seed: int) -> Strategy:
    """``one_axis_at_a_time`` from the first configuration and then from random ones, until every
    configuration has been measured."""
    took: Took = {}
    draw = Random(seed)
    start = space.first
    while True:
        axes = tuple(replace(axis, first=index) for axis, index in zip(space.axes, start, strict=True))
        climb = one_axis_at_a_time(replace(space, axes=axes))
        configuration: Configuration | None = next(climb)
        while configuration is not None:
            if configuration not in took:
                took[configuration] = yield configuration
            configuration = _next(climb, took[configuration])
        if len(took) == space.size:
            return
        drawn = tuple(draw.randrange(len(axis.values)) for axis in space.axes)
        start = space.nearest(drawn, set(took))


def by_optuna(space: Space, seed: int) -> Strategy:
    """Optuna's tree-structured Parzen estimator, until all configurations are measured. It starts with the
    configurations of ``one_axis_at_a_time``, which are better than random ones when points are few: most
    knobs have a large effect alone and little interaction. When it proposes a measured configuration again,
    the nearest unmeasured one is taken.
    """
    import optuna
    from optuna.trial import TrialState, create_trial

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed % 2**32, multivariate=True)  # it takes no others
    study = optuna.create_study(sampler=sampler)
    distributions = {axis.name: _distribution(axis) for axis in space.axes}
    known: set[Configuration] = set()

    def learn(configuration: Configuration, milliseconds: float | None) -> None:
        known.add(configuration)
        state = TrialState.PRUNED if milliseconds is None else TrialState.COMPLETE
        parameters = _parameters(space, configuration)
        study.add_trial(
            create_trial(state=state, params=parameters, distributions=distributions, value=milliseconds)
        )

    by_axes = one_axis_at_a_time(space)
    configuration: Configuration | None = next(by_axes)
    while configuration is not None:
        milliseconds = yield configuration
        learn(configuration, milliseconds)
        configuration = _next(by_axes, milliseconds)
    while len(known) < space.size:
        trial = study.ask(distributions)
        study.tell(trial, state=TrialState.FAIL)  # the sampler gets it below
        asked = tuple(int(trial.params[axis.name]) for axis in space.axes)
        configuration = space.nearest(asked, known)
        milliseconds = yield configuration
        learn(configuration, milliseconds)


def _next(strategy: Strategy, milliseconds: float | None) -> Configuration | None:
    """The strategy's next configuration, after it is sent the time of the last one; None at its end."""
    try:
        return strategy.send(milliseconds)
    except StopIteration:
        return None


def _parameters(space: Space, configuration: Configuration) -> dict[str, int]:
    return {axis.name: index for axis, index in zip(space.axes, configuration, strict=True)}


def _distribution(axis: Axis) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    last = len(axis.values) - 1
    return IntDistribution(0, last) if axis.ordered else CategoricalDistribution(range(last + 1))


@dataclass(frozen=True)
class Budget:
    """When to stop. A configuration is begun only if all its points are within ``points`` and before
    ``deadline``, on the clock ``now``; None is no limit."""

    points: int | None = None
    deadline: float | None = None
    now: Callable[[], float] = time.monotonic

    def allows(self, points: int) -> bool:
        """Whether ``points`` points in all may be used."""
        in_time = self.deadline is None or self.now() < self.deadline
        return in_time and (self.points is None or points <= self.points)


def tune(
    strategy: Strategy, space: Space, sources: Sequence[int | None], budget: Budget
) -> Generator[Sequence[Point], Sequence[Row], Took]:
    """Yields the points to measure within a budget, one at a time, and is sent their rows; returns the times
    found. The time of a configuration is the median over its sources; it is given up when one source fails.
    """
    took: Took = {}
    points = 0
    configuration = next(strategy, None)
    while configuration is not None and budget.allows(points + len(sources)):
        times = []
        for source in sources:
            (row,) = yield [space.point(configuration, source)]
            points += 1
            if row["status"] != "ok":
                break
            times.append(float(row["search_ms"]))
        took[configuration] = statistics.median(times) if len(times) == len(sources) else None
        configuration = _next(strategy, took[configuration])
    return took


def best(took: Took) -> tuple[Configuration, float] | None:
    """The fastest configuration and its time in ms, the first of equals; None when all failed."""
    times = [(configuration, value) for configuration, value in took.items() if value is not None]
    return min(times, key=lambda pair: pair[1], default=None)


@dataclass
class Tuning:
    """The work of a sweep for the fastest configuration of one variant on one graph.

    Empty axes get values to try. ``points`` and ``minutes`` limit it; ``seed`` is that of ``optuna``'s
    sampler. Raises ToolchainError when optuna is needed and not installed, UsageError for a budget that is
    too small.
    """

    graph: GraphName
    axes: Axes
    sources: SourceChoice
    method: str = METHODS[0]
    seed: int = 0
    points: int | None = None
    minutes: float | None = None
    compared_from: int | None = None
    """How many of the sources configurations are compared from; None: all. The fastest configuration is then
    measured from the other sources as well."""
    space: Space = field(init=False)
    """Once begun."""
    chosen: Sequence[int | None] = ()
    """The sources, set when it begins."""
    took: Took = field(default_factory=dict)
    """In the end."""

    def __post_init__(self) -> None:
        if self.method == "optuna":
            require_optuna()
            if self.points is None and self.minutes is None:
                raise UsageError("tune needs --points or --minutes, to know when to stop")
        elif self.method not in METHODS:
            raise UsageError(f"unknown method '{self.method}': choose from {', '.join(METHODS)}")
        needed = len(self.sources.stand_ins()[: self.compared_from])
        if self.points is not None and self.points < needed:
            raise UsageError(f"--points {self.points}: a configuration takes {needed} points, one a source")

    @property
    def graphs(self) -> list[GraphName]:
        """The one graph."""
        return [self.graph]

    @property
    def variants(self) -> Sequence[type[Variant]]:
        """The one variant."""
        return self.axes.variants

    def check(self, limits: Limits | None) -> None:
        """Raises UsageError for unknown knobs, and for launches beyond these limits."""
        check_axes(with_launches(self.axes, limits), limits)

    def ask(self, setting: Setting) -> Questions:
        """The points in the order of the method, each chosen after the row of the one before."""
        graph, (variant,) = setting.graphs[self.graph.locator], self.axes.variants
        find_family(variant.family).require(graph)
        preset = variant.preset(self.axes.preset, graph.statistics)
        axes = with_launches(self.axes, setting.limits)
        self.space = Space.of(axes, self.graph.locator, preset, setting.backend)
        self.chosen = self.sources.choose(graph)
        compared = self.chosen[: self.compared_from]
        total = self.space.size * len(compared)
        confirmed = len(self.chosen) - len(compared)
        return Questions(min(total, self.points or total) + confirmed, self._batches())

    def planned(self, graphs: Mapping[str, Graph], backend: str) -> list[Point]:
        """As many points as the budget allows, of the first configurations."""
        launches = replace(self.axes, grids=self.axes.grids or [None], blocks=self.axes.blocks or [None])
        space = Space.of(launches, self.graph.locator, {}, backend)
        sources = self.sources.choose(graphs[self.graph.locator]) if graphs else self.sources.stand_ins()
        few = sources[: self.compared_from]
        points = (space.point(configuration, source) for configuration in space.all() for source in few)
        confirmed = [space.point(space.first, source) for source in sources[len(few) :]]
        return [*itertools.islice(points, self.points), *confirmed]

    def _batches(self) -> Batches:
        strategy = {
            "optuna": lambda: by_optuna(self.space, self.seed),
            "axes": lambda: one_axis_at_a_time(self.space),
            "restarts": lambda: restarted(self.space, self.seed),
            "exhaustive": lambda: exhaustive(self.space),
        }[self.method]()
        deadline = None if self.minutes is None else time.monotonic() + 60 * self.minutes
        compared = self.chosen[: self.compared_from]
        others = self.chosen[len(compared) :]
        self.took = yield from tune(strategy, self.space, compared, Budget(self.points, deadline))
        fastest = best(self.took)
        if fastest is not None and others:
            yield [self.space.point(fastest[0], source) for source in others]
