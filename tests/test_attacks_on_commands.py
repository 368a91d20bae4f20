"""Input that once ended commands with a traceback, hung them, or was accepted although it was wrong."""

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.formats import read_edges
from bfsbench.support.errors import InputError
from bfsbench.support.toml_files import read_toml
from tests.commands import bfsbench, bfsbench_with
from tests.parameters import some

RUN = ("run", "--dataset", "path(n=9)", "--variant", "cpu_queue", "--repeats", "1", "--out", "rows.csv")


def changed(folder: Path, **columns: str) -> Path:
    """Write a result file of ``RUN`` with other values in some columns. Returns its path."""
    bfsbench(*RUN, cwd=folder)
    lines = (folder / "rows.csv").read_text().splitlines()
    values = dict(zip(lines[0].split(","), lines[1].split(","), strict=True)) | columns
    (folder / "rows.csv").write_text(f"{lines[0]}\n{','.join(values.values())}\n")
    return folder / "rows.csv"


@pytest.mark.parametrize("value", ["0.0x", "0.\0001"])
def test_a_time_that_is_no_number_ends_a_resumed_sweep_in_one_line(tmp_path: Path, value: str) -> None:
    changed(tmp_path, search_ms=value)
    said = bfsbench(*RUN, "--resume", cwd=tmp_path, check=2).stderr
    assert "bfsbench: column search_ms is not numeric" in said


def test_rows_of_an_older_schema_are_not_continued(tmp_path: Path) -> None:
    before = changed(tmp_path, schema="0").read_bytes()
    said = bfsbench(*RUN, "--resume", cwd=tmp_path, check=2).stderr
    assert "rows.csv: row 1 has schema '0', not 1" in said
    assert (tmp_path / "rows.csv").read_bytes() == before


def test_a_time_whose_sums_are_infinite_is_refused(tmp_path: Path) -> None:
    changed(tmp_path, search_ms="1e308")
    said = bfsbench("report", "--format", "html", "rows.csv", cwd=tmp_path, check=2).stderr
    assert "row 1: column search_ms has 1e+308" in said


def test_nested_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(InputError, match=r"deep\.toml: .* nested too deeply"):
        read_toml(tmp_path / "deep.toml")


def test_pipes_among_variants_are_left_alone(tmp_path: Path) -> None:
    for name in ("pipe.toml", "pipe.py", "pipe.cu"):
        os.mkfifo(tmp_path / name)
    assert "pipe" not in bfsbench_with(tmp_path, "list", "variants", cwd=tmp_path).stdout


def test_a_closed_output_is_one_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "bfsbench", "list", "datasets"]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "bfsbench: cannot write the output: it is closed\n")


def test_a_tar_of_two_graphs_asks_which(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "two.tar", "w") as archive:
        for name in ("a/a.el", "b/b.el"):
            info = tarfile.TarInfo(name)
            info.size = 8
            archive.addfile(info, io.BytesIO(b"0 1\n1 2\n"))
    with pytest.raises(InputError, match="which member is the graph"):
        read_edges(tmp_path / "two.tar", Recipe())


STAGES = (
    "bfsbench.cli",
    "click",
    "bfsbench.cli.options",
    "numpy",
    "bfsbench.bench.sweep",
    "bfsbench.bench.worker",
)
INTERRUPTED = """
import os, runpy, signal, sys
stage = sys.argv.pop(1)
def hook(event, values):
    if event == "import" and values[0] == stage:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
runpy.run_module("bfsbench", run_name="__main__")
"""


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupt_while_modules_are_imported_is_one_line(tmp_path: Path, stage: str) -> None:
    words = [sys.executable, "-c", INTERRUPTED, stage, *RUN]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 130 and done.stderr.strip().startswith("bfsbench: interrupted"), done.stderr


LOST = """
import os, signal, time
from bfsbench.__main__ import keep_interrupts
from bfsbench.support.interrupts import Ending
class Future:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
ending = Ending()
signal.signal(signal.SIGINT, ending)
keep_interrupts(ending)
future = Future()
try:
    del future
    time.sleep(10)
    print("lost")
except KeyboardInterrupt:
    print("heard")
"""


def test_an_interrupt_during_a_destructor_is_not_lost() -> None:
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("heard\n", "")


READY = """
import bfsbench.__main__
print("ready", flush=True)
bfsbench.__main__.main()
"""


@pytest.mark.parametrize("after_s", some([0.1, 0.3, 0.6, 0.9, 1.3, 1.8, 2.5, 3.5], 0.3, 0.9, 2.5))
def test_an_interrupt_at_any_stage_of_a_sweep_ends_it(tmp_path: Path, after_s: float) -> None:
    """The stages: the import of modules, the start of the worker, the points, and the writing of rows.

    The time starts when Python has started: before that, an interrupt is Python's to report.
    """
    words = [sys.executable, "-c", READY, *RUN, "--source", ",".join(map(str, range(9)))]
    words[words.index("1")] = "100000"
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=10)[1]
        assert process.returncode == 130
    assert "Traceback" not in said and "interrupted" in said
