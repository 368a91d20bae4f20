"""Compares predicted times with measured times, on each graph of a result file that is small enough.

    python -m tests.benchmarks.predictions ROWS.csv CEILINGS.csv [--most-steps N] [--out TABLE.csv]

For each graph, variant and source, the script takes the row of ROWS.csv with a block of 256 threads, or else
the first row. It runs the search on the emulator, predicts its time from the counters, and writes both times
to the table. It leaves out searches for which (vertices + edges) times levels is more than N.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import click
import pandas as pd

from bfsbench.graphs.load import load
from bfsbench.reports.predictions import baseline, trust
from bfsbench.rows import provenance
from bfsbench.rows.ceilings import Ceilings, read_ceilings
from bfsbench.rows.point import Point, knob_values
from bfsbench.rows.provenance import code_of
from bfsbench.rows.results import read_rows
from bfsbench.support.errors import BfsbenchError
from bfsbench.tools.explain import count, predict
from bfsbench.variants import find

USUAL_BLOCK = "256"
COLUMNS = (
    *("graph", "source", "variant", "block", "knobs", "measured_ms", "predicted_ms", "ratio", "bound"),
    *("launches_ms", "latency_ms", "throughput_ms", "contention_ms", "banks_ms"),
    *("commit", "code", "measured_commit", "measured_code"),
)
"""``commit`` and ``code``, the hash of kernels and host code, are of the search that was counted;
``measured_commit`` and ``measured_code`` are of the row that was measured."""


def chosen(path: Path, most: float) -> list[dict[str, str]]:
    """Returns rows of kernels with a time, one per graph, source and variant, with small graphs first."""
    rows = [row for row in read_rows(path) if row["status"] == "ok" and row["backend"] == "cuda"]
    rows.sort(key=lambda row: row["block"] != USUAL_BLOCK)
    first: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        first.setdefault((row["graph"], row["source"], row["variant"]), row)
    return sorted((row for row in first.values() if steps(row) <= most), key=steps)


def steps(row: dict[str, str]) -> float:
    """Returns about how many accesses a search makes if it reads the whole graph in every level."""
    return (int(row["num_vertices"]) + int(row["num_edges"])) * (int(row["depth"]) + 1)


def predicted(row: dict[str, str], ceilings: Ceilings) -> dict[str, object]:
    """Returns a line of the table. Raises BfsbenchError for a search that the emulator cannot run."""
    variant = find(row["variant"])
    knobs = tuple(variant.knob_values(knob_values(row["knobs"])).items())
    point = Point(row["graph"], int(row["source"]), variant.name, "cpu", None, int(row["block"]), knobs)
    found = predict(count(point, load(row["graph"])), ceilings)
    measured = float(row["search_ms"])
    names = ("launches_ms", "latency_ms", "throughput_ms", "contention_ms", "banks_ms")
    return {
        **{name: row[name] for name in ("graph", "source", "variant", "block", "knobs")},
        "measured_ms": measured,
        "predicted_ms": round(found.search_ms, 4),
        "ratio": round(found.search_ms / measured, 3),
        "bound": found.bound,
        **{name: round(getattr(found, name), 4) for name in names},
        **{"commit": provenance.commit(), "code": code_of(point)},
        **{"measured_commit": row["commit"], "measured_code": row["code"]},
    }


def quality(table: pd.DataFrame) -> Iterator[str]:
    """Yields lines about the quality of the predictions, and of predictions by each variant's mean."""
    for name, found in (("predictions", trust(table)), ("the variant's mean", baseline(table))):
        yield (
            f"{name}: {found.searches} searches, rank correlation {found.rank:.3f}, "
            f"bias {found.bias:.2f}, median factor {found.factor:.2f}"
        )
        for graph, rank in found.rank_by_graph.items():
            factor = found.factor_by_graph[graph]
            yield f"  {graph}: rank correlation {rank:.3f}, median factor without bias {factor:.2f}"


@click.command()
@click.argument("rows", type=click.Path(exists=True, path_type=Path))
@click.argument("ceilings", type=click.Path(exists=True, path_type=Path))
@click.option("--most-steps", default=1e7, show_default=True, help="Searches of more are left out.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Table to write, line by line.")
def main(rows: Path, ceilings: Path, most_steps: float, out: Path) -> None:
    """Predict the searches of ROWS, write the table and say how good the predictions are."""
    device = read_ceilings(ceilings)
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in chosen(rows, most_steps):
            try:
                writer.writerow(predicted(row, device))
            except BfsbenchError as error:
                click.echo(f"{row['graph']} {row['variant']}: {error}", err=True)
            file.flush()
    click.echo("\n".join(quality(pd.read_csv(out))))


if __name__ == "__main__":
    main()
