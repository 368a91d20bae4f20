"""The probes' kernels do the work that their figures claim."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.probe import PROBES, Probe, ProbeError, run_probe
from tests.parameters import some


@pytest.fixture(params=some([0, 1], 0), ids=lambda seed: f"seed{seed}")
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    opened = open_device("cpu", request.param)
    yield opened
    opened.close()


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_every_run_is_verified(probe: Probe, device: Device) -> None:
    figures = list(run_probe(probe, device))
    assert len(figures) == len(probe.small)
    for figure in figures:
        assert figure.value == (max if probe.is_rate else min)(figure.samples)
        assert min(figure.samples) > 0


@pytest.mark.parametrize(
    "name", ["copy", "random_reads", "random_bit_tests", "dependent_loads", "add_min", "add_min_intrinsic"]
)
def test_work_that_was_not_done_is_noticed(name: str, device: Device) -> None:
    trial = PROBES[name].trial(device, PROBES[name].small[0])
    with pytest.raises(ProbeError, match="cannot be trusted"):
        trial.verify()


@pytest.mark.parametrize("bits", [5, 8, 11])
def test_sizes_of_even_and_odd_exponents(bits: int, device: Device) -> None:
    for name in ("random_reads", "random_bit_tests", "random_atomics", "dependent_loads"):
        trial = PROBES[name].trial(device, bits + 5 if name == "random_bit_tests" else bits)
        for _ in range(3):
            trial.run()
            trial.verify()


def test_figures_are_work_over_time_or_time_over_work() -> None:
    assert PROBES["copy"].in_unit(work=4.25e9, milliseconds=1.0) == pytest.approx(4250)
    assert PROBES["random_reads"].in_unit(work=3e8, milliseconds=2.0) == pytest.approx(150)
    assert PROBES["dependent_loads"].in_unit(work=1000, milliseconds=0.033) == pytest.approx(33)
    assert PROBES["barrier"].in_unit(work=1000, milliseconds=1.8) == pytest.approx(1.8)
