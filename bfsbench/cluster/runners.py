"""What runs the points of a sweep: a process here, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bfsbench.bench.runner import Runner
from bfsbench.bench.worker import Worker
from bfsbench.errors import UsageError


def runner_maker(
    cluster: str | None, mixed_devices: bool, schedule_seed: int, tell: Callable[[str], None]
) -> Callable[[str | None], Runner]:
    """What makes the runner for a backend, not started yet; the backend None is for host programs only.

    ``cluster`` is a place as ``--cluster`` names it, None for one process here. ``tell`` is called with what
    the user should know, a line at a time. Raises UsageError, ToolchainError.
    """
    if cluster is None:
        if mixed_devices:
            raise UsageError("--mixed-devices goes with --cluster")
        return partial(Worker, schedule_seed=schedule_seed)
    from bfsbench.cluster.address import parse
    from bfsbench.cluster.launch import require_dask

    place = parse(cluster)
    require_dask()
    from bfsbench.cluster.runner import Cluster
    from bfsbench.cluster.tasks import Equipment

    return lambda backend: Cluster(place, Equipment(backend, schedule_seed), mixed_devices, tell)
