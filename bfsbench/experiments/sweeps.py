"""From an experiment's sweeps to points, by the machinery of ``run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bfsbench.bench import axes as axis_language
from bfsbench.bench.point import Point
from bfsbench.bench.sources import check_source, choose_sources
from bfsbench.bench.sweep import Axes, plan
from bfsbench.errors import InputError
from bfsbench.experiments.choice import Choice
from bfsbench.experiments.declaration import Experiment, Sweep
from bfsbench.experiments.series import variants_of
from bfsbench.graphs.generators import parse_spec, recommended_source
from bfsbench.graphs.graph import Graph
from bfsbench.variants import find_family
from bfsbench.variants.base import PRESETS

RECOMMENDED = "recommended"


def axes_of(experiment: Experiment, sweep: Sweep) -> Axes:
    """What a sweep crosses. Raises UsageError for an unknown variant or a malformed axis."""
    return Axes(
        variants_of(experiment, sweep),
        axis_language.grids(sweep.grid),
        axis_language.blocks(sweep.block),
        {name: axis_language.expand(str(values)) for name, values in sweep.knobs.items()},
        sweep.preset,
    )


def sources_of(experiment: Experiment, choice: Choice, graph: Graph) -> Sequence[int | None]:
    """The sources of one graph; None where the family asks about all vertices.

    Raises UsageError for a source that the graph does not have, or a graph that the family cannot take.
    """
    family = find_family(experiment.family)
    family.require(graph)
    if not family.from_sources:
        return [None]
    if experiment.source and experiment.source != RECOMMENDED:
        return [check_source(graph, source) for source in given_sources(experiment)]
    if experiment.source and choice.request.spec is not None:
        recommended = recommended_source(*parse_spec(choice.request.spec))
        if recommended is not None:
            return [recommended]
    return choose_sources(graph, experiment.sources, experiment.seed)


def given_sources(experiment: Experiment) -> list[int]:
    """The vertices of ``source``. Raises InputError for what is none."""
    try:
        return [int(value) for value in axis_language.expand(experiment.source)]
    except ValueError:
        message = f"`source` is '{experiment.source}', not a list of vertices or '{RECOMMENDED}'"
        raise InputError(f"experiment {experiment.name}: {message}") from None


def counted_sources(experiment: Experiment) -> Sequence[int | None]:
    """As many sources as there will be, for counting points before the graphs are there."""
    if not find_family(experiment.family).from_sources:
        return [None]
    if experiment.source and experiment.source != RECOMMENDED:
        return given_sources(experiment)
    return list(range(1 if experiment.source else experiment.sources))


def points_of(
    experiment: Experiment,
    sources: Mapping[Choice, Sequence[int | None]],
    statistics: Mapping[str, Mapping[str, float]],
    where: str,
) -> list[Point]:
    """The points of all sweeps, ordered so that graphs change least often.

    ``statistics`` are by the graphs' full names; where they are empty, as before the graphs are there,
    presets are left out, which changes no count.
    """
    points = []
    for choice, searched_from in sources.items():
        for sweep in experiment.sweeps:
            if sweep.graphs and not {choice.use.title, choice.use.name} & {*sweep.graphs}:
                continue
            axes = axes_of(experiment, sweep)
            if not statistics:
                axes = replace(axes, preset=PRESETS[0])
            points += plan(axes, {choice.full_name: searched_from}, statistics, where)
    return list(dict.fromkeys(points))
