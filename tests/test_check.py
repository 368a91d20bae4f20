"""'bfsbench check' as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bfsbench.paths import CUDA_SRC
from tests.commands import bfsbench

MODULE = """
from bfsbench.variants.frontier_numbers import FrontierNumbers


class Mine(FrontierNumbers):
    name = level_kernel = "mine_to_check"
    aliases = ()
"""


def check(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: it looks for variants in folders that are named to it."""
    command = [sys.executable, "-m", "bfsbench", "check", "--seeds", "1", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def test_a_sound_kernel_is_clean(tmp_path: Path) -> None:
    words = ("push_frontier", "simple", "--benign", "--dataset", "lattice(rows=3,columns=5)")
    done = bfsbench("check", "--seeds", "1", *words, cwd=tmp_path)
    assert "push_frontier: nothing found in 1 runs\n" in done.stdout
    assert "declared benign" in done.stdout
    assert "levels[neighbour] = level + 1;" in done.stdout


def test_a_folder_of_ones_own_is_checked(tmp_path: Path) -> None:
    (tmp_path / "mine_to_check.py").write_text(MODULE)
    kernel = (CUDA_SRC / "frontier_numbers.cu").read_text().replace("frontier_numbers(", "mine_to_check(")
    (tmp_path / "mine_to_check.cu").write_text(kernel.replace("v < num_vertices", "v <= num_vertices"))
    done = check(tmp_path, "--dataset", "lattice(rows=3,columns=5)")
    assert done.returncode == 1
    assert "out of bounds on element 15 of a buffer of 15 elements of 4 bytes" in done.stdout
    assert "at mine_to_check.cu:" in done.stdout
    assert done.stdout.startswith("mine_to_check: 1 found"), "the error that ends a run is not listed besides"


def test_declarations_that_nothing_needs_are_listed(tmp_path: Path) -> None:
    (tmp_path / "mine_to_check.py").write_text(MODULE)
    kernel = (CUDA_SRC / "frontier_numbers.cu").read_text().replace("frontier_numbers(", "mine_to_check(")
    lines = [
        line + "  // benign race: none" if "if (levels" in line else line for line in kernel.splitlines()
    ]
    (tmp_path / "mine_to_check.cu").write_text("\n".join(lines))
    done = check(tmp_path, "--dataset", "lattice(rows=3,columns=5)")
    assert done.returncode == 0, done.stdout
    number = next(i for i, line in enumerate(lines, 1) if "none" in line)
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
    assert "mine.cu is a file: name the folder with the kernel and its declaration" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_search_whose_host_waits_for_ever_ends(tmp_path: Path) -> None:
    (tmp_path / "mine_to_check.py").write_text(MODULE)
    kernel = (CUDA_SRC / "frontier_numbers.cu").read_text().replace("frontier_numbers(", "mine_to_check(")
    loop = "for (unsigned v = global_thread()"
    assert loop in kernel
    (tmp_path / "mine_to_check.cu").write_text(
        kernel.replace(loop, f"if (global_thread() == 0) *progress = level + 1;\n    {loop}")
    )
    done = check(tmp_path, "--dataset", "lattice(rows=3,columns=5)")
    assert done.returncode == 1
    assert "kernel 'mine_to_check': the host's loop has no end: 1240 launches" in done.stdout
