"""Define the command ``bfsbench tune``, which finds the fastest configuration."""

from __future__ import annotations

import shlex
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.bench.options import Method
from bfsbench.bench.tune import METHODS
from bfsbench.cli.help import SectionedCommand, knob_options
from bfsbench.cli.options import Number, datasets_option, list_option, variants_option
from bfsbench.cli.sweeping import (
    carry_out,
    given_knobs,
    graphs_named,
    measuring_options,
    names,
    out_option,
    preset_option,
    request,
    result_file,
    source_choice,
    source_options,
)
from bfsbench.variants import find, find_family

if TYPE_CHECKING:
    from bfsbench.bench.tune import Configuration, Tuning


@click.command(
    cls=SectionedCommand, short_help="Find the fastest grid, block and knobs of a variant on a graph."
)
@datasets_option("Names, files or generators, as for 'bfsbench run'. Each variant is tuned on each graph.")
@variants_option("Names or aliases, or 'all'.", required=True)
@list_option("--grid", "Grids to choose from; by default auto and 1, 2, 4 .. 32 blocks per multiprocessor.")
@list_option("--block", "Blocks to choose from; by default 32, 64 .. 1024 threads.")
@preset_option("Initial values of knobs")
@source_options
@click.option("--seed", default=0, show_default=True, help="Seed that chooses sources and configurations.")
@measuring_options("order", "profile", "parents", "cluster", "mixed_devices", "tls")
@out_option("tune")
@click.option(
    "--points",
    type=click.IntRange(min=1),
    metavar="N",
    help="Points to measure for each variant and graph, including points that --resume finds in the file.",
)
@click.option(
    "--minutes",
    type=Number(min=0, min_open=True),
    metavar="M",
    help="Minutes for each variant and graph. No configuration begins after this time.",
)
@click.option(
    "--method",
    default=METHODS[0],
    show_default=True,
    type=click.Choice(METHODS),
    help="optuna: one axis at a time, then Optuna's Bayesian optimisation. axes: one axis at a time, until a "
    "round changes nothing. restarts: axes from random configurations. exhaustive: every configuration.",
)
def tune(
    datasets: tuple[str, ...],
    variants: tuple[str, ...],
    grid: str | None,
    block: str | None,
    preset: str,
    source: str | None,
    source_id: str | None,
    num_sources: int | None,
    seed: int,
    measuring: Method,
    out: Path | None,
    points: int | None,
    minutes: float | None,
    method: str,
    **knobs: str | None,
) -> None:
    """Find the configuration of each variant that searches each graph fastest, in --points or --minutes.

    Configurations are compared by the median of search_ms over the sources. Every point becomes a row of the
    result file, as from 'bfsbench run'. Knobs without a list are chosen from their choices, or from values
    around their default. A seed always chooses the same configurations, so --resume continues where a tuning
    stopped. At the end the best configuration is printed as a 'bfsbench run' line. Host programs without
    knobs take one point.
    """
    from bfsbench.bench.plan import Axes, Several, check_knobs, chosen_variants
    from bfsbench.bench.tune import Tuning

    grids = [] if grid is None else axis_language.grids(grid)
    blocks = [] if block is None else axis_language.blocks(block)
    given = given_knobs(knobs)
    every = chosen_variants(names(variants, "--variant"))
    check_knobs(every, given)
    tunings = []
    for graph, chosen in product(graphs_named(datasets), every):
        own = {knob.name: given[knob.name] for knob in chosen.knobs if knob.name in given}
        axes = Axes([chosen], grids, blocks, own, preset)
        sources = source_choice(find_family(chosen.family), source, source_id, num_sources, seed)
        tunings.append(Tuning(graph, axes, sources, method, seed, points, minutes))
    path = result_file(measuring, out, "tune")
    carry_out(request(measuring, Several(tunings), path))
    found = [_say_what_was_found(tuning, path) for tuning in tunings]
    if not all(found):
        raise SystemExit(1)


def _say_what_was_found(tuning: Tuning, path: Path | None) -> bool:
    """Print the best configuration of a tuning. Returns whether any configuration could be timed."""
    from bfsbench.bench.tune import best

    (variant,) = tuning.variants
    failed = sum(value is None for value in tuning.took.values())
    tried = (
        f"{variant.name} on {tuning.graph.locator}: {len(tuning.took)} of {tuning.space.size} configurations"
    )
    click.echo(
        f"{tried}{f', {failed} of them failed' if failed else ''}; see 'bfsbench report {path}'", err=True
    )
    fastest = best(tuning.took)
    if fastest is None:
        click.echo("bfsbench: no configuration could be timed", err=True)
        return False
    configuration, milliseconds = fastest
    over = f", median of {len(tuning.chosen)} sources" if len(tuning.chosen) > 1 else ""
    point = tuning.space.point(configuration, tuning.chosen[0])
    mark = " emulated on the CPU, which says nothing of a GPU" if point.backend == "cpu" else ""
    click.echo(f"{milliseconds:.6g} ms{mark}{over}:\n{run_line(tuning, configuration)}")
    return True


def run_line(tuning: Tuning, configuration: Configuration) -> str:
    """Return the command that measures a configuration again."""
    point = tuning.space.point(configuration, tuning.chosen[0])
    words = ["bfsbench", "run", "--dataset", point.graph, "--variant", point.variant]
    if point.backend != "host":
        axes = point.axes()
        words += ["--backend", point.backend]
        if find(point.variant).own_block(dict(point.knobs)) is None:
            words += ["--grid", axes["grid"], "--block", axes["block"]]
    options = {knob.name: knob.option for knob in find(point.variant).knobs}
    for name, value in point.knobs:
        words += [options[name], str(value)]
    if point.source is not None:
        words += ["--source", ",".join(map(str, tuning.chosen))]
    return shlex.join(words)


command = knob_options(tune)
