"""Measures the settings of a result file again, in turns, with equal sources for all of them.

    python tests/benchmarks/settings_again.py FILE.csv --out NEW.csv [--graph GRAPH...] [--sources 8]

For each graph the points are the defaults of each search, its values by the rules (``--knobs auto``), and all
settings that FILE has for this graph. By default, the searches are the searches that FILE has for this graph.
Programs of other authors that are not installed as entries are left out and named. All points of a graph take
turns. A graph that FILE does not have gets only the defaults and the rules.

    python tests/benchmarks/settings_again.py results/h200/comparison.csv --out results/again.csv

repeats the comparison in README. ``--build I/N`` only fills the cache of compiled kernels: it runs every Nth
setting once on a small graph. N processes fill the cache together.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bfsbench.bench.options import Method
from bfsbench.bench.plan import Axes, Batch, Questions, Setting, SourceChoice, chosen_variants, plan
from bfsbench.bench.sweep import SweepRequest, sweep
from bfsbench.graphs.load import GraphName, resolve
from bfsbench.programs import Variant
from bfsbench.rows.point import Point, knob_values
from bfsbench.rows.results import read_rows
from bfsbench.variants import find

SMALL = "lattice(rows=40,columns=40,seed=1)"
Row = Mapping[str, str]


@dataclass(frozen=True)
class Again:
    """A sweep of one graph with the settings of rows, the defaults and the rules, from equal sources."""

    graph: GraphName
    variants: Sequence[type[Variant]]
    rows: Sequence[Row]
    sources: int
    share: tuple[int, int] = (0, 1)

    @property
    def graphs(self) -> list[GraphName]:
        return [self.graph]

    def check(self, limits: object) -> None:
        """Check nothing, because the settings of rows were checked when they were measured."""

    def ask(self, setting: Setting) -> Questions:
        name, backend = self.graph.locator, setting.backend
        graph = setting.graphs[name]
        sources = SourceChoice((), self.sources, seed=0).choose(graph)
        points: list[Point] = []
        for preset in ("default", "auto"):
            axes = Axes(self.variants, [None], [None], preset=preset)
            points += plan(axes, {name: sources}, {name: graph.statistics}, backend)
        for row in self.rows:
            variant = find(row["variant"])
            grid = int(row["grid"]) if row["grid"].isdigit() else None
            block = int(row["block"]) if row["block"] else None
            knobs = tuple(variant.knob_values(knob_values(row["knobs"])).items())
            where = "host" if variant.host else backend
            points += [Point(name, source, variant.name, where, grid, block, knobs) for source in sources]
        part, parts = self.share
        chosen = list(dict.fromkeys(points))[part::parts]
        return Questions(len(chosen), iter([Batch(chosen)]))


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path))
@click.option("--graph", "names", multiple=True, help="By default the graphs of FILE.")
@click.option("--variant", "searches", help="By default the searches of FILE on the graph.")
@click.option("--sources", default=8)
@click.option("--order", default="interleaved")
@click.option("--seconds", default=1e9, help="Begin no graph after this time.")
@click.option("--build", default="", help="I/N: only compile, see above.")
def main(
    file: Path,
    out: Path | None,
    names: tuple[str, ...],
    searches: str | None,
    sources: int,
    order: str,
    seconds: float,
    build: str,
) -> None:
    """Measure the settings of FILE again."""
    begun = time.monotonic()
    rows = read_rows(file)
    variants = chosen_variants(searches.split(",") if searches else ["all"], "bfs")
    known = {variant.name: variant for variant in variants}
    gone = {row["variant"] for row in rows} - known.keys()
    if gone and not searches:
        print("not installed, and left out:", ", ".join(sorted(gone)))
    rows = [row for row in rows if row["variant"] in known]
    method = Method(order=order, resume=out is not None, timeout=120.0)
    if build:
        part, parts = (int(number) for number in build.split("/"))
        small = Again(resolve(SMALL), variants, _of_kernels(rows), 1, (part, parts))
        print(sweep(SweepRequest(small, Method(repeats=1))).statuses)
        return
    for name in names or list(dict.fromkeys(row["graph"] for row in rows)):
        if time.monotonic() - begun > seconds:
            print("out of time before", name)
            break
        of_graph = [row for row in rows if row["graph"] == name]
        of_file = list(dict.fromkeys(known[row["variant"]] for row in of_graph))
        before = time.monotonic()
        work = Again(
            resolve(name), variants if searches else of_file or variants, _of_kernels(of_graph), sources
        )
        done = sweep(SweepRequest(work, method, out))
        print(name, dict(done.statuses), f"{time.monotonic() - before:.0f} s", flush=True)


def _of_kernels(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of kernels. Programs of the host have no settings besides their defaults."""
    return [row for row in rows if row["backend"] != "host"]


if __name__ == "__main__":
    main()
