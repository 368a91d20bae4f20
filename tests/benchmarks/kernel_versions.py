"""Versions of a search's kernels beside each other: in one process, in random turns, all in the same memory.

    python tests/benchmarks/kernel_versions.py OUT.csv VERSION... --graph GRAPH... [--variant adaptive]

A VERSION is NAME=COMMIT or NAME=FOLDER, a folder like cuda_src, with knobs behind it if need be:

    old=HEAD~1 new=HEAD new12=HEAD,PUSHED_EDGE=12

The host's part is that of the working tree for all, and what it makes of a graph once, such as records of
short rows, the kernels of the first version make. What buffers the first version has allocated the others
get as well, since where data lie makes 2 % of difference; with that, the same version twice differs by half a
percent. The machine code of one version drives another's out of the instruction caches: so give each as
often as the others, under names of their own. All answers are checked. A row of OUT.csv is a version, a
graph and a source with its samples in the order taken; the lines printed have medians over the sources.
"""

from __future__ import annotations

import csv
import random
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.bench.measure import sample
from bfsbench.bench.plan import choose_sources
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph, KernelSetup
from bfsbench.programs.families.bfs.search import Search
from bfsbench.programs.families.bfs.searches import KernelVariant
from bfsbench.support.errors import BfsbenchError
from bfsbench.variants import find
from tests.benchmarks.machine_code import checkout
from tests.kernel_folders import kernels_from

COLUMNS = ("version", "kernels", "knobs", "graph", "source", "gpu", "search_ms", "search_ms_samples")


@dataclass(frozen=True)
class Version:
    """Kernels, and the knobs that they are run with."""

    name: str
    kernels: str
    """A commit or a folder."""
    knobs: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str) -> Version:
        """Raises UsageError of click."""
        name, separator, rest = text.partition("=")
        kernels, *knobs = rest.split(",")
        if not (name and separator and kernels and all("=" in knob for knob in knobs)):
            raise click.UsageError(f"{text!r} is not NAME=COMMIT or NAME=FOLDER, with ,KNOB=VALUE behind it")
        pairs = (knob.partition("=") for knob in knobs)
        return cls(name, kernels, tuple((knob, value) for knob, _, value in pairs))

    def folder(self, work: Path) -> Path:
        """The kernels' folder; of a commit, unpacked below ``work``."""
        given = Path(self.kernels)
        return given.resolve() if given.is_dir() else checkout(self.kernels, work / self.name) / "cuda_src"


@dataclass
class SharedBuffers:
    """What one version has allocated, for the others."""

    device: Device
    kept: list[tuple[tuple[str, Any], Any]] = field(default_factory=list)

    @contextmanager
    def given(self) -> Iterator[None]:
        """Allocations get the kept buffers of their size and type, each once, before new ones; these are
        kept."""
        left = list(self.kept)

        def give(key: tuple[str, Any], allocate: Callable[[], Any]) -> Any:
            found = next((entry for entry in left if entry[0] == key), None)
            if found is None:
                found = key, allocate()
                self.kept.append(found)
            else:
                left.remove(found)
            return found[1]

        empty, signal = self.device.empty, self.device.signal
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                self.device,
                "empty",
                lambda size, dtype: give((f"{size} of {np.dtype(dtype)}", None), lambda: empty(size, dtype)),
            )
            patch.setattr(
                self.device, "signal", lambda words=1: give(("signal", words), lambda: signal(words))
            )
            yield


class Versions:
    """All versions of a search, prepared for a graph on a device."""

    def __init__(self, variant: type[KernelVariant], folders: Mapping[Version, Path], graph: Graph) -> None:
        self.variant, self.folders, self.graph = variant, folders, graph
        self.searches: dict[Version, KernelVariant] = {}

    def prepare(self, device: Device, block: int | None) -> None:
        """Compile, and allocate once. Raises DeviceError, UsageError."""
        on_device, shared = DeviceGraph(device, self.graph), SharedBuffers(device)
        for version, folder in self.folders.items():
            knobs = self.variant.knob_values(dict(version.knobs))
            threads = block or self.variant.own_block(knobs) or self.variant.usual_block
            with kernels_from(folder), shared.given():
                search = self.variant(KernelSetup(on_device, None, threads, knobs))
                search.prepare()
            self.searches[version] = search

    def times(self, source: int, repeats: int) -> dict[Version, list[float]]:
        """Times from a source in ms, in random turns after one that does not count. Raises
        WrongResultError."""
        problem = Search(self.graph, source)
        runs = {version: problem.run(search) for version, search in self.searches.items()}
        found: dict[Version, list[float]] = defaultdict(list)
        for turn in range(repeats + 1):
            for version in random.sample([*runs], len(runs)):
                taken = sample(runs[version], self.searches[version].clock())
                found[version] += [taken.search_ms] if turn else []
        return found


def row(version: Version, graph: Graph, source: int, device: Device, times: list[float]) -> tuple[str, ...]:
    """A row of the file."""
    knobs = " ".join(f"{knob}={value}" for knob, value in version.knobs)
    samples = ";".join(f"{time:.6f}" for time in times)
    setting = (version.name, version.kernels, knobs, graph.full_name, str(source))
    return (*setting, device.describe()["gpu"], f"{min(times):.6f}", samples)


@click.command(help=__doc__)
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("versions", nargs=-1, required=True, metavar="VERSION...")
@click.option("--graph", "graphs", multiple=True, required=True, help="As for bfsbench run; may be repeated.")
@click.option("--variant", default="adaptive", show_default=True)
@click.option("--block", type=int, help="Threads a block.")
@click.option("--sources", default=8, show_default=True)
@click.option("--repeats", default=8, show_default=True)
@click.option("--backend", default="auto", show_default=True)
def main(
    out: Path,
    versions: tuple[str, ...],
    graphs: tuple[str, ...],
    variant: str,
    block: int | None,
    sources: int,
    repeats: int,
    backend: str,
) -> None:
    kind = find(variant)
    if not issubclass(kind, KernelVariant):
        raise click.UsageError(f"{variant} has no kernels")
    asked = [Version.parse(text) for text in versions]
    if len({version.name for version in asked}) < len(asked):
        raise click.UsageError("versions need names of their own")
    with tempfile.TemporaryDirectory() as work, closing(open_device(backend)) as device:
        folders = {version: version.folder(Path(work)) for version in asked}
        with out.open("w") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for name in graphs:
                of_graph = Versions(kind, folders, load(name))
                of_graph.prepare(device, block)
                best: dict[Version, list[float]] = defaultdict(list)
                for source in choose_sources(of_graph.graph, sources, 0):
                    for version, times in of_graph.times(source, repeats).items():
                        best[version].append(min(times))
                        writer.writerow(row(version, of_graph.graph, source, device, times))
                medians = (f"{one.name} {statistics.median(best[one]):.4f}" for one in asked)
                click.echo(f"{of_graph.graph.full_name}: {', '.join(medians)}")


if __name__ == "__main__":
    try:
        main()
    except BfsbenchError as error:
        raise SystemExit(f"kernel_versions: {error}") from error
