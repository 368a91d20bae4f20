"""What the commands that measure have in common: options, sources, the worker's life around them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli.options import Declaration, backend_option, together
from bfsbench.errors import UsageError
from bfsbench.variants import all_variants
from bfsbench.variants.base import PRESETS, Knob

if TYPE_CHECKING:
    from bfsbench.bench.runner import Runner
    from bfsbench.bench.sweep import Axes
    from bfsbench.families.base import Family
    from bfsbench.graphs.graph import Graph

KNOB_PREFIX = "knob_"
LONGEST_TIMEOUT_S = 1e6

source_options = together(
    click.option("--source", "source", metavar="LIST", help="Source vertices, counted from 0."),
    click.option(
        "--sources",
        "num_sources",
        type=click.IntRange(min=1),
        metavar="N",
        help="So many sources of non-zero out-degree, chosen by --seed; 1 by default.",
    ),
)

measuring_options = together(
    click.option(
        "--repeats", default=5, show_default=True, type=click.IntRange(min=1), help="Timed searches a point."
    ),
    click.option(
        "--timeout",
        default=60.0,
        show_default=True,
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        callback=lambda _context, _option, seconds: limit_of(seconds),
        help="Seconds a point may take, compiling included.",
    ),
    backend_option("Where kernels run; the CPU shows that they work, never how fast they are."),
    click.option(
        "--schedule-seed",
        default=0,
        show_default=True,
        type=click.IntRange(min=0),
        help="On the CPU: the order in which threads and blocks run; 0 is the fastest.",
    ),
)


def preset_option(use: str) -> Declaration:
    """``--knobs``; ``use`` says what a preset's values are taken for."""
    return click.option(
        "--knobs",
        "preset",
        default=PRESETS[0],
        show_default=True,
        type=click.Choice(PRESETS),
        help=f"{use}: their defaults, or for variants that have them the paper's values, or those that the "
        "paper's rules give for the graph.",
    )


def out_option(command: str) -> Declaration:
    """``--out``, with what ``default_path`` makes of the command's name."""
    return click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"Result file; results/{command}-DATE-TIME.csv by default.",
    )


def default_path(command: str) -> Path:
    """Where rows go when nobody says."""
    return Path("results") / datetime.now().strftime(f"{command}-%Y%m%d-%H%M%S.csv")


def knob_options(command: click.Command) -> click.Command:
    """One option for every knob name that any variant declares."""
    owners: dict[str, dict[Knob, list[str]]] = {}
    for variant in all_variants().values():
        for knob in variant.knobs:
            owners.setdefault(knob.name, {}).setdefault(knob, []).append(variant.name)
    for name, declared in sorted(owners.items()):
        texts = [
            f"{knob.meaning} ({', '.join(variants)}; {knob.legal}; default {knob.default})"
            for knob, variants in declared.items()
        ]
        option = next(iter(declared)).option
        command.params.append(
            click.Option(
                [option, KNOB_PREFIX + name], metavar="LIST", help=f"Knob {name}: {'; '.join(texts)}."
            )
        )
    return command


def given_knobs(options: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Knob values by name, of the options that were given. Raises UsageError for a malformed range."""
    return {
        name.removeprefix(KNOB_PREFIX): axis_language.expand(text)
        for name, text in options.items()
        if text is not None
    }


def limit_of(timeout: float) -> float:
    """Seconds a point may take. Raises UsageError for what is no number."""
    if not math.isfinite(timeout):
        raise UsageError(f"--timeout: {timeout} is not a number of seconds")
    return min(timeout, LONGEST_TIMEOUT_S)


def resume_options(text: str) -> Declaration:
    """``--resume``, with what it does, and ``--retry-failed``; for ``check_resuming``."""
    retry = "With --resume: measure the points that failed again."
    return together(
        click.option("--resume", is_flag=True, help=text),
        click.option("--retry-failed", is_flag=True, help=retry),
    )


def check_resuming(resume: bool, retry_failed: bool, out: Path | None) -> None:
    """Raises UsageError when there is nothing to resume, or to look for failed points in."""
    if resume and out is None:
        raise UsageError("--resume needs the --out it is to continue")
    if retry_failed and not resume:
        raise UsageError("--retry-failed goes with --resume")


@contextmanager
def closing(runner: Runner, path: Path) -> Iterator[None]:
    """Close the runner in the end; an interrupt stops it, says how to go on, and ends the program."""
    try:
        yield
    except KeyboardInterrupt:
        runner.stop()
        again = f": continue with --resume --out {path}" if path.exists() else ""
        click.echo(f"bfsbench: interrupted{again}", err=True)
        raise SystemExit(130) from None
    finally:
        runner.close()


def start(runner: Runner, axes: Axes) -> str:
    """Start the runner unless it runs, and check the axes on its device; returns the backend for rows."""
    from bfsbench.bench.sweep import check_axes

    runner.start()
    check_axes(axes, runner.device.limits if runner.device else None)
    return runner.device.backend if runner.device else "host"


@dataclass(frozen=True)
class SourceChoice:
    """Which sources to search from: those given, or ``count`` chosen by ``seed``."""

    given: tuple[int, ...]
    count: int
    seed: int

    @classmethod
    def of(cls, listed: str | None, count: int | None, seed: int, family: Family) -> SourceChoice:
        """The choice for one family; of one that has no sources, a count of 0. Raises UsageError."""
        if not family.from_sources:
            if listed is not None or count is not None:
                raise UsageError(f"{family.title} have no source: leave out --source and --sources")
            return cls((), 0, seed)
        if listed is None:
            return cls((), count or 1, seed)
        if count is not None:
            raise UsageError("--source and --sources exclude each other")
        try:
            return cls(tuple(int(value) for value in axis_language.expand(listed)), 0, seed)
        except ValueError:
            raise UsageError(f"--source: '{listed}' is not a list of vertices") from None

    def choose(self, graph: Graph) -> list[int | None]:
        """The sources in a graph; one None for a family without.

        Raises UsageError for one that the graph does not have.
        """
        from bfsbench.bench.sources import check_source, choose_sources

        if not self.given and not self.count:
            return [None]
        if self.given:
            return [check_source(graph, source) for source in self.given]
        return [*choose_sources(graph, self.count, self.seed)]

    def stand_ins(self) -> list[int | None]:
        """As many sources as there will be, for counting points before the graph is there."""
        return [*(self.given or range(self.count))] or [None]
