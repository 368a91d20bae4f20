"""Programs of others beside the searches of this package at their best known settings, in turns.

    python tests/benchmarks/beside_entries.py OUT.csv --known results/h200/best.csv GRAPH...

A search runs at the setting that was fastest on the graph in the rows of ``--known``; `adaptive` at its
defaults as well. Searches that these rows show to be slower than ``--within`` times the fastest of the
papers' are left out. Where there are no rows of a graph, searches run by their rules. A graph is measured as
a whole, and none is begun after ``--seconds``, so that each graph in OUT.csv is complete.
"""

from __future__ import annotations

import time
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


def chosen(here: Rows | None, within: float) -> list[Axes]:
    """The searches to run on a graph, each at one setting, and OURS at its defaults first."""
    defaults = Axes([find(OURS)], [None], [None])
    if here is None:
        return [defaults, *(Axes([one], [None], [None], preset="auto") for one in searches())]
    best = here.best_each
    papers = min(ms for name, ms in best.items() if name != OURS)
    wanted = [
        one for one in searches() if one.name == OURS or best.get(one.name, float("inf")) <= within * papers
    ]
    return [defaults, *(fastest(one, here) for one in wanted)]


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
@click.option("--within", default=4.0)
@click.option("--timeout", default=60.0, help="Seconds per point.")
@click.option("--seconds", default=float("inf"), help="Seconds after which no graph is begun.")
@click.option("--jobs", default=0, help="Compile all settings first, so many at a time.")
@click.option("--backend", default="auto")
def main(
    out: Path,
    graphs: tuple[str, ...],
    known: tuple[Path, ...],
    entries: str,
    host: str,
    sources: int,
    repeats: int,
    within: float,
    timeout: float,
    seconds: float,
    jobs: int,
    backend: str,
) -> None:
    from bfsbench.bench.results import read_results

    ends = time.monotonic() + seconds
    rows = Rows(read_results([*known]), "the known rows")
    programs = [find(name) for name in f"{entries},{host}".split(",") if name]
    names = [resolve(text).full_name for text in graphs]
    settings = {name: chosen(known_on(rows, name), within) for name in names}
    if jobs:
        compile_all([axes for of_graph in settings.values() for axes in of_graph], jobs, timeout)
        click.echo(f"compiled; {ends - time.monotonic():.0f} s left")
    choice = SourceChoice.of(find_family("bfs"), None, sources, 0)
    method = Method(Sampling.of(repeats), timeout, order=Order.of("interleaved"))
    for name in names:
        if time.monotonic() > ends:
            click.echo(f"{name}: left out, the time is used up")
            continue
        axes = [Axes([program], [None], [None]) for program in programs]
        parts = [Part([name], one, choice) for one in [*settings[name], *axes]]
        sweep(Request(Crossing(parts), method, out, resume=out.exists(), backend=backend), Lines())
        click.echo(f"{name}: {ends - time.monotonic():.0f} s left")


if __name__ == "__main__":
    main()
