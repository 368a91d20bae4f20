"""Each regime of `adaptive` under Nsight Compute, in searches that hardly do anything else.

    python tests/benchmarks/ncu_regimes.py measure OUT.csv [--ncu PATH] [--regime NAME]

The search is one launch with all its levels, so graph and knobs choose the regime: most of the time goes to
levels that are pushed, pulled, run by the cluster or by one block. Blocks that would only wait for that
cluster or block are not launched, since stalls are counted for all warps. Each search runs without ncu
first: its time, and the share of each kind of level in it, are in OUT.csv beside the metrics, a line each
(regime, graph, source, knobs, blocks, metric, unit, value).
"""

import csv
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.bench.plan import choose_sources
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceClock, DeviceGraph, KernelSetup
from bfsbench.programs.families.bfs.profile import profile
from bfsbench.programs.families.bfs.search import Search
from bfsbench.rows.point import KnobValue
from bfsbench.variants.adaptive import Adaptive

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
COLUMNS = ("regime", "graph", "source", "knobs", "blocks", "metric", "unit", "value")


@dataclass(frozen=True)
class Regime:
    """A graph, and the setting that brings nearly all levels into one regime."""

    graph: str
    knobs: Mapping[str, KnobValue]
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


class Made:
    """A search in one regime, prepared."""

    def __init__(self, device: Device, regime: Regime, small: str | None) -> None:
        """``small`` names another graph, to try everything on."""
        self.device = device
        self.graph: Graph = load((small or regime.graph) + PLAIN)
        (self.source,) = choose_sources(self.graph, 1, 0)
        on_device = DeviceGraph(device, self.graph)
        self._setup = KernelSetup(on_device, regime.grid, BLOCK, Adaptive.knob_values(regime.knobs))
        self.problem = Search(self.graph, self.source)
        self.search = Adaptive(self._setup)
        self.search.prepare()
        self.once()

    def once(self) -> None:
        """Search, and check the levels. Raises WrongLevelsError."""
        self.search.poison()
        self.search.traverse(self.source)
        self.problem.run(self.search).check()

    def milliseconds(self) -> float:
        """The least time of some searches."""
        clock, times = DeviceClock(self.device), []
        for _ in range(REPEATS):
            clock.wait()
            clock.start()
            self.search.traverse(self.source)
            times.append(clock.stop())
        return min(times)

    def shares(self) -> dict[str, float]:
        """The share of each kind of level in the time of all levels, but for the last."""
        costs = profile(Adaptive(self._setup), self.source, self.problem.levels)[:-1]
        spent: defaultdict[str, float] = defaultdict(float)
        for cost in costs:
            spent[cost.kernel] += cost.time_us
        return {kind: us / sum(spent.values()) for kind, us in spent.items()}

    def columns(self) -> dict[str, str]:
        """What is the same in all lines of the regime."""
        knobs = " ".join(f"{name}={value}" for name, value in self.search.knob.items())
        names = {"graph": self.graph.full_name, "source": str(self.source), "knobs": knobs}
        return {**names, "blocks": str(self.search.num_blocks)}


def without_ncu(device: Device, name: str, small: str | None) -> list[dict[str, str]]:
    """The lines of a regime that need no ncu."""
    made = Made(device, REGIMES[name], small)
    shared = {"regime": name, **made.columns()}
    values = [("search", "ms", made.milliseconds()), ("depth", "levels", float(made.problem.levels.max()))]
    values += [(f"share_{kind}", "", share) for kind, share in made.shares().items()]
    return [{**shared, "metric": what, "unit": unit, "value": f"{v:.6g}"} for what, unit, v in values]


def metrics(text: str) -> Iterator[list[tuple[str, str, str]]]:
    """The metrics of each launch in a raw page of ncu: name, unit and value. What describes the machine, and
    the least and largest of several units, is left out."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    names, units, *launches = csv.reader(lines)
    for launch in launches:
        found = zip(names, units, (value.replace(",", "") for value in launch), strict=True)
        yield [(name, unit, value) for name, unit, value in found if _is_kept(name) and _is_number(value)]


def _is_kept(name: str) -> bool:
    of_machine = name.startswith(OF_MACHINE)
    return "__" in name and not of_machine and not any(part in name for part in (".max", ".min", ".sum.pct"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def under_ncu(ncu: str, names: Sequence[str], limit_s: float) -> list[list[tuple[str, str, str]]]:
    """The metrics of one search in each regime. Raises ClickException when ncu gives none."""
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
    """Search once in each regime, with the profiler on: what ncu runs."""
    import pycuda.driver as cuda

    device = open_device("cuda")
    for name in names:
        made = Made(device, REGIMES[name], None)
        device.synchronize()
        cuda.start_profiler()
        made.search.traverse(made.source)
        device.synchronize()
        cuda.stop_profiler()


if __name__ == "__main__":
    main()
