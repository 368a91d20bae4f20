"""Graph500's benchmark and `adaptive` as it is by default, on Kronecker graphs that are built once for both.

    python tests/benchmarks/large_kronecker.py FOLDER --scale 27 [--lock FILE]

The benchmark is that of `bfsbench reproduce graph500 --likely-first 1`, and leaves
graph500-SCALE-adaptive.csv and .txt in FOLDER. Then levels are searched from the first eight of its
sources, without order and without trees: rows in kronecker-SCALE.csv. Parents derived from these levels are
checked by Graph500's five rules against the list of edges, and levels counted from the parents must be
those found. With --lock the device is used alone: other programs hold the lock of that file meanwhile
(flock).
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from bfsbench.bench.measure import sample_columns
from bfsbench.bench.point import Point
from bfsbench.bench.results import ResultWriter
from bfsbench.bench.row import base_row
from bfsbench.bench.session import Session
from bfsbench.bench.sources import choose_sources
from bfsbench.errors import WrongResultError
from bfsbench.families.bfs.parents import DeviceParents
from bfsbench.families.bfs.searches import KernelVariant
from bfsbench.families.bfs.tree_check import Tree, TreeCheck
from bfsbench.graph500.benchmark import Asked, Benchmark
from bfsbench.graph500.construction import Constructed
from bfsbench.programs.check import ExpectedAnswer
from bfsbench.variants import find

VARIANT = "adaptive"
BLOCK = 1024


@contextmanager
def alone(lock: Path | None) -> Iterator[None]:
    """The lock of a file, waited for; nothing without one."""
    if lock is None:
        yield
        return
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class LevelCheck:
    """Checks the levels that a search has left on the device."""

    def __init__(self, search: KernelVariant, built: Constructed) -> None:
        assert isinstance(built.edges, tuple), "the list of edges is on the device"
        self._search = search
        self._parents = DeviceParents(search.graph, search.level_array)
        self._check = TreeCheck(
            search.device, built.graph.num_vertices, *built.edges, built.listed, both_ways=True
        )

    def first(self, source: int) -> Tree:
        """Check the first search from a source by its tree. Raises WrongResultError."""
        self._search.finish()
        self._parents.derive()
        tree = self._check.check(self._parents.parents, source)
        self._expected = ExpectedAnswer(self._search.device, self._check.levels.download())
        self.again(source)
        return tree

    def again(self, source: int) -> None:
        """Check another search from the same source. Raises WrongResultError."""
        self._search.finish()
        if wrong := self._expected.differences(self._search.level_array):
            raise WrongResultError(f"{wrong} levels from {source} are not those of the tree")


def search_levels(session: Session, built: Constructed, sources: int, repeats: int, out: Path) -> None:
    """Time the search at its defaults, and write a row for each source. Raises WrongResultError."""
    knobs = find(VARIANT).knob_values({})
    search = session.build(VARIANT, None, BLOCK, knobs)
    assert isinstance(search, KernelVariant) and session.device
    search.prepare()
    check = LevelCheck(search, built)
    where, settings = session.device.backend, tuple(knobs.items())
    with closing(ResultWriter(out, resume=False)) as writer:
        for source in choose_sources(built.graph, sources, 1):
            timed(search, source)
            tree = check.first(source)
            times = []
            for _ in range(repeats):
                times.append(timed(search, source))
                check.again(source)
            point = Point(built.graph.full_name, source, VARIANT, where, None, BLOCK, settings)
            samples = {k: v for k, v in sample_columns(times, [0]).items() if not k.startswith("wall")}
            found = {"depth": str(tree.depth), "reached": str(tree.vertices)}
            rate = {"mteps_graph500": f"{tree.edges / min(times) / 1e3:.3f}"}
            row = base_row(point, built.graph, session.device.describe())
            writer.append(row | {"status": "ok", **samples, **found, **rate})
            click.echo(f"{built.graph.full_name} from {source}: {min(times):.4f} ms")


def timed(search: KernelVariant, source: int) -> float:
    """The time of one search in ms."""
    clock = search.clock()
    search.poison()
    clock.wait()
    clock.start()
    search.reset(source)
    search.traverse(source)
    return clock.stop()


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--scale", "scales", type=int, multiple=True, required=True)
@click.option("--sources", default=8, show_default=True, help="Of searches that leave levels.")
@click.option("--repeats", default=5, show_default=True)
@click.option("--lock", type=click.Path(path_type=Path))
@click.option("--backend", default="cuda", show_default=True)
def main(
    folder: Path, scales: tuple[int, ...], sources: int, repeats: int, lock: Path | None, backend: str
) -> None:
    """Build each graph once, do the benchmark, and search levels."""
    folder.mkdir(parents=True, exist_ok=True)
    for scale in scales:
        session = Session(backend)
        asked = Asked.of(scale, VARIANT, {"LIKELY_FIRST": "1"}, backend, 0)
        benchmark = Benchmark(asked, session)
        built = benchmark.built
        name = folder / f"graph500-{scale}-{VARIANT}"
        with alone(lock):
            with closing(ResultWriter(name.with_suffix(".csv"), resume=False)) as writer:
                report = "\n".join(benchmark.run(writer, lambda: None).lines())
            name.with_suffix(".txt").write_text(f"{report}\n")
            click.echo(report)
            del benchmark
            search_levels(session, built, sources, repeats, folder / f"kronecker-{scale}.csv")
        del built
        session.close()


if __name__ == "__main__":
    main()
