"""``bfsbench run``: sweeps variants over graphs, grids, blocks and knobs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli import completion
from bfsbench.cli.help import SectionedCommand, knob_options
from bfsbench.cli.sanitizing import TOOLS, sanitize
from bfsbench.cli.sweep_options import (
    Measuring,
    given_knobs,
    locators,
    measuring_options,
    names,
    out_option,
    preset_option,
    source_choice,
    source_options,
)
from bfsbench.cli.sweeping import carry_out_points, print_memory, print_plan
from bfsbench.errors import UsageError
from bfsbench.variants import all_families, family_of


@click.command(cls=SectionedCommand, short_help="Sweep variants over graphs, grids, blocks and knobs.")
@click.option(
    "--dataset",
    "datasets",
    shell_complete=completion.datasets,
    multiple=True,
    required=True,
    metavar="LIST",
    help="Names, files or generators such as 'kronecker(scale=12)', with options after a colon, "
    "such as :symmetrised (see docs/graphs.md).",
)
@click.option(
    "--family",
    type=click.Choice(list(all_families())),
    help="What is asked about graphs; by default what the variants answer.",
)
@click.option(
    "--variant",
    "variants",
    shell_complete=completion.variants_or_all,
    multiple=True,
    default=("all",),
    metavar="LIST",
    help="Names or aliases, or 'all' of the family (see 'bfsbench list variants').",
)
@click.option(
    "--grid",
    default="auto",
    show_default=True,
    metavar="LIST",
    help="Most blocks a launch may have; 'auto' is work / block.",
)
@click.option(
    "--block",
    default="auto",
    show_default=True,
    metavar="LIST",
    help="Threads a block; 'auto' is what suits a variant, mostly 256.",
)
@preset_option("Knobs that are not given as options")
@source_options
@click.option("--seed", default=0, show_default=True, help="Seed that chooses the sources.")
@measuring_options("Continue --out: measure only what it does not hold yet.")
@out_option("run")
@click.option(
    "--profile",
    is_flag=True,
    help="Search once more and write what each level cost, and what a variant counts in it, to "
    "FILE.levels.csv.",
)
@click.option(
    "--parents",
    is_flag=True,
    help="Also find the breadth-first tree, or next hops, and check it.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be measured, and measure nothing.")
@click.option(
    "--sanitizer",
    type=click.Choice(TOOLS),
    help="Run each point once under this tool of NVIDIA's compute-sanitizer, and say what it finds.",
)
def run(
    datasets: tuple[str, ...],
    family: str | None,
    variants: tuple[str, ...],
    grid: str,
    block: str,
    preset: str,
    source: str | None,
    source_id: str | None,
    num_sources: int | None,
    seed: int,
    measuring: Measuring,
    out: Path | None,
    profile: bool,
    parents: bool,
    dry_run: bool,
    sanitizer: str | None,
    **knobs: str | None,
) -> None:
    """Measure every combination of graph, source, variant, grid, block and knob values.

    A point is run once and checked, against the sequential search or, of all-pairs shortest paths, which have
    no source, against SciPy. Then it is timed --repeats times. Each becomes a row of the result file as soon
    as it is measured; points that fail become rows that say why, and make the exit code 1. LIST is
    comma-separated; FIRST:LAST:xF and FIRST:LAST:+S are ranges. Knobs of variants have options of their own.
    """
    from bfsbench.bench.plan import Axes, Crossing, Part, chosen_variants
    from bfsbench.bench.sweep import preview

    chosen = chosen_variants(names(variants, "--variant"), family)
    axes = Axes(chosen, axis_language.grids(grid), axis_language.blocks(block), given_knobs(knobs), preset)
    question = family_of(chosen)
    sources = source_choice(question, source, source_id, num_sources, seed)
    if profile and not question.profile:
        raise UsageError(f"--profile measures the steps of a run; {question.title} have none")
    work = Crossing([Part(locators(datasets), axes, sources)])
    request = measuring.request(work, measuring.path(out, "run"), profile=profile, parents=parents)
    if sanitizer:
        if not sanitize(sanitizer, sys.argv[1:]):
            raise SystemExit(1)
    elif dry_run:
        print_plan(preview(request, work), measuring.repeats)
        print_memory(work.graphs)
    elif not carry_out_points(request):
        raise SystemExit(1)


command = knob_options(run)
