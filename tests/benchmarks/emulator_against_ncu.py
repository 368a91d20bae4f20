"""Compares the emulator's counters with those of Nsight Compute on a GPU, kernel by kernel.

    python -m tests.benchmarks.emulator_against_ncu NCU.csv SEARCHES.csv [--variant NAME]... [--out TABLE.csv]

NCU.csv has a row with ncu's metrics for each launch, in order. SEARCHES.csv has the number, graph, source,
variant, block and knobs of each search. A launch of ``count_launch`` precedes each search, and the number of
its blocks is the number of the search. Every search is run again on the emulator. A search of several kernels
has one more row for all kernels together.

How often a kernel polls depends on time. A poll is a request for one sector. So ``load_beyond``, the sectors
of loads beyond one for each request, does not depend on polls. For kernels that poll, it replaces requests
and sectors.
"""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import click
import pandas as pd

from bfsbench.graphs.load import load
from bfsbench.rows.counters import Counters
from bfsbench.rows.point import Point, knob_values
from bfsbench.tools.explain import count
from bfsbench.variants import find

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_SHARED = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
MARKER = "count_launch"


def measured(path: Path) -> dict[tuple[str, str, str], Counter[str]]:
    """Returns ncu's sums by graph number, search number and kernel."""
    found: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
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


OPERATIONS = {"load": ("ld",), "store": ("st",), "atomic": ("atom", "red")}


def of_ncu(sums: Counter[str]) -> dict[str, float]:
    """Returns the emulator's counters as ncu has measured them."""
    found = {"launches": sums["launches"]}
    for kind, what in product(OPERATIONS, ("requests", "sectors")):
        found[f"{kind}_{what}"] = sum(sums[_GLOBAL.format(what, name)] for name in OPERATIONS[kind])
    found["conflicts"] = sum(sums[_SHARED.format(name)] for name in ("ld", "st", "atom"))
    return found


def of_emulator(lines: pd.DataFrame, launches: pd.DataFrame) -> dict[str, float]:
    """Returns the emulator's counters of one kernel, or of all kernels of a search."""
    found: dict[str, float] = {"launches": launches["launch"].nunique()}
    for kind in OPERATIONS:
        of_kind = lines[(lines["memory"] == "global") & (lines["kind"] == kind)]
        found[f"{kind}_requests"] = of_kind["executions"].sum()
        found[f"{kind}_sectors"] = of_kind["sectors"].sum()
    found["conflicts"] = lines["conflicts"].sum()
    return found


def with_sums(found: dict[str, float], polls: bool) -> dict[str, float]:
    """Returns counters and their sums over the kinds of access, without those that depend on polls."""
    more = {what: sum(found[f"{kind}_{what}"] for kind in OPERATIONS) for what in ("requests", "sectors")}
    more["load_beyond"] = found["load_sectors"] - found["load_requests"]
    timed = ("load_requests", "load_sectors", "requests", "sectors")
    return {name: value for name, value in (found | more).items() if not polls or name not in timed}


def compared(ncu: Path, searches: Path, variants: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """Yields a row for each kernel and counter that both have, and for all kernels of a search."""
    sums = measured(ncu)
    known = {kernel for _, _, kernel in sums}  # not those that were launched before ncu looked
    for search in csv.DictReader(searches.open(newline="")):
        variant = find(search["variant"])
        if variants and variant.name not in variants:
            continue
        counted = counters(search)
        lines = counted.lines[counted.lines["kernel"].isin(known)]
        launches = counted.launches[counted.launches["kernel"].isin(known)]
        numbers = search["graph_number"], search["search"]
        of_search = {kernel: one for (*key, kernel), one in sums.items() if (*key,) == numbers}
        kernels = [name for name in lines["kernel"].unique() if name in of_search]
        parts = [(name, lines[lines["kernel"] == name], of_search[name]) for name in kernels]
        if len(of_search.keys() | set(lines["kernel"])) > 1:
            parts.append(("all", lines, sum(of_search.values(), Counter())))
        for name, of_kernel, on_gpu in parts:
            launched = launches if name == "all" else launches[launches["kernel"] == name]
            polls = of_kernel["polls"].sum() > 0
            expected = with_sums(of_ncu(on_gpu), polls)
            for counter, value in with_sums(of_emulator(of_kernel, launched), polls).items():
                ncu_s = expected[counter]
                yield {
                    **{"graph": search["graph"], "source": search["source"], "variant": variant.name},
                    **{"block": counted.point.block, "kernel": name, "counter": counter},
                    **{"emulator": int(value), "ncu": int(ncu_s)},
                    "ratio": round(value / ncu_s, 4) if ncu_s else 1.0 if value == 0 else float("inf"),
                }


def counters(search: dict[str, str]) -> Counters:
    """Returns the emulator's counters of a row of SEARCHES.csv."""
    variant = find(search["variant"])
    knobs = tuple(variant.knob_values(knob_values(search["knobs"])).items())
    block = variant.own_block(dict(knobs)) or int(search["block"])
    point = Point(search["graph"], int(search["source"]), variant.name, "cpu", None, block, knobs)
    return count(point, load(search["graph"]))


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
