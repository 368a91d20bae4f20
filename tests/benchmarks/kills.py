"""Kills sweeps at random moments, a thousand times, and checks that no sweep loses or doubles a row.

    nice python -m tests.benchmarks.kills --kills 1000 --seed 1
    nice python -m tests.benchmarks.kills --kills 100 -- --cluster local:2

A sweep of 64 points with level profiles is started, killed with SIGKILL, resumed and killed again several
times, and then left to finish. Half of the kills come while it starts, at a moment drawn from the time that a
start takes. The others come within milliseconds of a row being written. Every tenth sweep begins with an
empty cache, so that compilers and conversions are hit. After each kill

* the rows that were in the file before are there, byte for byte, and no point has two rows,
* no process of the sweep is left.

In the end each point has one row with a time, each profile is whole and there once, and the cache has no
temporary file. Options behind ``--`` go to ``bfsbench run``.

No process may print a traceback, not even a worker process whose parent is killed while it starts.
"""

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bfsbench.rows.results import axes_of, read_rows
from tests.benchmarks.shared import wait_for

SOURCES = 32
POINTS = 2 * SOURCES
WORDS = [
    *("run", "--backend", "cpu", "--dataset", "lattice(rows=9,columns=7)", "--variant", "cpu_queue,push"),
    *("--source", f"0:{SOURCES - 1}:+1", "--repeats", "1", "--profile", "--out", "r.csv"),
]
MOST_KILLS = 8
"""The most kills of one sweep."""
COLD_EVERY = 10
GONE_LIMIT_S = 100.0
"""Seconds in which processes must notice a kill. On a busy machine a starting process notices it late."""
START_S = 1.0
"""Initial estimate of the time from the start to the first row."""


@dataclass
class Trials:
    """All sweeps, and their outcomes."""

    rng: random.Random
    more: list[str]
    folder: Path
    counts: Counter[str] = field(default_factory=Counter)
    start_s: float = START_S
    """Seconds of the latest sweep to its first row."""

    def environment(self, cold: bool) -> dict[str, str]:
        """Returns the environment with a cache of this script. If ``cold``, this sweep has its own cache."""
        name = f"cache-{self.counts['sweeps']}" if cold else "cache"
        return os.environ | {"BFSBENCH_CACHE": str(self.folder / name)}

    def sweep(self, kills: int) -> None:
        """Run one sweep, kill it ``kills`` times, then finish and check it."""
        folder = self.folder / f"sweep-{self.counts['sweeps']}"
        folder.mkdir()
        cold = self.counts["sweeps"] % COLD_EVERY == COLD_EVERY - 1
        environment = self.environment(cold)
        for _ in range(kills):
            self.kill(folder, environment)
        before = whole_lines(folder / "r.csv")
        code = self.start(folder, environment).wait()
        check(code == 0, folder, f"the last run ended with exit code {code}")
        check(whole_lines(folder / "r.csv").startswith(before), folder, "rows were changed")
        self.finished(folder)
        stray = [path for path in Path(environment["BFSBENCH_CACHE"]).rglob("*") if "tmp" in path.name]
        check(len(stray) == 0, folder, f"the cache holds {stray}")
        self.counts["sweeps"] += 1
        self.counts["cold caches"] += cold

    def start(self, folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        resume = ["--resume"] if (folder / "r.csv").exists() else []
        with (folder / "said").open("ab") as said:
            command = [sys.executable, "-m", "bfsbench", *WORDS, *resume, *self.more]
            return subprocess.Popen(command, cwd=folder, env=environment, stderr=said)

    def kill(self, folder: Path, environment: dict[str, str]) -> None:
        """Start or resume the sweep, kill it, and check its files."""
        path = folder / "r.csv"
        before = whole_lines(path)
        process, began = self.start(folder, environment), time.monotonic()
        early = self.rng.random() < 0.5
        if early:
            wait_for(process, self.rng.uniform(0, 1.2 * self.start_s))
        else:
            while process.poll() is None and len(whole_lines(path)) <= max(len(before), 1000):
                time.sleep(0.001)
            self.start_s = 0.5 * (self.start_s + time.monotonic() - began)
            wait_for(process, self.rng.uniform(0, 0.05))
        if process.poll() is None:
            process.kill()
            self.counts["kills during the start" if early else "kills among rows"] += 1
        else:
            check(process.returncode == 0, folder, f"a run ended with exit code {process.returncode}")
            self.counts["runs that were faster"] += 1
        process.wait()
        left_alone(folder)
        after = whole_lines(path)
        check(after.startswith(before), folder, "rows are gone")

    def finished(self, folder: Path) -> None:
        """Check the rows of a sweep that has ended, and that no program printed a traceback."""
        check("Traceback" not in (folder / "said").read_text(), folder, "a traceback was printed")
        rows = read_rows(folder / "r.csv")
        points = Counter(axes_of(row) for row in rows)
        check(len(rows) == len(points) == POINTS, folder, f"{len(rows)} rows of {len(points)} points")
        check({row["status"] for row in rows} == {"ok"}, folder, "a point has no time")
        with (folder / "r.levels.csv").open(newline="") as file:
            levels = Counter((axes_of(row), row["level"]) for row in csv.DictReader(file))
        check(set(levels.values()) == {1}, folder, "a level is there twice")
        depths = Counter(axes for axes, _level in levels)
        for row in rows:
            wanted = 0 if row["backend"] == "host" else int(row["depth"]) + 1
            check(depths[axes_of(row)] == wanted, folder, f"{depths[axes_of(row)]} of {wanted} levels")


def whole_lines(path: Path) -> bytes:
    """Returns the content of a file without an unfinished last line. It is empty if there is no file."""
    text = path.read_bytes() if path.exists() else b""
    return text[: text.rfind(b"\n") + 1]


def left_alone(folder: Path) -> None:
    """Check that the sweep's processes end with it."""
    deadline = time.monotonic() + GONE_LIMIT_S
    while left := [one for one in psutil.process_iter() if lives_in(one, folder)]:
        check(time.monotonic() < deadline, folder, f"{left} are left")
        time.sleep(0.02)


def lives_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return bool(process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def check(holds: bool, folder: Path, what: str) -> None:
    """End with a message unless the check holds. The folder is kept for inspection."""
    if not holds:
        raise SystemExit(f"{folder}: {what}; it said:\n{(folder / 'said').read_text()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("more", nargs="*", help="options of 'bfsbench run', behind --")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    trials = Trials(random.Random(given.seed), given.more, folder)
    began = time.monotonic()
    trials.sweep(0)  # compiles, so that the others need not
    while (done := trials.counts["kills during the start"] + trials.counts["kills among rows"]) < given.kills:
        trials.sweep(min(trials.rng.randint(1, MOST_KILLS), given.kills - done))
        told = ", ".join(f"{count} {what}" for what, count in trials.counts.items())
        print(f"{time.monotonic() - began:.0f} s: {told}; no row lost or doubled", flush=True)


if __name__ == "__main__":
    main()
