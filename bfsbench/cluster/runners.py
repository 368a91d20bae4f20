"""What runs the points of a sweep: a process here, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from bfsbench.bench.runner import Runner
from bfsbench.bench.worker import Worker
from bfsbench.errors import UsageError


def runner_maker(
    cluster: str | None,
    mixed_devices: bool,
    schedule_seed: int,
    tell: Callable[[str], None],
    tls: Path | None = None,
) -> Callable[[str | None], Runner]:
    """A function that makes the runner for a backend, not started yet; the backend None is for host programs
    only.

    ``cluster`` is a place as ``--cluster`` names it, None for one process here. ``tell`` is called with lines
    for the user. ``tls`` is a folder of certificates. Raises UsageError, ToolchainError.
    """
    if cluster is None:
        for option, given in (("--mixed-devices", mixed_devices), ("--tls", tls)):
            if given:
                raise UsageError(f"{option} goes with --cluster")
        return partial(Worker, schedule_seed=schedule_seed)
    from bfsbench.cluster.address import parse
    from bfsbench.cluster.certificates import Certificates
    from bfsbench.cluster.launch import require_dask

    place, certificates = parse(cluster), Certificates.of(tls) if tls else None
    require_dask()
    from bfsbench.cluster.runner import Cluster
    from bfsbench.cluster.tasks import Equipment

    return lambda backend: Cluster(
        place, Equipment(backend, schedule_seed), mixed_devices, tell, certificates
    )
