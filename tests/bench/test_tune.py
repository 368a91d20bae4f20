"""Test which configurations a tuning measures, when it stops, and that resuming repeats nothing."""

import importlib.util
import itertools
import math
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bfsbench.backends.base import Limits
from bfsbench.bench.plan import Axes, Setting, SourceChoice, check_axes, plan
from bfsbench.bench.tune import (
    Space,
    Strategy,
    Took,
    Tuning,
    best,
    by_optuna,
    exhaustive,
    one_axis_at_a_time,
    require_optuna,
    restarted,
    tune,
    with_launches,
)
from bfsbench.graphs.load import load, resolve
from bfsbench.rows.point import Point
from bfsbench.rows.results import axes_of, read_rows
from bfsbench.support.errors import ToolchainError
from bfsbench.variants import find
from tests.bench.test_run import FAULTY, LATTICE, SMALL, measured, run
from tests.commands import bfsbench, bfsbench_with, complaints

LIMITS = Limits(32, 1024, 2**31 - 1, 10, 2048, 48 << 10, 227 << 10, 228 << 10, 1 << 30)
GRAPH = "g:directed"

Row = dict[str, str]


def virtual_warp(grids: tuple[int | None, ...] = (None, 8, 64), blocks: tuple[int, ...] = (32, 64)) -> Space:
    """Return a space of grids, blocks and W_SZ from 1 to 32. By default it has 36 configurations."""
    return Space.of(Axes([find("virtual_warp")], grids, blocks), GRAPH, {}, "cpu")


def bowl(point: Point) -> float:
    """Return a time of 1 ms at grid 8, block 64 and W_SZ 4. Each step away from there takes 1 ms more."""
    (w_sz,) = (int(value) for _, value in point.knobs)
    grid, block = point.grid or 1024, point.block or 0
    return 1 + sum(abs(a.bit_length() - b.bit_length()) for a, b in ((grid, 8), (block, 64), (w_sz, 4)))


def answered(batches: Any, row_of: Callable[[Point], Row]) -> Any:
    """Answer each batch of points by its rows. Returns the result of the generator ``batches``."""
    while True:
        try:
            batch = next(batches)
        except StopIteration as stop:
            return stop.value
        batch.rows.extend(map(row_of, batch.points))


class Bench:
    """Answers the points of a tuning in place of a worker, and keeps the rows that it makes."""

    def __init__(self, time_of: Callable[[Point], float | None] = bowl) -> None:
        self.rows: list[Row] = []
        self._time_of = time_of

    def make_row(self, point: Point) -> Row:
        milliseconds = self._time_of(point)
        status = "crash" if milliseconds is None else "ok"
        row = point.axes() | {"status": status, "search_ms": str(milliseconds or "")}
        self.rows.append(row)
        return row

    def tune(
        self,
        space: Space,
        strategy: Strategy,
        points: float = math.inf,
        sources: tuple[int, ...] = (0,),
        held: tuple[Row, ...] = (),
        deadline: float = math.inf,
    ) -> Took:
        """Run a tuning. Points without a row in ``held`` get a new row. Returns the times found."""
        rows = {axes_of(row): row for row in held}
        tuning = tune(strategy, space, sources, points, deadline)
        return answered(tuning, lambda point: rows.get(axes_of(point.axes())) or self.make_row(point))


def tuned(space: Space, strategy: Strategy, points: float = math.inf) -> list[Row]:
    bench = Bench()
    bench.tune(space, strategy, points)
    return bench.rows


def test_the_best_of_a_known_space_is_found_in_a_part_of_its_points() -> None:
    space, bench = virtual_warp(tuple(2**n for n in range(12)), (32, 64, 128, 256, 512)), Bench()
    assert space.size == 360
    found = best(bench.tune(space, partial(by_optuna, seed=0), 36))
    assert found is not None
    configuration, milliseconds = found
    assert milliseconds == 1
    assert space.values(configuration) == {"grid": 8, "block": 64, "W_SZ": 4}


def test_axes_that_do_not_depend_on_each_other_take_a_round() -> None:
    space = virtual_warp(tuple(2**n for n in range(12)), (32, 64, 128, 256, 512))
    bench = Bench()
    took = bench.tune(space, one_axis_at_a_time)
    (_, milliseconds) = best(took) or ((), None)
    sides = [len(axis.values) - 1 for axis in space.axes]
    assert milliseconds == 1 and sum(sides) < len(took) <= 2 * sum(sides) + 1


def test_restarts_spend_the_budget_and_then_end() -> None:
    space = virtual_warp()
    once = [axes_of(row) for row in tuned(space, one_axis_at_a_time)]
    more = [axes_of(row) for row in tuned(space, partial(restarted, seed=0), points=len(once) + 9)]
    assert more[: len(once)] == once and len(set(more)) == len(once) + 9
    every = tuned(space, partial(restarted, seed=0))
    assert len({axes_of(row) for row in every}) == len(every) == space.size


def test_settings_are_compared_from_one_source_and_the_fastest_measured_from_all() -> None:
    named = resolve("path(n=9)")
    axes = Axes([find("virtual_warp")], [None], [64])
    work = Tuning(named, axes, SourceChoice((2, 3, 4), 0, 0), "restarts", points=4, compared_from=1)
    bench, questions = Bench(), work.ask(Setting({named.locator: load("path(n=9)")}, "cpu", LIMITS))
    answered(questions.batches, bench.make_row)
    assert [row["source"] for row in bench.rows] == ["2", "2", "2", "2", "3", "4"]
    fastest = min(bench.rows[:4], key=lambda row: float(row["search_ms"]))
    assert {row["knobs"] for row in bench.rows[4:]} == {fastest["knobs"]}
    assert questions.total == 6


def test_a_preview_counts_the_grids_and_blocks_to_try_and_the_rows_of_the_file() -> None:
    named = resolve("path(n=9)")
    axes = Axes([find("virtual_warp")], [], [], {"W_SZ": [4]})
    work = Tuning(named, axes, SourceChoice((2, 3, 4), 0, 0), "restarts", points=8, compared_from=2)
    assert len(work.planned(Setting({}, "cpu", LIMITS))) == 8 + 1
    setting = Setting({named.locator: load("path(n=9)")}, "cpu", LIMITS)
    bench, asked = Bench(), list[Point]()
    answered(work.ask(setting).batches, lambda point: asked.append(point) or bench.make_row(point))
    for count in range(8 + 2):
        known = dict(zip(asked[:count], bench.rows, strict=False))
        assert len(work.planned(setting, known.get)) == 9 - count


def test_optuna_begins_where_run_would() -> None:
    space = virtual_warp(blocks=(64, 256, 128))
    first, *_ = tuned(space, partial(by_optuna, seed=5), points=1)
    assert (first["grid"], first["block"], first["knobs"]) == ("auto", "256", "W_SZ=16")
    wide = Space.of(Axes([find("adaptive")], [None], [128, None, 256]), GRAPH, {}, "cpu")
    assert wide.point(wide.first, 0).block == 1024


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_asks_the_same(seed: int) -> None:
    space = virtual_warp()
    rows = tuned(space, partial(by_optuna, seed=seed), points=25)
    assert rows == tuned(space, partial(by_optuna, seed=seed), points=25)
    assert rows != tuned(space, partial(by_optuna, seed=seed + 1), points=25)


@pytest.mark.parametrize("stop", [1, 9, 20])
def test_resuming_goes_on_as_if_it_had_not_stopped(stop: int) -> None:
    space = virtual_warp()
    whole = tuned(space, partial(by_optuna, seed=3), points=30)
    bench = Bench()
    held = tuple(tuned(space, partial(by_optuna, seed=3), points=stop))
    bench.tune(space, partial(by_optuna, seed=3), 30, held=held)
    assert [*held, *bench.rows] == whole


@pytest.mark.parametrize("method", [exhaustive, partial(by_optuna, seed=0)])
def test_every_configuration_is_measured_once_when_nothing_stops_it(
    method: Strategy,
) -> None:
    space = virtual_warp()
    rows = tuned(space, method)
    axes = Axes([find("virtual_warp")], (None, 8, 64), (32, 64), {"W_SZ": ["1", "2", "4", "8", "16", "32"]})
    planned = {tuple(point.axes().values()) for point in plan(axes, {GRAPH: [0]}, {}, "cpu")}
    assert len(rows) == space.size == 36
    assert {axes_of(row) for row in rows} == planned


def test_failures_are_told_and_survived() -> None:
    space, bench = virtual_warp(), Bench(lambda point: None if point.block == 64 else bowl(point))
    took = bench.tune(space, partial(by_optuna, seed=0), 36)
    assert list(took.values()).count(None) == 18
    found = best(took)
    assert found is not None and space.values(found[0])["block"] == 32
    assert best({(0,): None}) is None


def test_a_configuration_is_as_fast_as_its_median_source_and_fails_with_any() -> None:
    times: Mapping[int, float | None] = {0: 5.0, 1: 1.0, 2: 2.0, 3: None}
    space, bench = virtual_warp(), Bench(lambda point: times[point.source])
    assert bench.tune(space, exhaustive, 3, (0, 1, 2)) == {(0, 0, 0): 2}
    bench.rows.clear()
    assert bench.tune(space, exhaustive, 3, (3, 0, 1)) == {(0, 0, 0): None}
    assert len(bench.rows) == 1, "the sources behind a failed one are not searched"


def test_points_are_counted_over_all_sources_and_never_exceeded() -> None:
    space, bench = virtual_warp(), Bench()
    took = bench.tune(space, partial(by_optuna, seed=0), 11, (0, 1, 2))
    assert len(took) == 3 and len(bench.rows) == 9


def test_no_configuration_is_begun_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    space, bench = virtual_warp(), Bench()
    bench.tune(space, exhaustive, deadline=5)
    assert len(bench.rows) == 5


def test_default_values_are_legal_and_hold_the_first() -> None:
    for name in ("bfs4k", "direction_optimized", "frontier_queue", "virtual_warp", "cpu_parallel"):
        variant = find(name)
        statistics = {"degree_mean": 70, "degree_std": 40, "degree_max": 5000, "diameter_at_least": 9}
        preset = variant.preset("auto", statistics)
        axes = with_launches(Axes([variant], [], []), LIMITS)
        check_axes(axes, LIMITS)
        space = Space.of(axes, GRAPH, preset, "cpu")
        first = space.values(space.first)
        assert {**variant.knob_values(preset), **first} == first
        assert variant.host or (first["grid"], first["block"]) == (None, 256)
        assert space.size > 1


def test_bounds_of_a_knob_are_tried() -> None:
    space = Space.of(Axes([find("bfs4k")], [None], [64]), GRAPH, {}, "cpu")
    values = {axis.name: axis.values for axis in space.axes}
    assert values["K2"] == (0.0, 0.0375, 0.075, 0.15, 0.3, 0.6, 100.0)
    assert (values["K3"][0], values["K3"][-1]) == (1, 1024)


def test_values_given_are_the_only_ones() -> None:
    given = {"W_SZ": ["32", "2"]}
    space = Space.of(with_launches(Axes([find("virtual_warp")], [4], [32], given), LIMITS), GRAPH, {}, "cpu")
    assert [axis.values for axis in space.axes] == [(4,), (32,), (2, 32)]


def test_without_optuna_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    require_optuna()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ToolchainError, match=r"^the method optuna needs optuna: run .* -m pip install optuna.*$"
    ):
        require_optuna()


def test_from_the_command_line_to_rows_and_back(tmp_path: Path) -> None:
    words = ["tune", "--dataset", LATTICE, "--variant", "virtual_warp", "--backend", "cpu", "--out", "r.csv"]
    words += ["--repeats", "2", "--grid", "auto,2", "--block", "32,64", "--sources", "2"]
    bfsbench(*words, "--points", "6", cwd=tmp_path)
    first = read_rows(tmp_path / "r.csv")
    done = bfsbench(*words, "--points", "10", "--resume", cwd=tmp_path)
    rows = read_rows(tmp_path / "r.csv")
    assert len(first) == 6 and rows[:6] == first
    assert len({axes_of(row) for row in rows}) == len(rows) == 10
    assert {row["status"] for row in rows} == {"ok"}
    assert "5 of 24 configurations" in done.stderr
    line = shlex.split(done.stdout.splitlines()[-1])
    assert line[:2] == ["bfsbench", "run"]
    bfsbench(*line[1:], "--repeats", "2", "--out", "r.csv", "--resume", cwd=tmp_path)
    assert read_rows(tmp_path / "r.csv") == rows, "the line names points that were measured"


def test_an_emulated_best_time_is_marked(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push", "--backend", "cpu", "--points", "1", "--out", "r.csv")
    done = bfsbench("tune", *words, cwd=tmp_path)
    assert re.search(r"^[\d.]+ ms emulated on the CPU, which says nothing of a GPU:$", done.stdout, re.M)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_any_whole_number_is_a_seed(tmp_path: Path, seed: int) -> None:
    words = ("--dataset", LATTICE, "--variant", "cpu_queue", "--points", "1", "--out", "r.csv")
    done = bfsbench("tune", *words, "--seed", str(seed), cwd=tmp_path)
    assert "1 of 1 configurations" in done.stderr


def test_exhaustive_needs_no_budget(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "cpu_queue", "--method", "exhaustive", "--out", "r.csv")
    done = bfsbench("tune", *words, cwd=tmp_path)
    assert "1 of 1 configurations" in done.stderr
    assert re.search(r"--variant cpu_queue --source \d+$", done.stdout.strip())


@pytest.mark.exhaustive
def test_nothing_that_can_be_timed_is_exit_code_1(tmp_path: Path) -> None:
    words = ("tune", "--dataset", LATTICE, "--variant", "dies", "--backend", "cpu", "--block", "32,64")
    done = bfsbench_with(FAULTY, *words, "--points", "2", "--grid", "auto", cwd=tmp_path, check=1)
    assert done.stderr.splitlines()[-1] == "bfsbench: no configuration could be timed"
    (file,) = (tmp_path / "results").glob("tune-*.csv")
    assert [row["status"] for row in read_rows(file)] == ["crash", "crash"]
    again = (*words, "--points", "2", "--grid", "auto", "--out", str(file), "--resume")
    for options, taken_again in (((), False), (("--retry-failed",), True)):
        before = read_rows(file)
        bfsbench_with(FAULTY, *again, *options, cwd=tmp_path, check=1)
        assert (read_rows(file) != before) == taken_again


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--points", "0"), "'--points': 0 is not in the range"),
        (("--minutes", "0"), "'--minutes': 0.0 is not in the range"),
        ((), "tune needs --points or --minutes"),
        (("--points", "2", "--sources", "3"), "a configuration takes 3 points"),
        (("--points", "2", "--w-sz", "4"), "knob W_SZ belongs to none"),
        (("--points", "2", "--grid", ""), "an axis needs at least one value"),
        (("--points", "2", "--grid", "2147483647"), "2^31 threads or more"),
        (("--points", "2", "--block", "2048"), "block 2048 is over the device's limit"),
        (("--points", "2", "--resume"), "--resume needs the --out"),
        (("--points", "2", "--retry-failed"), "--retry-failed goes with --resume"),
        (("--points", "2", "--knobs", "best"), "'best' is not one of"),
        (("--points", "2", "--until-decided"), "No such option '--until-decided'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_file(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    options = ("--dataset", LATTICE, "--variant", "push", "--backend", "cpu")
    done = bfsbench("tune", *options, *words, cwd=tmp_path, check=2)
    assert says in done.stderr
    assert len(complaints(done)) == 1, done.stderr
    assert not list(tmp_path.rglob("*.csv"))


def test_a_dry_run_prints_the_values_and_measures_nothing(tmp_path: Path) -> None:
    words = ["--dataset", SMALL, "--variant", "virtual_warp,cpu_queue", "--block", "32,64", "--w-sz", "2,4"]
    done = bfsbench("tune", *words, "--grid", "auto", "--points", "3", "--dry-run", cwd=tmp_path)
    assert "\n  block: 32, 64\n  W_SZ: 2, 4\n" in done.stdout
    assert done.stdout.startswith("virtual_warp on ") and ": 4 configurations\n  grid: auto\n" in done.stdout
    assert "\n4 points, each run once" in done.stdout, "3 of virtual_warp, and 1 of cpu_queue"
    assert not (tmp_path / "results").exists()


def test_optuna_is_imported_only_when_it_tunes() -> None:
    code = "import sys, bfsbench.cli.sweeps, bfsbench.bench.tune; sys.exit('optuna' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_presets_are_of_each_graph_and_given_values_win() -> None:
    bfs4k, pull = find("bfs4k"), find("pull")
    statistics = {
        "dense": {"degree_mean": 70.0, "degree_std": 10.0, "degree_max": 100},
        "sparse": {"degree_mean": 2.0, "degree_std": 1.0, "degree_max": 8},
    }
    axes = Axes([bfs4k, pull], [None], [64], {"K4": ["4"]}, "auto")
    points = plan(axes, {"dense": [0], "sparse": [0]}, statistics, "cpu")
    knobs = {point.graph: dict(point.knobs) for point in points if point.variant == "bfs4k"}
    for graph, chosen in knobs.items():
        assert chosen == {**bfs4k.knob_values(bfs4k.preset("auto", statistics[graph])), "K4": 4}
    assert (knobs["dense"]["K1"], knobs["sparse"]["K1"]) == (32, 4)
    assert [point.knobs for point in points if point.variant == "pull"] == [(), ()]


def test_run_takes_presets_from_the_graphs_it_loads(tmp_path: Path) -> None:
    words = ("--dataset", f"{SMALL},{LATTICE}", "--variant", "bfs4k", "--repeats", "1", "--k3", "8")
    run(*words, "--knobs", "auto", "--dry-run", cwd=tmp_path)
    rows = measured(*words, "--knobs", "auto", cwd=tmp_path)
    assert {row["status"] for row in rows} == {"ok"}
    assert [re.findall(r"K[23]=\S+", row["knobs"]) for row in rows] == [["K2=0.0", "K3=8"]] * 2
