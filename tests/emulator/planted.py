"""Faults planted in our kernels, and what a check says of them.

``python -m tests.emulator.planted [NAME...]`` prints a line of CSV for each: kind, name, variant, how many
seeds it took to find it, the seconds that took, and what was found first.
"""

import csv
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bfsbench.bench.plan import Axes
from bfsbench.graphs.load import resolve
from bfsbench.support.paths import CUDA_SRC
from bfsbench.tools import check as checks
from bfsbench.variants import find
from tests.kernel_folders import kernels_from

SEEDS = (1, 4, 20)
"""Seeds of ever longer checks; a fault is caught if one of them finds it."""


@dataclass(frozen=True)
class Fault:
    """In a file below cuda_src ``old`` is replaced by ``new``."""

    kind: str
    name: str
    variant: str
    file: str
    old: str
    new: str
    grid: int | None = None
    block: int | None = None
    graph: str | None = None
    """One that leads through it, if the usual ones do not."""
    knobs: dict[str, int | str] = field(default_factory=dict)

    def plant(self, kernels: Path) -> None:
        """Put the fault into a copy of the kernels."""
        path = kernels / self.file
        text = path.read_text(encoding="utf-8")
        assert self.old in text, f"the kernel has changed: '{self.name}' has no place in {self.file}"
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")

    def axes(self) -> Axes:
        """Launches and knobs that lead through the fault."""
        shape = ([self.grid], [self.block or 64]) if self.grid or self.block else ([], [])
        return Axes([find(self.variant)], *shape, {name: [str(value)] for name, value in self.knobs.items()})

    def check(self) -> tuple[int, checks.Report]:
        """The first of ever longer checks that finds something, or the last one; and its seeds."""
        variant = find(self.variant)
        graphs = [resolve(self.graph)] if self.graph else checks.usual_graphs(variant, self.axes())
        for seeds in SEEDS:
            report = checks.check(variant, self.axes(), graphs, seeds, lambda: None)
            if not report.clean:
                break
        return seeds, report


FAULTS = [
    Fault(**fault) for fault in tomllib.loads((Path(__file__).parent / "faults.toml").read_text())["fault"]
]


@contextmanager
def copy_of_kernels() -> Iterator[Path]:
    """A copy of the kernels, which variants are compiled from meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "cuda_src"
        shutil.copytree(CUDA_SRC, copy)
        with kernels_from(copy):
            yield copy


def first_of(report: checks.Report) -> str:
    """The finding that most runs made, or a failure."""
    found = max(report.undeclared, key=lambda found: found.runs, default=None)
    return str(found.first) if found else next(iter(report.failures), "")


def main(names: list[str]) -> None:
    """Plant faults one after the other and print what is found."""
    writer = csv.writer(sys.stdout)
    for fault in FAULTS:
        if names and fault.name not in names:
            continue
        with copy_of_kernels() as kernels:
            fault.plant(kernels)
            begin = time.perf_counter()
            seeds, report = fault.check()
        took = round(time.perf_counter() - begin, 1)
        needed = "" if report.clean else seeds
        writer.writerow([fault.kind, fault.name, fault.variant, needed, took, first_of(report)])
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
