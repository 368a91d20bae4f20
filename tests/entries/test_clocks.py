"""bfsbench compares a program's clock with the host's clock before it uses the program's times."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from bfsbench.entries.declaration import Call
from bfsbench.entries.process import Process
from tests.entries.test_entry_command import bfsbench, rows_of
from tests.entries.toy_entries import LINE, compile_toys, declare

GRAPH = "kronecker(scale=10,seed=1)"
TIME = "return now_ms() - begin;"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two commands. ``honest`` prints its time, and ``thousandth`` a thousandth of its time."""
    own = tmp_path_factory.mktemp("own")
    for name, divisor in (("honest", 1), ("thousandth", 1000)):
        bfsbench("entry", "new", name, "--kind", "command", own=own)
        source = own / name / f"{name}.c"
        source.write_text(source.read_text().replace(TIME, f"return (now_ms() - begin) / {divisor};"))
        bfsbench("entry", "build", name, own=own)
    return own


def test_a_clock_that_divides_is_wrong_in_every_sweep(own: Path) -> None:
    out = own / "r.csv"
    words = ("run", "--dataset", GRAPH, "--variant", "honest,thousandth", "--repeats", "2")
    bfsbench(*words, "--out", str(out), own=own, check=1)
    with out.open("a") as file:  # a row of another graph, on which the clock was not caught
        file.write(
            out.read_text().splitlines()[1].replace("honest", "thousandth").replace(GRAPH, "path(n=9)")
        )
    said = " ".join(bfsbench("report", str(out), "--table", "best", own=own).split())
    assert (
        "Warning: the times of thousandth are doubtful. bfsbench refused its times on 1 of 2 graphs" in said
    )
    rows = {name: row for name, (row, *_) in rows_of(out).items()}
    assert (rows["honest"]["status"], rows["honest"]["clock"]) == ("ok", "theirs")
    wrong = rows["thousandth"]
    assert wrong["status"] == "wrong" and "its clock contradicts the host's" in wrong["reason"]


def test_a_check_compares_clocks(own: Path) -> None:
    said = bfsbench("entry", "check", "thousandth", own=own, check=1)
    (fault,) = (line for line in said.splitlines() if line.startswith("wrong:"))
    assert "its clock contradicts the host's" in fault and "path(n=1)" not in fault
    assert "thousandth: 0 of 1 searches are right: see above" in said


def test_a_comparison_that_takes_too_long_is_named(own: Path) -> None:
    """The program never ends on a graph with as many vertices as the graph of the comparison, unless it
    reaches only the source."""
    bfsbench("entry", "new", "late", "--kind", "command", own=own)
    source = own / "late" / "late.c"
    source.write_text(
        source.read_text().replace(TIME, f"while (graph.num_vertices > 99999 && tail > 1);\n    {TIME}")
    )
    bfsbench("entry", "build", "late", own=own)
    out = own / "late.csv"
    words = ("--dataset", GRAPH, "--variant", "late", "--timeout", "4", "--out", str(out))
    bfsbench("run", *words, own=own, check=1)
    (row,) = rows_of(out)["late"]
    assert (row["status"], row["graph"]) == ("timeout", f"{GRAPH}:symmetrised")
    assert "it printed nothing, but a time for source" in row["reason"] and "flush" not in row["reason"]
    assert "(not on this graph: bfsbench was comparing the program's clock with the host's" in row["reason"]
    said = bfsbench("entry", "check", "late", "--timeout", "4", own=own, check=1)
    (fault,) = (line for line in said.splitlines() if line.startswith("timeout:"))
    assert "raise --timeout)" in fault and "path(n=1)" not in fault


def test_the_hosts_clock_counts_where_clocks_cannot_be_compared(own: Path) -> None:
    """The toy answers for a line of 40 vertices on any graph, so it cannot search the graph of the
    comparison."""
    toys = own / "toys"
    toys.mkdir()
    compile_toys(toys)
    declare(toys, "command", "honest")
    out = own / "toys.csv"
    words = ("run", "--dataset", LINE, "--variant", "toy_command_honest", "--repeats", "2", "--out", str(out))
    bfsbench(*words, own=own, folder=toys)
    (row,) = rows_of(out)["toy_command_honest"]
    assert row["clock"] == "ours"
    assert float(row["search_ms"]) > 0.002, "the program says 0.0001 ms"


def test_the_hosts_time_of_a_single_search_includes_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*words: Any, **options: Any) -> Any:
        started = popen(*words, **options)
        time.sleep(0.1)
        return started

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", slow)
    reply = Process(["echo", "1.0"], tmp_path, Call(command=("echo", "{source}"))).outcome()
    assert reply.wall_ms >= 100
