"""Turns an experiment's sweeps into work to measure, and estimates its time from earlier rows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import msgspec

from bfsbench.backends import GPU_BACKENDS
from bfsbench.bench import axes as axis_language
from bfsbench.bench.plan import Axes, Crossing, Several, SourceChoice, Work
from bfsbench.bench.tune import Space, Tuning
from bfsbench.experiments.choice import Choice
from bfsbench.experiments.declaration import Experiment, Sweep
from bfsbench.experiments.series import Series, authors_form, variants_of
from bfsbench.graphs.generators import recommended_source
from bfsbench.graphs.load import GraphName
from bfsbench.graphs.marks import Marks, split_marks
from bfsbench.rows.point import KnobValue, Point, row_name
from bfsbench.rows.results import LEVELS_SUFFIX, read_rows
from bfsbench.support.errors import InputError, UsageError
from bfsbench.variants import find_family
from bfsbench.variants.base import Variant

UNKNOWN_S = {**dict.fromkeys(GPU_BACKENDS, 0.5), "host": 0.5, "cpu": 2.0}
"""Seconds assumed for a point without earlier rows, by backend."""

RULE = ", ".join(f"{seconds:g} s on {backend}" for backend, seconds in UNKNOWN_S.items())


class Experience:
    """Times of points by graph, variant and backend, from the result files in a folder and its subfolders."""

    def __init__(self, folder: Path) -> None:
        self._seconds: dict[tuple[str, str, str], list[float]] = {}
        for path in sorted(folder.rglob("*.csv")):
            if not path.name.endswith(LEVELS_SUFFIX):
                self._learn(path)

    def _learn(self, path: Path) -> None:
        try:
            rows = read_rows(path)
        except InputError:
            return  # not a result file, or one of another schema
        for row in rows:
            if row["status"] == "ok" and row["wall_ms_samples"]:
                samples = [float(sample) for sample in row["wall_ms_samples"].split(";")]
                spent_ms = float(row["prepare_ms"]) + samples[0] + sum(samples) * 2
                key = (_itself(row["graph"]), row["variant"], row["backend"])
                self._seconds.setdefault(key, []).append(spent_ms / 1e3)

    def seconds(self, points: Sequence[Point]) -> tuple[float, int]:
        """Returns the expected time of the points in s, and how many of the points have no earlier rows.

        For these points, the time of ``UNKNOWN_S`` is assumed.
        """
        known = [self._known(point) for point in points]
        guessed = [point.backend for point, seconds in zip(points, known, strict=True) if seconds is None]
        return sum(filter(None, known)) + sum(UNKNOWN_S[backend] for backend in guessed), len(guessed)

    def _known(self, point: Point) -> float | None:
        taken = self._seconds.get((_itself(point.graph), point.variant, point.backend))
        return median(taken) if taken else None


def _itself(full_name: str) -> str:
    """Returns a graph's full name without a stand-in's mark."""
    name, _, direction = row_name(full_name).rpartition(":")
    plain, marks = split_marks(name)
    return f"{plain}{Marks(marks.shrink).suffix}:{direction}"


RECOMMENDED = "recommended"


def reduced_to(experiment: Experiment, searches: Sequence[str], tune: int | None) -> Experiment:
    """Returns the experiment with only these searches, or with all if none is named.

    Each tuning has at most ``tune`` points per graph or per knob. 0 leaves out the sweeps that tune. Raises
    UsageError for a search that the experiment does not have.
    """
    named = Sweep(variants=[*searches]) if searches else None
    wanted = variants_of(experiment, named) if named else None
    kept: list[Sweep] = []
    for sweep in experiment.sweeps:
        variants = [one for one in variants_of(experiment, sweep) if wanted is None or one in wanted]
        given = {knob.name for variant in variants for knob in variant.knobs}
        smaller = msgspec.structs.replace(
            sweep,
            variants=[variant.name for variant in variants],
            knobs={name: values for name, values in sweep.knobs.items() if name in given or wanted is None},
            tune=sweep.tune if tune is None else min(sweep.tune, tune),
            tune_per_knob=sweep.tune_per_knob if tune is None else min(sweep.tune_per_knob, tune),
        )
        left_out = tune == 0 and sweep.tunes
        kept += [smaller] if variants and not left_out else []
    have = {one for sweep in kept for one in variants_of(experiment, sweep)}
    if strange := next((one.name for one in wanted or () if one not in have), None):
        raise UsageError(f"experiment {experiment.name} has no search '{strange}'")
    return msgspec.structs.replace(experiment, sweeps=kept)


def works_of(experiment: Experiment, choices: Sequence[Choice]) -> list[Several]:
    """Returns the work of an experiment, as a list of parts that are carried out one after the other.

    Usually there is one part. With ``graph_by_graph`` there is first a part for each graph without its
    tuning, then a part for each graph with only its tuning. Raises UsageError or InputError as ``work_of``
    does.
    """
    if not experiment.sweeps:
        return []
    if not experiment.graph_by_graph:
        return [work_of(experiment, choices, experiment.sweeps)]
    tuned = [sweep for sweep in experiment.sweeps if sweep.tunes]
    plain = [sweep for sweep in experiment.sweeps if sweep not in tuned]
    parts = (work_of(experiment, [choice], sweeps) for sweeps in (plain, tuned) for choice in choices)
    return [part for part in parts if part.works]


def work_of(experiment: Experiment, choices: Sequence[Choice], sweeps: Sequence[Sweep]) -> Several:
    """Returns the work of these sweeps on the chosen graphs, ordered so that graphs change least often.

    Raises UsageError for an unknown variant or a malformed axis. Raises InputError for invalid sources.
    """
    works = []
    for choice in choices:
        sources = sources_of(experiment, choice)
        for sweep in sweeps:
            if not sweep.graphs or {choice.use.title, choice.use.name} & {*sweep.graphs}:
                works += _works_of(sweep, choice.request, axes_of(experiment, sweep), sources)
    return Several(works)


def _works_of(sweep: Sweep, graph: GraphName, axes: Axes, sources: SourceChoice) -> list[Work]:
    """Returns the work of a sweep on one graph: all combinations of its axes, or a tuning of each variant."""
    if sweep.tune_per_knob:
        each = sweep.tune_per_knob
        forms = [form for variant in axes.variants for form in forms_of(variant, axes)]
        return [
            Tuning(graph, form, sources, "restarts", points=each * knobs_of(form), compared_from=1)
            for form in forms
        ]
    if sweep.tune:
        points = sweep.tune * len(sources.stand_ins())
        alone = (replace(axes, variants=[variant]) for variant in axes.variants)
        return [Tuning(graph, one, sources, "axes", points=points) for one in alone]
    return [Crossing([graph], axes, sources)]


def forms_of(variant: type[Variant], axes: Axes) -> list[Axes]:
    """Returns the axes of one variant's forms: the form of its authors, and a form for each knob by which
    this project has changed it."""
    known = {knob.name: knob for knob in variant.knobs}
    given = {name: values for name, values in axes.knobs.items() if name in known}
    forms: list[dict[str, list[KnobValue]]] = [
        {name: [*values] for name, values in authors_form(variant).items()},
        *({knob.name: [*knob.changed]} for knob in variant.knobs if knob.changed),
    ]
    return [replace(axes, variants=[variant], knobs={**form, **given}) for form in forms]


def knobs_of(axes: Axes) -> int:
    """Returns the number of knobs for which a tuning of one variant chooses values, but at least 1."""
    (variant,) = axes.variants
    return max(1, sum(len(axes.knobs.get(knob.name, ("some", "other"))) > 1 for knob in variant.knobs))


LEAST_PER_KNOB = 20
"""Number of settings per knob that a search must have had before a verdict goes against it."""


def settings_due(experiment: Experiment, series: Series) -> int:
    """Returns how many settings a series must have been measured with before a verdict goes against it.

    The number is LEAST_PER_KNOB for each knob, or all settings of a smaller space. It is 0 if the experiment
    does not tune the series.
    """
    if series.title in {sweep.label for sweep in experiment.sweeps if not sweep.tunes}:
        return 0
    for sweep in experiment.sweeps:
        variants = {variant.name: variant for variant in variants_of(experiment, sweep)}
        if series.variant in variants and sweep.tunes:
            axes = axes_of(experiment, sweep)
            pinned = {name: sorted(values) for name, values in series.knobs.items()}
            one = replace(axes, variants=[variants[series.variant]], knobs={**axes.knobs, **pinned})
            return min(Space.of(one, "", {}, "cuda").size, LEAST_PER_KNOB * knobs_of(one))
    return 0


def axes_of(experiment: Experiment, sweep: Sweep) -> Axes:
    """Returns the axes of a sweep. Raises UsageError for an unknown variant or a malformed axis."""
    return Axes(
        variants_of(experiment, sweep),
        axis_language.grids(sweep.grid),
        axis_language.blocks(sweep.block),
        {name: axis_language.expand(values) for name, values in sweep.knobs.items()},
        sweep.preset,
    )


def sources_of(experiment: Experiment, choice: Choice) -> SourceChoice:
    """Returns the sources of one graph: the experiment's sources, or the source that the graph's generator
    recommends."""
    family = find_family(experiment.family)
    if not family.from_sources:
        return SourceChoice.of(family, None, None, experiment.seed)
    if experiment.source and experiment.source != RECOMMENDED:
        return SourceChoice.of(family, given_sources(experiment), None, experiment.seed)
    if experiment.source and choice.request.drawn is not None:
        recommended = recommended_source(*choice.request.drawn)
        if recommended is not None:
            return SourceChoice.of(family, [recommended], None, experiment.seed)
    return SourceChoice.of(family, None, experiment.sources, experiment.seed)


def given_sources(experiment: Experiment) -> list[int]:
    """Returns the vertices that the experiment's ``source`` lists. Raises InputError if it is not a list of
    vertices."""
    try:
        return [int(value) for value in axis_language.expand(experiment.source)]
    except ValueError:
        message = f"`source` is '{experiment.source}', not a list of vertices or '{RECOMMENDED}'"
        raise InputError(f"experiment {experiment.name}: {message}") from None
