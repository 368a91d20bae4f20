"""Define the command ``bfsbench run``, which sweeps variants over graphs, grids, blocks and knobs.

With ``--sanitizer`` the sweep runs under NVIDIA's compute-sanitizer, which finds faults of kernels on a GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.bench.options import Method
from bfsbench.cli.help import SectionedCommand, knob_options
from bfsbench.cli.options import datasets_option, list_option, variants_option
from bfsbench.cli.sweeping import (
    carry_out_points,
    given_knobs,
    graphs_named,
    measuring_options,
    names,
    out_option,
    preset_option,
    print_memory,
    print_plan,
    request,
    result_file,
    source_choice,
    source_options,
)
from bfsbench.support.errors import ToolchainError, UsageError, plural
from bfsbench.variants import all_families, family_of

if TYPE_CHECKING:
    from bfsbench.bench.sweep import SweepProgress

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_OF_ROWS = ("--out", "--repeats", "--resume", "--retry-failed")
"""Options that have no effect if no rows are kept."""
_MARK = "========= "
_MOST_SHOWN = 20


def sanitize(tool: str, words: Sequence[str]) -> bool:
    """Run ``bfsbench WORDS`` under a tool of compute-sanitizer, and print the findings. Returns whether there
    are none.

    Each point runs with one repeat, and no result file is kept. Raises ToolchainError if compute-sanitizer is
    not installed. Raises UsageError for options that exclude it, and if the sweep itself cannot run.
    """
    program = shutil.which("compute-sanitizer")
    if program is None:
        raise ToolchainError(
            "no compute-sanitizer found: it comes with the CUDA toolkit; put its bin on the PATH"
        )
    own = [word for word in words if word.partition("=")[0] in _OF_ROWS]
    if own:
        raise UsageError(f"--sanitizer keeps no rows: leave out {', '.join(own)}")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--tool", tool, "--target-processes", "all", "--log-file", f"{folder}/%p.log"]
        sweep = [sys.executable, "-m", "bfsbench", *_without_sanitizer(words)]
        done = subprocess.run(
            [*command, *sweep, "--repeats", "1", "--out", f"{folder}/rows.csv"], check=False
        )
        logs = [path.read_text(errors="replace") for path in sorted(Path(folder).glob("*.log"))]
    if done.returncode not in (0, 1) or not logs:
        raise UsageError(f"the sweep under compute-sanitizer ended with exit code {done.returncode}")
    found = Counter(finding for log in logs for finding in findings(log))
    for finding, count in found.most_common(_MOST_SHOWN):
        click.echo(f"{finding}: {plural(count, 'time')}")
    if len(found) > _MOST_SHOWN:
        click.echo(f"and {plural(len(found) - _MOST_SHOWN, 'finding')} more")
    total = sum(found.values())
    click.echo(f"{tool}: {plural(total, 'error') if total else 'nothing found'}", err=True)
    return not found and done.returncode == 0


def _without_sanitizer(words: Sequence[str]) -> Iterable[str]:
    rest = iter(words)
    for word in rest:
        if word == "--sanitizer":
            next(rest, None)
        elif not word.startswith("--sanitizer="):
            yield word


def findings(log: str) -> Iterable[str]:
    """Yield the errors in a log of compute-sanitizer, each with its source line if the log names it.

    An error begins with a line that is not indented after ``=========``. The text ``in FILE:LINE`` in this
    line or in the next line is the place in the kernel.
    """
    lines = [line.removeprefix(_MARK) for line in log.splitlines() if line.startswith(_MARK)]
    for place, line in enumerate(lines):
        if line.startswith(
            (" ", "COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Target application")
        ):
            continue
        where = next(
            (at[1] for text in lines[place : place + 2] if (at := re.search(r" in (\S+:\d+)", text))), ""
        )
        what = line.partition(" at ")[0]
        yield f"{what} ({where})" if where else what


@click.command(cls=SectionedCommand, short_help="Sweep variants over graphs, grids, blocks and knobs.")
@datasets_option(
    "Names, files or generators such as 'kronecker(scale=12)', with options after a colon, "
    "such as :symmetrised (see docs/graphs.md in the repository)."
)
@click.option(
    "--family",
    type=click.Choice(list(all_families())),
    help="Problem to solve; by default the variants' problem.",
)
@variants_option("Names or aliases, or 'all' of the family (see 'bfsbench list variants').", default=("all",))
@list_option(
    "--grid",
    "Most blocks per launch; 'auto' is the work divided by the block.",
    default="auto",
    show_default=True,
)
@list_option(
    "--block",
    "Threads per block; 'auto' is the variant's default, mostly 256.",
    default="auto",
    show_default=True,
)
@preset_option("Values of knobs that are not given as options")
@source_options
@click.option("--seed", default=0, show_default=True, help="Seed that chooses the sources.")
@measuring_options()
@out_option("run")
@click.option("--dry-run", is_flag=True, help="Only print what would be measured.")
@click.option("--quiet", is_flag=True, help="Show errors only.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per event.")
@click.option(
    "--sanitizer",
    type=click.Choice(TOOLS),
    help="Run each point once under this tool of NVIDIA's compute-sanitizer.",
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
    measuring: Method,
    out: Path | None,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    sanitizer: str | None,
    **knobs: str | None,
) -> None:
    """Measure every combination of graph, source, variant, grid, block and knob values.

    A point is run once and checked against the sequential search. All-pairs shortest paths, which have no
    source, are checked against SciPy. Then the point is timed --repeats times. Each point becomes a row of
    the result file as soon as it is measured. Points that fail become rows that say why, and the exit code is
    then 1. LIST is comma-separated, and FIRST:LAST:xF and FIRST:LAST:+S are ranges. Knobs of variants have
    options of their own.
    """
    from bfsbench.bench.plan import Axes, Crossing, chosen_variants
    from bfsbench.bench.sweep import preview

    chosen = chosen_variants(names(variants, "--variant"), family)
    axes = Axes(chosen, axis_language.grids(grid), axis_language.blocks(block), given_knobs(knobs), preset)
    question = family_of(chosen)
    sources = source_choice(question, source, source_id, num_sources, seed)
    if measuring.profile and not question.profile:
        raise UsageError(f"--profile measures the steps of a run; {question.title} have none")
    work = Crossing(graphs_named(datasets), axes, sources)
    asked = request(measuring, work, result_file(measuring, out, "run"))
    if sanitizer:
        if not sanitize(sanitizer, sys.argv[1:]):
            raise SystemExit(1)
    elif dry_run:
        points = preview(asked)
        print_plan(points, measuring.repeats)
        print_memory(work.graphs, points)
    elif not carry_out_points(asked, _progress(quiet, as_json)):
        raise SystemExit(1)


def _progress(quiet: bool, as_json: bool) -> SweepProgress | None:
    """Return the progress display that ``--quiet`` or ``--json`` selects, or None for the default display.

    Raises UsageError if the two options are combined.
    """
    from bfsbench.bench.sweep import SweepProgress
    from bfsbench.cli.progress import JsonLines

    if quiet and as_json:
        raise UsageError("--quiet and --json exclude each other")
    return JsonLines() if as_json else SweepProgress() if quiet else None


command = knob_options(run)
