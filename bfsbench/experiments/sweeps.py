"""From an experiment's sweeps to the work of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bfsbench.bench import axes as axis_language
from bfsbench.bench.plan import Axes, Crossing, Part, Plannable, Several
from bfsbench.bench.sources import SourceChoice
from bfsbench.bench.tune import Tuning
from bfsbench.errors import InputError
from bfsbench.experiments.choice import Choice
from bfsbench.experiments.declaration import Experiment, Sweep
from bfsbench.experiments.series import variants_of
from bfsbench.graphs.generators import parse_spec, recommended_source
from bfsbench.variants import find_family

RECOMMENDED = "recommended"


def work_of(experiment: Experiment, choices: Sequence[Choice]) -> Several:
    """All sweeps on the graphs chosen, ordered so that graphs change least often.

    Raises UsageError for an unknown variant or a malformed axis, InputError for invalid sources.
    """
    works = []
    for choice in choices:
        sources = sources_of(experiment, choice)
        for sweep in experiment.sweeps:
            if not sweep.graphs or {choice.use.title, choice.use.name} & {*sweep.graphs}:
                works += _works_of(sweep, choice.request.locator, axes_of(experiment, sweep), sources)
    return Several(works)


def _works_of(sweep: Sweep, graph: str, axes: Axes, sources: SourceChoice) -> list[Plannable]:
    """A crossing or, where the sweep has ``points``, a tuning of each variant."""
    if not sweep.tune:
        return [Crossing([Part([graph], axes, sources)])]
    points = sweep.tune * len(sources.stand_ins())
    alone = (replace(axes, variants=[variant]) for variant in axes.variants)
    return [Tuning(graph, one, sources, "axes", points=points) for one in alone]


def axes_of(experiment: Experiment, sweep: Sweep) -> Axes:
    """The axes of a sweep. Raises UsageError for an unknown variant or a malformed axis."""
    return Axes(
        variants_of(experiment, sweep),
        axis_language.grids(sweep.grid),
        axis_language.blocks(sweep.block),
        {name: axis_language.expand(str(values)) for name, values in sweep.knobs.items()},
        sweep.preset,
    )


def sources_of(experiment: Experiment, choice: Choice) -> SourceChoice:
    """The sources of one graph: those of the experiment, or what its generator recommends."""
    family = find_family(experiment.family)
    if not family.from_sources:
        return SourceChoice.of(family, None, None, experiment.seed)
    if experiment.source and experiment.source != RECOMMENDED:
        return SourceChoice.of(family, given_sources(experiment), None, experiment.seed)
    if experiment.source and choice.request.spec is not None:
        recommended = recommended_source(*parse_spec(choice.request.spec))
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
