"""``bfsbench run`` as a user runs it: its arguments, files and exit codes."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from bfsbench.rows.columns import AXES
from bfsbench.rows.results import axes_of, csv_line, read_rows
from tests.commands import Completed, bfsbench, bfsbench_with, complaints
from tests.parameters import some
from tests.waiting import wait_until

FAULTY = Path(__file__).parent.parent / "faulty"
SMALL = "kronecker(scale=6,edge_factor=4,seed=1)"
LATTICE = "lattice(rows=9,columns=7)"


def run(*words: str, cwd: Path, check: int = 0) -> Completed:
    return bfsbench("run", "--backend", "cpu", "--out", "r.csv", *words, cwd=cwd, check=check)


def run_faulty(*words: str, cwd: Path, check: int = 0) -> Completed:
    """Run a sweep in a process that has variants which fail in every way."""
    measuring = ("run", "--backend", "cpu", "--out", "r.csv")
    return bfsbench_with(FAULTY, *measuring, *words, cwd=cwd, check=check)


def measured(*words: str, cwd: Path) -> list[dict[str, str]]:
    """Run a sweep. Returns all rows of its file."""
    run(*words, cwd=cwd)
    return read_rows(cwd / "r.csv")


def measured_faulty(*words: str, cwd: Path) -> list[dict[str, str]]:
    """Run a sweep in which points fail. Returns all rows of its file."""
    run_faulty(*words, cwd=cwd, check=1)
    return read_rows(cwd / "r.csv")


def change(path: Path, changes: dict[str, dict[str, str]]) -> None:
    """Change the rows of variants in a result file. ``changes`` has the new values by variant and column."""
    rows = [row | changes.get(row["variant"], {}) for row in read_rows(path)]
    path.write_bytes(b"".join(map(csv_line, [rows[0], *(row.values() for row in rows)])))


def test_a_sweep_makes_a_verified_row_for_every_combination(tmp_path: Path) -> None:
    words = "--variant push,virtual_warp,cpu_queue --grid auto,2 --block 32:64:x2 --w-sz 4,32 --sources 2"
    done = run("--dataset", f"{SMALL},{LATTICE}", *words.split(), "--repeats", "3", cwd=tmp_path)
    best, emulated = done.stdout.split("emulated on the CPU")
    assert "cpu_queue (sequential)" in best and "x best" in best and "virtual_warp" not in best
    assert "virtual_warp (hong)          16" in emulated and "search ms" not in emulated
    rows = read_rows(tmp_path / "r.csv")
    # Per graph and source: push 4, virtual_warp 4 x 2, and the host program once.
    assert len(rows) == 2 * 2 * (4 + 8 + 1)
    assert len({axes_of(row) for row in rows}) == len(rows)
    assert {row["status"] for row in rows} == {"ok"}
    for row in rows:
        samples = [float(value) for value in row["search_ms_samples"].split(";")]
        assert len(samples) == 3
        assert float(row["search_ms"]) == min(samples) > 0
        assert float(row["wall_ms"]) >= float(row["search_ms"]) * 0.5
        assert row["backend"] == ("host" if row["variant"] == "cpu_queue" else "cpu")
        assert row["version"] and row["host_cpu"] and row["taken_at"] and len(row["graph_checksum"]) == 64
        assert (row["gpu"] == "") == (row["backend"] == "host")
        assert 0 < int(row["reached"]) <= int(row["num_vertices"])


@pytest.mark.parametrize(("asked", "wide"), [((), ["1024"]), (("--block", "auto,64"), ["1024", "64"])])
@pytest.mark.exhaustive
def test_unless_it_is_given_a_block_is_as_large_as_suits_the_variant(
    tmp_path: Path, asked: tuple[str, ...], wide: list[str]
) -> None:
    run("--dataset", SMALL, "--variant", "adaptive,simple,cpu_queue", "--repeats", "1", *asked, cwd=tmp_path)
    found: dict[str, list[str]] = {}
    for row in read_rows(tmp_path / "r.csv"):
        found.setdefault(row["variant"], []).append(row["block"])
    assert found == {"adaptive": wide, "simple": ["256", *wide[1:]], "cpu_queue": [""]}


def test_resuming_completes_a_sweep_and_repeats_nothing(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push,pull", "--block")
    first = measured(*words, "32", cwd=tmp_path)
    rows = measured(*words, "32,64", "--resume", cwd=tmp_path)
    assert rows[: len(first)] == first
    assert [row["block"] for row in rows] == ["32", "32", "64", "64"]
    done = run(*words, "32,64", "--resume", cwd=tmp_path)
    assert "nothing left to do" in done.stderr
    assert read_rows(tmp_path / "r.csv") == rows


def test_resuming_with_another_number_of_repeats_is_refused(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "cpu_queue", "--repeats")
    run(*words, "2", cwd=tmp_path)
    assert "2 samples per point, not 3" in run(*words, "3", "--resume", cwd=tmp_path, check=2).stderr
    run(*words, "2", "--resume", cwd=tmp_path)


def test_a_dry_run_counts_what_resuming_would_measure(tmp_path: Path) -> None:
    words = ("--variant", "push,pull", "--block", "32,64", "--sources", "2", "--knobs", "auto", "--dataset")
    run(*words, LATTICE, cwd=tmp_path)
    before = (tmp_path / "r.csv").read_bytes()
    done = run(*words, LATTICE, "--resume", "--dry-run", cwd=tmp_path)
    assert done.stdout == "nothing left to do\n"
    more = run(*words, f"{LATTICE},kronecker(scale=30)", "--resume", "--dry-run", cwd=tmp_path)
    assert "8 points, each" in more.stdout and "lattice" not in more.stdout.partition("peak")[0]
    assert (tmp_path / "r.csv").read_bytes() == before


@pytest.mark.exhaustive
def test_a_dry_run_counts_failed_points_that_are_tried_again(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "raises,push", "--resume")
    run_faulty(*words, cwd=tmp_path, check=1)
    assert "nothing left to do" in run_faulty(*words, "--dry-run", cwd=tmp_path).stdout
    assert "1 point, each" in run_faulty(*words, "--dry-run", "--retry-failed", cwd=tmp_path).stdout


def test_resuming_on_another_device_is_refused(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push")
    run(*words, cwd=tmp_path)
    path = tmp_path / "r.csv"
    path.write_text(path.read_text().replace("emulated", "NVIDIA"))
    done = run(*words, "--block", "64", "--resume", cwd=tmp_path, check=2)
    assert "cannot resume: rows were taken with gpu 'NVIDIA" in done.stderr


@pytest.mark.parametrize("seed", some(range(4), 0))
def test_a_killed_sweep_resumes_to_the_rows_of_an_uninterrupted_one(tmp_path: Path, seed: int) -> None:
    swept = "--variant push,pull,edge,simple --block 32:256:x2 --repeats 2"
    words = ["--dataset", LATTICE, *swept.split()]
    command = [sys.executable, "-m", "bfsbench", "run", "--backend", "cpu", "--out", "r.csv", *words]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    time.sleep(random.Random(seed).uniform(0.3, 3.5))
    process.send_signal(signal.SIGKILL)
    process.wait()
    rows = measured(*words, "--resume", cwd=tmp_path)
    assert len(rows) == 16
    names = ("frontier_numbers", "pull", "edge_frontier_numbers", "simple")
    expected = {(name, str(block)) for name in names for block in (32, 64, 128, 256)}
    assert {(row["variant"], row["block"]) for row in rows} == expected
    assert {row["status"] for row in rows} == {"ok"}


def test_every_kind_of_failure_is_a_row_and_the_sweep_goes_on(tmp_path: Path) -> None:
    names = "lies,scribbles,dies,hangs,raises,starves,traps,misspelt,push"
    done = run_faulty("--dataset", LATTICE, "--variant", names, "--timeout", "4", cwd=tmp_path, check=1)
    outcome = {row["variant"]: (row["status"], row["reason"]) for row in read_rows(tmp_path / "r.csv")}
    assert outcome["lies"][0] == "wrong"
    assert "1 of 63 levels differ; vertex 62" in outcome["lies"][1]
    assert outcome["scribbles"] == ("wrong", "a kernel wrote into the graph: column_indices")
    assert outcome["dies"] == ("crash", "the worker process was killed by SIGKILL")
    assert outcome["hangs"] == ("timeout", "not finished within 4 s")
    assert outcome["raises"] == ("error", "ZeroDivisionError: a bug")
    assert outcome["starves"][0] == "out of memory"
    assert outcome["traps"][0] == "crash"
    assert "traps" in outcome["traps"][1]
    assert outcome["misspelt"][0] == "error"
    assert "no_such_name" in outcome["misspelt"][1]
    assert outcome["frontier_numbers"] == ("ok", "")
    assert "9 points" in done.stderr


def test_failed_rows_carry_their_axes_and_provenance(tmp_path: Path) -> None:
    (row,) = measured_faulty("--dataset", LATTICE, "--variant", "dies", "--block", "64", cwd=tmp_path)
    assert {name: row[name] for name in AXES} == {
        "graph": row["graph"], "source": row["source"], "variant": "dies", "backend": "cpu", "grid": "auto",
        "block": "64", "knobs": "",
    }  # fmt: skip
    assert row["gpu"].startswith("emulated") and row["num_vertices"] == "63" and row["search_ms"] == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--dataset", "soc-Epinion1"), "did you mean soc-Epinions1"),
        (("--variant", "frontier_nmbers"), "did you mean frontier_numbers"),
        (("--variant", "virtual_warp", "--w-sz", "3"), "knob W_SZ: 3 is out of range"),
        (("--variant", "virtual_warp", "--w-sz", "x"), "knob W_SZ: 'x' is not of type int"),
        (("--variant", "push", "--w-sz", "4"), "knob W_SZ belongs to none"),
        (("--block", "2048"), "block 2048 is over the device's limit of 1024"),
        (("--block", "0"), "--block: 0 is not positive"),
        (("--grid", "many"), "--grid: 'many' is not a whole number"),
        (("--grid", "2:9e999999:x9e999999"), "a number that is too large"),
        (("--source", "63"), "source 63 is out of range"),
        (("--source", "-1"), "source -1 is out of range"),
        (("--source", "a"), "'a' is not a list of vertices"),
        (("--source", "1", "--sources", "2"), "not both"),
        (("--dataset", "nowhere/graph.mtx"), "nowhere/graph.mtx"),
        (("--dataset", "lattice(rows=9"), "lattice(rows=9"),
        (("--dataset", "lattice(rows=0)"), "rows"),
        (("--dataset", "lattice(rowz=4)"), "rowz"),
        (("--dataset", LATTICE + ":sideways"), "sideways"),
        (("--out", "/dev/null/r.csv"), "; choose another place by --out"),
        (("--timeout", "nan"), "'--timeout': nan is not a finite number"),
        (("--timeout", "inf"), "'--timeout': inf is not a finite number"),
        (("--max-noise", "nan"), "'--max-noise': nan is not a finite number"),
        (("--min-time", "nan"), "'--min-time': nan is not a finite number"),
        (("--repeats", "99999999999999999999"), "'--repeats': 99999999999999999999 is not in the range"),
        (("--max-noise", "1", "--max-samples", "1" + "0" * 20), "'--max-samples': 1"),
        (("--out", "o.levels.csv"), "--out o.levels.csv: the names of other files beside"),
        (("--out", "my.ceilings.csv"), "--out my.ceilings.csv: the names of other files"),
        (("--repeats", "0"), "'--repeats': 0 is not in the range"),
        (("--source", "²"), "'²' is not a list of vertices"),
        (("--variant", ","), "--variant names none"),
        (("--backend", "gpu"), "'gpu' is not one of"),
        (("--retry-failed",), "--retry-failed goes with --resume"),
        (("--warmup", "0"), "'--warmup': 0 is not in the range"),
        (("--max-noise", "-1"), "'--max-noise': -1.0 is not in the range"),
        (("--max-samples", "3"), "go with --max-noise, --min-time or --until-decided"),
        (("--order", "random"), "none of sequential, interleaved and shuffled[:SEED]"),
        (("--order", "interleaved", "--cluster", "local"), "--order goes without --cluster"),
        (("--min-time", "60"), "do not fit into --timeout 60"),
        (("--blok", "3"), "No such option '--blok'"),
        (("--variant", "virtual_warp", "--W_SZ", "3"), "knob W_SZ: 3 is out of range"),
        (("--json", "--quiet"), "--quiet and --json exclude each other"),
        (("--variant", "push", "--energy"), "--energy needs a GPU or host programs"),
        (("--variant", "push", "--until-decided"), "--until-decided needs a GPU or host programs"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    graph = () if "--dataset" in words else ("--dataset", LATTICE)
    done = run(*graph, *words, cwd=tmp_path, check=2)
    assert says in done.stderr
    assert len(complaints(done)) == 1, done.stderr
    assert not (tmp_path / "r.csv").exists() or read_rows(tmp_path / "r.csv") == []


def test_a_malformed_graph_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("# a graph\n0 1\n1 two\n")
    done = run("--dataset", "./g.txt", cwd=tmp_path, check=2)
    (line,) = complaints(done)
    assert "g.txt:3" in line


def test_a_graph_file_is_searched_both_ways_on_request(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("0 1\n1 2\n")
    run("--dataset", "./g.txt,./g.txt:symmetrised", "--variant", "push", "--source", "2", cwd=tmp_path)
    reached = {row["graph"].rpartition(":")[2]: row["reached"] for row in read_rows(tmp_path / "r.csv")}
    assert reached == {"directed": "1", "symmetrised": "3"}


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path) -> None:
    done = run(
        "--dataset", LATTICE, "--variant", "push,cpu_queue", "--block", "32,64", "--dry-run", cwd=tmp_path
    )
    assert "3 points" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_list_of_graphs_may_be_longer_than_the_name_of_a_file(tmp_path: Path) -> None:
    graphs = [f"lattice(rows={rows},columns=7)" for rows in range(100, 120)]
    done = run("--dataset", ",".join(graphs), "--variant", "push", "--dry-run", cwd=tmp_path)
    assert "20 points" in done.stdout


def test_the_default_result_file_has_the_time_in_its_name(tmp_path: Path) -> None:
    bfsbench("run", "--backend", "cpu", "--dataset", LATTICE, "--variant", "cpu_queue", cwd=tmp_path)
    (file,) = (tmp_path / "results").glob("*.csv")
    assert file.name.startswith("run-") and len(read_rows(file)) == 1


def test_help_is_short_and_names_knobs_on_request(tmp_path: Path) -> None:
    shown = bfsbench("run", "--help", cwd=tmp_path).stdout
    assert "W_SZ" not in shown and "--w-sz" not in shown and "--help-knobs" in shown
    assert len(shown.splitlines()) < 100
    titles = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles[0] == "What:" and titles[-1] == "Others:" and len(titles) == 8
    every = " ".join(bfsbench("run", "--help-knobs", cwd=tmp_path).stdout.split())
    assert "1, 2, 4, 8, 16, 32; default 16" in every
    assert "(1 .. 1e+09; default 14)" in every and "(0 .. 100; default 0.15)" in every
    some = bfsbench("run", "--help-knobs", "hong,pull", cwd=tmp_path).stdout
    assert some.startswith("virtual_warp:\n  --w-sz LIST")
    assert some.endswith("pull has no knobs.\n") and "--k1" not in some
    refused = bfsbench("run", "--help-knobs", "hongg", cwd=tmp_path, check=2)
    assert refused.stderr == "bfsbench: unknown variant 'hongg': did you mean hong?\n"


@pytest.mark.exhaustive
def test_failed_points_are_run_again_on_request_only(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "dies,push")
    run_faulty(*words, cwd=tmp_path, check=1)
    done = run_faulty(*words, "--resume", cwd=tmp_path, check=1)
    assert "2 of 2 points are in r.csv already, 1 of them failed (--retry-failed)" in done.stderr
    run_faulty(*words, "--resume", "--retry-failed", cwd=tmp_path, check=1)
    assert sorted(row["status"] for row in read_rows(tmp_path / "r.csv")) == ["crash", "ok"]
    run("--dataset", LATTICE, "--variant", "push", "--resume", cwd=tmp_path)


def test_resuming_over_a_changed_graph_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("0 1\n1 2\n")
    words = ("--dataset", "./g.txt", "--variant", "push")
    run(*words, cwd=tmp_path)
    (tmp_path / "g.txt").write_text("0 1\n1 2\n2 0\n")
    done = run(*words, "--block", "64", "--resume", cwd=tmp_path, check=2)
    assert "cannot resume: g.txt:directed has changed since r.csv was begun" in done.stderr


def test_a_file_is_one_graph_by_whatever_path(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("0 1\n1 2\n")
    (tmp_path / "in").mkdir()
    words = ("--variant", "cpu_queue", "--source", "0", "--repeats", "1")
    run("--dataset", "./g.txt", *words, cwd=tmp_path)
    path = tmp_path / "r.csv"
    (row,) = read_rows(path)
    assert row["graph"] == "g.txt:directed"
    again = run("--dataset", "../g.txt", *words, "--out", "../r.csv", "--resume", cwd=tmp_path / "in")
    assert "nothing left to do" in again.stderr
    path.write_text(path.read_text().replace("g.txt:directed", "./g.txt:directed"))
    older = run("--dataset", str(tmp_path / "g.txt"), *words, "--resume", cwd=tmp_path)
    assert "nothing left to do" in older.stderr, "rows of before have the path as it was typed"


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder, edges in (("a", "0 1\n"), ("b", "0 1\n1 2\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "g.txt").write_text(edges)
    words = ("--dataset", "a/g.txt,b/g.txt", "--variant", "cpu_queue,push", "--source", "0", "--repeats", "1")
    rows = measured(*words, cwd=tmp_path)
    assert {(row["graph"], row["num_vertices"]) for row in rows} == {
        ("g.txt:directed", "2"),
        ("g.txt:directed", "3"),
    }
    assert len(rows) == 4 and len({row["graph_checksum"] for row in rows}) == 2
    assert "nothing left to do" in run(*words, "--resume", cwd=tmp_path).stderr
    done = run(*words, "--profile", "--out", "p.csv", cwd=tmp_path, check=2)
    assert "level profiles cannot tell graphs of one name apart" in done.stderr


def test_sources_by_the_ids_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("7 50\n50 3000\n")
    words = ("--dataset", "./g.txt", "--variant", "cpu_queue", "--repeats", "1")
    assert [row["source"] for row in measured(*words, "--source-id", "50,7", cwd=tmp_path)] == ["1", "0"]
    for option, value, says in (
        ("--source-id", "8", "vertex 8 is not in g.txt:directed, whose ids lie within 7 .. 3000"),
        ("--source-id", "x", "'x' is not a valid integer, as ids of g.txt:directed are"),
        ("--source", "3", "vertices 0 .. 2, whose ids in its file lie within 7 .. 3000"),
    ):
        assert says in run(*words, option, value, "--out", "s.csv", cwd=tmp_path, check=2).stderr
    both = run(*words, "--source", "1", "--source-id", "50", "--out", "s.csv", cwd=tmp_path, check=2)
    assert "exclude each other" in both.stderr


def test_profiles_cannot_be_added_to_rows_without(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push")
    run(*words, cwd=tmp_path)
    done = run(*words, "--profile", "--resume", cwd=tmp_path, check=2)
    assert "rows without level profiles" in done.stderr
    assert not (tmp_path / "r.levels.csv").exists()


def test_a_sweep_that_never_begins_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "bad.mtx").write_text("nonsense\n")
    run("--dataset", "./bad.mtx", cwd=tmp_path, check=2)
    run("--dataset", LATTICE, "--source", "999", cwd=tmp_path, check=2)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.mtx"]


@pytest.mark.parametrize(
    ("number", "times"), [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGTERM, 3), (signal.SIGHUP, 1)]
)
def test_an_interrupt_says_how_to_go_on(tmp_path: Path, number: signal.Signals, times: int) -> None:
    measuring = ("--backend", "cpu", "--out", "r.csv", "--timeout", "60")
    command = [sys.executable, "-m", "bfsbench", "run", *measuring]
    command += ["--dataset", LATTICE, "--variant", "push,hangs"]
    environment = os.environ | {"BFSBENCH_VARIANTS": str(FAULTY)}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup, for example, ignores SIGHUP
    )
    while not (tmp_path / "r.csv").exists() or len(read_rows(tmp_path / "r.csv")) < 1:
        time.sleep(0.1)
        assert process.poll() is None
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for pid in children if number == signal.SIGTERM else ():  # as Slurm does to every process of a job
        os.kill(int(pid), number)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.01)
    _, errors = process.communicate(timeout=8)  # less than the time that a busy worker has to end by itself
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1] == "bfsbench: interrupted: continue with --resume --out r.csv"
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
    assert {row["status"] for row in read_rows(tmp_path / "r.csv")} == {"ok"}


def test_a_mistyped_command_is_one_line(tmp_path: Path) -> None:
    done = bfsbench("reprt", cwd=tmp_path, check=2)
    assert done.stderr == "bfsbench: unknown command 'reprt': did you mean report?\n"


def test_an_unknown_option_may_be_a_knob_of_a_broken_variant(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import nonsense\n")
    words = ("run", "--dataset", LATTICE, "--variant", "mine", "--my-knob", "3")
    done = bfsbench_with(tmp_path, *words, cwd=tmp_path, check=2)
    assert "No such option '--my-knob'" in done.stderr and "mine.py, line 1: ModuleNotFound" in done.stderr


def test_a_missing_option_is_one_line(tmp_path: Path) -> None:
    done = bfsbench("entry", "new", "mine", cwd=tmp_path, check=2)
    assert done.stderr == "bfsbench: Missing option '--kind'. Choose from: command, library, python\n"


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bfsbench", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "bfsbench: cannot write the output: No space left on device\n"


def test_a_quiet_sweep_prints_errors_only(tmp_path: Path) -> None:
    done = run("--dataset", LATTICE, "--variant", "push", "--quiet", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", "") and len(read_rows(tmp_path / "r.csv")) == 1
    assert "r.csv exists" in run("--dataset", LATTICE, "--quiet", cwd=tmp_path, check=2).stderr


def test_a_quiet_sweep_prints_points_that_fail(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "lies,push", "--quiet")
    done = run_faulty(*words, cwd=tmp_path, check=1)
    (line,) = done.stderr.splitlines()
    assert "lies" in line and "wrong: " in line and done.stdout == ""
    again = run_faulty(*words, "--resume", cwd=tmp_path, check=1)
    assert again.stderr == f"{line} (--retry-failed measures it again)\n"


def test_a_sweep_whose_time_is_over_says_how_to_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is over after the first search. Its sources are measured together, so both have rows."""
    words = ("--dataset", LATTICE, "--variant", "cpu_queue,cpu_parallel", "--sources", "2", "--minutes", "9")
    moments = iter([0.0, 0.0, math.inf])
    monkeypatch.setattr("bfsbench.bench.sweep.time", SimpleNamespace(monotonic=lambda: next(moments)))
    done = run(*words, cwd=tmp_path, check=124)
    assert (
        done.stderr.splitlines()[-1]
        == "bfsbench: the time is over with 2 points left: continue with --resume --out r.csv"
    )
    assert [row["variant"] for row in read_rows(tmp_path / "r.csv")] == ["cpu_queue"] * 2
    monkeypatch.undo()
    run(*words, "--resume", cwd=tmp_path)
    assert len(read_rows(tmp_path / "r.csv")) == 4


def test_two_sweeps_of_one_experiment_may_share_a_point_that_fails(tmp_path: Path) -> None:
    sweeps = "".join(f'[[sweeps]]\nvariants = ["{names}"]\n' for names in ("raises", 'raises", "push'))
    text = f'title = "t"\npaper = "p"\n[[graphs]]\nname = "{LATTICE}"\nlabel = "lattice"\n{sweeps}'
    (tmp_path / "mine.toml").write_text(text)
    bfsbench_with(FAULTY, "reproduce", "mine.toml", "--backend", "cpu", "--out", "out", cwd=tmp_path, check=1)
    rows = read_rows(tmp_path / "out" / "mine.csv")
    assert [row["status"] for row in rows] == ["error", "ok"]


def test_a_point_of_older_code_that_fails_again_has_one_row(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "raises")
    (old,) = measured_faulty(*words, cwd=tmp_path)
    change(tmp_path / "r.csv", {"raises": {"code": "0" * len(old["code"])}})
    (new,) = measured_faulty(*words, "--resume", cwd=tmp_path)
    assert new["status"] == "error" and new["code"] == old["code"] != ""


def test_resuming_says_which_rows_are_replaced(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "cpu_queue,cpu_parallel", "--until-decided")
    changes = {"cpu_queue": {"code": "0" * 16}, "cpu_parallel": {"warnings": "undecided: take more samples"}}
    run(*words, "--max-samples", "6", cwd=tmp_path)
    change(tmp_path / "r.csv", changes)
    assert "1 point, each" in run(*words, "--max-samples", "6", "--resume", "--dry-run", cwd=tmp_path).stdout
    words = (*words, "--max-samples", "7", "--resume")
    assert "2 points, each" in run(*words, "--dry-run", cwd=tmp_path).stdout
    done = run(*words, cwd=tmp_path)
    assert "are measured again: 1 of older code, 1 undecided" in done.stderr
    rows = read_rows(tmp_path / "r.csv")
    assert len(rows) == 2 and rows[0]["code"] != "0" * 16
    assert "are measured again" not in run(*words, cwd=tmp_path).stderr


def test_a_sweep_prints_its_events_as_lines_of_json(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push,cpu_queue", "--json")
    planned = run(*words, "--dry-run", cwd=tmp_path).stdout.splitlines()
    assert [json.loads(line)["variant"] for line in planned] == ["frontier_numbers", "cpu_queue"]
    done = run(*words, cwd=tmp_path)
    begin, batch, *points, end = events = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(datetime.fromisoformat(event.pop("time")).tzinfo for event in events)
    assert begin == {"event": "begin", "points": 2, "backend": "cpu"}
    assert batch == {"event": "batch", "points": 2, "held": 0, "again": 0}
    rows = read_rows(tmp_path / "r.csv")
    for point, row in zip(points, rows, strict=True):
        assert point["event"] == "point" and point["variant"] == row["variant"]
        assert point["search_ms_samples"] == [*map(float, row["search_ms_samples"].split(";"))]
        assert (point["num_vertices"], point["energy_j"]) == (int(row["num_vertices"]), None)
    assert end == {"event": "end", "how": "complete", "points": 2, "statuses": {"ok": 2}}
    batch, end = (json.loads(line) for line in run(*words, "--resume", cwd=tmp_path).stdout.splitlines()[-2:])
    assert (batch["held"], end["points"]) == (2, 0)


def test_a_dry_run_prints_the_points_that_would_be_measured_as_lines_of_json(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push", "--sources", "2")
    planned = [
        json.loads(line) for line in run(*words, "--dry-run", "--json", cwd=tmp_path).stdout.splitlines()
    ]
    rows = measured(*words, cwd=tmp_path)
    assert [(point["source"], point["block"]) for point in planned] == [(int(r["source"]), 256) for r in rows]


@pytest.mark.parametrize("lines", [0, 3])
def test_a_sweep_whose_reader_has_gone_says_how_to_continue(tmp_path: Path, lines: int) -> None:
    words = ("--dataset", LATTICE, "--variant", "push,pull,edge,simple", "--block", "32,64,128", "--json")
    command = [sys.executable, "-m", "bfsbench", "run", "--backend", "cpu", "--out", "r.csv", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        for _ in range(lines):  # begin, batch, and the first point
            process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    again = ": continue with --resume --out r.csv" if lines else ""
    assert (process.returncode, said) == (130, f"bfsbench: the reader of the output has gone{again}\n")


def test_rows_name_the_cores_that_the_process_may_use(tmp_path: Path) -> None:
    one_core = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    start = f"{one_core}; from bfsbench.__main__ import main; main()"
    words = ("run", "--dataset", LATTICE, "--variant", "cpu_queue", "--out", "r.csv")
    subprocess.run([sys.executable, "-c", start, *words], cwd=tmp_path, check=True, capture_output=True)
    (row,) = read_rows(tmp_path / "r.csv")
    assert row["host_cpu"].endswith("(1 cores)")


def test_an_error_during_a_sweep_is_an_event_before_the_last(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("precious\n")
    done = run("--variant", "push", "--json", "--dataset", LATTICE, cwd=tmp_path, check=2)
    error, end = [json.loads(line) for line in done.stdout.splitlines()[-2:]]
    assert (end["event"], end["how"]) == ("end", "error")
    assert error["event"] == "error" and done.stderr == f"bfsbench: {error['error']}\n"


@pytest.mark.parametrize("words", [("--variant", "nope"), ("--repeats", "x"), ("--dataset", "nonsuch")])
def test_an_error_before_the_sweep_is_the_only_event(tmp_path: Path, words: tuple[str, str]) -> None:
    done = run("--dataset", LATTICE, *words, "--json", cwd=tmp_path, check=2)
    (event,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert event["event"] == "error" and done.stderr == f"bfsbench: {event['error']}\n"


def test_a_dry_run_does_not_make_the_graph(tmp_path: Path) -> None:
    words = "--variant push --sources 3 --dry-run"
    done = run("--dataset", "kronecker(scale=30)", *words.split(), cwd=tmp_path)
    assert "3 points" in done.stdout


def test_a_dry_run_names_what_a_sweep_lacks(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("precious\n")
    words = ("--variant", "push", "--dry-run", "--dataset")
    exists = "r.csv exists: add --resume to continue it, or choose another --out"
    done = run(*words, f"{LATTICE},USA-road-d.W", cwd=tmp_path, check=2)
    missing = "dataset USA-road-d.W is not here yet: run 'bfsbench fetch USA-road-d.W'"
    assert "2 points" in done.stdout and done.stderr == f"bfsbench: {missing}; {exists}\n"
    point, error = map(json.loads, run(*words, LATTICE, "--json", cwd=tmp_path, check=2).stdout.splitlines())
    assert (point["variant"], error["error"]) == ("frontier_numbers", exists)


@pytest.mark.parametrize("graph", ["path(n=9)", "USA-road-d.W"])
def test_a_dry_run_refuses_a_source_that_the_graph_does_not_have(tmp_path: Path, graph: str) -> None:
    words = ("--variant", "push", "--dry-run", "--dataset", graph, "--source", "99999999")
    done = run(*words, cwd=tmp_path, check=2)
    assert done.stderr.startswith(f"bfsbench: source 99999999 is out of range: {graph}") and not done.stdout


def test_a_dry_run_estimates_the_time_that_is_left_from_the_rows_of_the_file(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push", "--resume", "--block")
    run(*words, "32:192:+32", cwd=tmp_path)
    header, *lines = (tmp_path / "r.csv").read_text().splitlines()
    spread = [line[:-20] + f"2026-01-01T00:{10 * place:02}:00Z" for place, line in enumerate(lines)]
    (tmp_path / "r.csv").write_text("\n".join([header, *spread, ""]))
    left = run(*words, "32:256:+32", "--dry-run", cwd=tmp_path).stdout
    assert "2 points" in left and "about 20 min without reading graphs, if points take as long as in" in left
    left = run(*words, "32:256:+32", "--dry-run", "--out", "no.csv", cwd=tmp_path).stdout
    assert "about 16 s without reading graphs, 8 of them counted as 2 s on cpu" in left
    (tmp_path / "r.csv").write_text("\n".join([header, *spread[:3], ""]))
    assert "about 10 s" in run(*words, "32:256:+32", "--dry-run", cwd=tmp_path).stdout


def test_rows_name_the_schedule_they_were_run_in(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push")
    (row,) = measured(*words, "--schedule-seed", "7", cwd=tmp_path)
    assert row["gpu"].endswith(", schedule 7")
    done = run(*words, "--block", "64", "--resume", cwd=tmp_path, check=2)
    assert "cannot resume" in done.stderr
