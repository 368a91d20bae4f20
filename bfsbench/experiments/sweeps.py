"""From an experiment's sweeps to the work of a sweep, and an estimate of its time from earlier rows."""

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
"""Seconds assumed for a point of each backend without earlier rows."""

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
            return  # another kind of file, or of another schema: skip it
        for row in rows:
            if row["status"] == "ok" and row["wall_ms_samples"]:
                samples = [float(sample) for sample in row["wall_ms_samples"].split(";")]
                spent_ms = float(row["prepare_ms"]) + samples[0] + sum(samples) * 2
                key = (_itself(row["graph"]), row["variant"], row["backend"])
                self._seconds.setdefault(key, []).append(spent_ms / 1e3)

    def seconds(self, points: Sequence[Point]) -> tuple[float, int]:
        """The expected time of the points, and how many of them were estimated by RULE."""
        known = [self._known(point) for point in points]
        guessed = [point.backend for point, seconds in zip(points, known, strict=True) if seconds is None]
        return sum(filter(None, known)) + sum(UNKNOWN_S[backend] for backend in guessed), len(guessed)

    def _known(self, point: Point) -> float | None:
        taken = self._seconds.get((_itself(point.graph), point.variant, point.backend))
        return median(taken) if taken else None


def _itself(full_name: str) -> str:
    """The graph's name without a stand-in's mark."""
    name, _, direction = row_name(full_name).rpartition(":")
    plain, marks = split_marks(name)
    return f"{plain}{Marks(marks.shrink).suffix}:{direction}"


RECOMMENDED = "recommended"


def reduced_to(experiment: Experiment, searches: Sequence[str], tune: int | None) -> Experiment:
    """The experiment with these searches only, all if none is named, and with at most ``tune`` points for
    tuning. Raises UsageError for a search that it does not have."""
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
    """The work of an experiment in the parts that are carried out one after the other: one part, or for
    ``graph_by_graph`` one for each graph without and then one with its tuning. Raises as ``work_of``."""
    if not experiment.sweeps:
        return []
    if not experiment.graph_by_graph:
        return [work_of(experiment, choices, experiment.sweeps)]
    tuned = [sweep for sweep in experiment.sweeps if sweep.tunes]
    plain = [sweep for sweep in experiment.sweeps if sweep not in tuned]
    parts = (work_of(experiment, [choice], sweeps) for sweeps in (plain, tuned) for choice in choices)
    return [part for part in parts if part.works]


def work_of(experiment: Experiment, choices: Sequence[Choice], sweeps: Sequence[Sweep]) -> Several:
    """These sweeps on the graphs chosen, ordered so that graphs change least often.

    Raises UsageError for an unknown variant or a malformed axis, InputError for invalid sources.
    """
    works = []
    for choice in choices:
        sources = sources_of(experiment, choice)
        for sweep in sweeps:
            if not sweep.graphs or {choice.use.title, choice.use.name} & {*sweep.graphs}:
                works += _works_of(sweep, choice.request, axes_of(experiment, sweep), sources)
    return Several(works)


def _works_of(sweep: Sweep, graph: GraphName, axes: Axes, sources: SourceChoice) -> list[Work]:
    """A crossing or, where the sweep tunes, a tuning of each variant."""
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
    """The axes of one variant: of its authors' form, and of our change of it where there is one."""
    known = {knob.name: knob for knob in variant.knobs}
    given = {name: values for name, values in axes.knobs.items() if name in known}
    forms: list[dict[str, list[KnobValue]]] = [
        {name: [*values] for name, values in authors_form(variant).items()},
        *({knob.name: [*knob.changed]} for knob in variant.knobs if knob.changed),
    ]
    return [replace(axes, variants=[variant], knobs={**form, **given}) for form in forms]


def knobs_of(axes: Axes) -> int:
    """How many knobs a tuning of one variant chooses values of; at least 1."""
    (variant,) = axes.variants
    return max(1, sum(len(axes.knobs.get(knob.name, ("some", "other"))) > 1 for knob in variant.knobs))


LEAST_PER_KNOB = 20
"""Settings per knob that a search must have had before a verdict goes against it."""


def settings_due(experiment: Experiment, series: Series) -> int:
    """How many settings a series must have been measured with before a verdict goes against it.

    That is LEAST_PER_KNOB for each knob, or all settings of a smaller space; 0 where the experiment does not
    tune the series.
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
    """The axes of a sweep. Raises UsageError for an unknown variant or a malformed axis."""
    return Axes(
        variants_of(experiment, sweep),
        axis_language.grids(sweep.grid),
        axis_language.blocks(sweep.block),
        {name: axis_language.expand(values) for name, values in sweep.knobs.items()},
        sweep.preset,
    )


def sources_of(experiment: Experiment, choice: Choice) -> SourceChoice:
    """The sources of one graph: those of the experiment, or what its generator recommends."""
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
    """The vertices of ``source``. Raises InputError for anything else."""
    try:
        return [int(value) for value in axis_language.expand(experiment.source)]
    except ValueError:
        message = f"`source` is '{experiment.source}', not a list of vertices or '{RECOMMENDED}'"
        raise InputError(f"experiment {experiment.name}: {message}") from None
