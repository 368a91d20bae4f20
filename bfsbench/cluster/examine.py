"""The properties of a cluster's workers, and how they differ."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bfsbench.bench import provenance
from bfsbench.bench.worker import START_LIMIT_S
from bfsbench.cluster.address import Place
from bfsbench.cluster.certificates import Certificates
from bfsbench.cluster.launch import connect, exposure, start_workers, starting, undisturbed
from bfsbench.cluster.tasks import inspect
from bfsbench.cluster.waiting import Wait
from bfsbench.errors import BfsbenchError
from bfsbench.paths import cache_dir
from bfsbench.wording import plural

ALIKE = ("gpu", "compute_capability", "driver", "cuda", "host_cpu", "python", "version", "commit", "cache")
"""Properties that the workers of one sweep should share."""
SAME_AS_HERE = ("python", "version", "commit")
"""Properties that they should share with the machine that begins the sweep."""


@dataclass(frozen=True)
class Findings:
    """The findings about a cluster."""

    workers: list[dict[str, str]]
    """By worker: its name, ``trouble`` if it cannot work, and provenance columns."""
    here: dict[str, str]
    """The same columns of this machine."""

    @property
    def works(self) -> bool:
        """Whether a sweep could use all workers."""
        return bool(self.workers) and not self.troubles and not self.differences

    @property
    def troubles(self) -> list[str]:
        return [f"{facts['worker']}: {facts['trouble']}" for facts in self.workers if "trouble" in facts]

    @property
    def differences(self) -> list[str]:
        """A line for each fact that is not the same everywhere."""
        everywhere = [*self.workers, self.here]
        lines = [_difference(name, everywhere if name in SAME_AS_HERE else self.workers) for name in ALIKE]
        return [line for line in lines if line]


def _difference(name: str, facts: Sequence[Mapping[str, str]]) -> str:
    """``driver: 580.1 (a, b), 570.2 (c)``; empty where all are the same."""
    values = Counter(one.get(name, "") for one in facts)
    if len(values) < 2:
        return ""
    who = {value: [one["worker"] for one in facts if one.get(name, "") == value] for value in values}
    return f"{name}: " + ", ".join(f"{value or 'none'} ({', '.join(names)})" for value, names in who.items())


def examine(
    place: Place, certificates: Certificates | None = None, tell: Callable[[str], None] = lambda line: None
) -> Findings:
    """Ask every worker present; ``tell`` is called with lines about waiting and with warnings. Raises
    UsageError and BfsbenchError when none can be reached.
    """
    started = None
    security = certificates.security() if certificates else None
    try:
        with undisturbed(), Wait(starting(place), tell).beside():
            started = start_workers(place, "auto", security)
        client = connect(place, started, tell)
        try:
            if warning := exposure(client.scheduler_info()["address"]):
                tell(warning)
            with Wait(plural(started.count, "worker"), tell, START_LIMIT_S).beside():
                client.wait_for_workers(started.count, timeout=START_LIMIT_S)
            folder = cache_dir()
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder) as probe:
                questions = [
                    client.submit(inspect, probe.name, workers=[address], pure=False)
                    for address in client.nthreads()
                ]
                found = [question.result(timeout=START_LIMIT_S) for question in questions]
        except TimeoutError:
            raise BfsbenchError(f"the workers did not answer within {START_LIMIT_S:g} s") from None
        finally:
            client.close()
    finally:
        if started is not None and started.workers is not None:
            started.workers.close()
    here = {"worker": "this machine", **provenance.host_columns()}
    return Findings(sorted(found, key=lambda facts: facts["worker"]), here)
