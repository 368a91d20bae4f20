"""What the emulator counts, held against Nsight Compute on a GPU, kernel by kernel.

    python tests/benchmarks/emulator_against_ncu.py NCU.csv SEARCHES.csv [--out TABLE.csv]

NCU.csv has a row for each launch with ncu's metrics, in order; SEARCHES.csv says of each search, by its
number, graph, source, variant, block and knobs. A launch of ``count_launch`` with as many blocks as the
number of the search comes before each of them. Every search is run again on the emulator.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pandas as pd

from bfsbench.bench.point import Point, knob_values
from bfsbench.explain import count
from bfsbench.graphs.load import load
from bfsbench.variants import find

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_SHARED = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
MARKER = "count_launch"


def measured(path: Path) -> dict[tuple[str, str, str], dict[str, float]]:
    """ncu's sums by graph number, search number and kernel."""
    found: dict[tuple[str, str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    search = ""
    for row in csv.DictReader(path.open(newline="")):
        if row["Kernel Name"] == MARKER:
            search = row["Grid Size"].strip("()").split(",")[0]
            continue
        sums = found[row["graph"], search, row["Kernel Name"]]
        sums["launches"] += 1
        for name, value in row.items():
            if name.endswith(".sum") and value:
                sums[name] += float(value.replace(",", ""))
    return found


def of_ncu(sums: dict[str, float]) -> dict[str, float]:
    """The emulator's counters as ncu has them."""
    operations = {"load": ("ld",), "store": ("st",), "atomic": ("atom", "red")}
    found = {"launches": sums["launches"]}
    for kind, names in operations.items():
        for what in ("requests", "sectors"):
            found[f"{kind}_{what}"] = sum(sums[_GLOBAL.format(what, name)] for name in names)
    found["requests"] = sum(found[f"{kind}_requests"] for kind in operations)
    found["sectors"] = sum(found[f"{kind}_sectors"] for kind in operations)
    found["conflicts"] = sum(sums[_SHARED.format(name)] for name in ("ld", "st", "atom"))
    return found


def of_emulator(lines: pd.DataFrame, launches: pd.DataFrame) -> dict[str, float]:
    """The same of one kernel's counters."""
    on_global = lines[lines["memory"] == "global"]
    found: dict[str, float] = {"launches": launches["launch"].nunique()}
    for kind in ("load", "store", "atomic"):
        of_kind = on_global[on_global["kind"] == kind]
        found[f"{kind}_requests"] = of_kind["executions"].sum()
        found[f"{kind}_sectors"] = of_kind["sectors"].sum()
    found["requests"] = on_global["executions"].sum()
    found["sectors"] = on_global["sectors"].sum()
    found["conflicts"] = lines["conflicts"].sum()
    return found


def compared(ncu: Path, searches: Path) -> Iterator[dict[str, object]]:
    """A row for each kernel and counter that both have."""
    sums = measured(ncu)
    for search in csv.DictReader(searches.open(newline="")):
        graph = load(search["graph"])
        variant = find(search["variant"])
        knobs = tuple(variant.knob_values(knob_values(search["knobs"])).items())
        block = variant.own_block(dict(knobs)) or int(search["block"])
        counted = count(
            Point(search["graph"], int(search["source"]), variant.name, "cpu", None, block, knobs), graph
        )
        for kernel, lines in counted.lines.groupby("kernel"):
            on_gpu = sums.get((search["graph_number"], search["search"], str(kernel)))
            if on_gpu is None:
                continue
            expected = of_ncu(on_gpu)
            found = of_emulator(lines, counted.launches[counted.launches["kernel"] == kernel])
            for name, value in found.items():
                ratio = value / expected[name] if expected[name] else 1.0 if value == 0 else float("inf")
                yield {
                    "graph": search["graph"],
                    "source": search["source"],
                    "variant": variant.name,
                    "block": block,
                    "kernel": kernel,
                    "counter": name,
                    "emulator": int(value),
                    "ncu": int(expected[name]),
                    "ratio": round(ratio, 4),
                }


@click.command()
@click.argument("ncu", type=click.Path(exists=True, path_type=Path))
@click.argument("searches", type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Write the table to this file.")
def main(ncu: Path, searches: Path, out: Path | None) -> None:
    """Print, or write, emulator against ncu."""
    frame = pd.DataFrame(compared(ncu, searches))
    if out:
        frame.to_csv(out, index=False, lineterminator="\n")
    click.echo(frame.to_string(index=False))


if __name__ == "__main__":
    main()
