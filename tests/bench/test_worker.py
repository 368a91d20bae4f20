"""The worker process: what its loss costs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from bfsbench.bench.point import Point
from bfsbench.bench.worker import Failure, Worker
from bfsbench.errors import UsageError

POINT = Point("lattice(rows=9,columns=7,seed=1):symmetrised", 0, "cpu_queue", "host", None, None)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(None)
    yield worker
    worker.close()


def kill(worker: Worker) -> None:
    process = worker._process
    assert process is not None and process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def test_a_worker_lost_between_points_costs_one_of_them(worker: Worker) -> None:
    first = worker.measure(POINT, 1, 60)
    assert isinstance(first, dict) and first["status"] == "ok"
    kill(worker)
    lost = worker.measure(POINT, 1, 60)
    assert lost == Failure("crash", "the worker process was killed by SIGKILL")
    again = worker.measure(POINT, 1, 60)
    assert isinstance(again, dict) and again["status"] == "ok"


def test_a_device_that_cannot_be_had_is_told_at_the_start() -> None:
    worker = Worker("cuda")
    try:
        assert worker.start() is not None
    except UsageError as error:
        assert "see 'bfsbench doctor'" in str(error)
    finally:
        worker.close()


def test_closing_twice_is_closing_once(worker: Worker) -> None:
    worker.start()
    worker.close()
    worker.close()
