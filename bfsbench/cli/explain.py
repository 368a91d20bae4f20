"""Define the command ``bfsbench explain``, which shows the costs of kernels by level and source line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli import completion
from bfsbench.cli.help import knob_options
from bfsbench.cli.options import format_option, rendered
from bfsbench.cli.programs import (
    ProgramCommand,
    arguments_of,
    explain_program,
    options_of,
    program_files,
    program_options,
    refuse_program_options,
)
from bfsbench.cli.sweeping import (
    given_knobs,
    graphs_named,
    names,
    preset_option,
    source_choice,
    variants_of,
)
from bfsbench.reports.table import FORMATS
from bfsbench.support.errors import UsageError
from bfsbench.support.paths import H200_CEILINGS
from bfsbench.variants import family_of

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph
    from bfsbench.reports.table import Table
    from bfsbench.rows.ceilings import Ceilings
    from bfsbench.rows.counters import Counters
    from bfsbench.rows.point import KnobValue, Point

_MOST = 8
"""The most searches that one command explains."""


@click.command(cls=ProgramCommand, short_help="Say what a kernel costs, by level and source line.")
@click.argument(
    "variants",
    nargs=-1,
    required=True,
    metavar="VARIANT|FOLDER|PROGRAM.cu...",
    shell_complete=completion.variants,
)
@click.option(
    "--dataset",
    metavar="GRAPH",
    shell_complete=completion.datasets,
    help="One graph, named as for 'run'. Take a small graph: counting takes five to thirty times as long "
    "as a run.",
)
@click.option("--source", metavar="VERTEX", help="Source vertex; by default the vertex that 'run' chooses.")
@click.option("--grid", default="auto", show_default=True, metavar="LIST", help="Most blocks per launch.")
@click.option("--block", default="auto", show_default=True, metavar="LIST", help="Threads per block.")
@preset_option("Values of knobs that have no option of their own here")
@click.option(
    "--level", type=click.IntRange(0), metavar="N", help="List only this level; by default all levels."
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="The order in which threads and blocks run. Equal seeds give equal counters.",
)
@click.option(
    "--ceilings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ceilings from 'bfsbench probe' of the GPU whose times are predicted; by default of an H200.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the counters to this file, for 'bfsbench compare'."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the listings as a page, side by side.",
)
@format_option([name for name in FORMATS if name != "csv"])  # there are several tables; --out writes CSV
@program_options
@click.pass_context
def explain(
    context: click.Context,
    /,
    variants: tuple[str, ...],
    dataset: str | None,
    source: str | None,
    grid: str,
    block: str,
    preset: str,
    level: int | None,
    seed: int,
    ceilings: Path | None,
    out: Path | None,
    html: Path | None,
    style: str,
    include: tuple[str, ...],
    defines: tuple[str, ...],
    **knobs: str | None,
) -> None:
    """Count what the memory accesses of searches would cost a GPU, and list the source with these costs.

    In this model the lanes of each warp run in lockstep. Counters are kept for each level, kernel and source
    line. They show divergence, by executions of a warp and the lanes that take part. They show coalescing, by
    requests and sectors of global memory. They also count bank conflicts, atomics that meet on one word, and
    barriers. Several variants, blocks or knob values stand side by side. 'bfsbench compare' compares the
    files that --out writes.

    The counters and the ceilings of a GPU give a predicted time. It is not a measurement: half of the
    predictions for an H200 are wrong by more than a factor of 1.4. A FOLDER holds variants of your own.
    PROGRAM.cu and more files are a CUDA program with its own main function, which is run with the words after
    '--'.
    """
    from bfsbench.rows.ceilings import read_ceilings
    from bfsbench.rows.counters import write_counters

    if sources := program_files(variants):
        options = options_of(include, defines)
        explain_program(sources, options, arguments_of(context), seed, ceilings or H200_CEILINGS)
        return
    refuse_program_options(context)
    if dataset is None:
        raise UsageError("name a graph: --dataset GRAPH")
    device = read_ceilings(ceilings or H200_CEILINGS)
    graph, points = _points(variants, dataset, source, grid, block, preset, given_knobs(knobs))
    counted = list(_count(points, graph, seed))
    if level is not None and not any((of.lines["level"] == level).any() for of in counted):
        raise UsageError(f"--level {level}: the search has no such level")
    if out is not None:
        write_counters(out, counted)
    if html is not None:
        from bfsbench.tools.explain.tables import write_page

        write_page(html, counted, device)
    click.echo(rendered(_tables(counted, device), style), nl=False)
    if style == "text":
        _list(counted, level)


def _points(
    variants: Sequence[str],
    dataset: str,
    source: str | None,
    grid: str,
    block: str,
    preset: str,
    knobs: dict[str, list[KnobValue]],
) -> tuple[Graph, list[Point]]:
    from bfsbench.bench.plan import Axes, check_axes, chosen_variants, plan
    from bfsbench.graphs.load import load_parsed
    from bfsbench.graphs.statistics import describe

    chosen = chosen_variants([variant.name for variant in variants_of(names(variants, "VARIANT"))])
    for variant in chosen:
        if not variant.launched:
            raise UsageError(f"variant {variant.name} has no kernels to explain")
    axes = Axes(chosen, axis_language.grids(grid), axis_language.blocks(block), knobs, preset)
    check_axes(axes, None)
    (named, *more) = graphs_named([dataset])
    if more:
        raise UsageError("--dataset names several graphs: explain takes one")
    graph = load_parsed(named)
    sources = source_choice(family_of(chosen), source, None, None, 0).choose(graph)
    statistics = {named.locator: describe(graph)} if preset == "auto" else {}
    points = plan(axes, {named.locator: sources}, statistics, "cpu")
    if len(points) > _MOST:
        raise UsageError(f"these are {len(points)} searches: explain takes at most {_MOST}")
    return graph, points


def _count(points: Sequence[Point], graph: Graph, seed: int) -> Iterator[Counters]:
    from bfsbench.bench.child import in_child
    from bfsbench.tools.explain.counters import count

    with click.progressbar(points, label="counting", file=sys.stderr) as bar:
        for point in bar:
            yield in_child(lambda _step, point=point: count(point, graph, seed))  # type: ignore[misc]


def _tables(counted: Sequence[Counters], device: Ceilings) -> list[Table]:
    from dataclasses import replace

    from bfsbench.tools.explain.tables import level_table, prediction_table, side_by_side

    predicted = prediction_table(counted, device)
    levels = [level_table(of) for of in counted]
    if len(counted) == 1:
        return [predicted, *levels]
    numbered = [replace(table, name=f"levels_{place}") for place, table in enumerate(levels, 1)]
    return [side_by_side(counted), predicted, *numbered]


def _list(counted: Sequence[Counters], level: int | None) -> None:
    from bfsbench.tools.explain.tables import LEGEND, beside

    width = shutil.get_terminal_size((120, 24)).columns
    click.echo(f"\n{LEGEND}")
    for line in beside(counted, level, max(width, 80)):
        click.echo(line)


command = knob_options(explain)
