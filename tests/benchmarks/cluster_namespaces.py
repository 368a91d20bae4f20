"""A sweep over hosts with addresses of their own, which loses workers and the scheduler.

    sudo python tests/benchmarks/cluster_namespaces.py

Linux network namespaces represent hosts: one has the scheduler, two have a worker each, and the sweep is
run from a fourth; a bridge joins them, and each has a cache folder of its own. The sweep is run four times
with CPU-emulated kernels: undisturbed, with a worker process killed, with a whole host gone (its network
down, all its processes killed), and with the scheduler killed and the sweep resumed on a new one. Each time
there must be a row for each point, once; a killed worker may cost one of them. Needs root and iproute2.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from bfsbench.rows.results import axes_of, read_rows

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
    """Namespaces with one address each, on one bridge."""
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
        for one in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
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

    def wait_for(self, out: str, count: int) -> None:
        while len(self.rows(out)) < count:
            time.sleep(0.02)


def report(what: str, cluster: Cluster, out: str, code: int, began: float, crashes: int) -> None:
    rows = cluster.rows(out)
    statuses = Counter(row["status"] for row in rows)
    assert len({axes_of(row) for row in rows}) == len(rows) == POINTS, (what, len(rows))
    assert statuses["crash"] <= crashes and statuses["ok"] == POINTS - statuses["crash"], (what, statuses)
    assert code == min(1, statuses["crash"]), (what, code)
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    print(f"{what}: {told}; {time.perf_counter() - began:.1f} s", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name, hosts():
        cluster = Cluster(Path(name))
        try:
            disturb(cluster)
        finally:
            cluster.end()


def disturb(cluster: Cluster) -> None:
    """The four sweeps."""
    cluster.begin()
    began = time.perf_counter()
    report("undisturbed", cluster, "a.csv", cluster.sweep("a.csv").wait(), began, 0)

    began = time.perf_counter()
    sweep = cluster.sweep("b.csv")
    cluster.wait_for("b.csv", 20)
    cluster.kill_worker("alpha")
    report("worker process killed", cluster, "b.csv", sweep.wait(), began, 1)

    began = time.perf_counter()
    sweep = cluster.sweep("c.csv")
    cluster.wait_for("c.csv", 20)
    ip("-n", "bfsbench-beta", "link", "set", "eth0", "down")
    cluster.kill("beta")
    report("host gone", cluster, "c.csv", sweep.wait(), began, 1)

    began = time.perf_counter()
    sweep = cluster.sweep("d.csv")
    cluster.wait_for("d.csv", 20)
    cluster.kill("head")
    code, kept = sweep.wait(), len(cluster.rows("d.csv"))
    assert code == 1 and kept < POINTS, (code, kept)
    print(f"scheduler killed: the sweep ends with exit code {code} and {kept} rows", flush=True)
    cluster.end()
    ip("-n", "bfsbench-beta", "link", "set", "eth0", "up")
    cluster.begin()
    code = cluster.sweep("d.csv", "--resume").wait()
    report("resumed on a new one", cluster, "d.csv", code, began, 0)


if __name__ == "__main__":
    main()
