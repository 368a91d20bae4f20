"""Measures each regime of `adaptive` under Nsight Compute, in searches that spend nearly all time in it.

    python -m tests.benchmarks.ncu_regimes measure OUT.csv [--ncu PATH] [--regime NAME]

A search is one launch with all its levels, so the graph and the knobs choose the regime. Levels are pushed,
pulled, or run by the cluster or by one block. ncu counts the stalls of all warps. So no blocks are launched
that would only wait for the cluster or the block. Each search runs without ncu first. OUT.csv has a line for
the time of the search, for the share of each kind of level in it, and for each metric (regime, graph, source,
knobs, blocks, metric, unit, value).
"""

import csv
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.bench.plan import choose_sources
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceClock, DeviceGraph, KernelProgram
from bfsbench.programs.families.bfs.profile import profile
from bfsbench.programs.families.bfs.search import Search
from tests.benchmarks.shared import prepared

PLAIN = ":self_loops=drop:duplicates=drop:symmetrised"
BLOCK = 1024
REPEATS = 5
SECTIONS = (
    *("SpeedOfLight", "MemoryWorkloadAnalysis", "SchedulerStats", "WarpStateStats"),
    *("Occupancy", "LaunchStats", "InstructionStats"),
)
OPTIONS = (
    *("--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off"),
    *("--clock-control", "none", "--cache-control", "none", "--target-processes", "application-only"),
)
OF_MACHINE = ("device__", "nvlink__", "numa__", "c2clink__", "profiler__", "pcie__")
NUMBER = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?|nan|inf")
COLUMNS = ("regime", "graph", "source", "knobs", "blocks", "metric", "unit", "value")


@dataclass(frozen=True)
class Regime:
    """A graph, and the setting that brings nearly all levels into one regime."""

    graph: str
    knobs: Mapping[str, int]
    grid: int | None = None


REGIMES: Mapping[str, Regime] = {
    "block": Regime("luxembourg_osm", {"CLUSTER_SIZE": 1, "TINY_PARTS": 512}, grid=1),
    "cluster": Regime("USA-road-d.FLA", {"CLUSTER_SIZE": 16, "TINY_PARTS": 0}, grid=16),
    "push": Regime("lattice(rows=192,columns=192,depth=192,keep=1)", {"SMALL_PARTS": 0, "MAY_PULL": 0}),
    "push of millions": Regime("uniform(n=2000000,m=64000000)", {"SMALL_PARTS": 0, "MAY_PULL": 0}),
    "pull": Regime("kronecker(scale=22,edge_factor=16)", {}),
}
"""Where the regime is usual: few vertices a level in one block, some thousands in a cluster, ten thousands
pushed, most of the graph pulled."""


def prepare(device: Device, regime: Regime, small: str | None) -> tuple[KernelProgram, Search]:
    """Returns a prepared search in one regime and its problem, after one search with right levels.

    ``small`` names another graph, to try everything on. Raises WrongLevelsError.
    """
    graph = load((small or regime.graph) + PLAIN)
    problem = Search(graph, *choose_sources(graph, 1, 0))
    search = prepared("adaptive", DeviceGraph(device, graph), regime.grid, BLOCK, **regime.knobs)
    search.poison()
    search.traverse(problem.source)
    problem.run(search).check()
    return search, problem


def without_ncu(device: Device, name: str, small: str | None) -> list[dict[str, str]]:
    """Returns the lines of a regime that need no ncu: the least time of some searches, the depth, and the
    share of each kind of level in the time of all levels but the last."""
    search, problem = prepare(device, REGIMES[name], small)
    clock, times = DeviceClock(device), []
    for _ in range(REPEATS):
        clock.wait()
        clock.start()
        search.traverse(problem.source)
        times.append(clock.stop())
    spent: Counter[str] = Counter()
    for cost in profile(search.another(), problem.source, problem.levels)[:-1]:
        spent[cost.kernel] += cost.time_us
    values = [("search", "ms", min(times)), ("depth", "levels", float(problem.levels.max()))]
    values += [(f"share_{kind}", "", us / spent.total()) for kind, us in spent.items()]
    shared = {
        "regime": name,
        "graph": problem.graph.full_name,
        "source": str(problem.source),
        "knobs": " ".join(f"{knob}={value}" for knob, value in search.knob.items()),
        "blocks": str(search.num_blocks),
    }
    return [{**shared, "metric": what, "unit": unit, "value": f"{v:.6g}"} for what, unit, v in values]


def metrics(text: str) -> Iterator[list[tuple[str, str, str]]]:
    """Yields the name, unit and value of the metrics of each launch in a raw page of ncu. It leaves out
    metrics of the machine, and the least and largest value of several units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    names, units, *launches = csv.reader(lines)
    for launch in launches:
        values = (value.replace(",", "") for value in launch)
        yield [
            (name, unit, value)
            for name, unit, value in zip(names, units, values, strict=True)
            if _is_kept(name) and NUMBER.fullmatch(value)
        ]


def _is_kept(name: str) -> bool:
    of_machine = name.startswith(OF_MACHINE)
    return "__" in name and not of_machine and not any(part in name for part in (".max", ".min", ".sum.pct"))


def under_ncu(ncu: str, names: Sequence[str], limit_s: float) -> list[list[tuple[str, str, str]]]:
    """Returns the metrics of one search in each regime. Raises ClickException if ncu measures none."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "raw.csv"
        sections = [word for section in SECTIONS for word in ("--section", section)]
        child = [sys.executable, __file__, "search", *names]
        command = [ncu, *OPTIONS, *sections, "--log-file", str(log), *child]
        try:
            subprocess.run(command, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            click.echo(f"ncu stopped after {limit_s:g} s", err=True)
        text = log.read_text() if log.exists() else ""
    if text.count('\n"') < 2:
        raise click.ClickException(f"ncu measured nothing: {text[-500:]}")
    return list(metrics(text))


@click.group()
def main() -> None:
    """Regimes of `adaptive` under Nsight Compute."""


@main.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--ncu", default="ncu", show_default=True, help="The program; empty for none.")
@click.option("--regime", "names", multiple=True, type=click.Choice([*REGIMES]), default=[*REGIMES])
@click.option("--backend", default="cuda", show_default=True)
@click.option("--small", help="Take this graph everywhere, to see whether all works.")
@click.option("--limit", default=60.0, show_default=True, help="Seconds for ncu.")
def measure(out: Path, ncu: str, names: Sequence[str], backend: str, small: str | None, limit: float) -> None:
    """Search in each regime, without ncu and with it, and write OUT."""
    device = open_device(backend)
    found = {name: without_ncu(device, name, small) for name in names}
    device.close()
    if ncu:
        for name, launch in zip(names, under_ncu(ncu, names, limit), strict=False):
            first = found[name][0]
            found[name] += [{**first, "metric": what, "unit": unit, "value": v} for what, unit, v in launch]
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(line for lines in found.values() for line in lines)
    for name, lines in found.items():
        click.echo(f"{name}: {len(lines)} lines, {lines[0]['value']} ms")


@main.command()
@click.argument("names", nargs=-1, required=True)
def search(names: Sequence[str]) -> None:
    """Search once in each regime with the profiler on. ncu runs this command."""
    import pycuda.driver as cuda

    device = open_device("cuda")
    for name in names:
        made, problem = prepare(device, REGIMES[name], None)
        device.synchronize()
        cuda.start_profiler()
        made.traverse(problem.source)
        device.synchronize()
        cuda.stop_profiler()


if __name__ == "__main__":
    main()
