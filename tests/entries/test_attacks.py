"""Programs that try to get a better row than they deserve, or to spoil the rows of others."""

import csv
import json
import re
import sys
import time
from pathlib import Path

import psutil
import pytest

from bfsbench.bench.measure import Machine, time_runs
from bfsbench.bench.options import Method
from bfsbench.entries.process import Process, Running
from bfsbench.graphs.load import load
from bfsbench.programs.families.bfs.search import Search
from bfsbench.support.errors import WrongResultError
from bfsbench.support.paths import cache_dir
from tests.entries.test_entry_command import bfsbench
from tests.entries.toy_entries import TOYS, made, write_entry
from tests.parameters import one_in, some

NUM_VERTICES = 300
LONG_LINE = f"path(n={NUM_VERTICES})"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder for a user's entries."""
    (tmp_path / "attacks.py").write_bytes((TOYS / "attacks.py").read_bytes())
    return tmp_path


def attack(own: Path, how: str, kind: str = "python") -> str:
    """Declare an entry that calls the function ``how`` of ``toys/attacks.py``. Returns the entry's name."""
    words = [sys.executable, "{here}/attacks.py", "{graph}", "{answer}", how]
    call = f'python = "attacks:{how}"' if kind == "python" else f"command = {json.dumps(words)}"
    return write_entry(own, f"toy_{how}", call, "ours" if kind == "python" else "theirs").stem


def slow_or_wrong(own: Path, name: str, least_ms: float, reasons: str) -> None:
    """Run an entry from one source. Check that its time is longer than ``least_ms``, or that it is wrong for
    a reason that matches ``reasons``."""
    (row,) = rows_of(own, name, source="7", check=None)
    if row["status"] == "ok":
        assert float(row["search_ms"]) > least_ms
    else:
        assert row["status"] == "wrong" and re.search(reasons, row["reason"]), row["reason"]


def rows_of(own: Path, *variants: str, source: str = "7,150", check: int | None = 1) -> list[dict[str, str]]:
    """Run a sweep of variants, which ends with the exit code ``check``. Returns its rows."""
    words = ("--dataset", LONG_LINE, "--variant", ",".join(variants), "--source", source, "--repeats", "3")
    bfsbench("run", *words, "--out", "r.csv", own=own, check=check)
    with (own / "r.csv").open() as lines:
        return [*csv.DictReader(lines)]


def own_cache(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a new cache, because other tests use the usual one at the same time. Compiled code is shared.
    Returns the folder of the cache."""
    folder = own / "cache"
    folder.mkdir()
    (folder / "native").symlink_to(cache_dir() / "native")
    monkeypatch.setenv("BFSBENCH_CACHE", str(folder))
    return folder


@pytest.mark.parametrize("how", some(["writes_graph", "writes_cache"], "writes_graph"))
def test_a_graph_that_is_written_to_costs_the_point_that_wrote(
    own: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_cache(own, monkeypatch)
    rows = rows_of(own, attack(own, how), "cpu_queue", "scipy")
    for row in rows:
        if row["variant"] == f"toy_{how}":
            assert row["status"] == "wrong" and "it wrote into the graph" in row["reason"]
        else:
            assert (row["status"], row["reached"]) == ("ok", str(NUM_VERTICES)), row["reason"]
    assert len(rows) == 6


@pytest.mark.parametrize(
    "how",
    some(["child_writes_late", "thread_writes_late", "thread_writes_as_child_ends"], "thread_writes_late"),
)
def test_an_answer_that_is_written_after_the_reply(own: Path, how: str) -> None:
    reasons = "unwritten|bytes|left 1 other|explains no more than|after it had replied"
    slow_or_wrong(own, attack(own, how, "command"), 100, reasons)


@pytest.mark.parametrize("stopped", [True, False])
def test_only_the_stop_of_its_processes_keeps_a_thread_from_writing(
    own: Path, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    """The host reads the answer late, as on a loaded machine. The attack succeeds unless the threads are
    stopped at the reply."""
    file = own / f"{attack(own, 'thread_writes_late', 'command')}.toml"
    monkeypatch.setattr(Running, "note", lambda running: time.sleep(0.4))
    if not stopped:
        monkeypatch.setattr(Process, "pause", lambda process: None)
    graph = load(LONG_LINE)
    variant = made(file, graph)
    runs = [Search(graph, 7).run(variant)]
    if stopped:
        with pytest.raises(WrongResultError, match="left 300 of 300 answers unwritten"):
            time_runs(variant, runs, Method(3), Machine(None))
    else:
        (timing,) = time_runs(variant, runs, Method(3), Machine(None))
        assert max(timing.search_ms) < 100, "it works for 120 ms"


@pytest.mark.parametrize(("how", "least_ms"), one_in(2, [("one_honest_search", 100), ("lies_once", 10)]))
def test_each_time_is_compared_with_the_hosts_clock(own: Path, how: str, least_ms: float) -> None:
    slow_or_wrong(own, attack(own, how, "command"), least_ms, "it says a search took")


def test_a_time_that_no_machine_needs(own: Path) -> None:
    """A program cannot report a time in which nothing could read its answer."""
    name = attack(own, "claims_nothing", "command")
    file = own / f"{name}.toml"
    file.write_text(file.read_text().replace("[clock]", 'unit = "us"\n[clock]').replace(', "conversion"', ""))
    slow_or_wrong(own, name, 0, "in which nothing reads 300 bytes|its clock contradicts the host's")


def test_answers_that_are_kept_for_each_source(own: Path) -> None:
    rows = rows_of(own, attack(own, "keeps_answers"))
    for row in rows:
        assert row["status"] == "wrong" and "it keeps answers: a search took" in row["reason"]
    assert len(rows) == 2


def test_the_errors_of_a_program_are_kept_in_part(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = own_cache(own, monkeypatch)
    (row,) = rows_of(own, attack(own, "floods", "command"), source="7")
    assert (row["status"], row["reason"]) == ("crash", "it ended with exit code 3: the cause ... no more")
    runs = cache / "entries" / "runs"
    left = [file for file in runs.rglob("*") if file.is_file() and file.stat().st_size > 10**6]
    assert runs.is_dir() and not left


def test_a_program_that_leaves_a_daemon_without_a_trace(own: Path) -> None:
    (row,) = rows_of(own, attack(own, "hides_a_daemon", "command"), source="7")
    assert row["status"] == "wrong" and "left 1 other processes running" in row["reason"]
    assert not any(
        process.info["cmdline"] == ["sleep", "60.125"] for process in psutil.process_iter(["cmdline"])
    )
