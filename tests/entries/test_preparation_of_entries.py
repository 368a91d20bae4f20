"""Preparation of entries begins when their libraries are loaded, and ends when they are ready."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bfsbench.graphs.load import load
from tests.entries.test_entry_command import bfsbench, rows_of
from tests.entries.toy_entries import LINE, made, write_entry

LOADING_MS, PREPARING_MS = 1500.0, 60.0


def prepared_ms(folder: Path, call: str) -> float:
    """Returns the preparation time in ms of an entry with the lines ``call`` of its table ``call``."""
    file = write_entry(folder, "toy", call, covers="")
    prepare_ms, compile_ms = made(file, load(LINE)).prepared_ms()
    assert compile_ms == 0
    return prepare_ms


def command(folder: Path, *lines: str) -> float:
    """Returns the preparation time in ms of a command that runs lines of Python."""
    (folder / "toy.py").write_text("\n".join(("import time", *lines, "input()", "")))
    return prepared_ms(folder, f"command = {json.dumps([sys.executable, '{here}/toy.py', '{graph}'])}")


def test_loading_a_module_is_not_preparation(tmp_path: Path) -> None:
    lines = (
        "import time",
        f"time.sleep({LOADING_MS / 1e3})",
        "def prepare(graph):",
        f"    time.sleep({PREPARING_MS / 1e3})",
        "    return print",
    )
    (tmp_path / "slow_module.py").write_text("\n".join(lines))
    assert 0.8 * PREPARING_MS <= prepared_ms(tmp_path, 'python = "slow_module:prepare"') < LOADING_MS


@pytest.mark.parametrize("again", ["", "print('loaded', flush=True)"])
def test_preparation_of_a_command_begins_when_it_has_loaded(tmp_path: Path, again: str) -> None:
    """Only the first line ``loaded`` counts."""
    loading, preparing = f"time.sleep({LOADING_MS / 1e3})", f"time.sleep({PREPARING_MS / 1e3})"
    lines = (loading, "print('loaded', flush=True)", preparing, again, "print('ready', flush=True)")
    assert 0.8 * PREPARING_MS <= command(tmp_path, *lines) < LOADING_MS


def test_without_that_line_it_begins_with_the_command(tmp_path: Path) -> None:
    preparing = f"time.sleep({PREPARING_MS / 1e3})"
    assert command(tmp_path, preparing, "print('ready', flush=True)") >= PREPARING_MS


def test_preparation_of_a_command_for_each_search_is_unknown(tmp_path: Path) -> None:
    """The command starts again for each source, and never says when it is ready."""
    (tmp_path / "toy.py").write_text(
        "import sys\nimport numpy as np\n"
        "np.abs(np.arange(40) - int(sys.argv[1])).astype('<i4').tofile(sys.argv[2])\nprint('0.2')\n"
    )
    words = [sys.executable, "{here}/toy.py", "{source}", "{answer}"]
    write_entry(tmp_path, "toy", f"command = {json.dumps(words)}", "theirs")
    out = tmp_path / "r.csv"
    words = ["run", "--dataset", LINE, "--variant", "toy", "--repeats", "1", "--out", str(out)]
    bfsbench(*words, own=tmp_path)
    (row,) = rows_of(out)["toy"]
    assert (row["status"], row["prepare_ms"], row["preprocess_ms"]) == ("ok", "", "")
