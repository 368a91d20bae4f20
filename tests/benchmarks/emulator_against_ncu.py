"""What the emulator counts, held against Nsight Compute on a GPU, kernel by kernel.

    python tests/benchmarks/emulator_against_ncu.py NCU.csv SEARCHES.csv [--variant NAME]... [--out TABLE.csv]

NCU.csv has a row for each launch with ncu's metrics, in order; SEARCHES.csv says of each search, by its
number, graph, source, variant, block and knobs. A launch of ``count_launch`` with as many blocks as the
number of the search comes before each of them. Every search is run again on the emulator. A search of several
kernels has a row for all of them, too.

How often a kernel polls depends on time. A poll is a request for one sector, so ``load_beyond``, the sectors
of loads beyond one for each request, is free of polls; of kernels that poll it is compared in place of
requests and sectors.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pandas as pd

from bfsbench.graphs.load import load
from bfsbench.rows.counters import Counters
from bfsbench.rows.point import Point, knob_values
from bfsbench.tools.explain.counters import count
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
    found["load_beyond"] = found["load_sectors"] - found["load_requests"]
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
    found["load_beyond"] = found["load_sectors"] - found["load_requests"]
    found["conflicts"] = lines["conflicts"].sum()
    return found


def compared(ncu: Path, searches: Path, variants: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """A row for each kernel and counter that both have, and for all kernels of a search."""
    sums = measured(ncu)
    known = {kernel for _, _, kernel in sums}  # not those that were launched before ncu looked
    for search in csv.DictReader(searches.open(newline="")):
        variant = find(search["variant"])
        if variants and variant.name not in variants:
            continue
        counted = counters(search)
        lines = counted.lines[counted.lines["kernel"].isin(known)]
        launches = counted.launches[counted.launches["kernel"].isin(known)]
        of_search = {
            key[2]: one for key, one in sums.items() if key[:2] == (search["graph_number"], search["search"])
        }
        kernels = [name for name in lines["kernel"].unique() if name in of_search]
        parts = [(name, lines[lines["kernel"] == name], of_search[name]) for name in kernels]
        if len(of_search.keys() | set(lines["kernel"])) > 1:
            parts.append(("all", lines, added(of_search.values())))
        for name, of_kernel, on_gpu in parts:
            launched = launches if name == "all" else launches[launches["kernel"] == name]
            polls = of_kernel["polls"].sum() > 0
            for counter, value, expected in pairs(of_emulator(of_kernel, launched), of_ncu(on_gpu), polls):
                yield {
                    "graph": search["graph"],
                    "source": search["source"],
                    "variant": variant.name,
                    "block": counted.point.block,
                    "kernel": name,
                    "counter": counter,
                    "emulator": int(value),
                    "ncu": int(expected),
                    "ratio": round(value / expected, 4) if expected else 1.0 if value == 0 else float("inf"),
                }


def counters(search: dict[str, str]) -> Counters:
    """The emulator's counters of a row of SEARCHES.csv."""
    variant = find(search["variant"])
    knobs = tuple(variant.knob_values(knob_values(search["knobs"])).items())
    block = variant.own_block(dict(knobs)) or int(search["block"])
    point = Point(search["graph"], int(search["source"]), variant.name, "cpu", None, block, knobs)
    return count(point, load(search["graph"]))


def added(sums: Iterable[dict[str, float]]) -> dict[str, float]:
    """The sums of several kernels."""
    found: dict[str, float] = defaultdict(float)
    for one in sums:
        for name, value in one.items():
            found[name] += value
    return found


def pairs(
    found: dict[str, float], expected: dict[str, float], polls: bool
) -> Iterator[tuple[str, float, float]]:
    """Counters of both sides."""
    timed = ("load_requests", "load_sectors", "requests", "sectors")
    for name, value in found.items():
        if not polls or name not in timed:
            yield name, value, expected[name]


@click.command()
@click.argument("ncu", type=click.Path(exists=True, path_type=Path))
@click.argument("searches", type=click.Path(exists=True, path_type=Path))
@click.option("--variant", "variants", multiple=True, help="Only this variant.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the table to this file.")
def main(ncu: Path, searches: Path, variants: tuple[str, ...], out: Path | None) -> None:
    """Print, or write, emulator against ncu."""
    frame = pd.DataFrame(compared(ncu, searches, variants))
    if out:
        frame.to_csv(out, index=False, lineterminator="\n")
    click.echo(frame.to_string(index=False))


if __name__ == "__main__":
    main()
