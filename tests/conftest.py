"""Shared fixtures."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.support.machine import usable_cores
from tests.devices import BACKENDS

# Workers, and the programs that tests start, share bytecode. Without it, each of them compiles all modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Examples have no deadlines, because their time depends on the machine.
settings.register_profile("some", deadline=None, max_examples=15)
settings.register_profile("exhaustive", deadline=None, max_examples=200)
EXHAUSTIVE_LIMIT_S = 1200
"""The time limit of one test."""


def pytest_configure(config: pytest.Config) -> None:
    """Have programs that tests start take SIGINT, even if a shell runs the tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("exhaustive" if is_exhaustive(config) else "some")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Returns one more than the number of cores, because tests of clusters, limits and kills mostly wait."""
    return usable_cores() + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have an exhaustive run test properties, too, on more examples. Give its tests more time."""
    for item in items if is_exhaustive(config) else ():
        if hasattr(getattr(item, "obj", None), "hypothesis"):
            item.add_marker(pytest.mark.exhaustive)
        item.add_marker(pytest.mark.timeout(EXHAUSTIVE_LIMIT_S))


def is_exhaustive(config: pytest.Config) -> bool:
    return config.option.markexpr == "exhaustive"


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Path]:
    """Returns a cache that all workers of one test run share. Compiled code stays in pytest's cache for the
    next run, because its address is its content."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if worker else base) / "cache"
    folder.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (folder / "native").symlink_to(pytestconfig.cache.mkdir("compiled"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BFSBENCH_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module", params=BACKENDS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """Yields a device of each backend in turn. A module may replace this fixture."""
    device = open_device(request.param)
    yield device
    device.close()


@pytest.fixture(scope="module")
def emulator() -> Iterator[Device]:
    """Yields the emulator, for tests that rely on its schedule or on its memory being the host's."""
    device = open_device("cpu")
    yield device
    device.close()
