"""The time of each search over commits, and the commit at which it changed."""

from pathlib import Path
from typing import Any

import pytest
from result_rows import emulated_row, frame, only, records, row, write

from bfsbench.reports import tables
from bfsbench.reports.plots import NothingToDrawError, draw
from tests.commands import bfsbench

COMMITS = ("aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc")


def history(times: tuple[float, ...], **changes: Any) -> list[dict[str, Any]]:
    """Returns rows of one search with one time per commit. Each row has 20 samples that hardly differ."""
    rows = []
    for day, (ms, commit) in enumerate(zip(times, COMMITS, strict=True), 1):
        samples = [ms * (1 + place / 1e4) for place in range(20)]
        columns = {"commit": commit, "code": commit, "taken_at": f"2026-11-2{day}T10:00:00Z"}
        columns |= {"search_ms_samples": ";".join(map(str, samples)), "search_ms_median": samples[10]}
        rows.append(row(ms, **{**columns, **changes}))
    return rows


def verdicts(folder: Path, rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    table = only(tables(frame(folder, rows), ["history"]))
    found: dict[str, list[str]] = {}
    for line in records(table):
        found.setdefault(line["variant"], []).append(line["verdict"])
    return found


@pytest.mark.parametrize(("times", "expected"), [((1, 1, 2), "slower"), ((2, 2, 1), "faster")])
def test_the_commit_of_a_change_is_marked(tmp_path: Path, times: tuple[float, ...], expected: str) -> None:
    rows = [*history(times, variant="luo"), *history((3, 3, 3), variant="pull")]
    found = verdicts(tmp_path, rows)
    assert found["luo"] == ["", "same", expected]
    assert found["pull"] == ["", "same", "same"]


def test_one_configuration_is_followed(tmp_path: Path) -> None:
    """A faster block that was tried at one commit only is no change of the search."""
    rows = [*history((2, 2, 2)), *history((1, 1, 1), block=512)[2:]]
    table = only(tables(frame(tmp_path, rows), ["history"]))
    assert [(line["commit"], line["block"], line["search_ms"]) for line in records(table)] == [
        (commit, 256, 2) for commit in COMMITS
    ]


def test_commits_with_other_sources_are_left_out(tmp_path: Path) -> None:
    rows = [*history((1, 1, 1), source=3)[:2], *history((1, 1, 1), source=4)[2:]]
    table = only(tables(frame(tmp_path, rows), ["history"]))
    assert [line["commit"] for line in records(table)] == list(COMMITS[:2])


def test_emulated_kernels_and_single_commits_have_no_history(tmp_path: Path) -> None:
    emulated = [emulated_row(ms, commit=commit) for ms, commit in zip((1, 2, 3), COMMITS, strict=True)]
    read = frame(tmp_path, [*emulated, row(1)])
    assert not only(tables(read, ["history"])).rows
    with pytest.raises(NothingToDrawError, match="several commits"):
        draw("history", read)


def test_a_search_without_a_history_is_named(tmp_path: Path) -> None:
    rows = [*history((1, 1, 2), variant="luo"), row(1, variant="pull", commit=COMMITS[0])]
    shown = only(tables(frame(tmp_path, rows), ["history"]))
    assert "Left out, because no graph has their times at two commits: pull." in shown.notes


def test_the_picture_has_a_line_per_search_and_a_ring_per_change(tmp_path: Path) -> None:
    rows = [*history((1, 1, 2), variant="luo"), *history((3, 3, 3), variant="pull")]
    (picture,) = draw("history", frame(tmp_path, rows))
    (axis,) = picture.figure.axes
    assert [line.get_label() for line in axis.lines] == ["luo", "pull"]
    assert [len(one.get_offsets()) for one in axis.collections] == [1, 0]
    assert [label.get_text() for label in axis.get_xticklabels()] == [commit[:7] for commit in COMMITS]
    assert "ring: the time changed" in picture.caption


def test_the_option_makes_the_table_or_the_picture(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.csv", history((1, 1, 2)))
    said = bfsbench("report", "--history", file, cwd=tmp_path)
    assert "slower" in said.stdout and "2.00" in said.stdout and "Best time" not in said.stdout
    bfsbench("report", "--history", file, "--out", "picture.svg", cwd=tmp_path)
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")


def test_a_search_without_a_history_takes_no_repeats_from_the_others(tmp_path: Path) -> None:
    rows = [*history((1, 1, 1), variant="luo"), row(1, variant="pull", commit=COMMITS[0])]
    slow_last = [{**one, "search_ms_samples": f"9;{one['search_ms_samples']}"} for one in rows[:3]]
    alone = only(tables(frame(tmp_path, slow_last), ["history"]))
    beside = only(tables(frame(tmp_path, [*slow_last, rows[3]]), ["history"]))
    assert [line["search_ms"] for line in records(beside)] == [line["search_ms"] for line in records(alone)]


def test_other_knobs_are_named_as_the_reason(tmp_path: Path) -> None:
    changed = [{**one, "knobs": f"W_SZ={8 << place}"} for place, one in enumerate(history((1, 1, 1)))]
    rows = [*history((1, 1, 2), variant="pull"), *({**one, "variant": "virtual_warp"} for one in changed)]
    shown = only(tables(frame(tmp_path, rows), ["history"]))
    reason = "their grids, blocks, knobs, devices or sources differ between the commits"
    assert f"Left out, because {reason}: virtual_warp." in shown.notes


def test_other_methods_give_a_warning(tmp_path: Path) -> None:
    rows = history((1, 1, 2))
    rows[2]["method"] = "warmup=3"
    (warning,) = (
        note for note in only(tables(frame(tmp_path, rows), ["history"])).notes if "Warning" in note
    )
    assert warning.endswith("by different methods: the default at aaaaaaa, bbbbbbb; warmup=3 at ccccccc.")


def test_the_axes_of_a_history_name_the_quantity_without_a_title(tmp_path: Path) -> None:
    (picture,) = draw("history", frame(tmp_path, history((3, 2, 1))), titled=False)
    assert [axes.get_ylabel() for axes in picture.figure.axes] == ["time (ms)"]
