"""``bfsbench entry`` and what users do with entries afterwards, through the command line."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench import variants
from tests.commands import bfsbench as run, bfsbench_with
from tests.entries.toy_entries import LINE, compile_toys, declare, entry_in, marked_processes, write_entry


def bfsbench(*words: str, own: Path, check: int | None = 0, folder: Path | None = None) -> str:
    """Run a command. ``own`` is the folder of the user's entries, and BFSBENCH_VARIANTS names ``folder``.
    Returns standard output followed by standard error."""
    folders = [str(folder)] if folder else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BFSBENCH_ENTRIES", str(own))
        patch.setenv("BFSBENCH_VARIANTS", "".join(folders))
        patch.setattr(variants, "__path__", [*variants.__path__, *folders])
        variants.look.cache_clear()
        try:
            done = run(*words, cwd=own, check=check)
        finally:
            variants.look.cache_clear()
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's entries, one of each kind as ``entry new`` makes them, built."""
    own = tmp_path_factory.mktemp("own")
    for kind in ("command", "library", "python"):
        said = bfsbench("entry", "new", f"my_{kind}", "--kind", kind, own=own)
        assert f"wrote {own}/my_{kind}/my_{kind}.toml" in said
        if kind != "python":
            assert f"'bfsbench entry build my_{kind}'" in said
            assert "built my_" in bfsbench("entry", "build", f"my_{kind}", own=own)
    return own


@pytest.fixture(scope="module")
def swept(own: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result file of a sweep of new entries, variants of this package, and toys that hang, crash and
    answer wrongly."""
    toys = tmp_path_factory.mktemp("toys")
    compile_toys(toys)
    for kind, how in (("command", "hangs"), ("library", "crashes"), ("python", "wrong")):
        declare(toys, kind, how)
    declare(toys, "library", "fails")
    toy_names = "toy_command_hangs,toy_library_crashes,toy_python_wrong"
    names = f"my_command,{toy_names},my_library,my_python,cpu_queue,scipy"
    words = ("--dataset", LINE, "--variant", names, "--timeout", "5", "--repeats", "2")
    out = toys / "r.csv"
    before = marked_processes()
    bfsbench("run", *words, "--out", str(out), own=own, folder=toys, check=1)
    assert marked_processes() <= before, "a sweep leaves no process behind, that of a hung entry included"
    return out


def rows_of(file: Path) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    with file.open() as lines:
        for row in csv.DictReader(lines):
            found.setdefault(row["variant"], []).append(row)
    return found


def test_failures_are_rows_and_the_others_have_times(swept: Path) -> None:
    found = rows_of(swept)
    statuses = {name: {row["status"] for row in rows} for name, rows in found.items()}
    failed = {"toy_command_hangs": "timeout", "toy_library_crashes": "crash", "toy_python_wrong": "wrong"}
    assert statuses == {name: {failed.get(name, "ok")} for name in found}
    assert len(found) == 8 and all(len(rows) == 1 for rows in found.values())


def test_columns_say_what_was_timed_and_by_whom(swept: Path) -> None:
    found = {name: rows[-1] for name, rows in rows_of(swept).items()}
    told = {name: (row["clock"], row["covers"]) for name, row in found.items() if row["status"] == "ok"}
    both = "initialisation=yes transfers=yes conversion=no"
    assert told == {
        "my_command": ("theirs", both),
        "my_library": ("ours", both),
        "my_python": ("ours", both),
        "scipy": ("ours", "initialisation=yes transfers=no conversion=no"),
        "cpu_queue": ("ours", ""),
    }
    mine = found["my_command"]
    assert mine["program"] == "my_command (MIT)" and found["cpu_queue"]["program"] == ""
    assert re.match(r"scipy [\d.]+ \(BSD", found["scipy"]["program"])
    assert float(mine["preprocess_ms"]) > 0 and float(mine["host_mib"]) > 0
    assert 0 < float(mine["search_ms"]) <= float(mine["wall_ms"])
    assert [mine[name] for name in ("backend", "grid", "block", "device_mib")] == ["host", "", "", ""]


def test_every_table_with_an_entry_has_a_footnote(own: Path, swept: Path) -> None:
    said = " ".join(bfsbench("report", "--table", "best", str(swept), own=own).split())
    assert (
        "my_command is a program by other authors (my_command, licence MIT). The times of my_command come "
        "from the program's own clock, and include initialisation and transfers, but not conversion. The "
        "preparation of my_command took"
    ) in said
    assert "cpu_queue is a program" not in said
    compared = bfsbench("compare", str(swept), str(swept), "--format", "json", own=own)
    notes = " ".join(json.loads(compared)["summary"]["notes"]) if "notes" in compared else compared
    assert "scipy is a program by other authors" in notes
    page = swept.with_suffix(".html")
    bfsbench("report", "--format", "html", "--out", str(page), str(swept), own=own)
    assert "scipy is a program by other authors" in page.read_text()


def test_rows_are_kept_until_the_entry_changes(own: Path, swept: Path) -> None:
    out = swept.with_name("resumed.csv")
    words = ("run", "--dataset", LINE, "--variant", "my_command", "--out", str(out), "--resume")
    bfsbench(*words, own=own)
    before = rows_of(out)["my_command"]
    assert "nothing left to do" in bfsbench(*words, own=own)
    file = own / "my_command" / "my_command.toml"
    file.write_text(file.read_text() + "# changed\n")
    bfsbench(*words, own=own)
    (after,) = rows_of(out)["my_command"]
    assert len(before) == 1 and before[0]["code"] != after["code"]


def test_an_entry_stands_in_lists_and_on_its_own_page(own: Path) -> None:
    listed = json.loads(bfsbench("entry", "list", "--format", "json", own=own))
    states = {row["name"]: (row["kind"], row["state"]) for row in listed["entries"]["rows"]}
    assert states["my_python"] == ("python", "ready") and states["scipy"] == ("python", "ready")
    assert re.fullmatch(r"built \d{4}-\d\d-\d\d", states["my_library"][1])
    shown = bfsbench("show", "my_command", own=own)
    assert f"{own}/my_command/my_command.toml" in shown


@pytest.mark.exhaustive
def test_check_says_what_is_wrong_in_one_line_each(own: Path, swept: Path) -> None:
    said = bfsbench("entry", "check", str(own / "my_command"), own=own).splitlines()
    assert said[0] == "my_command: 22 of 22 searches are right: nothing is wrong"
    assert said[1] == "not tried: more than 2^31 - 1 arcs, but a small graph had 64-bit offsets"
    said = bfsbench("entry", "check", "toy_library_fails", own=own, folder=swept.parent, check=1).splitlines()
    assert said[0] == "crash: RuntimeError: fails returned 7"
    assert said[1] == "toy_library_fails: 0 of 5 searches are right: see above"
    assert said[2:] == ["searching path(n=1)", "searching star(n=300,arcs=in)", "searching path(n=2000)"]


def test_a_folder_anywhere(own: Path, tmp_path: Path) -> None:
    said = bfsbench("entry", "new", "here", "--kind", "python", "--in", str(tmp_path), own=own)
    assert f"export BFSBENCH_VARIANTS={tmp_path}" in said
    words = ("--dataset", LINE, "--variant", "here", "--dry-run")
    assert "here" in bfsbench("run", *words, own=own, folder=tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("new", "Mine", "--kind", "python"), "'Mine' is not a valid name"),
        (("new", "cpu_queue", "--kind", "python"), "there is a variant cpu_queue"),
        (("new", "my_python", "--kind", "python"), "there is a variant my_python"),
        (("new", "x", "--kind", "library", "--device", "gpu"), "for a GPU choose command or python"),
        (("new", "push", "--kind", "python"), "there is a variant frontier_numbers (push)"),
        (("build", "my_python", "--source", "/"), "has nothing to build"),
        (("build", "my_comand"), "unknown entry 'my_comand': did you mean my_command?"),
        (("build", "cpu_queue"), "cpu_queue is a variant of this package, not an entry"),
        (("build", "my_command", "--source", "/"), "is built from the files beside"),
        (("check", "./nowhere/"), "unknown entry"),
    ],
)
def test_requests_that_cannot_be(own: Path, words: tuple[str, ...], message: str) -> None:
    said = bfsbench("entry", *words, own=own, check=2)
    assert message in said and len(said.splitlines()) == 1


def test_an_entry_without_a_build(own: Path) -> None:
    assert bfsbench("entry", "build", "my_python", own=own) == "entry my_python has nothing to build\n"


def test_the_module_of_an_entry_is_no_variant_module(tmp_path: Path) -> None:
    """The module runs only in the entry's process, so the list of entries names the packages that it
    lacks."""
    declare(tmp_path, "python", "honest", 'packages = ["absent-package"]')
    (tmp_path / "cheats.py").write_text("import absent_package\n")
    said = bfsbench("entry", "list", own=tmp_path, folder=tmp_path)
    assert "absent-package is not installed" in " ".join(said.split())


@pytest.mark.parametrize(("kind", "suffixes"), [("command", ".toml .cu .h"), ("python", ".toml .py")])
def test_a_new_entry_for_a_gpu(tmp_path: Path, kind: str, suffixes: str) -> None:
    words = ("new", "mine", "--kind", kind, "--device", "gpu", "--in", str(tmp_path))
    said = bfsbench("entry", *words, own=tmp_path)
    wrote = [Path(line.removeprefix("wrote ")) for line in said.splitlines() if line.startswith("wrote")]
    assert [file.suffix for file in wrote] == suffixes.split()
    assert entry_in(wrote[0]).call.device == "gpu"
    assert all("NAME" not in file.read_text() for file in wrote)


@pytest.mark.exhaustive
@pytest.mark.skipif(not shutil.which("nvcc"), reason="there is no nvcc")
def test_a_new_entry_in_cuda_is_built(tmp_path: Path) -> None:
    words = ("new", "mine", "--kind", "command", "--device", "gpu", "--in", str(tmp_path))
    bfsbench("entry", *words, own=tmp_path)
    file = tmp_path / "mine" / "mine.toml"
    file.write_text(file.read_text().replace("-arch=native", "-arch=sm_90"))  # for a machine without a GPU
    assert "built" in bfsbench("entry", "build", "mine", own=tmp_path, folder=tmp_path)


def test_a_command_that_never_is_ready_gets_a_hint(swept: Path, own: Path) -> None:
    words = ("entry", "check", "toy_command_hangs", "--timeout", "0.1")
    said = bfsbench(*words, own=own, folder=swept.parent, check=1)
    assert "\nhint: a command prints 'ready', then a time for each source" in said


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("print('reday', flush=True)", "it has not printed 'ready'; its last line is 'reday'"),
        ("pass", "it printed nothing, but 'ready' was awaited: does it flush its output?"),
        ("print('ready', end='', flush=True)", "it printed 'ready' without the end of the line"),
        ("print('ready\\nTime: 1 ms', flush=True)", "it printed 'Time: 1 ms' after the source, which is not"),
    ],
)
def test_a_time_out_says_which_line_is_missing(tmp_path: Path, program: str, message: str) -> None:
    words = [sys.executable, "-c", f"{program}; import time; time.sleep(60)"]
    write_entry(tmp_path, "silent", f"command = {json.dumps(words)}")
    out = tmp_path / "r.csv"
    given = ("--dataset", LINE, "--variant", "silent", "--timeout", "2", "--out", str(out))
    bfsbench("run", *given, own=tmp_path, check=1)
    (row,) = rows_of(out)["silent"]
    assert row["status"] == "timeout" and message in row["reason"]


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (
            '"%.6f\\n", took',
            '"took %.6f\\n", took',
            "after the source, which is not a number",
            "'time' in 'call'",
        ),
        ("levels[v] = -1", "levels[v] = 1 << 30", "1073741824 instead of -1", "'unreached' in 'call'"),
        ("while (scanf", "if (scanf", "it ended, but a time for source", ""),
    ],
)
def test_a_check_gives_advice(tmp_path: Path, old: str, new: str, message: str, hint: str) -> None:
    bfsbench("entry", "new", "mine", "--kind", "command", own=tmp_path)
    file = tmp_path / "mine" / ("mine.c" if "levels" in old else "entry.h")
    toml = tmp_path / "mine" / "mine.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new).replace("levels[w] >= 0", "levels[w] < 1 << 30"))
    toml.write_text(toml.read_text().replace('"theirs"', '"ours"'))  # leave out the comparison of clocks
    bfsbench("entry", "build", "mine", own=tmp_path)
    said = bfsbench("entry", "check", "mine", "--timeout", "1", own=tmp_path, check=1).splitlines()
    assert any(message in line for line in said)
    assert not hint or any(line.startswith("hint: ") and hint in line for line in said)


def test_a_check_that_is_stopped_says_where_it_was(swept: Path, own: Path) -> None:
    words = [sys.executable, "-m", "bfsbench", "entry", "check", "toy_command_hangs", "--timeout", "60"]
    environment = os.environ | {"BFSBENCH_ENTRIES": str(own), "BFSBENCH_VARIANTS": str(swept.parent)}
    before = marked_processes()
    pipe = subprocess.PIPE
    check = subprocess.Popen(words, env=environment, stdout=pipe, stderr=pipe, encoding="utf-8")
    assert check.stderr is not None and check.stderr.readline().startswith("comparing its clock")
    assert check.stderr.readline() == "searching path(n=1)\n"
    check.terminate()
    said, errors = check.communicate(timeout=30)
    assert said == "toy_command_hangs: 0 of 0 searches are right: stopped on path(n=1)\n"
    assert (check.returncode, errors) == (130, "bfsbench: interrupted\n")
    assert marked_processes() <= before


@pytest.mark.exhaustive
def test_a_check_finds_offsets_that_are_read_as_32_bits(tmp_path: Path) -> None:
    bfsbench("entry", "new", "narrow", "--kind", "python", own=tmp_path)
    module = tmp_path / "narrow" / "narrow.py"
    module.write_text(module.read_text().replace("graph.row_offsets,", "graph.row_offsets.view('int32'),"))
    said = bfsbench("entry", "check", "narrow", own=tmp_path, check=1).splitlines()
    faults = [line for line in said if line.startswith(("crash", "wrong"))]
    assert 0 < len(faults) <= 3 and all(":offsets=int64 from" in line for line in faults)


WIDTHS = """[[knobs]]
name = "WIDTH"
meaning = "the width"
default = 1
minimum = 1
maximum = 8
[call.environment]
SEEN = "{WIDTH} {here}"
"""


def test_a_command_is_given_its_knobs(tmp_path: Path) -> None:
    says = "import os, sys; print('error', sys.argv[1], os.environ['SEEN'])"
    file = write_entry(
        tmp_path, "wide", f"command = {json.dumps([sys.executable, '-c', says, 'width={WIDTH}'])}"
    )
    file.write_text(file.read_text() + WIDTHS)
    words = ("--dataset", LINE, "--variant", "wide", "--width", "1:4:x2", "--out", "r.csv")
    bfsbench("run", *words, own=tmp_path, check=1)
    told = [(row["knobs"], row["reason"]) for row in rows_of(tmp_path / "r.csv")["wide"]]
    assert told == [(f"WIDTH={width}", f"width={width} {width} {tmp_path}") for width in (1, 2, 4)]
    refused = bfsbench("run", *words[:4], "--width", "9", "--out", "s.csv", own=tmp_path, check=2)
    assert "knob WIDTH: 9 is out of range (1 .. 8)" in refused


@pytest.mark.parametrize("order", ["sequential", "interleaved"])
def test_each_value_of_a_knob_has_its_own_process(tmp_path: Path, order: str) -> None:
    """The module reads the variable when it is imported."""
    (tmp_path / "widths.py").write_text(
        "import os, numpy\n"
        "WIDTH = int(os.environ['SEEN'].split()[0])\n"
        "def prepare(graph):\n"
        "    return lambda source, answer: numpy.abs(numpy.arange(graph.num_vertices) - source) // WIDTH\n"
    )
    file = write_entry(tmp_path, "wide", 'python = "widths:prepare"')
    file.write_text(file.read_text() + WIDTHS)
    words = ("--dataset", LINE, "--variant", "wide", "--width", "1,2", "--order", order, "--repeats", "2")
    bfsbench("run", *words, "--out", "r.csv", own=tmp_path, check=1)
    told = {row["knobs"]: row["status"] for row in rows_of(tmp_path / "r.csv")["wide"]}
    assert told == {"WIDTH=1": "ok", "WIDTH=2": "wrong"}


def test_a_cache_that_cannot_be_written_is_one_line(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "native").symlink_to(Path(os.environ["BFSBENCH_CACHE"], "native"))
    (cache / "entries").write_text("a file in the place of the folder")
    monkeypatch.setenv("BFSBENCH_CACHE", str(cache))
    words = ("run", "--dataset", LINE, "--variant", "scipy", "--quiet", "--out", "r.csv")
    (said,) = bfsbench_with("", *words, cwd=tmp_path, check=1).stderr.splitlines()
    assert f"scipy: error: cannot write {cache}/entries/runs: " in said and "set BFSBENCH_CACHE to" in said
    (said,) = bfsbench("entry", "build", "my_command", own=own, check=2).splitlines()
    assert said.startswith(f"bfsbench: cannot write {cache}/entries/my_command: ")
