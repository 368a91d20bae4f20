"""``bfsbench run``: from the command line to a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli import completion
from bfsbench.cli.sweep_options import (
    SourceChoice,
    check_resuming,
    closing,
    default_path,
    given_knobs,
    knob_options,
    measuring_options,
    out_option,
    preset_option,
    resume_options,
    source_options,
    start,
)
from bfsbench.cli.sweeping import cluster_options, execute, print_memory, print_plan, runner_for
from bfsbench.errors import UsageError
from bfsbench.families import DEFAULT
from bfsbench.variants import all_families, all_variants, family_of, find
from bfsbench.variants.base import PRESETS, Variant

if TYPE_CHECKING:
    from bfsbench.bench.sweep import Axes


@click.command(short_help="Sweep variants over graphs, grids, blocks and knobs.")
@click.option(
    "--dataset",
    "datasets",
    shell_complete=completion.datasets,
    multiple=True,
    required=True,
    metavar="LIST",
    help="Names, files or generators such as 'kronecker(scale=12)'. Behind each may stand :ids=keep, "
    ":self_loops=drop or :duplicates=drop, then :shrink=0.05 for a part of that size, then :directed or "
    ":symmetrised.",
)
@click.option(
    "--family",
    type=click.Choice(list(all_families())),
    help="What is asked about graphs; by default what the variants answer, or bfs.",
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
    help="Most blocks a launch may have: numbers, ranges such as 64:4096:x4, or 'auto' for work / block.",
)
@click.option(
    "--block",
    default="auto",
    show_default=True,
    metavar="LIST",
    help="Threads a block: numbers, ranges, or 'auto' for what suits a variant, mostly 256.",
)
@preset_option("Values of knobs that have no option of their own here")
@source_options
@click.option("--seed", default=0, show_default=True, help="Seed that chooses the sources.")
@measuring_options
@cluster_options
@out_option("run")
@click.option(
    "--profile",
    is_flag=True,
    help="After the timed searches, search once more and write what each level cost to FILE.levels.csv, and "
    "what a variant counts in it (see 'bfsbench list counters').",
)
@click.option(
    "--parents",
    is_flag=True,
    help="After the timed runs, find the breadth-first tree or the next hops, in parents_ms, and check it.",
)
@resume_options("Continue --out: measure only what it does not hold yet.")
@click.option("--dry-run", is_flag=True, help="Say what would be measured, and measure nothing.")
def run(
    datasets: tuple[str, ...],
    family: str | None,
    variants: tuple[str, ...],
    grid: str,
    block: str,
    preset: str,
    source: str | None,
    num_sources: int | None,
    seed: int,
    repeats: int,
    timeout: float,
    backend: str,
    schedule_seed: int,
    cluster: str | None,
    mixed_devices: bool,
    out: Path | None,
    profile: bool,
    parents: bool,
    resume: bool,
    retry_failed: bool,
    dry_run: bool,
    **knobs: str | None,
) -> None:
    """Measure every combination of graph, source, variant, grid, block and knob values.

    A point is run once and checked, against the sequential search or, of all-pairs shortest paths, which have
    no source, against SciPy. Then it is timed --repeats times. Each becomes a row of the result file as soon
    as it is measured; points that fail become rows that say why, and make the exit code 1. LIST is
    comma-separated; FIRST:LAST:xF and FIRST:LAST:+S are ranges.
    """
    from bfsbench.bench.runner import Method
    from bfsbench.bench.sweep import Output, plan
    from bfsbench.cli.loading import load_with_progress

    check_resuming(resume, retry_failed, out)
    axes = _axes(_chosen(variants, family), grid, block, knobs, preset)
    question = family_of(axes.variants)
    wanted = SourceChoice.of(source, num_sources, seed, question)
    if profile and not question.profile:
        raise UsageError(f"--profile tells what the steps of a run cost; {question.title} have none")
    names = _full_names(datasets)
    path = out or default_path("run")
    needed = None if all(variant.host for variant in axes.variants) else backend
    runner = runner_for(needed, schedule_seed, cluster, mixed_devices)
    with closing(runner, path):
        where = start(runner, axes)
        if dry_run:
            # A preset has one value a knob, so it changes no count; some need graphs that are not there yet.
            plain = replace(axes, preset=PRESETS[0])
            print_plan(plan(plain, {name: wanted.stand_ins() for name in names}, {}, where), repeats)
            print_memory(names)
            return
        output = Output(path, resume=resume, retry=retry_failed, with_profiles=profile, with_parents=parents)
        try:
            graphs = {name: load_with_progress(name) for name in names}
            for loaded in graphs.values():
                question.require(loaded)
            sources = {name: wanted.choose(graph) for name, graph in graphs.items()}
            statistics = {name: graph.statistics for name, graph in graphs.items()}
            points = plan(axes, sources, statistics, where)
            failed = execute(points, graphs, runner, output, Method(repeats, timeout, profile, parents))
        finally:
            output.close()
    if failed:
        raise SystemExit(1)


def _chosen(variants: Sequence[str], family: str | None) -> list[type[Variant]]:
    """The variants named, and with ``all`` those of the family: the one asked for, or of the others named."""
    names = [name for item in variants for name in axis_language.split_list(item)]
    if not names:
        raise UsageError("--variant names none")
    named = [find(name) for name in names if name != "all"]
    for variant in named:
        if family is not None and variant.family != family:
            raise UsageError(f"variant {variant.name} is of family {variant.family}, not {family}")
    meant = family or (named[0].family if named else DEFAULT)
    every = [variant for variant in all_variants().values() if variant.family == meant]
    chosen = [v for name in names for v in (every if name == "all" else [find(name)])]
    return list(dict.fromkeys(chosen))


def _axes(
    variants: list[type[Variant]], grid: str, block: str, knobs: Mapping[str, str | None], preset: str
) -> Axes:
    from bfsbench.bench.sweep import Axes

    return Axes(
        variants,
        axis_language.grids(grid),
        axis_language.blocks(block),
        given_knobs(knobs),
        preset,
    )


def _full_names(datasets: Sequence[str]) -> list[str]:
    """The graphs asked for, as rows will name them; found without reading more than a header."""
    from bfsbench.graphs.load import resolve

    requests = [text for item in datasets for text in axis_language.split_list(item)]
    if not requests:
        raise UsageError("--dataset names none")
    return list(dict.fromkeys(resolve(text).full_name for text in requests))


command = knob_options(run)
