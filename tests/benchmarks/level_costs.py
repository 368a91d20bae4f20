"""Compares the cost of each level of a search with an expected cost: a fixed time, and its arcs at a rate.

    python -m tests.benchmarks.level_costs measure ROWS.csv [--sources 2] [--profiles 5]
    python -m tests.benchmarks.level_costs table ROWS.csv CEILINGS.csv --out COSTS.csv

``measure`` takes level profiles of the searches in the result file ROWS.csv, from the first sources of each
graph. It writes them beside this file as `bfsbench run --profile` does. A level's time is the median of
several profiles. ``table`` writes a line for each graph. A level is expected to take FIXED_US, plus its arcs
divided by the rate of random looks at a bitmap of the graph's vertices (`random_bit_tests` in CEILINGS.csv).
The arcs are those of the frontier. For a pulled level they are the in-neighbours up to the first parent. The
time of the first level includes the beginning of the search. The last level stands apart, because its time
includes the launch and the end.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pandas as pd

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.load import kind_of_graph, load
from bfsbench.programs import DeviceGraph, KernelSetup
from bfsbench.programs.families.bfs.profile import LevelCost, level_rows, profile
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.programs.families.bfs.searches import KernelVariant
from bfsbench.reports.levels import read_levels
from bfsbench.rows.ceilings import Ceilings, read_ceilings
from bfsbench.rows.columns import PROFILE_COLUMNS as COLUMNS, profile_rows
from bfsbench.rows.point import knob_values
from bfsbench.rows.results import LEVELS_SUFFIX, ResultWriter, read_results, read_rows
from bfsbench.variants import find

Row = dict[str, str]
DEEP = 1000
"""A search with this many levels is profiled from one source, because that gives enough levels."""
KINDS = ("block", "cluster", "push", "pull")
"""Kinds of levels in the table."""
FIXED_US = 6.0
"""The part of a level's time that does not depend on its size."""
FACTOR = 3.0
"""A level counts as too expensive above this many times its expected cost."""


def chosen(path: Path, sources: int) -> dict[str, list[Row]]:
    """Returns the rows to profile by graph: the first sources of each setting, but one of a deep search."""
    found: dict[str, list[Row]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for row in read_rows(path):
        setting = tuple(row[name] for name in ("graph", "variant", "grid", "block", "knobs"))
        seen[setting] += 1
        wanted = sources if int(row["depth"] or 0) < DEEP else 1
        if row["status"] == "ok" and seen[setting] <= wanted:
            found.setdefault(row["graph"], []).append(dict(row))
    return found


def settle(profiles: list[list[LevelCost]]) -> list[LevelCost]:
    """Returns one profile of several: the median time of each level, with the kinds of a typical profile."""
    depth = statistics.mode(len(costs) for costs in profiles)
    same = [costs for costs in profiles if len(costs) == depth]
    typical = sorted(same, key=lambda costs: sum(cost.time_us for cost in costs))[len(same) // 2]
    times = [statistics.median(cost.time_us for cost in level) for level in zip(*same, strict=True)]
    return [LevelCost(at.level, at.kernel, us) for at, us in zip(typical, times, strict=True)]


def take_profiles(device: Device, path: Path, sources: int, count: int, writer: ResultWriter) -> None:
    """Append the settled profiles of the searches in a result file. Raises WrongLevelsError, DeviceError."""
    for name, rows in chosen(path, sources).items():
        graph = load(name)
        on_device = DeviceGraph(device, graph)
        for row in rows:
            variant, source = find(row["variant"]), int(row["source"])
            assert issubclass(variant, KernelVariant), f"{variant.name} has no kernels to profile"
            grid = None if row["grid"] == "auto" else int(row["grid"])
            knobs = variant.knob_values(knob_values(row["knobs"]))
            setup = KernelSetup(on_device, grid, int(row["block"]), knobs)
            levels = reference_levels(graph, source)
            costs = settle([profile(variant(setup), source, levels) for _ in range(count)])
            writer.append(*profile_rows(level_rows(variant(setup), costs, levels), row))
            click.echo(f"{name} from {source}: {len(costs)} levels")


def expected_us(levels: pd.DataFrame, num_vertices: int, ceilings: Ceilings) -> pd.Series[float]:
    """Returns the expected time of each level of a graph in us."""
    rate = ceilings.at("random_bit_tests", max(1, num_vertices // 8))
    return FIXED_US + levels["edges_inspected"] / rate / 1e3


def by_kinds(levels: pd.DataFrame) -> dict[str, object]:
    """Returns the number of levels of each kind, their median time and the sum of their times in us."""
    found: dict[str, object] = {}
    for kind in KINDS:
        times = levels["time_us"][levels["kernel"] == kind]
        found |= {f"{kind}_levels": len(times), f"{kind}_us": round(float(times.sum()), 1)}
        found[f"{kind}_median_us"] = round(float(times.median()), 2) if len(times) else ""
    return found


def lines(rows: pd.DataFrame, levels: pd.DataFrame, ceilings: Ceilings) -> Iterator[dict[str, object]]:
    """Yields the line of the table for each graph."""
    vertices = rows.drop_duplicates("graph").set_index("graph")["num_vertices"]
    for graph, of_graph in levels.groupby("graph", sort=False):
        name = str(graph)
        of_graph = of_graph.assign(
            expected=expected_us(of_graph, int(vertices[name]), ceilings),
            found=of_graph.groupby(["source", "knobs"])["frontier_size"].shift(-1, fill_value=0),
        )
        last = ~of_graph.duplicated(["source", "knobs"], keep="last")
        inner = of_graph[~last]
        inner = inner.assign(ratio=inner["time_us"] / inner["expected"])
        worst = inner.loc[inner["ratio"].idxmax()]
        yield {
            "class": kind_of_graph(name),
            "graph": name,
            "levels": len(inner),
            "above": int((inner["ratio"] > FACTOR).sum()),
            "first_above": int(((inner["ratio"] > FACTOR) & (inner["level"] == 0)).sum()),
            "worst_ratio": round(float(worst["ratio"]), 2),
            "worst_level": int(worst["level"]),
            "worst_kernel": worst["kernel"],
            "worst_vertices": int(worst["frontier_size"]),
            "worst_arcs": int(worst["edges_inspected"]),
            "worst_found": int(worst["found"]),
            "worst_us": round(float(worst["time_us"]), 2),
            "worst_expected_us": round(float(worst["expected"]), 2),
            "median_ratio": round(float(inner["ratio"].median()), 2),
            "measured_us": round(float(inner["time_us"].sum()), 1),
            "expected_us": round(float(inner["expected"].sum()), 1),
            "last_us": round(float(of_graph[last]["time_us"].median()), 2),
            **by_kinds(inner),
            "commit": worst["commit"],
        }


@click.group()
def main() -> None:
    """Costs of levels."""


@main.command()
@click.argument("rows", type=click.Path(exists=True, path_type=Path))
@click.option("--sources", default=2, show_default=True, help="Of each graph and setting.")
@click.option("--profiles", default=5, show_default=True, help="Of each search.")
@click.option("--backend", default="auto", help="cuda, cpu or auto.")
def measure(rows: Path, sources: int, profiles: int, backend: str) -> None:
    """Take level profiles of the searches in ROWS, into a file beside it."""
    beside = rows.with_name(rows.name.removesuffix(".csv") + LEVELS_SUFFIX)
    writer = ResultWriter(beside, resume=False, columns=COLUMNS)
    with closing(writer), closing(open_device(backend)) as device:
        take_profiles(device, rows, sources, profiles, writer)


@main.command()
@click.argument("rows", type=click.Path(exists=True, path_type=Path))
@click.argument("ceilings", type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Table to write.")
def table(rows: Path, ceilings: Path, out: Path) -> None:
    """Write what levels cost and should cost, a line for each graph."""
    found = list(lines(read_results([rows]), read_levels([rows]), read_ceilings(ceilings)))
    pd.DataFrame(found).to_csv(out, index=False, lineterminator="\n")
    for line in found:
        click.echo(
            f"{line['graph']}: {line['levels']} levels, {line['above']} above, worst {line['worst_ratio']}"
        )


if __name__ == "__main__":
    main()
