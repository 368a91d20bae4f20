"""Chooses the graphs and the runs that an experiment measures.

``choose`` picks the graphs: the paper's own graphs, shrunk graphs, or similar graphs (stand-ins). The names
of shrunk graphs and of stand-ins contain marks (see :mod:`bfsbench.graphs.marks`). ``works_of`` turns the
experiment's sweeps into lists of runs on these graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import msgspec

from bfsbench.bench import axes as axis_language
from bfsbench.bench.plan import Axes, Crossing, Several, SourceChoice, Work
from bfsbench.bench.tune import Space, Tuning
from bfsbench.experiments.declaration import Experiment, GraphUse, Sweep
from bfsbench.experiments.series import Series, authors_form, variants_of
from bfsbench.graphs.generators import recommended_source
from bfsbench.graphs.load import GraphName, not_here, resolve
from bfsbench.rows.point import KnobValue
from bfsbench.support.errors import InputError, UsageError
from bfsbench.variants import find_family
from bfsbench.variants.base import Variant


@dataclass(frozen=True, eq=False)
class Choice:
    """A graph that the experiment names (``use``), and the graph that is actually searched (``request``). The
    two graphs differ if the searched graph is shrunk or a stand-in."""

    use: GraphUse
    request: GraphName

    @property
    def full_name(self) -> str:
        """The name that the searched graph has in result rows. The name shows whether the graph is shrunk or
        a stand-in."""
        return self.request.full_name


def choose(
    uses: Iterable[GraphUse], scale: float = 1.0, stand_ins: bool = False
) -> tuple[list[Choice], list[str]]:
    """For each of the experiment's graphs, returns the graph that is searched: the graph itself, a smaller
    graph or a stand-in. Also returns the names of the missing graphs for which no stand-in is available.

    A ``scale`` below 1 shrinks all graphs to about that share of their vertices. ``stand_ins`` allows similar
    graphs (stand-ins) for missing graphs. Raises UsageError for an unknown graph or stand-in.
    """
    chosen, missing = [], []
    for use in uses:
        wanted = resolve(use.name)
        name = wanted.dataset.name if wanted.dataset else wanted.name
        candidates = chain([wanted], map(resolve, use.stand_ins if stand_ins else ()))
        found = next((name for name in candidates if not not_here(name)), None)
        if found is None:
            missing.append(name)
        else:
            if found is not wanted:
                found = replace(found, marks=replace(found.marks, stands_for=name))
            chosen.append(Choice(use, _shrunk(found, scale)))
    return chosen, missing


def require_all(missing: list[str], stand_ins: bool) -> None:
    """Raises UsageError if the list ``missing`` contains graphs. The message contains the command that
    fetches these graphs."""
    if not missing:
        return
    which = f"{len(missing)} graphs are" if len(missing) > 1 else "a graph is"
    instead = "nor a stand-in for them" if stand_ins else "--stand-ins searches similar graphs instead"
    raise UsageError(f"{which} not here: run 'bfsbench fetch {' '.join(missing)}' ({instead})")


def _shrunk(request: GraphName, scale: float) -> GraphName:
    """Returns the name of a graph that is shrunk to the share ``scale`` of its vertices. The name is
    unchanged if the graph's generator cannot shrink it."""
    if scale >= 1:
        return request
    share = float(f"{request.marks.shrink * scale:g}")  # the graph's name has this rounded number
    shrunk = replace(request, marks=replace(request.marks, shrink=share))
    return request if request.spec is not None and shrunk.spec == request.spec else shrunk


RECOMMENDED = "recommended"


def reduced_to(experiment: Experiment, searches: Sequence[str], tune: int | None) -> Experiment:
    """Returns the experiment with only these searches, or with all searches if ``searches`` is empty.

    If ``tune`` is not None, it is an upper limit for ``Sweep.tune`` and ``Sweep.tune_per_knob``. If it is 0,
    sweeps that tune are left out. Raises UsageError for a search that the experiment does not have.
    """
    wanted = variants_of(experiment, Sweep(variants=[*searches])) if searches else None
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
        if variants and not (tune == 0 and sweep.tunes):
            kept.append(smaller)
    have = {one for sweep in kept for one in variants_of(experiment, sweep)}
    if strange := next((one.name for one in wanted or () if one not in have), None):
        raise UsageError(f"experiment {experiment.name} has no search '{strange}'")
    return msgspec.structs.replace(experiment, sweeps=kept)


def works_of(experiment: Experiment, choices: Sequence[Choice]) -> list[Several]:
    """Returns the runs of an experiment, as a list of sweeps that are measured one after the other.

    The list has one element unless the experiment sets ``graph_by_graph``. In that case, runs without tuning
    come first, with one element per graph. Runs with tuning follow, again with one element per graph. Raises
    UsageError for an unknown variant or malformed values, and InputError for invalid sources.
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
    """Returns the runs of these sweeps on the chosen graphs. The runs on one graph are consecutive.

    Raises UsageError for an unknown variant or malformed values. Raises InputError for invalid sources.
    """
    works: list[Work] = []
    for choice in choices:
        sources = sources_of(experiment, choice)
        for sweep in sweeps:
            if not sweep.graphs or {choice.use.title, choice.use.name} & {*sweep.graphs}:
                works += _works_of(sweep, choice.request, axes_of(experiment, sweep), sources)
    return Several(works)


def _works_of(sweep: Sweep, graph: GraphName, axes: Axes, sources: SourceChoice) -> Iterator[Work]:
    """Yields the runs of a sweep on one graph: all combinations of its variants, grids, blocks and knobs, or
    a tuning of each variant."""
    if not sweep.tunes:
        yield Crossing([graph], axes, sources)
        return
    for variant in axes.variants:
        if sweep.tune_per_knob:
            for form in forms_of(variant, axes):
                points = sweep.tune_per_knob * knobs_of(form)
                yield Tuning(graph, form, sources, "restarts", points=points, compared_from=1)
        else:
            points = sweep.tune * len(sources.stand_ins())
            yield Tuning(graph, replace(axes, variants=[variant]), sources, "axes", points=points)


def forms_of(variant: type[Variant], axes: Axes) -> list[Axes]:
    """Returns the settings to measure for each version of a variant. The first version is the search as its
    authors published it. For each knob that turns on a modification by this project, there is one more
    version."""
    known = {knob.name: knob for knob in variant.knobs}
    given = {name: values for name, values in axes.knobs.items() if name in known}
    forms: list[dict[str, list[KnobValue]]] = [
        {name: [*values] for name, values in authors_form(variant).items()},
        *({knob.name: [*knob.changed]} for knob in variant.knobs if knob.changed),
    ]
    return [replace(axes, variants=[variant], knobs={**form, **given}) for form in forms]


def knobs_of(axes: Axes) -> int:
    """Returns the number of knobs that ``axes`` does not fix to one value, but at least 1. ``axes`` contains
    the settings of one variant."""
    (variant,) = axes.variants
    return max(1, sum(len(axes.knobs.get(knob.name, ("some", "other"))) > 1 for knob in variant.knobs))


LEAST_PER_KNOB = 20
"""Minimum number of settings per knob with which a tuned search must be measured before a verdict may go
against it."""


def settings_due(experiment: Experiment, series: Series) -> int:
    """Returns how many settings of a series must be measured, at least, before the series may get an
    unfavourable verdict.

    For the series of a claim, this verdict is "not reproduced". For a rival in the claim, it is "reproduced".
    The number is LEAST_PER_KNOB for each knob that is not fixed to one value, but at most the number of all
    settings. It is 0 if the experiment does not tune the series.
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
    """Returns the variants, grids, blocks and knob values of a sweep. Raises UsageError for an unknown
    variant or malformed values."""
    return Axes(
        variants_of(experiment, sweep),
        axis_language.grids(sweep.grid),
        axis_language.blocks(sweep.block),
        {name: axis_language.expand(values) for name, values in sweep.knobs.items()},
        sweep.preset,
    )


def sources_of(experiment: Experiment, choice: Choice) -> SourceChoice:
    """Returns the choice of source vertices for one graph. The experiment's file lists the sources, asks for
    random sources, or asks for the source that the graph's generator recommends."""
    family = find_family(experiment.family)
    given, count = None, experiment.sources if family.from_sources else None
    if family.from_sources and experiment.source == RECOMMENDED:
        drawn = choice.request.drawn
        recommended = None if drawn is None else recommended_source(*drawn)
        given = None if recommended is None else [recommended]
    elif family.from_sources and experiment.source:
        given = given_sources(experiment)
    return SourceChoice.of(family, given, None if given else count, experiment.seed)


def given_sources(experiment: Experiment) -> list[int]:
    """Returns the vertices that the experiment's ``source`` lists. Raises InputError if ``source`` is not a
    list of vertices."""
    try:
        return [int(value) for value in axis_language.expand(experiment.source)]
    except ValueError:
        message = f"`source` is '{experiment.source}', not a list of vertices or '{RECOMMENDED}'"
        raise InputError(f"experiment {experiment.name}: {message}") from None
