"""Find the fastest grid, block and knobs of a variant on a graph without measuring every combination.

A search strategy yields configurations, and reads the time of each from a dictionary before it yields the
next. Its next configuration depends only on these times and on its seed. So an interrupted tuning is resumed
by starting it from the beginning. Configurations that have rows in the result file are not measured again,
and measuring continues where the rows end.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import statistics
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from bfsbench.backends.base import Limits
from bfsbench.bench.plan import Axes, Batch, Known, Questions, Setting, SourceChoice, blocks_of, check_axes
from bfsbench.rows.point import KnobValue, Point
from bfsbench.support.errors import OptionError, ToolchainError, UsageError
from bfsbench.variants import find, find_family
from bfsbench.variants.base import Knob, Variant

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from bfsbench.graphs.load import GraphName

BLOCKS = (32, 64, 128, 256, 512, 1024)
BLOCKS_PER_MULTIPROCESSOR = (1, 2, 4, 8, 16, 32)
FACTORS = (0.25, 0.5, 1, 2, 4)
"""A knob without a list of choices is tried at these multiples of its default, and at its bounds."""
UP_FROM_ZERO = (0, 1, 2, 4, 8, 16)
"""The values to try for a knob whose default is 0."""

METHODS = ("optuna", "axes", "restarts", "exhaustive")
"""The search strategies.

- ``optuna``: one axis at a time, and then Optuna
- ``axes``: one axis at a time, until nothing changes
- ``restarts``: one axis at a time, again and again from random configurations
- ``exhaustive``: every configuration
"""

NOT_TUNED = (
    *("until_decided", "tie", "order", "profile", "parents"),
    *("cluster", "mixed_devices", "tls", "insecure"),
)
"""Measuring options that a tuning does not have. A tuning compares configurations as they are measured, so
their samples cannot take turns."""

Configuration = tuple[int, ...]
"""A configuration: an index into the values of each axis of a Space."""
Took = dict[Configuration, float | None]
"""The search time of each configuration in ms, in the order measured. None stands for a configuration that
failed."""


@dataclass(frozen=True)
class Axis:
    """A parameter that is tuned: its name (``grid``, ``block`` or the name of a knob), and the values to
    choose from. Numbers ascend, and ``auto`` (None) is last.
    """

    name: str
    values: tuple[KnobValue | None, ...]
    first: int
    """The index of the initial value."""

    @classmethod
    def of(cls, name: str, values: Iterable[KnobValue | None], first: KnobValue | None) -> Axis:
        ordered = tuple(sorted(dict.fromkeys(values), key=_rank))
        return cls(name, ordered, ordered.index(first) if first in ordered else 0)

    @property
    def ordered(self) -> bool:
        """True if neighbouring values have similar effects. This holds for numbers but not for names."""
        return not any(isinstance(value, str) for value in self.values)


def _rank(value: KnobValue | None) -> float:
    """Return the sort key of a value: numbers ascend, and names keep their order."""
    return math.inf if value is None else 0 if isinstance(value, str) else value


@dataclass(frozen=True)
class Space:
    """The search space of a tuning: all configurations of one variant on one graph."""

    graph: str
    variant: str
    backend: str
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, axes: Axes, graph: str, preset: Mapping[str, KnobValue], backend: str) -> Space:
        """Return the space of configurations of the one variant in ``axes``. A knob without given values gets
        a list of values to try.

        The first configuration is the one that ``run`` would use with this preset. If the space does not
        contain one of its values, that value is replaced by the first value of the same parameter. Raises
        UsageError for a knob value out of range.
        """
        (variant,) = axes.variants
        found = []
        if variant.launched and not variant.own_block(variant.knob_values({})):
            found.append(Axis.of("grid", axes.grids, None))
            found.append(Axis.of("block", blocks_of(variant, axes), variant.usual_block))
        for knob in variant.knobs:
            first = preset.get(knob.name, knob.default)
            values = axes.knobs.get(knob.name) or _values_to_try(knob, first)
            found.append(Axis.of(knob.name, map(knob.check, values), first))
        return cls(graph, variant.name, "host" if variant.host else backend, tuple(found))

    @property
    def size(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def first(self) -> Configuration:
        return tuple(axis.first for axis in self.axes)

    def all(self) -> Iterator[Configuration]:
        """Yield every configuration. The last parameter changes fastest."""
        return itertools.product(*(range(len(axis.values)) for axis in self.axes))

    def values(self, configuration: Configuration) -> dict[str, KnobValue | None]:
        """Return a dictionary that maps the names of a configuration's parameters (``grid``, ``block`` and
        the knobs) to their values.
        """
        return {axis.name: axis.values[index] for axis, index in zip(self.axes, configuration, strict=True)}

    def point(self, configuration: Configuration, source: int | None) -> Point:
        """Return the point (a configuration with a source) to measure."""
        values = self.values(configuration)
        grid, block = (_whole(values.pop(name, None)) for name in ("grid", "block"))
        knobs = tuple((name, value) for name, value in values.items() if value is not None)
        if self.backend != "host":
            block = find(self.variant).own_block(dict(knobs)) or block
        return Point(self.graph, source, self.variant, self.backend, grid, block, knobs)

    def nearest(self, start: Configuration, known: Container[Configuration]) -> Configuration:
        """Return the configuration outside ``known`` that is the fewest steps from ``start``.

        A step changes one parameter to its next or previous value. At least one configuration must be outside
        ``known``.
        """
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
    """Return ``axes`` with grids and blocks. If grids or blocks are missing, the function adds values that a
    device with the limits ``limits`` supports. If ``limits`` is None, ``axes`` is returned unchanged."""
    if limits is None:
        return axes
    counts = [limits.num_multiprocessors * factor for factor in BLOCKS_PER_MULTIPROCESSOR]
    grids = axes.grids or [None, *(count for count in counts if count <= limits.max_grid)]
    blocks = axes.blocks or [block for block in BLOCKS if block <= limits.max_threads_per_block]
    return replace(axes, grids=grids, blocks=blocks)


def _values_to_try(knob: Knob, first: KnobValue) -> list[KnobValue]:
    """Return the values of a knob to try.

    A knob with a list of choices is tried with every choice. Other knobs are tried with their bounds, with
    multiples of their default within these bounds, and with the value ``first``. Bounds often turn a part of
    a search off or on.
    """
    if knob.choices or isinstance(knob.default, str):
        return list(knob.choices)
    low = -math.inf if knob.minimum is None else knob.minimum
    high = math.inf if knob.maximum is None else knob.maximum
    around = [knob.default * factor for factor in FACTORS] if knob.default else UP_FROM_ZERO
    within = [value for value in map(type(knob.default), around) if low <= value <= high]
    return [*within, *(bound for bound in (low, high) if math.isfinite(bound)), first]


Strategy = Callable[[Space, Took], Iterator[Configuration]]
"""A function that yields configurations of a space. Its caller adds the time of each configuration to the
dictionary before the iterator continues."""


def exhaustive(space: Space, _took: Took) -> Iterator[Configuration]:
    return space.all()


def require_optuna() -> None:
    """Raise ToolchainError if optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        install = f"run '{sys.executable} -m pip install optuna'"
        raise ToolchainError(f"the method optuna needs optuna: {install}, or choose the method axes")


def one_axis_at_a_time(
    space: Space, took: Took, start: Configuration | None = None
) -> Iterator[Configuration]:
    """Vary one parameter after another over all its values. Meanwhile, all other parameters keep the best
    values found so far. Yields the configurations to measure.

    The strategy begins with the configuration ``start``, by default with the space's first configuration. The
    strategy ends after a round over all parameters in which the best configuration stays the same. ``took``
    has the times of measured configurations. No configuration in ``took`` is yielded again, except ``start``.
    """
    chosen, before = start or space.first, None
    yield chosen
    tried = {chosen: took[chosen]}
    while chosen != before:
        before = chosen
        for position, axis in enumerate(space.axes):
            for index in range(len(axis.values)):
                configuration = (*chosen[:position], index, *chosen[position + 1 :])
                if configuration not in took:
                    yield configuration
                tried[configuration] = took[configuration]
            fastest = best(tried)
            chosen = fastest[0] if fastest else chosen


def restarted(space: Space, took: Took, seed: int) -> Iterator[Configuration]:
    """Repeat the strategy ``one_axis_at_a_time`` until every configuration has been measured. Yields
    configurations.

    The first run of the strategy starts from the space's first configuration. Each later run starts from the
    unmeasured configuration that is nearest to a random configuration.
    """
    draw = Random(seed)
    yield from one_axis_at_a_time(space, took)
    while len(took) < space.size:
        drawn = tuple(draw.randrange(len(axis.values)) for axis in space.axes)
        yield from one_axis_at_a_time(space, took, space.nearest(drawn, took))


def by_optuna(space: Space, took: Took, seed: int) -> Iterator[Configuration]:
    """Yield the configurations that Optuna's tree-structured Parzen estimator proposes, until all
    configurations are measured.

    The strategy starts with the configurations of ``one_axis_at_a_time``. They are a better start than random
    configurations if only few can be measured, because most knobs hardly interact. If the estimator proposes
    a measured configuration again, the nearest unmeasured configuration is measured.
    """
    import optuna
    from optuna.trial import TrialState, create_trial

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed % 2**32, multivariate=True)  # larger seeds are refused
    study = optuna.create_study(sampler=sampler)
    distributions = {axis.name: _distribution(axis) for axis in space.axes}

    def learn(configuration: Configuration) -> None:
        milliseconds = took[configuration]
        state = TrialState.PRUNED if milliseconds is None else TrialState.COMPLETE
        parameters = dict(zip(distributions, configuration, strict=True))
        study.add_trial(
            create_trial(state=state, params=parameters, distributions=distributions, value=milliseconds)
        )

    yield from one_axis_at_a_time(space, took)
    for configuration in took:
        learn(configuration)
    while len(took) < space.size:
        trial = study.ask(distributions)
        study.tell(trial, state=TrialState.FAIL)  # ``learn`` adds the measured trial below
        asked = tuple(int(trial.params[axis.name]) for axis in space.axes)
        configuration = space.nearest(asked, took)
        yield configuration
        learn(configuration)


def _distribution(axis: Axis) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    last = len(axis.values) - 1
    return IntDistribution(0, last) if axis.ordered else CategoricalDistribution(range(last + 1))


def tune(
    strategy: Strategy,
    space: Space,
    sources: Sequence[int | None],
    points: float = math.inf,
    deadline: float = math.inf,
) -> Generator[Batch, None, Took]:
    """Yield batches that each contain one point to measure. A point is a configuration with a source. The
    sweep adds the point's result row to the batch, and this generator then reads the row.

    The tuning ends at ``deadline``, a time in seconds on the monotonic clock. It also ends when the next
    configuration would raise the number of points above ``points``. Returns the times of the measured
    configurations. The time of a configuration is the median of its times from the different sources, in ms.
    If the configuration fails from one source, its time is None, and it is not measured from the remaining
    sources.
    """
    took: Took = {}
    used = 0
    for configuration in strategy(space, took):
        if used + len(sources) > points or time.monotonic() >= deadline:
            break
        times = []
        for source in sources:
            batch = Batch([space.point(configuration, source)])
            yield batch
            (row,) = batch.rows
            used += 1
            if row["status"] != "ok":
                break
            times.append(float(row["search_ms"]))
        took[configuration] = statistics.median(times) if len(times) == len(sources) else None
    return took


def best(took: Took) -> tuple[Configuration, float] | None:
    """Return the fastest configuration and its time in ms, or None if all configurations failed. If several
    configurations are equally fast, the first is returned.
    """
    times = [(configuration, value) for configuration, value in took.items() if value is not None]
    return min(times, key=lambda pair: pair[1], default=None)


@dataclass
class Tuning:
    """A sweep that looks for the fastest configuration of one variant on one graph.

    If no values are given for the grid, the block or a knob, values to try are chosen for it. ``points`` and
    ``minutes`` limit the sweep. ``seed`` is the seed of Optuna's sampler and of random configurations. Raises
    ToolchainError if optuna is needed and not installed. Raises UsageError for an unknown method, and for a
    budget that is missing or too small.
    """

    graph: GraphName
    axes: Axes
    sources: SourceChoice
    method: str = METHODS[0]
    seed: int = 0
    points: int | None = None
    minutes: float | None = None
    compared_from: int | None = None
    """The number of sources from which configurations are compared. None stands for all sources. Afterwards,
    the fastest configuration is measured from the remaining sources."""
    space: Space = field(init=False)
    """The space of configurations, set when the tuning is planned or begins."""
    chosen: Sequence[int | None] = ()
    """The sources, set when the tuning begins."""
    took: Took = field(default_factory=dict)
    """The times of the configurations, set when the tuning ends."""

    def __post_init__(self) -> None:
        if self.method == "optuna":
            require_optuna()
            if self.points is None and self.minutes is None:
                raise OptionError("tune needs {points} or {minutes}, to know when to stop")
        elif self.method not in METHODS:
            raise UsageError(f"unknown method '{self.method}': choose from {', '.join(METHODS)}")
        needed = len(self.sources.stand_ins()[: self.compared_from])
        if self.points is not None and self.points < needed:
            raise OptionError(
                f"{{points}} {self.points}: a configuration takes {needed} points, one per source"
            )

    @property
    def graphs(self) -> list[GraphName]:
        return [self.graph]

    @property
    def variants(self) -> Sequence[type[Variant]]:
        return self.axes.variants

    def check(self, limits: Limits | None) -> None:
        check_axes(with_launches(self.axes, limits), limits)

    def ask(self, setting: Setting) -> Questions:
        """Return the batches of points (configurations and sources) to measure. The batches are made during
        the sweep, because each point depends on the result rows of the points before it.
        """
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

    def planned(self, setting: Setting, known: Known = lambda point: None) -> list[Point]:
        """Return the points (configurations with sources) that the tuning may still measure, so that they can
        be shown before it starts.

        The search strategy first gets the rows that ``known`` returns, until it asks for points without rows.
        If the strategy then knows the time of at least one configuration, returns the points that it asks
        for, because all later points depend on their times. Otherwise, the result is the first points of the
        space without rows, at most ``self.points``. One more point is added for each source from which only
        the fastest configuration will be measured.
        """
        graph = setting.graphs.get(self.graph.locator)
        sources = self.sources.stand_ins() if graph is None else self.sources.choose(graph)
        few = sources[: self.compared_from]
        axes = with_launches(self.axes, setting.limits)
        self.space = space = Space.of(axes, self.graph.locator, {}, setting.backend)
        points = (space.point(configuration, source) for configuration in space.all() for source in few)
        confirmed = [space.point(space.first, source) for source in sources[len(few) :]]
        every = [*itertools.islice(points, self.points), *confirmed]
        if graph is None:
            return every
        repeated, measured = replace(self, took={}), 0
        for batch in repeated.ask(setting).batches:
            rows = {point: row for point in batch.points if (row := known(point)) is not None}
            if len(rows) < len(batch.points):
                left = [point for point in batch.points if point not in rows]
                return left if repeated.took else every[measured + len(rows) :]
            batch.rows.extend(rows.values())
            measured += len(rows)
        return []

    def _batches(self) -> Iterator[Batch]:
        strategies: dict[str, Strategy] = {
            "optuna": partial(by_optuna, seed=self.seed),
            "axes": one_axis_at_a_time,
            "restarts": partial(restarted, seed=self.seed),
            "exhaustive": exhaustive,
        }
        deadline = time.monotonic() + 60 * (math.inf if self.minutes is None else self.minutes)
        points = math.inf if self.points is None else self.points
        compared = self.chosen[: self.compared_from]
        others = self.chosen[len(compared) :]
        self.took = yield from tune(strategies[self.method], self.space, compared, points, deadline)
        fastest = best(self.took)
        if fastest is not None and others:
            yield Batch([self.space.point(fastest[0], source) for source in others])
