"""Measures versions of a search's kernels in one process, in random turns, all in the same memory.

    python -m tests.benchmarks.kernel_versions OUT.csv VERSION... --graph GRAPH... [--variant adaptive]

A VERSION is NAME=COMMIT or NAME=FOLDER, where the folder is like cuda_src. Knobs may follow it:

    old=HEAD~1 new=HEAD new12=HEAD,PUSHED_EDGE=12

All versions have the host code of the working tree. The kernels of the first version make what a graph is
prepared once for, such as records of short rows. The other versions get the buffers that the first version
has allocated, because the place of data makes 2 % of difference. With them, two equal versions differ by half
a percent. The machine code of a version drives that of others out of the instruction caches, so give all
versions equally often, with different names. All answers are checked. A row of OUT.csv has a version, a
graph, a source, and its samples in the order taken. The lines printed have medians over the sources.
"""

from __future__ import annotations

import csv
import random
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import numpy as np
import numpy.typing as npt

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.bench.measure import sample
from bfsbench.bench.plan import choose_sources
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph, KernelProgram
from bfsbench.programs.families.bfs.search import Search
from bfsbench.rows.point import knob_values
from bfsbench.support.errors import BfsbenchError
from bfsbench.variants import find
from tests.benchmarks.machine_code import checkout
from tests.benchmarks.shared import prepared
from tests.kernel_folders import kernels_from

COLUMNS = ("version", "kernels", "knobs", "graph", "source", "gpu", "search_ms", "search_ms_samples")


@dataclass(frozen=True)
class Version:
    """Kernels, and the knobs that they are run with."""

    name: str
    kernels: str
    """A commit or a folder."""
    knobs: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> Version:
        """Returns the version that a word names. Raises UsageError of click."""
        name, separator, rest = text.partition("=")
        kernels, *knobs = rest.split(",")
        if not (name and separator and kernels and all("=" in knob for knob in knobs)):
            raise click.UsageError(f"{text!r} is not NAME=COMMIT or NAME=FOLDER, with ,KNOB=VALUE behind it")
        return cls(name, kernels, knob_values(" ".join(knobs)))

    def folder(self, work: Path) -> Path:
        """Returns the folder of the kernels. Those of a commit are unpacked below ``work``."""
        given = Path(self.kernels)
        return given.resolve() if given.is_dir() else checkout(self.kernels, work / self.name) / "cuda_src"


@dataclass
class SharedBuffers:
    """Buffers that one version has allocated, for the other versions."""

    device: Device
    kept: list[tuple[str, Any]] = field(default_factory=list)

    @contextmanager
    def given(self) -> Iterator[None]:
        """Meanwhile an allocation gets a kept buffer of its size and type, if one is left. New buffers are
        kept."""
        left = list(self.kept)

        def give(key: str, allocate: Callable[[], Any]) -> Any:
            found = next((entry for entry in left if entry[0] == key), None)
            if found:
                left.remove(found)
            else:
                found = key, allocate()
                self.kept.append(found)
            return found[1]

        def empty(size: int, dtype: npt.DTypeLike) -> Any:
            return give(f"{size} of {np.dtype(dtype)}", lambda: new_buffer(size, dtype))

        def signal(words: Any = 1) -> Any:
            return give(f"signal of {words}", lambda: new_signal(words))

        new_buffer, new_signal = self.device.empty, self.device.signal
        with patch.object(self.device, "empty", empty), patch.object(self.device, "signal", signal):
            yield


def prepare(
    versions: Sequence[Version], work: Path, on_device: DeviceGraph, variant: str, block: int | None
) -> dict[str, KernelProgram]:
    """Returns all versions of a search by their names, prepared for a graph in the same buffers."""
    shared, searches = SharedBuffers(on_device.device), {}
    for version in versions:
        with kernels_from(version.folder(work)), shared.given():
            searches[version.name] = prepared(variant, on_device, block=block, **version.knobs)
    return searches


def times(searches: Mapping[str, KernelProgram], problem: Search, repeats: int) -> dict[str, list[float]]:
    """Returns each version's times in ms, taken in random turns. The first turn does not count. Raises
    WrongResultError."""
    runs = {name: problem.run(search) for name, search in searches.items()}
    found: dict[str, list[float]] = defaultdict(list)
    for turn in range(repeats + 1):
        for name in random.sample([*runs], len(runs)):
            taken = sample(runs[name], searches[name].clock())
            found[name] += [taken.search_ms] if turn else []
    return found


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
    asked = [Version.parse(text) for text in versions]
    if len({version.name for version in asked}) < len(asked):
        raise click.UsageError("versions need names of their own")
    if not issubclass(find(variant), KernelProgram):
        raise click.UsageError(f"{variant} has no kernels")
    with (
        tempfile.TemporaryDirectory() as work,
        closing(open_device(backend)) as device,
        out.open("w", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for graph in map(load, graphs):
            searches = prepare(asked, Path(work), DeviceGraph(device, graph), variant, block)
            best: dict[str, list[float]] = defaultdict(list)
            for source in choose_sources(graph, sources, 0):
                found = times(searches, Search(graph, source), repeats)
                for version in asked:
                    taken = found[version.name]
                    best[version.name].append(min(taken))
                    knobs = " ".join(f"{name}={value}" for name, value in version.knobs.items())
                    samples = ";".join(f"{ms:.6f}" for ms in taken)
                    setting = (version.name, version.kernels, knobs, graph.full_name, source)
                    writer.writerow((*setting, device.describe()["gpu"], f"{min(taken):.6f}", samples))
            medians = (f"{name} {statistics.median(taken):.4f}" for name, taken in best.items())
            click.echo(f"{graph.full_name}: {', '.join(medians)}")


if __name__ == "__main__":
    try:
        main()
    except BfsbenchError as error:
        raise SystemExit(f"kernel_versions: {error}") from error
