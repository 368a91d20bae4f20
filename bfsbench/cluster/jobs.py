"""Start workers as jobs of a batch system, by dask-jobqueue."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
from typing import TYPE_CHECKING, Any

from bfsbench.cluster.address import Jobs
from bfsbench.support.errors import InputError, ToolchainError, UsageError
from bfsbench.support.toml_files import read_toml

if TYPE_CHECKING:
    from distributed import Security

_CLASSES = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "sge": "SGECluster", "lsf": "LSFCluster"}
"""The class of dask_jobqueue for each batch system in QUEUES."""
_UNLIMITED = "1GB"
"""A memory size to satisfy dask-jobqueue if the user gives none. It is not requested from the batch
system."""
_MEMORY_DIRECTIVES = ("--mem=", "-M ")
"""Beginnings of lines in job scripts that request memory."""


def start(jobs: Jobs, security: Security | None, install: str) -> tuple[Any, int]:
    """Submit jobs. Returns Dask's cluster of these jobs, and their number.

    Raises UsageError for options that dask-jobqueue or the batch system refuses, and if the commands of the
    batch system are missing. Raises ToolchainError, which names ``install``, if dask-jobqueue is not
    installed. Raises InputError for a malformed file of settings.
    """
    if importlib.util.find_spec("dask_jobqueue") is None:
        raise ToolchainError(f"--cluster {jobs.queue} needs dask-jobqueue: {install}")
    make = getattr(importlib.import_module("dask_jobqueue"), _CLASSES[jobs.queue])
    chosen = options(jobs)
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
            _close(cluster)
        where = jobs.settings or f"jobqueue.{jobs.queue}"
        raise UsageError(f"{where}: {_in_a_line(error)}") from error
    return cluster, count


def _close(cluster: Any) -> None:
    """Cancel the submitted jobs of a cluster that could not be started completely."""
    from distributed import Status

    for job in cluster._created:  # Dask closes only jobs that were submitted or given up
        job.status = Status.failed if job.status == Status.created else job.status
    cluster.close()


def _in_a_line(error: Exception) -> str:
    """Return the output of a command that failed, or the first line of any other error."""
    text = str(error)
    said = text.rpartition("stderr:")[2].split()
    return " ".join(said) if "stderr:" in text and said else text.splitlines()[0]


def options(jobs: Jobs) -> dict[str, Any]:
    """Return the arguments of the class of dask_jobqueue.

    They are keys of the TOML file ``jobs.settings``. Examples are ``queue``, ``walltime``, and ``n_workers``,
    the number of jobs, by default 1. ``cores`` and ``memory`` are sizes of a job. Extra directives are given
    as ``job_extra_directives = ["--gres=gpu:1"]``. Missing keys are taken from the Dask configuration. If it
    has no ``memory`` either, no memory is requested. Each job runs one worker with one thread. Raises
    InputError.
    """
    import dask

    def setting(name: str) -> Any:
        default = dask.config.get(f"jobqueue.{jobs.queue}.{name.replace('_', '-')}", None)
        return given.get(name, default)

    given = read_toml(jobs.settings) if jobs.settings else {}
    if "processes" in given:
        raise InputError(
            f"{jobs.settings}: processes cannot be chosen: a job is one worker; ask for more n_workers"
        )
    cores, memory = setting("cores") or 1, setting("memory")
    prologue = [
        *(setting("job_script_prologue") or ()),
        "export DASK_DISTRIBUTED__WORKER__DAEMON=False",  # a worker has a process of its own
    ]
    extra = [*(setting("worker_extra_args") or ()), "--memory-limit", "0"]
    extra += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    skipped = [*(setting("job_directives_skip") or ()), *(() if memory else _MEMORY_DIRECTIVES)]
    size = {name: value for name, value in _job_size(jobs.queue, cores, memory).items() if not setting(name)}
    usual = {"n_workers": 1, "memory": memory or _UNLIMITED, **size}
    scheduler = {"dashboard_address": "127.0.0.1:0"} | (setting("scheduler_options") or {})
    ours = {
        "cores": 1,
        "processes": 1,
        "worker_extra_args": extra,
        "job_script_prologue": prologue,
        "job_directives_skip": skipped,
        "scheduler_options": scheduler,
    }
    return usual | given | ours


def _job_size(queue: str, cores: int, memory: str | None) -> dict[str, Any]:
    """Return the options that ask the batch system for ``cores`` cores per job.

    The job's worker has one thread.
    """
    if queue == "slurm":
        return {"job_cpu": cores}
    if queue == "lsf":
        return {"ncpus": cores}
    if queue == "pbs":
        return {"resource_spec": f"select=1:ncpus={cores}" + (f":mem={memory}" if memory else "")}
    return {}  # sites name this differently in SGE: use resource_spec or job_extra_directives
