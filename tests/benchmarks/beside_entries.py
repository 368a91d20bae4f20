"""Programs of others beside the searches of this package at their best known settings, in turns.

    python tests/benchmarks/beside_entries.py OUT.csv --known results/h200/best.csv GRAPH...

A search runs at the setting that was fastest on the graph in the rows of ``--known``, or by its rules where
there are none. The searches come in two groups. Those of ``--searches first`` are `adaptive`, at its defaults
as well, searches that have no rows at all, and the ``--top`` fastest of the papers; on a graph without rows
these are the fastest in the geometric mean over all graphs. The others are those of ``--searches rest``, but
for searches that took longer than ``--slowest`` ms on the graph.

Rows are written when all of a graph are there, so after an interrupt each graph in OUT.csv is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

import click

from bfsbench.bench.plan import Axes, Crossing, Part
from bfsbench.bench.runner import Method, Order
from bfsbench.bench.sampling import Sampling
from bfsbench.bench.sources import SourceChoice
from bfsbench.bench.sweep import Request, sweep
from bfsbench.entries.find import entries_among
from bfsbench.graphs.load import load, resolve
from bfsbench.texts import Rows
from bfsbench.variants import all_variants, find, find_family
from bfsbench.variants.base import Variant
from tests.benchmarks.best_of_tuned import Lines, fastest

OURS = "adaptive"
GROUPS = ("first", "rest", "all")
TINY = "pmpp-example"


def searches() -> list[type[Variant]]:
    """The searches of this package that run on a GPU."""
    variants = all_variants()
    found = [one for one in variants.values() if one.family == "bfs" and not one.host]
    return [one for one in found if one.name not in entries_among(variants)]


@dataclass(frozen=True)
class Choice:
    """Which of the searches to run."""

    group: str
    """One of GROUPS."""
    top: int
    slowest_ms: float
    also: Sequence[Axes]
    """Further settings, in the first group."""

    def on(self, graph: str, known: Rows) -> list[Axes]:
        """The searches to run on a graph, each at one setting; OURS at its defaults first."""
        here = known.of(graph=graph) if graph in known.graphs else None
        ranked = ranking(known if here is None else here)
        unranked = [one.name for one in searches() if one.name not in ranked]
        ranked = [name for name in ranked if name != OURS]
        settings = []
        if self.group != "rest":
            settings += [defaults(OURS), best(OURS, here), *(best(name, None) for name in unranked)]
            settings += [*self.also, *(best(name, here) for name in ranked[: self.top])]
        if self.group != "first":
            quick = [name for name in ranked[self.top :] if here is None or self._is_quick(name, here)]
            settings += [best(name, here) for name in quick]
        return settings

    def _is_quick(self, name: str, here: Rows) -> bool:
        return here.best_each[name] <= self.slowest_ms


def defaults(name: str) -> Axes:
    return Axes([find(name)], [None], [None])


def best(name: str, here: Rows | None) -> Axes:
    """A search at the best setting in rows of a graph; by its rules without them."""
    return Axes([find(name)], [None], [None], preset="auto") if here is None else fastest(find(name), here)


def ranking(rows: Rows) -> list[str]:
    """The searches in rows, the fastest first: by the geometric mean over the graphs."""
    times: dict[str, list[float]] = {}
    for graph in rows.graphs:
        for name, ms in rows.of(graph=graph).best_each.items():
            times.setdefault(name, []).append(ms)
    return sorted(times, key=lambda name: geometric_mean(times[name]))


def setting(words: str) -> Axes:
    """A search and values of its knobs, as in `resident_parts LEVELS=20`."""
    name, *knobs = words.split()
    return Axes([find(name)], [None], [None], {knob: [value] for knob, value in map(split_knob, knobs)})


def split_knob(word: str) -> tuple[str, str]:
    knob, _, value = word.partition("=")
    return knob, value


def by_numbers(axes: Axes, graph: str) -> Axes:
    """The setting with the values that its rules give on a graph."""
    variant = axes.variants[0]
    values = variant.preset(axes.preset, load(graph).statistics)
    return Axes(
        [variant],
        axes.grids,
        axes.blocks,
        {name: [str(value)] for name, value in values.items()} | {**axes.knobs},
    )


def compile_all(settings: Sequence[Axes], jobs: int, timeout: float) -> None:
    """Run each setting once on a tiny graph, several at a time, so that compiling disturbs no measurement."""
    source = SourceChoice.of(find_family("bfs"), None, 1, 0)
    name = resolve(TINY).full_name
    different = list({str(axes): axes for axes in settings}.values())
    parts = [Part([name], axes, source) for axes in different]
    method = Method(Sampling.of(1), timeout)

    def run(share: list[Part]) -> None:
        sweep(Request(Crossing(share), method))

    shares = [share for i in range(jobs) if (share := parts[i::jobs])]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, shares))


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("graphs", nargs=-1, required=True)
@click.option("--known", multiple=True, required=True, type=click.Path(path_type=Path))
@click.option("--searches", "group", default="all", type=click.Choice([*GROUPS, "none"]))
@click.option("--entries", default="", help="Entries, separated by commas; none by default.")
@click.option("--host", default="", help="Other programs of the CPU, separated by commas.")
@click.option("--sources", default=8)
@click.option("--repeats", default=4)
@click.option("--top", default=3, help="How many of the papers' searches are in the first group.")
@click.option("--slowest", default=100.0, help="Most ms of a search in the rows of --known.")
@click.option("--also", multiple=True, help="A further setting, such as 'resident_parts LEVELS=20'.")
@click.option(
    "--skip", type=(str, str), multiple=True, help="A program and a graph that it takes too long on."
)
@click.option("--timeout", default=60.0, help="Seconds per point.")
@click.option("--jobs", default=0, help="Compile all settings first, so many at a time.")
@click.option("--only-compile", is_flag=True, help="Measure nothing.")
@click.option("--backend", default="auto")
def main(
    out: Path,
    graphs: tuple[str, ...],
    known: tuple[Path, ...],
    group: str,
    entries: str,
    host: str,
    sources: int,
    repeats: int,
    top: int,
    slowest: float,
    also: tuple[str, ...],
    skip: tuple[tuple[str, str], ...],
    timeout: float,
    jobs: int,
    only_compile: bool,
    backend: str,
) -> None:
    from bfsbench.bench.results import read_results

    names = [resolve(text).full_name for text in graphs]
    settings: dict[str, list[Axes]] = {name: [] for name in names}
    if group != "none":
        rows = Rows(read_results([*known]), "the known rows").of(backend="cuda")
        choice = Choice(group, top, slowest, [setting(words) for words in also])
        settings = {name: choice.on(name, rows) for name in names}
    if jobs:
        compile_all([by_numbers(axes, name) for name in names for axes in settings[name]], jobs, timeout)
        click.echo("compiled")
    if only_compile:
        return
    programs = [defaults(name) for name in f"{entries},{host}".split(",") if name]
    skipped = {(program, resolve(text).full_name) for program, text in skip}
    parts = [
        Part([name], one, SourceChoice.of(find_family("bfs"), None, sources, 0))
        for name in names
        for one in [*settings[name], *programs]
        if (one.variants[0].name, name) not in skipped
    ]
    method = Method(Sampling.of(repeats), timeout, order=Order.of("interleaved"))
    sweep(Request(Crossing(parts), method, out, resume=out.exists(), backend=backend), Lines())


if __name__ == "__main__":
    main()
