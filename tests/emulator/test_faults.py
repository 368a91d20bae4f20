"""Faults planted in our kernels are found by a check, and nothing is found in the original kernels."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bfsbench import checks
from bfsbench.backends import cpu
from bfsbench.bench.plan import Axes
from bfsbench.paths import CUDA_SRC
from bfsbench.programs import KernelProgram
from bfsbench.programs import variant as programs
from bfsbench.variants import all_variants, find

SEEDS = 20
KERNEL_VARIANTS = [variant for variant in all_variants().values() if issubclass(variant, KernelProgram)]


@dataclass(frozen=True)
class Fault:
    name: str
    variant: str
    file: str
    old: str
    new: str
    grid: int | None = None
    knobs: dict[str, int | str] = field(default_factory=dict)

    def plant(self, kernels: Path) -> None:
        """Put the fault into a copy of the kernels."""
        path = kernels / self.file
        text = path.read_text(encoding="utf-8")
        assert self.old in text, f"the kernel has changed: '{self.name}' has no place in {self.file}"
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")

    def axes(self) -> Axes:
        """Launches and knobs that lead through the fault."""
        shape = ([self.grid], [64]) if self.grid else ([], [])
        return Axes([find(self.variant)], *shape, {name: [str(value)] for name, value in self.knobs.items()})


FAULTS = [
    Fault(**fault) for fault in tomllib.loads((Path(__file__).parent / "faults.toml").read_text())["fault"]
]


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the kernels, which variants are compiled from."""
    copy = tmp_path / "cuda_src"
    shutil.copytree(CUDA_SRC, copy)
    monkeypatch.setattr(programs, "CUDA_SRC", copy)
    monkeypatch.setattr(cpu, "KERNEL_HEADERS", (copy / "common", copy))
    return copy


def found_in(fault: Fault) -> checks.Report | None:
    """The findings of the first successful check of several, each longer than the one before."""
    variant = find(fault.variant)
    for seeds in (1, 4, SEEDS):
        graphs = checks.usual_graphs(variant)
        report = checks.check(variant, fault.axes(), graphs, seeds, lambda: None)
        if not report.clean:
            return report
    return None


QUICK = FAULTS[::20]


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault, kernels: Path) -> None:
    fault.plant(kernels)
    assert found_in(fault)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault not in QUICK], ids=lambda fault: fault.name
)
def test_every_planted_fault_is_found(fault: Fault, kernels: Path) -> None:
    fault.plant(kernels)
    assert found_in(fault)


@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_nothing_is_found_in_our_kernels(variant: type[KernelProgram]) -> None:
    """Except races that a comment declares benign."""
    graphs = checks.usual_graphs(variant)[1:3]
    report = checks.check(variant, Axes([variant], [], []), graphs, 1, lambda: None)
    assert report.clean, (report.undeclared, report.failures)


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_nothing_is_found_in_our_kernels_under_many_seeds(variant: type[KernelProgram]) -> None:
    report = checks.check(variant, Axes([variant], [], []), checks.usual_graphs(variant), 8, lambda: None)
    assert report.clean, (report.undeclared, report.failures)
