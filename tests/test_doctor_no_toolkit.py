"""``bfsbench doctor`` on machines with a GPU but no CUDA toolkit."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from bfsbench.support import doctor, toolchain
from bfsbench.support.doctor import Check
from tests.test_doctor import CORE, PIP, libcuda, with_driver


def with_core(
    monkeypatch: pytest.MonkeyPatch, nvrtc: tuple[int, int] | None = (13, 5), headers: bool = True
) -> None:
    """Replaces NVIDIA's Python packages; without NVRTC's library if ``nvrtc`` is None."""

    def version() -> tuple[int, int, int]:
        if nvrtc is None:
            raise RuntimeError("no libnvrtc.so")
        return 0, *nvrtc

    bindings = SimpleNamespace(nvrtc=SimpleNamespace(nvrtcVersion=version))
    pathfinder = SimpleNamespace(find_nvidia_header_directory=lambda _name: "/somewhere" if headers else None)
    for name, module in (("bindings", bindings), ("core", SimpleNamespace()), ("pathfinder", pathfinder)):
        monkeypatch.setitem(sys.modules, f"cuda.{name}", module)
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace(bindings=bindings))
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "13.5.0")
    toolchain.nvrtc_version.cache_clear()


@pytest.fixture
def no_core(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without NVIDIA's Python packages, which a test may then replace."""
    for name in ("cuda", "cuda.bindings", "cuda.core", "cuda.pathfinder"):
        monkeypatch.setitem(sys.modules, name, None)
    toolchain.nvrtc_version.cache_clear()
    yield
    toolchain.nvrtc_version.cache_clear()


@pytest.mark.usefixtures("no_core")
def test_a_machine_without_nvidias_packages() -> None:
    fix = f"{PIP} {CORE}"
    assert doctor.nvrtc() == Check("NVRTC", "missing", "no NVRTC found", fix)
    assert doctor.cuda_core() == Check("cuda-core", "missing", "no module cuda.core", fix)


@pytest.mark.usefixtures("no_core")
def test_a_machine_that_needs_no_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    with_core(monkeypatch)
    with_driver(monkeypatch, libcuda())
    assert doctor.nvrtc() == Check("NVRTC", "ok", "release 13.5")
    assert doctor.cuda_core() == Check("cuda-core", "ok", "cuda-core 13.5.0, cuda-bindings 13.5.0")
    with_core(monkeypatch, nvrtc=None)
    assert doctor.nvrtc().state == "missing"
    with_core(monkeypatch, headers=False)
    detail = "headers of cudart and cccl"
    assert doctor.cuda_core() == Check("cuda-core", "missing", detail, f"{PIP} {CORE}")


@pytest.mark.usefixtures("no_core")
def test_an_nvrtc_that_the_driver_is_too_old_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with_core(monkeypatch, nvrtc=(14, 0))
    with_driver(monkeypatch, libcuda())
    detail = "NVRTC 14.0 makes code for newer drivers than this one, which is for CUDA 13.1"
    old = " ".join(f"{name}-cu12" for name in CORE.split()[2:])
    fix = f"{PIP} 'cuda-bindings==12.*' {old}"
    assert doctor.nvrtc() == Check("NVRTC", "broken", detail, fix)
