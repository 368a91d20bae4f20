"""Turns that go on until the fastest point is known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bfsbench.bench.measure import contenders
from bfsbench.bench.options import MOST_TO_DECIDE, Method
from bfsbench.bench.worker import FIRST_TURN, Measured, run_in_turns
from bfsbench.cli.sweeps import decisions
from bfsbench.rows.point import Point
from bfsbench.rows.results import read_rows
from bfsbench.support.errors import UsageError
from tests.commands import bfsbench

Times = Callable[[str, int | None, int], float | None]
"""The time of a variant from a source in a turn, or None if the variant fails."""


class Scripted:
    """A runner whose times come from a function."""

    device = None

    def __init__(self, times: Times) -> None:
        self.times = times
        self.turns: dict[Point, int] = {}

    def run(self, points: Sequence[Point], graphs: Any, method: Method) -> Iterator[Measured]:
        for point in points:
            turn = self.turns[point] = self.turns.get(point, 0) + 1
            ms = self.times(point.variant, point.source, turn)
            row: dict[str, str] = {**point.axes(), **dict.fromkeys(FIRST_TURN, ""), "warnings": ""}
            row |= dict.fromkeys(("search_ms", "wall_ms", "reset_ms"), str(ms))
            row |= {"samples_discarded": "0", "method": "", "status": "ok" if ms else "crash"}
            yield Measured(row)


def samples(
    times: Times, variants: str = "push,pull", sources: Sequence[int] = (0,), **words: Any
) -> Mapping[tuple[str, int], int]:
    """Returns how many samples each variant gets from each source."""
    points = [
        Point("g", source, name, "host", None, None) for source in sources for name in variants.split(",")
    ]
    method = Method(until_decided=True, **words)
    rows = [one.row for one in run_in_turns(Scripted(times), points, {}, method)]  # type: ignore[arg-type]
    return {
        (row["variant"], int(row["source"])): len(row.get("search_ms_samples", "").split(";")) for row in rows
    }


def test_a_clear_winner_needs_as_many_samples_as_an_interval() -> None:
    found = samples(lambda name, source, turn: {"push": 1.0, "pull": 2.0}[name] + turn / 100)
    assert {*found.values()} == {6}


def test_points_with_equal_times_are_decided() -> None:
    assert {*samples(lambda name, source, turn: 1 + turn % 2 / 1000).values()} == {6}


def test_a_wider_tie_decides_between_noisy_searches() -> None:
    def noisy(_name: str, _source: int | None, turn: int) -> float:
        return 1.0 + turn % 2 / 50

    assert {*samples(noisy).values()} == {MOST_TO_DECIDE}
    assert {*samples(noisy, tie=3).values()} == {6}
    with pytest.raises(UsageError, match="tie goes with until_decided"):
        Method(tie=3)


def test_noise_takes_more_samples_for_all_points() -> None:
    """Half of the samples of either point are slow, so more samples are needed to tell the medians apart."""
    noisy = samples(lambda name, source, turn: (1.0 if name == "push" else 1.1) + (turn % 2) * 0.15)
    assert len({*noisy.values()}) == 1
    assert noisy["push", 0] == MOST_TO_DECIDE
    assert {*samples(lambda *_: 1.0 + _[2] % 5, max_samples=9).values()} == {9}


def test_each_source_is_decided_alone() -> None:
    def times(name: str, source: int | None, turn: int) -> float:
        return 1.0 if name == "push" or (source == 7 and turn % 2) else 2.0

    found = samples(times, sources=(3, 7))
    assert found["push", 3] == found["pull", 3] == 6
    assert found["push", 7] == found["pull", 7] > 6


def test_a_point_that_fails_stops_and_the_others_go_on() -> None:
    found = samples(lambda name, source, turn: None if name == "pull" and turn == 3 else 1.0)
    assert found["push", 0] == Method().repeats


def test_intervals_that_overlap_do_not_decide() -> None:
    close = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    best, others = contenders([[ms + 0.1 for ms in close], close, [ms + 0.6 for ms in close]])
    assert (best, others) == (1, {0: pytest.approx(100 * 0.6 / 1.25)})
    assert contenders([[1.0] * 5, [9.0] * 5]) == (0, {1: math.inf}), "five samples have no interval"
    assert contenders([close]) == (0, {})


def test_rows_name_the_option(tmp_path: Path) -> None:
    words = ("run", "--dataset", "lattice(rows=9,columns=9)", "--variant", "cpu_queue,scipy")
    done = bfsbench(*words, "--until-decided", "--max-samples", "8", "--out", "r.csv", cwd=tmp_path)
    rows = read_rows(tmp_path / "r.csv")
    assert all(row["method"].startswith("until_decided interleaved") for row in rows)
    assert {len(row["search_ms_samples"].split(";")) for row in rows} <= {6, 7, 8}
    undecided = [row["variant"] for row in rows if "undecided" in row["warnings"]]
    count = len(rows[0]["search_ms_samples"].split(";"))
    said = re.search(rf"(un)?decided(?: by medians)? after {count} samples: (.*)\n", done.stderr)
    assert said and bool(said[1]) == bool(undecided)
    first = min(rows, key=typical)["variant"]
    others = [name for name in undecided if name != first]
    assert said[2].startswith(f"{', '.join((first, *others))}; they " if undecided else f"{first} is the ")
    again = (*words, "--until-decided", "--max-samples", "8", "--tie", "1e6", "--resume", "--out", "r.csv")
    resumed = bfsbench(*again, cwd=tmp_path)
    assert "nothing left to do" in resumed.stderr and "undecided after" not in resumed.stderr


def typical(row: Mapping[str, str]) -> float:
    return float(row["search_ms_median"])


@pytest.mark.parametrize(
    ("scipy_ms", "said"),
    [
        (2.0, "cpu_queue is the fastest, with a median of 1 ms\n"),
        (1.001, "cpu_queue is the fastest, with a median of 1 ms; equal within 1 %: scipy\n"),
    ],
)
def test_the_last_lines_name_the_fastest_search(scipy_ms: float, said: str) -> None:
    rows = [
        {**dict.fromkeys(("grid", "block", "knobs", "warnings", "source"), ""), "graph": "g", "status": "ok"}
        | {"variant": name, "search_ms_samples": ";".join(str(ms + i / 1000) for i in range(-4, 5))}
        | {"backend": backend}
        for name, ms, backend in (
            ("scipy", scipy_ms, "host"),
            ("cpu_queue", 1.0, "host"),
            ("push", 0.1, "cpu"),
        )
    ]
    (line,) = decisions(rows, 1.0)
    assert f"{line}\n" == f"g: decided by medians after 9 samples: {said}"
    if scipy_ms < 2:
        (line,) = decisions(rows, 0.5)
        equal = "they differ by at most 0.7 % ('--resume --tie 0.7' calls them equal)"
        assert line == f"g: undecided after 9 samples: cpu_queue, scipy; {equal}"


def test_the_last_lines_say_if_samples_are_too_few() -> None:
    row = dict.fromkeys(("grid", "block", "knobs", "source"), "") | {
        "graph": "g",
        "status": "ok",
        "backend": "host",
    }
    rows = [row | {"variant": name, "search_ms_samples": "1;2;3;4;5"} for name in ("scipy", "cpu_queue")]
    (line,) = decisions(rows, 1.0)
    assert line.endswith("some have fewer than 6 samples: measure them again in another file")


def test_rows_that_may_be_the_fastest_say_so() -> None:
    """The samples of two variants overlap, and the third variant is slower than both."""
    points = [Point("g", 0, name, "host", None, None) for name in ("push", "pull", "edge")]
    runner = Scripted(lambda name, source, turn: 99.0 if name == "edge" else 1.0 + turn % 5)
    rows = [one.row for one in run_in_turns(runner, points, {}, Method(until_decided=True, max_samples=9))]
    assert ["undecided: 9 samples" in row["warnings"] for row in rows] == [True, True, False]


def test_a_cluster_takes_no_turns() -> None:
    with pytest.raises(UsageError, match="until_decided goes without cluster"):
        Method(until_decided=True, cluster="local")
