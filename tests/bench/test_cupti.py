"""Test times of kernels, with made-up traces: there is no GPU, and perhaps no cupti-python."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bfsbench as package
from bfsbench.backends.base import KernelTimes
from bfsbench.backends.cpu import CpuDevice
from bfsbench.backends.cupti_trace import covered_ns, tracing
from bfsbench.bench.options import Method
from bfsbench.bench.session import Session
from bfsbench.bench.sweep import Output
from bfsbench.bench.worker import Worker
from bfsbench.emulator.device import Kernel
from bfsbench.graphs.load import load
from bfsbench.rows.point import Point
from bfsbench.support.errors import DeviceError, OptionError, UsageError
from tests.commands import invoke, refused
from tests.report.result_rows import row, write

PATH = "path(n=9,directed=1)"
PUSH = Point(PATH, 0, "frontier_numbers", "cpu", None, 64)


@dataclass
class Cupti:
    """Replaces the module ``cupti.cupti``."""

    ran: list[tuple[int, int]] = field(default_factory=list)
    """The start and the end in ns of each kernel since the last flush."""
    calls: list[str] = field(default_factory=list)
    fails: str = ""
    """The function that raises an exception."""
    ActivityKind: Any = field(default_factory=lambda: SimpleNamespace(CONCURRENT_KERNEL=10))

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fails:
            raise RuntimeError("ERROR_UNKNOWN (999)")

    def activity_register_callbacks(
        self, requested: Callable[[], tuple[int, int]], completed: Callable[[list[Any]], None]
    ) -> None:
        self._called("register")
        assert requested() == (8 << 20, 0)
        self._completed = completed

    def activity_enable(self, kind: int) -> None:
        assert kind == 10
        self._called("enable")

    def activity_disable(self, kind: int) -> None:
        assert kind == 10
        self._called("disable")

    def activity_flush_all(self, flag: int) -> None:
        assert flag == 1
        self._called("flush")
        self._completed([SimpleNamespace(start=start, end=end) for start, end in self.ran])
        self.ran.clear()


@pytest.fixture
def cupti(monkeypatch: pytest.MonkeyPatch) -> Cupti:
    made = Cupti()
    monkeypatch.setitem(sys.modules, "cupti", SimpleNamespace(cupti=made))
    monkeypatch.setitem(sys.modules, "cupti.cupti", made)
    return made


@pytest.mark.parametrize(
    ("spans", "covered"),
    [
        ([], 0),
        ([(5, 9)], 4),
        ([(20, 30), (5, 9)], 14),
        ([(5, 9), (7, 12)], 7),
        ([(5, 20), (7, 12), (18, 25)], 20),
    ],
)
def test_kernels_that_overlap_count_once(spans: list[tuple[int, int]], covered: int) -> None:
    assert covered_ns(spans) == covered


def test_a_trace_has_the_kernels_since_the_last_one(cupti: Cupti) -> None:
    waits: list[int] = []
    with tracing(lambda: waits.append(len(cupti.ran))) as take:
        assert take() == KernelTimes(0, 0)
        cupti.ran += [(1_000_000, 3_000_000), (4_000_000, 4_500_000)]
        assert take() == KernelTimes(2.5, 2)
        assert take() == KernelTimes(0, 0)
    assert waits == [0, 2, 0], "a flush follows the end of the kernels"
    assert cupti.calls == ["register", "enable", *["flush"] * 3, "disable"]


def test_a_trace_ends_with_a_failed_search(cupti: Cupti) -> None:
    with pytest.raises(DeviceError, match="too many threads"), tracing(lambda: None):
        raise DeviceError("too many threads")
    assert cupti.calls[-1] == "disable"


@pytest.mark.parametrize("function", ["register", "enable", "flush", "disable"])
def test_a_failure_of_cupti_is_one_line(cupti: Cupti, function: str) -> None:
    cupti.fails = function
    with (
        pytest.raises(DeviceError, match=r"^CUPTI failed: ERROR_UNKNOWN \(999\)$"),
        tracing(lambda: None) as take,
    ):
        take()


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "cupti", None)
    monkeypatch.delitem(sys.modules, "cupti.cupti", raising=False)
    words = ("run", "--dataset", PATH, "--variant", "push", "--backend", "cpu", "--cupti")
    line = refused(invoke(*words, "--out", tmp_path / "rows.csv"))
    assert line.startswith("CUPTI cannot be used (")
    assert line.endswith(f"run '{sys.executable} -m pip install cupti-python'")
    assert not (tmp_path / "rows.csv").exists()


def test_only_a_gpu_is_traced(cupti: Cupti, tmp_path: Path) -> None:
    words = ("run", "--dataset", PATH, "--variant", "push", "--backend", "cpu", "--cupti")
    line = refused(invoke(*words, "--out", tmp_path / "rows.csv"))
    assert line == "--cupti traces kernels on a GPU, and this sweep has none"
    with pytest.raises(OptionError, match=r"^cupti traces kernels on a GPU, and this sweep has none$"):
        package.sweep(load(PATH), ["cpu_queue"], cupti=True)


@pytest.fixture
def traced_emulator(cupti: Cupti, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets CUPTI trace the launches of the emulator, each of which takes 1 us."""
    bind = Kernel.bind

    def noting(kernel: Kernel, *given: Any, **more: Any) -> Callable[..., None]:
        launch = bind(kernel, *given, **more)

        def noted(blocks: int, *scalars: int) -> None:
            launch(blocks, *scalars)
            now = 1000 * len(cupti.ran)
            cupti.ran.append((now, now + 1000))

        return noted

    monkeypatch.setattr(Kernel, "bind", noting)
    monkeypatch.setattr(CpuDevice, "tracing", lambda device: tracing(device.synchronize))


@pytest.mark.usefixtures("traced_emulator")
@pytest.mark.parametrize(
    ("variant", "knobs", "launches"),
    [
        ("frontier_numbers", (), 9),
        ("frontier", (), 18),
        ("push_cuda_graph", (("LEVELS_PER_LAUNCH", 4),), 12),
    ],
)
def test_the_kernels_of_one_search_are_counted(
    variant: str, knobs: tuple[tuple[str, int], ...], launches: int
) -> None:
    with closing(Session("cpu")) as session:
        found = session.trace(Point(PATH, 0, variant, "cpu", None, 64, knobs))
    assert found == KernelTimes(launches / 1000, launches)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("cpu")
    yield worker
    worker.close()


def process_id(worker: Worker) -> int:
    assert worker._process is not None
    return worker._process.pid


TRACES = """
from contextlib import contextmanager
from bfsbench.backends.base import KernelTimes
from bfsbench.backends.cpu import CpuDevice

@contextmanager
def tracing(device):
    yield lambda: KernelTimes(2.5, 7)

CpuDevice.tracing = tracing
"""


def test_a_process_that_has_traced_measures_nothing_more(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "traces.py").write_text(TRACES)
    monkeypatch.setenv("BFSBENCH_VARIANTS", str(tmp_path))
    graph, method = load(PATH), Method(1, 60, backend="cpu", cupti=True)
    processes = []
    for variant in ("frontier_numbers", "pull"):
        points = [Point(PATH, source, variant, "cpu", None, 64) for source in (0, 1)]
        for measured in worker.run_group(points, graph, method):
            columns = [measured.row[name] for name in ("status", "kernel_ms", "kernel_launches")]
            assert columns == ["ok", "2.500000", "7"]
            processes.append(process_id(worker))
    first, second = processes[0], processes[2]
    assert processes == [first, first, second, second]
    assert first != second


def test_a_search_that_cannot_be_traced_keeps_its_times(worker: Worker) -> None:
    method = Method(1, 60, backend="cpu", cupti=True)
    (measured,) = worker.run_group([PUSH], load(PATH), method)
    assert (measured.row["status"], float(measured.row["search_ms"]) > 0) == ("ok", True)
    assert "kernel_ms" not in measured.row
    assert measured.row["reason"] == (
        "no times of kernels: CUPTI traces kernels on a GPU only, not on the emulator"
    )


def test_host_programs_are_not_traced(worker: Worker) -> None:
    method = Method(1, 60, backend="cpu", cupti=True)
    first = None
    for source in (0, 1):
        point = Point(PATH, source, "cpu_queue", "host", None, None)
        (measured,) = worker.run_group([point], load(PATH), method)
        assert "kernel_ms" not in measured.row
        first = first or process_id(worker)
        assert process_id(worker) == first


def test_rows_without_times_of_kernels_are_not_continued(tmp_path: Path) -> None:
    method = Method(resume=True, cupti=True)
    without = row(method="sources=alternating")
    traced, failed = without | {"kernel_ms": 0.5}, without | {"reason": "no times of kernels: why"}
    Output(write(tmp_path / "rows.csv", [traced, failed]), method).close()
    path = write(tmp_path / "rows.csv", [traced, without])
    with pytest.raises(UsageError, match=r"rows\.csv has rows without times of kernels: choose another"):
        Output(path, method)
