"""Parse the option ``--cluster``, which says where workers run: ``local[:N]``, ``dask://HOST:PORT``, or a
batch system whose jobs run the workers, such as ``slurm[:FILE]``.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    from bfsbench.bench.options import Method
    from bfsbench.bench.worker import Runner

Tell = Callable[[str], None]
"""A function that is called with each line for the user."""
QUEUES = ("slurm", "pbs", "sge", "lsf")
"""Batch systems that can start workers as jobs."""
FORMS = f"local[:N], dask://HOST:PORT or {'|'.join(QUEUES)}[:FILE]"


@dataclass(frozen=True)
class Local:
    """Workers on this machine. ``count`` is the number of workers. If it is None, there is one worker per
    GPU, or the number that :func:`bfsbench.cluster.launch.nannies` chooses for a machine without a GPU.
    """

    count: int | None = None


@dataclass(frozen=True)
class Running:
    """A Dask scheduler that was started before the sweep, and the workers that have joined it."""

    scheduler: str
    """The scheduler's address as ``HOST:PORT``."""


@dataclass(frozen=True)
class Jobs:
    """Workers that are jobs of a batch system, with one GPU each. The batch system is one of QUEUES.

    ``settings`` is the path of a TOML file that describes the jobs. If it is None, the user's Dask
    configuration describes them.
    """

    queue: str
    settings: Path | None = None


Place = Local | Running | Jobs


def parse(text: str) -> Place:
    """Parse the value of ``--cluster``. Returns a Local, Running or Jobs object. Raises UsageError if the
    value has none of the forms in FORMS."""
    kind, colon, rest = text.partition(":")
    if kind == "local" and not colon:
        return Local()
    if kind == "local" and re.fullmatch(r"[1-9]\d{0,3}", rest, re.ASCII):
        return Local(int(rest))
    if kind in ("dask", "tcp", "tls"):
        return Running(host_and_port(text))
    if kind in QUEUES and not colon:
        return Jobs(kind)
    if kind in QUEUES and rest:
        return Jobs(kind, Path(rest))
    raise UsageError(f"--cluster: '{text}' is not {FORMS}")


def host_and_port(text: str) -> str:
    """Return ``HOST:PORT`` from ``dask://HOST:PORT``, ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.

    Raises UsageError for any other text.
    """
    match = re.fullmatch(r"(?:dask|tcp|tls)://([^/\s]+):(\d{1,5})", text, re.ASCII)
    if match is None or not 0 < int(match[2]) < 2**16:
        raise UsageError(f"'{text}' is not the address of a scheduler: write dask://HOST:PORT")
    return f"{match[1]}:{match[2]}"


def is_loopback(address: str) -> bool:
    """Return whether an address belongs to this machine's loopback interface, which other machines cannot
    reach. The address has the form ``tcp://HOST:PORT`` or ``HOST:PORT``."""
    host = address.rpartition("://")[2].rpartition(":")[0].strip("[]")
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)


def runner_maker(method: Method, tell: Tell) -> Callable[[str | None], Runner]:
    """Return a function that takes the name of a backend and returns a runner for a sweep. A backend of None
    stands for host programs only.

    ``method.cluster`` says where searches run. If it is None, they run in one process on this machine.
    ``tell`` is called with each message to the user. Raises UsageError for a wrong option, InputError for
    invalid certificates, and ToolchainError if Dask is not installed.
    """
    if method.cluster is None:
        from bfsbench.bench.worker import Worker

        return partial(Worker, schedule_seed=method.schedule_seed)
    from bfsbench.cluster.launch import require_dask

    place = parse(method.cluster)
    require_dask()
    from bfsbench.cluster.certificates import security_in
    from bfsbench.cluster.runner import Cluster
    from bfsbench.cluster.tasks import Equipment

    security, mixed, insecure = security_in(method.tls), method.mixed_devices, method.insecure
    return lambda backend: Cluster(
        place, Equipment(backend, method.schedule_seed), mixed, tell, security, insecure
    )
