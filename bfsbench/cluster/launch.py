"""Starting what Dask consists of: worker processes, one a GPU, and a scheduler where there is none."""

from __future__ import annotations

import asyncio
import ctypes
import importlib.util
import logging
import os
import platform
import signal
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from bfsbench.cluster.address import Local, Place, Running, Slurm
from bfsbench.doctor import DRIVER_LIBRARY
from bfsbench.errors import InputError, ToolchainError, UsageError

if TYPE_CHECKING:
    from distributed import Client

CONNECT_LIMIT_S = 10
WITHOUT_SCHEDULER_S = 60
"""How long a worker waits for its scheduler, at first or again, before it ends."""
INSTALL = f"{sys.executable} -m pip install distributed bokeh dask-jobqueue"

NANNY = {
    "nthreads": 1,  # never two points at once on a device
    "memory_limit": 0,  # a graph may fill the memory; Dask's guess of what is too much would kill the worker
    "dashboard": False,
    "death_timeout": WITHOUT_SCHEDULER_S,
    "silence_logs": logging.CRITICAL,
}


def require_dask() -> None:
    """Configure Dask: no log beside our lines, and workers that may have processes of their own.

    Raises ToolchainError when it is not installed.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ToolchainError(f"clusters need Dask distributed: {INSTALL}")
    import dask

    quiet = dict.fromkeys(("distributed", "distributed.client", "bokeh", "tornado"), "critical")
    dask.config.set({"logging": quiet, "distributed.worker.daemon": False})


def visible_gpus() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES names them; no context is made."""
    count = ctypes.c_int()
    try:
        cuda = ctypes.CDLL(DRIVER_LIBRARY)
    except OSError:
        return []
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count.value))))
    return [name.strip() for name in named.split(",")][: count.value]


def nannies(count: int | None, backend: str | None) -> list[dict[str, Any]]:
    """Arguments of Dask's Nanny for each worker on this machine: ``count`` of them, None for one a GPU.

    Without a GPU, or with one that ``backend`` does not want, they run the emulator, one a core unless
    counted; for host programs (None), which would take cores from each other, it is one. Raises UsageError
    for more workers than GPUs.
    """
    gpus = visible_gpus() if backend in ("auto", "cuda") else []
    if gpus and count is not None and count > len(gpus):
        raise UsageError(f"{count} workers for {len(gpus)} visible GPUs: each needs one of its own")
    without = 1 if backend is None else len(os.sched_getaffinity(0))
    pins = [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus] or [{}] * (count or without)
    origin = f"{platform.node()}-{os.getpid()}"
    return [NANNY | {"name": f"{origin}-{i}", "env": pin} for i, pin in enumerate(pins[:count])]


@contextmanager
def deaf() -> Iterator[None]:
    """Threads and processes started inside never hear of an interrupt: it is left to the process that began.

    A terminal tells all processes at once, and those of Python answer with a traceback.
    """
    resource_tracker.ensure_running()  # Python's own helper would unblock what is blocked here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """An interrupt is raised at the end, when what was started inside can be closed. For the main thread."""
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        with deaf():
            yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            raise KeyboardInterrupt


def start_workers(place: Place, backend: str | None) -> tuple[Any, int]:
    """Start what is to be started: Dask's handle on it, or None, and how many workers to wait for.

    To be called ``undisturbed``. Raises UsageError, InputError, ToolchainError.
    """
    match place:
        case Local(count):
            workers = nannies(count, backend)
            return _local(workers), len(workers)
        case Running():
            return None, 1
        case Slurm(settings):
            return slurm(settings), 1


def connect(place: Place, workers: Any) -> Client:
    """A client of the scheduler; ``workers`` as ``start_workers`` returned it. Raises UsageError."""
    from distributed import Client

    scheduler = place.address if isinstance(place, Running) else workers
    try:
        return Client(scheduler, timeout=CONNECT_LIMIT_S, set_as_default=False)
    except OSError as error:
        raise UsageError(f"no scheduler answers at {scheduler}: start one with 'dask scheduler'") from error


def _local(workers: list[dict[str, Any]]) -> Any:
    from distributed import Nanny, Scheduler, SpecCluster

    return SpecCluster(
        scheduler={"cls": Scheduler, "options": {"host": "127.0.0.1", "dashboard_address": ":0"}},
        workers={options["name"]: {"cls": Nanny, "options": options} for options in workers},
        silence_logs=logging.CRITICAL,
    )


def slurm(settings: Path | None) -> Any:
    """Dask's cluster of Slurm jobs; ``settings`` as :func:`slurm_options` reads them.

    Raises UsageError for options that dask-jobqueue refuses.
    """
    if importlib.util.find_spec("dask_jobqueue") is None:
        raise ToolchainError(f"--cluster slurm needs dask-jobqueue: {INSTALL}")
    from dask_jobqueue.slurm import SLURMCluster

    options = slurm_options(settings)
    try:
        return SLURMCluster(**options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{settings or 'jobqueue.slurm'}: {str(error).splitlines()[0]}") from error


def slurm_options(settings: Path | None) -> dict[str, Any]:
    """Arguments of dask_jobqueue.SLURMCluster.

    ``settings`` is a TOML file of them, such as ``n_workers`` (jobs, 1 by default), ``queue``, ``walltime``,
    ``cores`` and ``memory`` (of a job), ``job_extra_directives = ["--gres=gpu:1"]``; what it leaves out is
    taken from the Dask configuration. Each job runs one worker of one thread. Raises InputError.
    """
    import dask

    given: dict[str, Any] = {}
    if settings is not None:
        try:
            given = tomllib.loads(settings.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read {settings}: {error.strerror or error}") from error
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"{settings}: {error}") from error
    if "processes" in given:
        raise InputError(
            f"{settings}: processes cannot be chosen: a job is one worker; ask for more n_workers"
        )
    cores = given.get("cores") or dask.config.get("jobqueue.slurm.cores", None) or 1
    prologue = [
        *given.get("job_script_prologue", []),
        "export DASK_DISTRIBUTED__WORKER__DAEMON=False",  # a worker has a process of its own
    ]
    extra = [*given.get("worker_extra_args", []), "--memory-limit", "0", "--no-dashboard"]
    ours = {"cores": 1, "processes": 1, "worker_extra_args": extra, "job_script_prologue": prologue}
    return {"n_workers": 1, "job_cpu": cores} | given | ours


async def serve(address: str, workers: list[dict[str, Any]]) -> None:
    """Run workers, as ``nannies`` gives them, until their scheduler ends or a signal comes.

    Raises UsageError when no scheduler answers.
    """
    Thread(target=Event().wait, daemon=True).start()  # hears what this one does not
    with deaf():
        await _serve(address, workers)


async def _serve(address: str, workers: list[dict[str, Any]]) -> None:
    from distributed import Nanny

    loop, here = asyncio.get_running_loop(), asyncio.current_task()
    assert here is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, here.cancel)
    running = [Nanny(address, **options) for options in workers]
    starts = [asyncio.ensure_future(nanny) for nanny in running]
    try:
        # Waiting lets them go on when a signal comes, unlike gathering: half started, they cannot be closed.
        await asyncio.wait(starts)
        await asyncio.gather(*starts)
        await asyncio.gather(*(nanny.finished() for nanny in running))
    except (TimeoutError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, OSError):
            raise
        raise UsageError(f"no scheduler answers at {address}: start one with 'dask scheduler'") from error
    finally:
        await asyncio.gather(*(nanny.close(timeout=5) for nanny in running))
        await asyncio.gather(*starts, return_exceptions=True)
