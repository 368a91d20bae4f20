"""Every search at its defaults, with its rules and at the best setting of a tuning, from the same sources.

    python tests/benchmarks/best_of_tuned.py TUNED.csv OUT.csv [--sources 4] GRAPH...

TUNED.csv is from `bfsbench tune --variant all --method axes`. Programs of the CPU run at their defaults.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import click

from bfsbench.bench.plan import Axes, Crossing, Part
from bfsbench.bench.point import knob_values
from bfsbench.bench.runner import Measured, Method
from bfsbench.bench.sampling import Sampling
from bfsbench.bench.sources import SourceChoice
from bfsbench.bench.sweep import Request, SweepProgress, sweep
from bfsbench.errors import UsageError
from bfsbench.graphs.load import Progress, resolve
from bfsbench.programs import Knob
from bfsbench.texts import Rows
from bfsbench.variants import all_variants, find_family
from bfsbench.variants.base import Variant


class Lines(SweepProgress):
    """A line for each graph and for each point without a time."""

    def loading(self, name: str) -> AbstractContextManager[Progress | None]:
        click.echo(name)
        return super().loading(name)

    def done(self, measured: Measured) -> None:
        row = measured.row
        if row["status"] != "ok":
            click.echo(f"{row['graph']} {row['variant']} {row['knobs']}: {row['status']}: {row['reason']}")


def settings(variant: type[Variant], tuned: Rows) -> list[Axes]:
    """The defaults, the rules, and the setting that was fastest."""
    usual = Axes([variant], [None], [None])
    if variant.host:
        return [usual]
    return [usual, Axes([variant], [None], [None], preset="auto"), fastest(variant, tuned)]


def fastest(variant: type[Variant], rows: Rows) -> Axes:
    """The setting of a search that was fastest in rows of one graph."""
    best = rows.of(variant=variant.name).best
    values = knob_values(best["knobs"])
    knobs = {knob.name: [values[knob.name]] for knob in variant.knobs if takes(knob, values.get(knob.name))}
    return Axes([variant], [None], [int(best["block"])], knobs)


def takes(knob: Knob, value: str | None) -> bool:
    """Whether a knob still has a value; rows may be of code that had others."""
    try:
        return value is not None and knob.check(value) is not None
    except UsageError:
        return False


@click.command()
@click.argument("tuned", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("graphs", nargs=-1, required=True)
@click.option("--sources", default=4)
@click.option("--timeout", default=20.0, help="Seconds per point.")
@click.option("--only", default="", help="Searches, separated by commas; by default all.")
def main(tuned: Path, out: Path, graphs: tuple[str, ...], sources: int, timeout: float, only: str) -> None:
    from bfsbench.bench.results import read_results

    rows = Rows(read_results([tuned]), str(tuned))
    searches = [variant for variant in all_variants().values() if variant.family == "bfs"]
    chosen = [variant for variant in searches if not only or variant.name in only.split(",")]
    choice = SourceChoice.of(find_family("bfs"), None, sources, 0)
    for text in graphs:
        name = resolve(text).full_name
        here = rows.of(graph=name)
        parts = [Part([name], axes, choice) for variant in chosen for axes in settings(variant, here)]
        method = Method(Sampling.of(5), timeout)
        sweep(Request(Crossing(parts), method, out, resume=out.exists()), Lines())


if __name__ == "__main__":
    main()
