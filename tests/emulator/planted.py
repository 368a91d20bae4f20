"""Plants faults in the project's kernels and checks these kernels.

``python -m tests.emulator.planted [NAME...]`` prints a line of CSV for each fault. The line has the kind, the
name, the variant, the number of seeds of the check that found the fault, the seconds, and the most frequent
finding. The number is missing if no check found it.
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
"""Numbers of seeds of the checks. Each check is longer than the check before it."""


@dataclass(frozen=True)
class Fault:
    """A fault: the text ``new`` replaces the text ``old`` in a file below cuda_src."""

    kind: str
    name: str
    variant: str
    file: str
    old: str
    new: str
    grid: int | None = None
    block: int | None = None
    graph: str | None = None
    """A graph that makes kernels execute the fault. None if the usual graphs do."""
    knobs: dict[str, int | str] = field(default_factory=dict)

    def plant(self, kernels: Path) -> None:
        """Put the fault into a copy of the kernels."""
        path = kernels / self.file
        text = path.read_text(encoding="utf-8")
        assert self.old in text, f"the kernel has changed: '{self.name}' has no place in {self.file}"
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")

    def axes(self) -> Axes:
        """Returns launches and knobs with which kernels execute the fault."""
        shape = ([self.grid], [self.block or 64]) if self.grid or self.block else ([], [])
        return Axes([find(self.variant)], *shape, {name: [str(value)] for name, value in self.knobs.items()})

    def check(self) -> tuple[int, checks.Report]:
        """Check with more and more seeds, until a check finds something or the longest check has ended.
        Returns the number of seeds and the report of the last check."""
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
    """Copy the kernels. Yields the copy, from which variants are compiled in the ``with`` block."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "cuda_src"
        shutil.copytree(CUDA_SRC, copy)
        with kernels_from(copy):
            yield copy


def first_of(report: checks.Report) -> str:
    """Returns the finding that occurred in the most runs and is not declared benign. Without such findings,
    returns a failure, or an empty string."""
    found = max(report.undeclared, key=lambda found: found.runs, default=None)
    return str(found.first) if found else next(iter(report.failures), "")


def main(names: list[str]) -> None:
    """Plant one fault after the other, and print the findings."""
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
