"""Start Dask's processes: one worker per GPU, and a scheduler if none runs.

Workers are processes on this machine, or jobs that dask-jobqueue submits to a batch system.

Anyone who can reach a scheduler or worker without TLS can run code there as the user who started it. So a
cluster that ``--cluster local`` starts listens only on 127.0.0.1, and requires certificates. Dask's web pages
listen on 127.0.0.1 only. During a long wait, this module prints what it waits for, and for how long.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import importlib.util
import logging
import os
import platform
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bfsbench.backends import GPU_BACKENDS
from bfsbench.bench.child import deaf
from bfsbench.cluster.address import Jobs, Local, Place, Running, Tell, is_loopback
from bfsbench.support.doctor import DRIVER_LIBRARY
from bfsbench.support.errors import InputError, OptionError, ToolchainError, UsageError
from bfsbench.support.interrupts import INTERRUPTS
from bfsbench.support.toml_files import read_toml

if TYPE_CHECKING:
    from distributed import Client, Security

FIRST_S = 3.0
"""A wait shorter than this many seconds prints no line."""
LONGEST_S = 600.0
"""The longest time in seconds between two lines about a wait."""


@dataclass
class Wait:
    """Prints messages about a long wait. ``what`` says what the program waits for. ``tell`` is called with
    the first message after FIRST_S seconds. The next message follows when the waiting time has doubled, or
    LONGEST_S seconds after the previous message, whichever is earlier.
    """

    what: str
    tell: Tell
    limit_s: float | None = None
    """The limit in seconds. With None, only an interrupt ends the wait."""
    _began: float = field(default_factory=lambda: time.monotonic())
    _next_s: float = FIRST_S

    def over(self, state: str = "") -> bool:
        """Return whether the wait has reached its time limit. The caller calls this often while it waits.
        ``state`` is text about the progress, which is added to the messages to the user."""
        waited = time.monotonic() - self._began
        if self.limit_s is not None and waited > self.limit_s:
            return True
        if waited >= self._next_s:
            self._next_s = waited + min(waited, LONGEST_S)
            end = "until interrupted" if self.limit_s is None else f"{self.limit_s:g} s at most"
            self.tell(f"waiting for {self.what}{state and f' ({state})'}: {waited:.0f} s so far, {end}")
        return False

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Return a context manager that prints messages about the wait while its ``with`` block runs. The
        context manager does not limit the wait. The code in the ``with`` block must do this.
        """
        done = threading.Event()

        def look() -> None:
            while not done.wait(FIRST_S / 10):
                self.over()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


LOOPBACK = "127.0.0.1"
SILENT = logging.CRITICAL + 1
"""A logging level that hides all messages of Dask. The level must be above CRITICAL, because at an interrupt
Dask's scheduler logs critical messages."""
CONNECT_LIMIT_S = 10
WITHOUT_SCHEDULER_S = 60
"""Seconds that a worker waits for its scheduler, at the start or after losing it, before it ends."""
INSTALL = f"{sys.executable} -m pip install distributed bokeh dask-jobqueue cryptography"

NANNY = {
    "nthreads": 1,  # never measure two configurations at once on a device
    "memory_limit": 0,  # no limit by Dask, which would kill a worker whose graph fills the memory
    "dashboard": False,
    "dashboard_address": f"{LOOPBACK}:0",  # Dask serves a page even without its dashboard
    "death_timeout": WITHOUT_SCHEDULER_S,
    "silence_logs": SILENT,
}


def require_dask() -> None:
    """Configure Dask to log nothing, and to let workers start processes.

    Raises ToolchainError if Dask is not installed.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ToolchainError(f"clusters need Dask distributed: {INSTALL}")
    import dask

    quiet = dict.fromkeys(("distributed", "distributed.client", "bokeh", "tornado"), SILENT)
    dask.config.set({"logging": quiet, "distributed.worker.daemon": False})


def visible_gpus() -> list[str]:
    """Return the GPUs that this process may use, spelt as in CUDA_VISIBLE_DEVICES. This function creates no
    CUDA context.
    """
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
    """Return the arguments of Dask's Nanny for each worker on this machine.

    ``count`` is the number of workers. If it is None, the number is

    - the number of visible GPUs, if ``backend`` uses GPUs and at least one is visible
    - 1, if ``backend`` is None, because several host programs would compete for the cores
    - the number of cores in all other cases, because workers then run the emulator

    Raises UsageError if GPUs are visible and ``count`` is greater than their number.
    """
    gpus = visible_gpus() if backend in ("auto", *GPU_BACKENDS) else []
    if gpus and count is not None and count > len(gpus):
        raise UsageError(f"{count} workers for {len(gpus)} visible GPUs: each needs one of its own")
    without = 1 if backend is None else len(os.sched_getaffinity(0))
    pins = [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus] or [{}] * (count or without)
    origin = f"{platform.node()}-{os.getpid()}"
    return [NANNY | {"name": f"{origin}-{i}", "env": pin} for i, pin in enumerate(pins[:count])]


def start_workers(
    place: Place, backend: str | None, security: Security | None, insecure: bool
) -> tuple[Any, int, Security | None]:
    """Start workers as ``place`` says. Returns a triple:

    - Dask's cluster object that controls the workers, or None if the workers are already running
    - the number of workers that were started or submitted, or 1 if the workers are already running
    - the certificates in use, or None

    Call this function within ``undisturbed``. ``security`` contains the certificates to use, or is None. A
    scheduler for jobs can be reached from other machines, so ``insecure`` must be true to start it without
    certificates. Raises UsageError if workers cannot be started as requested, InputError for a malformed file
    of settings, and ToolchainError if a package is missing.
    """
    if isinstance(place, Local):
        security = security or _for_one_machine()
        workers = nannies(place.count, backend)
        return _local(workers, security), len(workers), security
    if isinstance(place, Jobs):
        if security is None and not insecure:
            raise _without_tls(f"the scheduler for {place.queue}")
        return *start_jobs(place, security), security
    return None, 1, security


def starting(place: Place) -> str:
    """Return a phrase for the user about the workers or jobs that ``start_workers`` waits for."""
    if isinstance(place, Jobs):
        return f"{place.queue} to take the jobs"
    return "the processes of a cluster on this machine to start"


def connect(scheduler: Any, security: Security | None, tell: Tell) -> Client:
    """Return a client that is connected to a scheduler. The scheduler is given by its address, or by Dask's
    cluster object that started it.

    ``tell`` is called with messages about the wait. Raises UsageError if the scheduler does not answer or
    refuses the client.
    """
    from distributed import Client

    try:
        with Wait("the scheduler to answer", tell, CONNECT_LIMIT_S).beside():
            return Client(scheduler, timeout=CONNECT_LIMIT_S, set_as_default=False, security=security)
    except (OSError, RuntimeError) as error:
        raise no_scheduler(str(scheduler), security) from error


def url(place: Running, security: Security | None) -> str:
    """Return the scheduler's address in Dask's spelling: ``tls://HOST:PORT`` or ``tcp://HOST:PORT``."""
    return f"{'tls' if security else 'tcp'}://{place.scheduler}"


def no_scheduler(address: str, security: Security | None) -> UsageError:
    """Return the error for a scheduler that does not answer, or that refuses this client."""
    other = "or show its certificates with --tls" if security is None else "or it has other certificates"
    return UsageError(f"no scheduler answers at {address}: start one with 'dask scheduler', {other}")


def require_access_control(address: str, insecure: bool, tell: Tell) -> None:
    """Check that a scheduler uses certificates, or that only this machine can reach it. The function
    decides this from the scheduler's address.

    Raises OptionError if the scheduler has no certificates and other machines can reach it. If ``insecure``
    is true, passes a warning to ``tell`` instead.
    """
    if address.startswith("tls://") or is_loopback(address):
        return
    if not insecure:
        raise _without_tls(address)
    tell(f"warning: {address} {_RISK}")


_RISK = (
    "has no TLS: whoever reaches it or its workers can run code as you; see 'bfsbench certificates --help'"
)


def _without_tls(what: str) -> OptionError:
    return OptionError("{what} {risk}, or accept it by {insecure}", what=what, risk=_RISK)


def _for_one_machine() -> Security:
    """Return temporary certificates for a cluster on this machine.

    They are needed because all users of the machine can reach the ports of 127.0.0.1. Raises ToolchainError
    if the package cryptography is not installed.
    """
    if importlib.util.find_spec("cryptography") is None:
        raise ToolchainError(f"clusters need cryptography: {INSTALL}")
    from distributed import Security

    made: Security = Security.temporary()
    return made


def _local(workers: list[dict[str, Any]], security: Security) -> Any:
    from distributed import Nanny, Scheduler, SpecCluster

    common = {"host": LOOPBACK, "security": security, "protocol": "tls://"}
    try:
        return SpecCluster(
            scheduler={"cls": Scheduler, "options": common | {"dashboard_address": f"{LOOPBACK}:0"}},
            workers={options["name"]: {"cls": Nanny, "options": options | common} for options in workers},
            silence_logs=SILENT,
            security=security,
        )
    except RuntimeError as error:
        raise UsageError(f"the workers on this machine did not start: {error}") from error


_CLASSES = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "sge": "SGECluster", "lsf": "LSFCluster"}
"""The class of dask_jobqueue for each batch system in QUEUES."""
_UNLIMITED = "1GB"
"""A memory size to satisfy dask-jobqueue if the user gives none. It is not requested from the batch
system."""
_MEMORY_DIRECTIVES = ("--mem=", "-M ")
"""Beginnings of lines in job scripts that request memory."""


def start_jobs(jobs: Jobs, security: Security | None) -> tuple[Any, int]:
    """Submit jobs that run workers. Returns Dask's cluster of these jobs, and the number of jobs.

    Raises UsageError for options that dask-jobqueue or the batch system refuses, and if the commands of the
    batch system are missing. Raises ToolchainError if dask-jobqueue is not installed. Raises InputError for a
    malformed file of settings.
    """
    if importlib.util.find_spec("dask_jobqueue") is None:
        raise ToolchainError(f"--cluster {jobs.queue} needs dask-jobqueue: {INSTALL}")
    make = getattr(importlib.import_module("dask_jobqueue"), _CLASSES[jobs.queue])
    chosen = job_options(jobs)
    for command in (make.job_cls.submit_command, make.job_cls.cancel_command):
        if shutil.which(command) is None:
            raise UsageError(f"--cluster {jobs.queue}: there is no command {command} here")
    count, cluster = int(chosen.pop("n_workers")), None
    try:
        cluster = make(**chosen, n_workers=0, security=security)
        for _ in range(count):
            cluster.worker_spec.update(cluster.new_worker_spec())
        cluster.sync(cluster._correct_state)  # submits the jobs; scale() would hide errors
    except (TypeError, ValueError, RuntimeError) as error:
        if cluster is not None:
            _close_jobs(cluster)
        where = jobs.settings or f"jobqueue.{jobs.queue}"
        raise UsageError(f"{where}: {_in_a_line(error)}") from error
    return cluster, count


def _close_jobs(cluster: Any) -> None:
    """Cancel the submitted jobs of a cluster if some of its jobs could not be submitted."""
    from distributed import Status

    for job in cluster._created:  # Dask closes only jobs that were submitted or given up
        job.status = Status.failed if job.status == Status.created else job.status
    cluster.close()


def _in_a_line(error: Exception) -> str:
    """Return a description of an error in one line: the output of a command that failed, or the first line of
    any other error.
    """
    text = str(error)
    said = text.rpartition("stderr:")[2].split()
    return " ".join(said) if "stderr:" in text and said else text.splitlines()[0]


def job_options(jobs: Jobs) -> dict[str, Any]:
    """Return the keyword arguments for the class of dask_jobqueue that submits the jobs.

    The arguments are the keys of the TOML file ``jobs.settings``. Examples are ``queue``, ``walltime``, and
    ``n_workers`` (the number of jobs, by default 1). ``cores`` and ``memory`` are the size of each job. Extra
    directives are given as ``job_extra_directives = ["--gres=gpu:1"]``. Missing keys are taken from the Dask
    configuration. If the Dask configuration has no ``memory`` either, no memory is requested. Each job runs
    one worker with one thread. Raises InputError if the TOML file cannot be read or has the key
    ``processes``.
    """
    import dask

    def setting(name: str, otherwise: Any = None) -> Any:
        default = dask.config.get(f"jobqueue.{jobs.queue}.{name.replace('_', '-')}", None)
        return given.get(name, default) or otherwise

    given = read_toml(jobs.settings) if jobs.settings else {}
    if "processes" in given:
        why = "processes cannot be chosen: a job is one worker; ask for more n_workers"
        raise InputError(f"{jobs.settings}: {why}")
    cores, memory = setting("cores", 1), setting("memory")
    sizes = {  # SGE is missing: its sites have different names for sizes, which users give in resource_spec
        "slurm": {"job_cpu": cores},
        "lsf": {"ncpus": cores},
        "pbs": {"resource_spec": f"select=1:ncpus={cores}" + (f":mem={memory}" if memory else "")},
    }
    size = {name: value for name, value in sizes.get(jobs.queue, {}).items() if not setting(name)}
    usual = {"n_workers": 1, "memory": memory or _UNLIMITED, **size}
    page = f"{LOOPBACK}:0"
    extra = ("--memory-limit", "0", "--no-dashboard", "--dashboard-address", page)
    own_process = "export DASK_DISTRIBUTED__WORKER__DAEMON=False"
    ours = {
        "cores": 1,
        "processes": 1,
        "worker_extra_args": [*setting("worker_extra_args", ()), *extra],
        "job_script_prologue": [*setting("job_script_prologue", ()), own_process],
        "job_directives_skip": [*setting("job_directives_skip", ()), *(() if memory else _MEMORY_DIRECTIVES)],
        "scheduler_options": {"dashboard_address": page} | setting("scheduler_options", {}),
    }
    return usual | given | ours


async def serve(address: str, workers: list[dict[str, Any]], security: Security | None, tell: Tell) -> None:
    """Run workers until their scheduler ends or a signal comes. ``workers`` are the arguments from
    ``nannies``.

    ``tell`` is called with messages about the wait. Raises UsageError if no scheduler answers.
    """
    from distributed import Nanny

    threading.Thread(
        target=threading.Event().wait, daemon=True
    ).start()  # this thread receives SIGINT, which ``deaf`` blocks in all other threads
    with deaf():
        loop, here = asyncio.get_running_loop(), asyncio.current_task()
        assert here is not None
        for number in INTERRUPTS:
            loop.add_signal_handler(number, here.cancel)
        running = [Nanny(address, security=security, **options) for options in workers]
        starts = [asyncio.ensure_future(nanny) for nanny in running]
        try:
            # Unlike gather, wait does not cancel starts at a signal. A half-started process cannot be closed.
            with Wait(f"the scheduler at {address} to take in workers", tell, WITHOUT_SCHEDULER_S).beside():
                await asyncio.wait(starts)
            await asyncio.gather(*starts)
            await asyncio.gather(*(nanny.finished() for nanny in running))
        except (TimeoutError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not isinstance(error.__cause__, OSError):
                raise
            raise no_scheduler(address, security) from error
        finally:
            await asyncio.gather(*(nanny.close(timeout=5) for nanny in running))
            await asyncio.gather(*starts, return_exceptions=True)
