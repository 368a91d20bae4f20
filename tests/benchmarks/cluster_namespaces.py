"""Runs sweeps over hosts with addresses of their own, which lose workers and the scheduler.

    sudo python -m tests.benchmarks.cluster_namespaces

Linux network namespaces represent four hosts. One has the scheduler, two have a worker each, and the sweep
runs on the fourth. A bridge joins them, and each has its own cache folder. The sweep runs four times with
CPU-emulated kernels: undisturbed, with a worker process killed, with a whole host gone (its network down, all
its processes killed), and with the scheduler killed. The last sweep is resumed on a new scheduler. Each time
there must be one row for each point, but a killed worker may cost one row. Needs root and iproute2.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from bfsbench.rows.results import axes_of, read_rows
from tests.cluster.programs import family

HOSTS = {"head": "10.213.7.1", "alpha": "10.213.7.2", "beta": "10.213.7.3", "user": "10.213.7.4"}
BRIDGE = "bfsbench0"
SCHEDULER = f"dask://{HOSTS['head']}:8786"
AXES = "--variant push,pull --grid auto,2 --block 32:1024:x2 --sources 4 --repeats 2"
GRAPHS = "kronecker(scale=8,edge_factor=8,seed=1),lattice(rows=30,columns=20)"
SWEEP = ["run", "--backend", "cpu", "--dataset", GRAPHS, *AXES.split()]
POINTS = 2 * 2 * 2 * 6 * 4


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=not check)


@contextmanager
def hosts() -> Iterator[None]:
    """Meanwhile there are namespaces with one address each, on one bridge."""
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("link", "set", BRIDGE, "up")
        for name, address in HOSTS.items():
            ip("netns", "add", f"bfsbench-{name}")
            ip("link", "add", f"bfsb-{name}", "type", "veth", "peer", "eth0", "netns", f"bfsbench-{name}")
            ip("link", "set", f"bfsb-{name}", "master", BRIDGE, "up")
            ip("-n", f"bfsbench-{name}", "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                ip("-n", f"bfsbench-{name}", "link", "set", device, "up")
        yield
    finally:
        for name in HOSTS:
            ip("netns", "delete", f"bfsbench-{name}", check=False)
        ip("link", "delete", BRIDGE, check=False)


class Cluster:
    """A scheduler, and a worker on each of two hosts, started by their documented commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def on(self, host: str, *words: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {"BFSBENCH_CACHE": str(self.folder / f"cache-{host}")}
        command = ["ip", "netns", "exec", f"bfsbench-{host}", sys.executable, "-m", *words]
        log = (self.folder / f"{host}.log").open("ab")
        return subprocess.Popen(command, cwd=self.folder, env=environment, stderr=log)

    def begin(self) -> None:
        options = ("--host", HOSTS["head"], "--port", "8786", "--no-dashboard")
        self.processes["head"] = self.on("head", "dask", "scheduler", *options)
        for host in ("alpha", "beta"):
            self.processes[host] = self.on(host, "bfsbench", "worker", SCHEDULER, "--workers", "1")

    def kill(self, host: str) -> None:
        """End all that runs on a host."""
        process = self.processes.pop(host)
        for one in family(process.pid):
            one.kill()
        process.wait()

    def kill_worker(self, host: str) -> None:
        """Kill the worker process, which its parent should start again."""
        children = psutil.Process(self.processes[host].pid).children(recursive=True)
        next(child for child in children if child.children()).kill()

    def end(self) -> None:
        for host in [*self.processes]:
            self.kill(host)

    def sweep(self, out: str, *more: str) -> subprocess.Popen[bytes]:
        words = [*SWEEP, "--cluster", SCHEDULER, "--out", out, *more]
        return self.on("user", "bfsbench", *words)

    def rows(self, out: str) -> list[dict[str, str]]:
        path = self.folder / out
        return read_rows(path) if path.exists() else []


def report(what: str, cluster: Cluster, out: str, code: int, crashes: int) -> None:
    """Check that a sweep has one row per point, of which ``crashes`` may be of a killed worker."""
    rows = cluster.rows(out)
    statuses = Counter(row["status"] for row in rows)
    assert len({axes_of(row) for row in rows}) == len(rows) == POINTS, (what, len(rows))
    assert statuses["crash"] <= crashes and statuses["ok"] == POINTS - statuses["crash"], (what, statuses)
    assert code == min(1, statuses["crash"]), (what, code)
    print(f"{what}: {dict(statuses)}", flush=True)


def disturbed(cluster: Cluster, out: str, disturb: Callable[[], None]) -> int:
    """Disturb a sweep when it has written 20 rows. Returns its exit code."""
    sweep = cluster.sweep(out)
    while len(cluster.rows(out)) < 20:
        time.sleep(0.02)
    disturb()
    return sweep.wait()


def sweeps(cluster: Cluster) -> None:
    """Run the four sweeps."""

    def lose_beta() -> None:
        ip("-n", "bfsbench-beta", "link", "set", "eth0", "down")
        cluster.kill("beta")

    cluster.begin()
    report("undisturbed", cluster, "a.csv", cluster.sweep("a.csv").wait(), 0)
    code = disturbed(cluster, "b.csv", lambda: cluster.kill_worker("alpha"))
    report("worker process killed", cluster, "b.csv", code, 1)
    code = disturbed(cluster, "c.csv", lose_beta)
    report("host gone", cluster, "c.csv", code, 1)
    code = disturbed(cluster, "d.csv", lambda: cluster.kill("head"))
    kept = len(cluster.rows("d.csv"))
    assert code == 1 and kept < POINTS, (code, kept)
    print(f"scheduler killed: the sweep ends with exit code {code} and {kept} rows", flush=True)
    cluster.end()
    ip("-n", "bfsbench-beta", "link", "set", "eth0", "up")
    cluster.begin()
    report("resumed on a new one", cluster, "d.csv", cluster.sweep("d.csv", "--resume").wait(), 0)


def main() -> None:
    with tempfile.TemporaryDirectory() as name, hosts():
        cluster = Cluster(Path(name))
        try:
            sweeps(cluster)
        finally:
            cluster.end()


if __name__ == "__main__":
    main()
