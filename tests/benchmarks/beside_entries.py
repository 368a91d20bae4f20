"""Programs of others beside the searches of this package at their best known settings, in turns.

    python tests/benchmarks/beside_entries.py OUT.csv --known results/h200/best.csv GRAPH...

A search runs at the setting that was fastest on the graph in the rows of ``--known``; `adaptive` at its
defaults as well. Of the papers' searches these are the ``--top`` fastest by these rows. Where there are no
rows of a graph, all run by their rules. Rows are written when all of a graph are there, so after an interrupt
each graph in OUT.csv is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from bfsbench.bench.plan import Axes, Crossing, Part
from bfsbench.bench.runner import Method, Order
from bfsbench.bench.sampling import Sampling
from bfsbench.bench.sources import SourceChoice
from bfsbench.bench.sweep import Request, sweep
from bfsbench.entries.find import entries_among
from bfsbench.graphs.load import resolve
from bfsbench.texts import Rows
from bfsbench.variants import all_variants, find, find_family
from bfsbench.variants.base import Variant
from tests.benchmarks.best_of_tuned import Lines, fastest

OURS = "adaptive"
TINY = "pmpp-example"


def searches() -> list[type[Variant]]:
    """The searches of this package that run on a GPU."""
    variants = all_variants()
    found = [one for one in variants.values() if one.family == "bfs" and not one.host]
    return [one for one in found if one.name not in entries_among(variants)]


def chosen(here: Rows | None, top: int) -> list[Axes]:
    """The searches to run on a graph, each at one setting, and OURS at its defaults first."""
    defaults = Axes([find(OURS)], [None], [None])
    if here is None:
        return [defaults, *(Axes([one], [None], [None], preset="auto") for one in searches())]
    ranked = [name for name in here.best_each if name != OURS]
    return [defaults, *(fastest(find(name), here) for name in [OURS, *ranked[:top]])]


def known_on(known: Rows, graph: str) -> Rows | None:
    """The rows of kernels on a graph; None if there are none."""
    return known.of(graph=graph, backend="cuda") if graph in known.graphs else None


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
@click.option("--entries", default="", help="Entries, separated by commas; none by default.")
@click.option("--host", default="", help="Other programs of the CPU, separated by commas.")
@click.option("--sources", default=8)
@click.option("--repeats", default=4)
@click.option("--top", default=3, help="How many of the papers' searches on a graph.")
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
    entries: str,
    host: str,
    sources: int,
    repeats: int,
    top: int,
    skip: tuple[tuple[str, str], ...],
    timeout: float,
    jobs: int,
    only_compile: bool,
    backend: str,
) -> None:
    from bfsbench.bench.results import read_results

    rows = Rows(read_results([*known]), "the known rows")
    programs = [Axes([find(name)], [None], [None]) for name in f"{entries},{host}".split(",") if name]
    names = [resolve(text).full_name for text in graphs]
    settings = {name: chosen(known_on(rows, name), top) for name in names}
    if jobs:
        compile_all([axes for of_graph in settings.values() for axes in of_graph], jobs, timeout)
        click.echo("compiled")
    if only_compile:
        return
    choice = SourceChoice.of(find_family("bfs"), None, sources, 0)
    skipped = {(program, resolve(text).full_name) for program, text in skip}
    parts = [
        Part([name], one, choice)
        for name in names
        for one in [*settings[name], *programs]
        if (one.variants[0].name, name) not in skipped
    ]
    method = Method(Sampling.of(repeats), timeout, order=Order.of("interleaved"))
    sweep(Request(Crossing(parts), method, out, resume=out.exists(), backend=backend), Lines())


if __name__ == "__main__":
    main()
