"""``bfsbench compare`` as a user drives it, and the rules behind it."""

import csv
import io
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import Result
from hypothesis import given, strategies as st
from result_rows import emulated_row, failed_row, host_row, row, write

from bfsbench.reports.comparison.points import FASTER, SLOWER, Compared, Side, compare, of_frame, read_side
from bfsbench.rows.columns import COLUMNS
from bfsbench.support.errors import InputError
from tests.commands import invoke, refused


def run(*arguments: object) -> Result:
    return invoke("compare", *arguments)


def timed(*samples: float, **changes: Any) -> dict[str, Any]:
    """A row with these repeats."""
    return row(min(samples), search_ms_samples=";".join(map(str, samples)), **changes)


def steady(milliseconds: float, **changes: Any) -> dict[str, Any]:
    """A row of five repeats that hardly differ."""
    return timed(*(milliseconds * (1 + i / 1000) for i in range(5)), **changes)


def sides(folder: Path, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> tuple[Path, Path]:
    """Two result files to compare."""
    return write(folder / "a.csv", a), write(folder / "b.csv", b)


def verdicts(result: Result) -> dict[str, str]:
    """The verdict on each variant, from JSON."""
    return {point["variant"]: point["verdict"] for point in json.loads(result.stdout)["points"]["rows"]}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    before = [
        *(steady(1.0, variant=name) for name in ("faster", "slower", "same", "lost", "undecided")),
        *(failed_row(variant=name) for name in ("gained", "failed")),
        steady(1.0, variant="gone"),
        emulated_row(variant="emulated"),
    ]
    after = [
        *(steady(0.8, variant="faster"), steady(1.2, variant="slower"), steady(1.02, variant="same")),
        timed(0.9, 1.0, 1.1, 1.2, 1.3, variant="undecided"),
        *(failed_row(variant=name) for name in ("lost", "failed")),
        steady(1.0, variant="gained"),
        steady(1.0, variant="new"),
        emulated_row(9.0, variant="emulated"),
    ]
    return sides(tmp_path, before, after)


def test_rows_from_before_a_knob_have_its_default(tmp_path: Path) -> None:
    knobs = "CLUSTER_SIZE=0 SMALL_PARTS=-1 TINY_PARTS=256 PUSHED_EDGE=6 MAY_PULL=1 LIKELY_FIRST=0"
    before = [steady(1.0, variant="adaptive", knobs=knobs)]
    after = [steady(0.5 + tree, variant="adaptive", knobs=f"{knobs} TREE={tree}") for tree in (0, 1)]
    found = json.loads(run(*sides(tmp_path, before, after), "--format", "json").stdout)
    assert [(p["verdict"], p["b_ms"]) for p in found["points"]["rows"]] == [("faster", 0.5)]


def test_points_that_do_not_pair_because_of_a_knob_are_named(tmp_path: Path) -> None:
    """Here, a default has changed between A and B."""
    before = [steady(1.0, variant="same"), steady(1.0, variant="virtual_warp", knobs="W_SZ=8")]
    after = [steady(1.0, variant="same"), steady(1.0, variant="virtual_warp", knobs="W_SZ=16")]
    why = "1 point of virtual_warp without a partner, because W_SZ is 8 in A and 16 in B"
    assert why in run(*sides(tmp_path, before, after)).stdout
    assert why in refused(run(*sides(tmp_path, before[1:], after[1:])))


def test_every_verdict(files: tuple[Path, Path]) -> None:
    result = run(*files, "--format", "json")
    assert result.exit_code == 1
    names = ("faster", "slower", "same", "lost", "undecided", "gained", "failed")
    assert verdicts(result) == {name: name for name in names}
    unmatched = json.loads(result.stdout)["unmatched"]["rows"]
    assert [(line["only_in"], line["variant"]) for line in unmatched] == [("A", "gone"), ("B", "new")]


def test_text_names_what_changed(files: tuple[Path, Path]) -> None:
    text = run(*files).stdout
    assert "7 points in both: 1 slower, 1 lost, 1 faster, 1 gained, 1 same, 1 undecided, 1 failed." in text
    assert "No times to compare: 2 rows of emulated kernels (backend cpu)." in text
    changes = text[text.index("Points that changed") :]
    assert all(f"\n{word}\n" in changes for word in ("slower", "lost", "faster", "gained"))
    assert max(map(len, text.splitlines())) <= 110


def test_swapped_sides_mirror(files: tuple[Path, Path]) -> None:
    mirror = {"faster": "slower", "slower": "faster", "lost": "gained", "gained": "lost"}
    there = verdicts(run(*files, "--format", "json"))
    back = verdicts(run(*reversed(files), "--format", "json"))
    assert back == {name: mirror.get(verdict, verdict) for name, verdict in there.items()}


def test_a_file_against_itself(files: tuple[Path, Path]) -> None:
    result = run(files[0], files[0])
    assert result.exit_code == 0
    assert "No point got slower or faster." in result.stdout
    assert "All points are on both sides." in result.stdout


def test_the_threshold_decides(tmp_path: Path) -> None:
    a, b = sides(tmp_path, [steady(1.0)], [steady(1.18)])
    assert run(a, b).exit_code == 1
    assert run(a, b, "--threshold", "20").exit_code == 0
    assert run(b, a).exit_code == 0
    assert "between 0 and" not in refused(run(a, b, "--threshold", "-1"))
    assert "nan is not a finite number" in refused(run(a, b, "--threshold", "nan"))


def test_too_few_repeats_are_told(tmp_path: Path) -> None:
    a, b = sides(tmp_path, [timed(1.0, 1.0, 1.0)], [timed(9.0, 9.0, 9.0)])
    result = run(a, b)
    assert result.exit_code == 0
    assert "1 point in both: 1 undecided." in result.stdout
    text = " ".join(result.stdout.split())
    assert "likely to decide 1 undecided point: 6 per side, in 2 runs, for half of them" in text
    (point,) = json.loads(run(a, b, "--format", "json").stdout)["points"]["rows"]
    assert (point["ratio_low"], point["ratio"], point["ratio_high"]) == (None, pytest.approx(9), None)
    assert (point["repeats_needed"], point["runs_needed"]) == (6, 2)
    for side, time in (("a", 1.0), ("b", 9.0)):
        for k in range(2):
            write(tmp_path / side / f"{k}.csv", [timed(time, time, time)])
    assert run(tmp_path / "a", tmp_path / "b").exit_code == 1


def test_the_geometric_mean_per_variant_and_graph(tmp_path: Path) -> None:
    before = [steady(1.0, source=source) for source in (0, 1)]
    files = sides(tmp_path, before, [steady(2.0, source=0), steady(8.0, source=1)])
    text = run(*files, "--table", "summary", "--format", "csv").stdout
    (line,) = csv.DictReader(io.StringIO(text))
    named = {"graph": "grid:directed", "variant": "pull", "points": "2", "slower": "2"}
    assert named.items() <= line.items()
    assert float(line["ratio"]) == pytest.approx(4.0)


def test_rows_of_one_point_are_put_together(tmp_path: Path) -> None:
    """The first run of B was slow, the second was not: their spread makes the point undecided."""
    a = write(tmp_path / "a.csv", [steady(1.0)])
    unlucky = write(tmp_path / "b" / "1.csv", [steady(1.2)])
    write(tmp_path / "b" / "2.csv", [steady(1.0)])
    assert run(a, unlucky).exit_code == 1
    result = run(a, tmp_path / "b")
    assert result.exit_code == 0
    assert "1 undecided" in result.stdout


def test_rows_of_the_latest_code_count(tmp_path: Path) -> None:
    old = [steady(1.0, code="a" * 16), steady(1.0, code="c" * 16, variant="other")]
    new = [
        steady(1.0, code="a" * 16),
        steady(3.0, code="b" * 16, taken_at="2026-11-22T10:00:00Z"),
        steady(1.0, code="c" * 16, variant="other"),
    ]
    paths = sides(tmp_path, old, new)
    assert verdicts(run(*paths, "--format", "json"))["pull"] == "slower"
    assert "Both sides measured the same code at 1 of 2 points." in run(*paths).stdout


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"gpu": "NVIDIA A100"}, "gpu differs at 1 of 2 points (NVIDIA A100, NVIDIA H200)"),
        ({"graph_checksum": "d" * 64}, f"graph_checksum differs at 1 of 2 points ({'c' * 12}, {'d' * 12})"),
        ({"schema": 2}, "schema differs at 1 of 2 points (1, 2)"),
    ],
)
def test_sides_that_cannot_be_compared(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    same = steady(1.0, source=1)
    a, b = sides(tmp_path, [steady(1.0), same], [steady(1.0) | changes, same])
    assert refused(run(a, b)) == f"not comparable: {complaint}; --allow-different compares them anyway"
    allowed = run(a, b, "--allow-different")
    assert allowed.exit_code == 0
    assert f"Warning: {complaint}." in " ".join(allowed.stdout.split())
    assert f"warning: {complaint}" in run(a, b, "--allow-different", "--table", "points").stderr


def test_the_method_of_a_row_without_a_time_does_not_matter(tmp_path: Path) -> None:
    others = [steady(1.0, source=1, method="sources=alternating")]
    a = [steady(1.0, method="sources=alternating"), *others]
    result = run(*sides(tmp_path, a, [failed_row(method=""), *others]), "--format", "json")
    assert [one["verdict"] for one in json.loads(result.stdout)["points"]["rows"]] == ["lost", "same"]


def test_unequal_repeats_are_compared_by_ranks_and_told(tmp_path: Path) -> None:
    few, many = [1.0 + i / 1000 for i in range(6)], [1.0 + i / 2000 - 0.05 * (i == 7) for i in range(60)]
    a, b = sides(
        tmp_path,
        [timed(*few), timed(*few, variant="slower")],
        [timed(*many), timed(*(2 * time for time in many), variant="slower")],
    )
    result = run(a, b, "--format", "json")
    assert verdicts(result) == {"pull": "same", "slower": "slower"}, "though the fastest repeats differ"
    told = " ".join(run(a, b).stdout.split())
    assert "Warning: repeats differs at 2 of 2 points (6, 60): verdicts and ratios are fair" in told


def test_host_programs_need_the_same_processor_and_kernels_do_not(tmp_path: Path) -> None:
    other = {"host_cpu": "EPYC"}
    result = run(*sides(tmp_path, [steady(1.0)], [steady(1.0, **other)]))
    assert result.exit_code == 0
    assert "Warning: host_cpu differs at 1 of 1 points (EPYC, Xeon)." in result.stdout
    samples = {"search_ms_samples": "1;1;1;1;1"}
    hosts = sides(tmp_path, [host_row(**samples)], [host_row(**samples, **other)])
    assert "host_cpu differs" in refused(run(*hosts))


def test_emulated_times_are_never_compared(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [emulated_row()])
    line = refused(run(path, path, "--allow-different"))
    assert line == f"no point is both in {path} and in {path} (rows of emulated kernels are never compared)"


def test_filters(files: tuple[Path, Path]) -> None:
    assert run(*files, "--variant", "same,faster").exit_code == 0
    assert list(verdicts(run(*files, "--variant", "slower", "--format", "json"))) == ["slower"]
    assert "no rows of graph 'road'" in refused(run(*files, "--graph", "road"))


def test_commits_of_one_file(tmp_path: Path) -> None:
    rows = [steady(1.0, commit="abc111"), steady(2.0, commit="abd222"), steady(4.0, commit="abd222+dirty")]
    path = write(tmp_path / "rows.csv", rows)
    assert run(path, "--commits", "abc", "abd222").exit_code == 1
    assert run(path, "--commits", "abd222", "abc").exit_code == 0
    assert "A: " + str(path) not in run(path, "--commits", "abd222", "abc").stdout
    line = refused(run(path, "--commits", "abc", "abd"))
    assert line.startswith("commit 'abd' is ambiguous in ")
    line = refused(run(path, "--commits", "abc", "fff"))
    assert line.endswith("there are abc111 (1 rows), abd222 (1 rows), abd222+dirty (1 rows)")
    assert "leave out B" in refused(run(path, path, "--commits", "abc", "abd222"))
    assert refused(run(path)).startswith(
        "name two files to compare, or one file with --commits or --searches"
    )


def test_two_searches_of_one_file(tmp_path: Path) -> None:
    """On each graph, the fastest configuration among those with the most sources stands for a search."""
    rows = [
        *(steady(2.0, graph=graph, variant="push", source="0") for graph in "abcd"),
        *(steady(1.0, graph=graph, variant="pull", source="0", block="64") for graph in "abc"),
        *(steady(0.5, graph=graph, variant="pull", source="0", block="128") for graph in "abc"),
        steady(4.0, graph="d", variant="pull", source="0", block="64"),
        *(steady(2.0, graph="a", variant="push", source=source) for source in "12"),
        steady(1.0, graph="a", variant="pull", source="1", block="64"),
        emulated_row(variant="emulated"),
    ]
    for other in rows[:4]:  # as if an entry had measured them
        other |= {"program": "theirs 1.0", "clock": "ours", "covers": "initialisation=yes"}
    path = write(tmp_path / "rows.csv", rows)
    result = run(path, "--searches", "push", "pull")
    assert result.exit_code == 1
    told = " ".join(result.stdout.split())
    assert "push is a program by other authors (theirs 1.0)" in told and "pull is" not in told
    assert "Over 4 graphs: geometric mean 0.500 of the graphs' ratios" in told
    assert "B takes less time on 3 graphs, and more time on 1." in told
    points = json.loads(run(path, "--searches", "push", "pull", "--format", "json").stdout)["points"]["rows"]
    ratios = {point["graph"] + point["source"]: round(point["ratio"], 2) for point in points}
    assert ratios == {"a0": 0.5, "a1": 0.5, "b0": 0.25, "c0": 0.25, "d0": 2.0}
    assert refused(run(path, "--searches", "push", "none")) == f"search 'none' has no times in {path}"
    said = refused(run(path, "--searches", "push", "emulated"))
    assert said.startswith(
        "search 'emulated' has only emulated times, which are not compared ('bfsbench explain'"
    )
    assert "name only one" in refused(run(path, "--searches", "push", "pull", "--commits", "a", "b"))


def test_searches_are_also_found_by_their_aliases(tmp_path: Path) -> None:
    rows = [steady(2.0, variant="cpu_queue"), steady(1.0, variant="frontier_numbers")]
    path = write(tmp_path / "rows.csv", rows)
    (point,) = json.loads(run(path, "--searches", "sequential", "push", "--format", "json").stdout)["points"][
        "rows"
    ]
    assert round(point["ratio"], 2) == 0.5


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_revisions_in_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init")
    path = write(tmp_path / "results" / "rows.csv", [steady(1.0)])
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "First rows")
    path.unlink()
    write(path, [steady(2.0)])
    assert run(f"{path}@HEAD", path).exit_code == 1
    assert run(path, f"{path}@HEAD").exit_code == 0
    monkeypatch.chdir(tmp_path)
    assert run("results/rows.csv@HEAD", "results/rows.csv").exit_code == 1
    assert "cannot read results/rows.csv@nowhere: " in refused(run("results/rows.csv@nowhere", path))
    assert "cannot read results/other.csv@HEAD: " in refused(run("results/other.csv@HEAD", path))
    assert refused(run("lost/rows.csv@HEAD", path)).endswith("there is no folder lost")
    assert refused(run("results@HEAD", path)) == "results@HEAD is not a result file of schema 1"
    monkeypatch.setenv("PATH", os.devnull)
    assert "git cannot be run" in refused(run("results/rows.csv@HEAD", path))


def test_an_at_sign_in_a_name_is_no_revision(tmp_path: Path) -> None:
    path = write(tmp_path / "h200@home.csv", [steady(1.0)])
    assert run(path, path).exit_code == 0


@pytest.mark.parametrize("samples", ["1;fast;1", "1;-2", "1;nan", "1;inf", "1;0", ""])
def test_samples_that_are_no_times(tmp_path: Path, samples: str) -> None:
    line = refused(run(*sides(tmp_path, [steady(1.0)], [row(search_ms_samples=samples)])))
    assert "is no time in ms, in the samples of grid:directed 0 pull cuda auto 256" in line


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"program": "theirs", "host_mib": "75 MiB"}, "column host_mib is not numeric: '75 MiB'"),
        ({"knobs": "W_SZ=4 defaults"}, "column knobs has 'defaults', which is not KNOB=VALUE"),
    ],
)
def test_cells_that_no_row_has(tmp_path: Path, changes: dict[str, str], complaint: str) -> None:
    good, bad = sides(tmp_path, [steady(1.0)], [steady(1.0), steady(1.0, **changes)])
    for both in ((bad, good), (good, bad)):
        assert refused(run(*both)) == f"{bad}: {complaint}"
    with pytest.raises(InputError, match=f"^side B: {re.escape(complaint)}$"):
        of_frame(pd.DataFrame([steady(1.0, **changes)]), "B")


def test_files_that_are_no_results(tmp_path: Path) -> None:
    good = write(tmp_path / "a.csv", [steady(1.0)])
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    assert "is not a result file" in refused(run(good, tmp_path / "b.csv"))
    assert "cannot read" in refused(run(good, tmp_path / "none.csv"))
    empty = tmp_path / "empty.csv"
    empty.write_text(",".join(COLUMNS) + "\n")
    assert refused(run(empty, empty)) == f"neither {empty} nor {empty} has any rows"
    assert refused(run(good, empty)) == f"no point is both in {good} and in {empty}"


def test_an_output_file_is_whole_or_not_there(files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    assert run(*files, "--format", "markdown", "--out", out).exit_code == 1
    assert out.read_text().startswith("## B against A\n")
    out.unlink()
    assert refused(run(*files, "--variant", "nobody", "--out", out))
    assert not out.exists()


def test_unknown_table(files: tuple[Path, Path]) -> None:
    line = refused(run(*files, "--table", "point"))
    assert line == "unknown table 'point': there are summary, points, unmatched"


def test_missing_and_undecided_points_fail_on_request(tmp_path: Path) -> None:
    before = [steady(1.0, variant="kept"), steady(1.0, variant="gone")]
    missing = [steady(1.0, variant="kept")]
    undecided = [timed(0.9, 1.0, 1.1, 1.2, 1.3, variant="kept"), steady(1.0, variant="gone")]
    for after, fails, passes in ((missing, "missing", "undecided"), (undecided, "undecided", "missing")):
        files = sides(tmp_path, before, after)
        codes = [run(*files, *words).exit_code for words in ((), ("--fail-on", passes), ("--fail-on", fails))]
        assert codes == [0, 0, 1]


def test_help_tells_the_exit_codes() -> None:
    text = run("--help").stdout
    assert "Exit code: 0  no point is slower, no counter has grown\n" in text


milliseconds = st.lists(st.floats(0.01, 100), min_size=1, max_size=6)


def compared(first: list[float], second: list[float], threshold: float) -> Compared:
    both = (Side(name, [_as_text(timed(*samples))]) for name, samples in (("a", first), ("b", second)))
    (point,) = compare(*both, threshold).points
    return point


def _as_text(values: dict[str, Any]) -> dict[str, str]:
    return dict.fromkeys(COLUMNS, "") | {name: str(value) for name, value in values.items()}


@given(milliseconds, milliseconds, st.floats(0, 1))
def test_verdicts_mirror(first: list[float], second: list[float], threshold: float) -> None:
    mirror = {FASTER: SLOWER, SLOWER: FASTER}
    there, back = compared(first, second, threshold), compared(second, first, threshold)
    assert back.verdict == mirror.get(there.verdict, there.verdict)


@given(milliseconds, st.floats(0, 1))
def test_nothing_is_slower_or_faster_than_itself(samples: list[float], threshold: float) -> None:
    assert compared(samples, samples, threshold).verdict not in (FASTER, SLOWER)


@given(milliseconds, milliseconds, st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_larger_threshold_never_finds_more(
    first: list[float], second: list[float], threshold: float, more: float
) -> None:
    if compared(first, second, threshold + more).verdict in (FASTER, SLOWER):
        assert compared(first, second, threshold).verdict in (FASTER, SLOWER)


def test_the_same_code_is_never_slower(tmp_path: Path) -> None:
    for name, ms, code in (("a", 1.0, "c1"), ("b", 2.0, "c1"), ("other", 2.0, "c2")):
        write(tmp_path / f"{name}.csv", [steady(ms, code=code)])
    same = run(tmp_path / "a.csv", tmp_path / "b.csv", "--format", "json")
    assert (same.exit_code, verdicts(same)) == (0, {"pull": "machine differs"})
    changed = run(tmp_path / "a.csv", tmp_path / "other.csv", "--format", "json")
    assert (changed.exit_code, verdicts(changed)) == (1, {"pull": "slower"})


@pytest.mark.parametrize(("commit", "exit_code"), [("0123456789ab", 0), ("0123456789ab+dirty", 1), ("", 1)])
def test_rows_without_a_hash_measured_the_same_code_at_one_commit(
    tmp_path: Path, commit: str, exit_code: int
) -> None:
    for name, ms in (("a", 1.0), ("b", 2.0)):
        write(tmp_path / f"{name}.csv", [steady(ms, code="", commit=commit)])
    assert run(tmp_path / "a.csv", tmp_path / "b.csv").exit_code == exit_code


def test_a_comparison_states_its_power(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [steady(1.0, graph=f"g{number}") for number in range(25)])
    found = compare(read_side(str(path)), read_side(str(path)), 0.05)
    one, three, five = (found.detects["cuda"][runs] for runs in (1, 3, 5))
    assert 0.05 < five < three < one < 0.2
    assert f"least {100 * one:.2g} % with 1, {100 * three:.2g} % with 3" in " ".join(
        run(path, path).stdout.split()
    )


def test_a_large_change_is_a_plain_number(tmp_path: Path) -> None:
    spread = timed(1.0, 1.6, 2.5, 4.0, 6.3)
    text = " ".join(run(*sides(tmp_path, [spread], [spread])).stdout.split())
    assert re.search(r"a change of at least \d{3} % with \d", text)
