"""Faults planted in our kernels are found by a check, and nothing is found in the kernels as they are."""

from __future__ import annotations

import pytest

from bfsbench import checks
from bfsbench.bench.plan import Axes
from bfsbench.programs import KernelProgram
from bfsbench.variants import all_variants
from tests.emulator.planted import FAULTS, Fault, copy_of_kernels

KERNEL_VARIANTS = [variant for variant in all_variants().values() if issubclass(variant, KernelProgram)]

QUICK = FAULTS[::12]


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    with copy_of_kernels() as kernels:
        fault.plant(kernels)
        assert not fault.check()[1].clean


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault not in QUICK], ids=lambda fault: fault.name
)
def test_every_planted_fault_is_found(fault: Fault) -> None:
    with copy_of_kernels() as kernels:
        fault.plant(kernels)
        assert not fault.check()[1].clean


@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_nothing_is_found_in_our_kernels(variant: type[KernelProgram]) -> None:
    """But what a comment declares benign."""
    graphs = checks.usual_graphs(variant)[1:3]
    report = checks.check(variant, Axes([variant], [], []), graphs, 1, lambda: None)
    assert report.clean, (report.undeclared, report.failures)


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_nothing_is_found_in_our_kernels_under_many_seeds(variant: type[KernelProgram]) -> None:
    report = checks.check(variant, Axes([variant], [], []), checks.usual_graphs(variant), 8, lambda: None)
    assert report.clean, (report.undeclared, report.failures)
