"""``bfsbench check`` as a user runs it, and ``run --sanitizer`` with a stand-in for compute-sanitizer."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.cli.sanitizer import findings
from bfsbench.graphs.load import load
from bfsbench.tools.check import GRAPHS, SMALLER_GRAPHS
from tests.commands import bfsbench, bfsbench_with
from tests.kernel_folders import write_variant
from tests.parameters import some

MINE = "mine_to_check"
SMALL = ("--dataset", "lattice(rows=3,columns=5)")


def check(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own, because it declares the variants of the folders it gets."""
    command = [sys.executable, "-m", "bfsbench", "check", "--seeds", "1", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def test_a_sound_kernel_is_clean(tmp_path: Path) -> None:
    words = ("push_frontier", "simple", "--benign", "--seeds", "1", *SMALL)
    done = bfsbench("check", *words, cwd=tmp_path)
    assert "push_frontier: nothing found in 1 runs\n" in done.stdout
    assert "declared benign" in done.stdout
    assert "levels[neighbour] = level + 1;" in done.stdout


def test_a_folder_of_ones_own_is_checked(tmp_path: Path) -> None:
    write_variant(tmp_path, MINE, lambda kernel: kernel.replace("v < num_vertices", "v <= num_vertices"))
    done = check(tmp_path, *SMALL)
    assert done.returncode == 1
    assert "out of bounds on element 15 of a buffer of 15 elements of 4 bytes" in done.stdout
    assert "at mine_to_check.cu:" in done.stdout
    assert done.stdout.startswith("mine_to_check: 1 found"), "the error that ends a run is not listed besides"


def test_declarations_that_nothing_needs_are_listed(tmp_path: Path) -> None:
    test = re.compile("(.*if \\(levels.*)")
    kernel = write_variant(tmp_path, MINE, lambda text: test.sub(r"\1  // benign race: none", text))
    done = check(tmp_path, *SMALL)
    assert done.returncode == 0, done.stdout
    number = next(i for i, line in enumerate(kernel.read_text().splitlines(), 1) if "none" in line)
    assert f"declared benign, but not seen in these runs: mine_to_check.cu:{number}" in done.stdout


def test_what_cannot_be_checked_is_one_line(tmp_path: Path) -> None:
    for words, message in [
        (("cpu_queue",), "variant cpu_queue has no kernels to check"),
        (("push_frontie",), "unknown variant 'push_frontie': did you mean push_frontier"),
        (("push_frontier", "--w-sz", "4"), "knob W_SZ belongs to none of the variants chosen"),
        (("push_frontier", "--block", "2048"), "2048 threads a block"),
    ]:
        done = bfsbench("check", "--seeds", "1", *words, cwd=tmp_path, check=None)
        assert done.returncode != 0
        assert message in done.stderr + done.stdout
    done = check(tmp_path)
    assert done.returncode != 0
    assert "declares no variant" in done.stderr + done.stdout
    (tmp_path / "mine.cu").touch()
    done = bfsbench("check", "mine.cu", cwd=tmp_path, check=None)
    assert "mine.cu has no main function" in done.stderr
    assert "Traceback" not in done.stderr


def test_main_may_be_in_a_header(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    header = tmp_path / "include" / "harness.h"
    header.write_text("#pragma once\nint main() { return 0; }\n")
    (tmp_path / "mine.cu").write_text('#include "harness.h"\n__global__ void mine() {}\n')
    words = ("check", "mine.cu", "--seeds", "1", "-I", "include")
    assert "nothing found in 1 run" in bfsbench(*words, cwd=tmp_path).stdout
    header.write_text("#pragma once\n")
    done = bfsbench(*words, cwd=tmp_path, check=None)
    assert "bfsbench: the program has no main function" in done.stderr


def test_a_search_whose_host_waits_for_ever_ends(tmp_path: Path) -> None:
    loop = "for (unsigned v = global_thread()"
    endless = f"if (global_thread() == 0) *progress = level + 1;\n    {loop}"
    kernel = write_variant(tmp_path, MINE, lambda text: text.replace(loop, endless))
    assert endless in kernel.read_text()
    done = check(tmp_path, *SMALL)
    assert done.returncode == 1
    assert "kernel 'mine_to_check': the host's loop has no end: 1240 launches" in done.stdout


CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
RACES = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at filter(int) const+0xab0 in culling.cuh:74
=========     and Write access at filter(int) const+0xab0 in culling.cuh:74 [4 hazards]
=========
========= Invalid __global__ read of size 4 bytes
=========     at expand(int *)+0x90 in luo.cu:31
=========     by thread (0,0,0) in block (0,0,0)
========= ERROR SUMMARY: 2 errors
"""
STAND_IN = """#!/bin/sh
while [ "$1" != "--log-file" ]; do shift; done
cp "$LOG" "$(dirname "$2")/1.log"
shift 2
exec "$@"
"""


def run(folder: Path, log: str | None, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a sweep of one point. A stand-in for compute-sanitizer writes ``log``; None: there is none."""
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    if log is not None:
        (folder / "compute-sanitizer").write_text(STAND_IN)
        (folder / "compute-sanitizer").chmod(0o755)
        (folder / "log").write_text(log)
        environment["LOG"] = str(folder / "log")
    sweep = ["run", "--dataset", "path(n=4)", "--variant", "cpu_queue", "--sanitizer", *words]
    command = [sys.executable, "-m", "bfsbench", *sweep]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_findings_have_their_lines() -> None:
    assert list(findings(CLEAN)) == []
    assert list(findings(RACES)) == [
        "Error: Race reported between Write access (culling.cuh:74)",
        "Invalid __global__ read of size 4 bytes (luo.cu:31)",
    ]


@pytest.mark.parametrize("name", [GRAPHS[3], SMALLER_GRAPHS[1]])
def test_dense_graphs_of_a_check_are_dense(name: str) -> None:
    graph = load(name)
    assert graph.num_edges > 0.35 * graph.num_vertices**2


def test_a_clean_sweep_passes_and_keeps_no_rows(tmp_path: Path) -> None:
    done = run(tmp_path, CLEAN, "memcheck")
    assert done.returncode == 0, done.stderr
    assert "memcheck: nothing found" in done.stderr and "bfsbench report" not in done.stderr
    assert not list(tmp_path.glob("**/*.csv"))


def test_what_is_found_is_told_and_fails(tmp_path: Path) -> None:
    done = run(tmp_path, RACES, "racecheck")
    assert done.returncode == 1
    assert "Invalid __global__ read of size 4 bytes (luo.cu:31): 1 time" in done.stdout
    assert "racecheck: 2 errors" in done.stderr


@pytest.mark.parametrize(
    ("log", "words", "complaint"),
    [
        (None, ["memcheck"], "no compute-sanitizer found"),
        (CLEAN, ["memcheck", "--out", "r.csv"], "--sanitizer keeps no rows: leave out --out"),
        (CLEAN, ["nothing"], "'nothing' is not one of"),
        (CLEAN, ["memcheck", "--source", "9"], "ended with exit code 2"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, log: str | None, words: list[str], complaint: str
) -> None:
    done = run(tmp_path, log, *words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    some(
        [
            ("check", MINE, "--seeds", "1"),
            ("explain", MINE),
            ("path", "--variant", MINE, "--source", "0", "--target", "3", "--backend", "cpu"),
        ],
        ("check", MINE, "--seeds", "1"),
    ),
    ids=lambda words: words[0],
)
def test_a_kernel_that_ends_the_process_fails_the_command(words: tuple[str, ...], tmp_path: Path) -> None:
    begin = re.compile(rf"({MINE}\(.*?\{{)", re.DOTALL)
    exits = r"\1 std::_Exit(0);"
    write_variant(tmp_path, MINE, lambda text: "#include <cstdlib>\n" + begin.sub(exits, text, count=1))
    done = bfsbench_with(tmp_path, *words, *SMALL, cwd=tmp_path, check=1)
    assert "ended with exit code 0 and returned no result" in done.stdout + done.stderr
