"""Choose what runs the points of a sweep: a process on this machine, or the workers of a cluster."""

from collections.abc import Callable
from functools import partial

from bfsbench.bench.options import Method
from bfsbench.bench.runner import Runner
from bfsbench.bench.worker import Worker


def runner_maker(method: Method, tell: Callable[[str], None]) -> Callable[[str | None], Runner]:
    """Return a function that makes the runner for a backend. A backend of None stands for host programs only.

    ``method.cluster`` says where points run. None stands for one process on this machine. ``tell`` is called
    with lines for the user. Raises UsageError and ToolchainError.
    """
    if method.cluster is None:
        return partial(Worker, schedule_seed=method.schedule_seed)
    from bfsbench.cluster.address import parse
    from bfsbench.cluster.certificates import Certificates
    from bfsbench.cluster.launch import require_dask

    place, certificates = parse(method.cluster), Certificates.named(method.tls)
    require_dask()
    from bfsbench.cluster.runner import Cluster
    from bfsbench.cluster.tasks import Equipment

    return lambda backend: Cluster(
        place,
        Equipment(backend, method.schedule_seed),
        method.mixed_devices,
        tell,
        certificates,
        method.insecure,
    )
