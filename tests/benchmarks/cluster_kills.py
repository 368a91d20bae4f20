"""Kills the parts of a cluster at random moments, and checks that no row is lost or doubled.

    nice python -m tests.benchmarks.cluster_kills --kills 100 --seed 1

A scheduler, two 'bfsbench worker' and a sweep are separate processes. Again and again the script kills the
sweep, the scheduler, or one of a worker's processes. It starts again what has ended, the sweep with
``--resume``. The checks are those of ``kills.py``.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.benchmarks.kills import Trials, check, left_alone, whole_lines
from tests.benchmarks.shared import asked, wait_for
from tests.cluster.programs import family, free_port

PARTS = ("sweep", "sweep", "scheduler", "worker", "worker")
MOST_KILLS = 6
"""The most kills of one sweep."""
SWEEP_LIMIT_S = 300.0


class Cluster:
    """A scheduler and two workers, which are started again when they have ended."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._folder, self._environment = folder, environment
        self._parts: dict[str, subprocess.Popen[bytes]] = {}

    def keep_up(self) -> None:
        """Start the parts that do not run."""
        host, port = self.address.split(":")
        scheduler = ["dask", "scheduler", "--host", host, "--port", port, "--no-dashboard"]
        worker = ["bfsbench", "worker", f"dask://{self.address}", "--workers", "1"]
        for name, words in (("scheduler", scheduler), ("first", worker), ("second", worker)):
            if name not in self._parts or self._parts[name].poll() is not None:
                with (self._folder / name).open("ab") as said:
                    command = [sys.executable, "-m", *words]
                    self._parts[name] = subprocess.Popen(
                        command, cwd=self._folder, env=self._environment, stderr=said, stdout=said
                    )

    def kill(self, part: str, draw: random.Random) -> None:
        """Kill the scheduler, or one of the processes of a worker."""
        name = "scheduler" if part == "scheduler" else draw.choice(["first", "second"])
        with suppress(psutil.NoSuchProcess, IndexError):
            draw.choice(family(self._parts[name].pid)).kill()

    def close(self) -> None:
        for process in self._parts.values():
            for one in family(process.pid):
                with suppress(psutil.NoSuchProcess):
                    one.kill()
            process.wait()


def trial(trials: Trials, kills: int) -> None:
    """Run one sweep, kill it or its cluster ``kills`` times, then finish and check it."""
    folder = trials.folder / f"sweep-{trials.counts['sweeps']}"
    (folder / "cluster").mkdir(parents=True)
    cluster = Cluster(folder / "cluster", trials.environment(cold=False))
    trials.more = ["--cluster", f"dask://{cluster.address}", "--timeout", "30"]
    began, left, process = time.monotonic(), kills, None
    before = b""
    try:
        while True:
            check(time.monotonic() - began < SWEEP_LIMIT_S, folder, "the sweep does not end")
            cluster.keep_up()
            if process is None:
                process = trials.start(folder, trials.environment(cold=False))
            wait_for(process, trials.rng.uniform(0, 2 * trials.start_s) if left else 1.0)
            if process.poll() is None and left:
                part = trials.rng.choice(PARTS)
                process.kill() if part == "sweep" else cluster.kill(part, trials.rng)
                trials.counts[f"kills of a {part}"] += 1
                left -= 1
            if process.poll() is None:
                continue
            left_alone(folder)
            after = whole_lines(folder / "r.csv")
            check(after.startswith(before), folder, "rows are gone")
            before, ended, process = after, process.returncode, None
            if ended in (0, 1) and after.count(b"\n") > 64:
                break
        trials.more += ["--retry-failed"]  # of points whose worker was killed
        last = trials.start(folder, trials.environment(cold=False))
        while last.poll() is None:
            cluster.keep_up()  # a worker may end a while after its process was killed
            wait_for(last, 1.0)
        check(last.returncode == 0, folder, "the last run failed")
        trials.finished(folder)
        trials.counts["sweeps"] += 1
    finally:
        cluster.close()


def main() -> None:
    given = asked(__doc__, kills=100, seed=1)
    folder = Path(tempfile.mkdtemp(prefix="cluster-kills-"))
    trials = Trials(random.Random(given.seed), [], folder, start_s=3.0)
    trials.counts["sweeps"] = 0
    done = 0
    while done < given.kills:
        trial(trials, trials.rng.randint(1, MOST_KILLS))
        done = sum(count for what, count in trials.counts.items() if what.startswith("kills"))
        print(", ".join(f"{count} {what}" for what, count in trials.counts.items()), flush=True)


if __name__ == "__main__":
    main()
