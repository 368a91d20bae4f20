"""Test how points are sampled and prepared, from command lines to rows."""

import itertools
import re
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bfsbench.backends.cpu import CpuDevice
from bfsbench.bench.options import Method
from bfsbench.bench.session import Session
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph
from bfsbench.programs.families.bfs.searches import SearchVariant
from bfsbench.reports.rows import configurations
from bfsbench.rows.point import Point
from bfsbench.rows.results import read_results, read_rows
from bfsbench.support.errors import WrongResultError
from bfsbench.variants.cpu_queue import CpuQueue
from tests.bench.test_run import LATTICE, SMALL, measured, measured_faulty, run, run_faulty
from tests.parameters import one_in


@pytest.mark.exhaustive
def test_points_take_turns_and_rows_say_how_they_were_measured(tmp_path: Path) -> None:
    words = ("--dataset", f"{LATTICE},{SMALL}", "--variant", "cpu_queue,push,dies", "--block", "32")
    how = ("--repeats", "2", "--warmup", "2", "--cold", "--parents")
    rows = measured_faulty(*words, *how, "--order", "shuffled:5", cwd=tmp_path)
    assert [row["variant"] for row in rows] == ["cpu_queue", "frontier_numbers", "dies"] * 2
    for row in rows:
        assert row["method"].startswith("cold warmup=2 shuffled:5")
        if row["variant"] == "dies":
            assert row["status"] == "crash" and row["search_ms"] == ""
            continue
        samples = [float(value) for value in row["search_ms_samples"].split(";")]
        assert len(samples) == len(row["wall_ms_samples"].split(";")) == 2
        assert float(row["search_ms"]) == min(samples) > 0
        assert float(row["mteps"]) == pytest.approx(
            int(row["edges_traversed"]) / min(samples) / 1e3, abs=0.01
        )
        assert float(row["parents_ms"]) > 0 and row["samples_discarded"] == "0"
    again = ("--resume", "--order", "shuffled:5")
    assert "nothing left to do" in run_faulty(*words, *how, *again, cwd=tmp_path, check=1).stderr
    warm = run_faulty(*words, "--resume", cwd=tmp_path, check=2)
    assert "has rows measured 'cold warmup=2 shuffled:5', not 'as usual'" in warm.stderr


def test_a_search_from_another_source_precedes_each_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[int] = []
    session = Session(None)
    session.use(load("kronecker(scale=8,edge_factor=8)"))
    variant = session.build("cpu_queue", None, None, {})
    assert isinstance(variant, SearchVariant)
    search = variant.traverse
    monkeypatch.setattr(variant, "traverse", lambda source: (sources.append(source), search(source)))
    problem = session.problem("bfs", 3)
    timing = session.time(variant, problem, Method(4, warmup=2))
    assert len(timing.search_ms) == 4
    first, second = sources[2], sources[4]
    assert sources == [3, 3, first, 3, second, 3, first, 3, second, 3] and len({3, first, second}) == 3
    session.close()


class Searched(list[int]):
    """The sources from which ``cpu_queue`` searches. ``fails`` is called with each source, and may raise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: Callable[[int], None] = lambda source: None):
        search = CpuQueue.traverse

        def traverse(variant: CpuQueue, source: int) -> None:
            self.append(source)
            fails(source)
            search(variant, source)

        monkeypatch.setattr(CpuQueue, "traverse", traverse)


def points(*sources: int) -> list[Point]:
    return [Point(GRAPH, source, "cpu_queue", "host", None, None) for source in sources]


GRAPH = "kronecker(scale=8,edge_factor=8):symmetrised"


def test_sources_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = Searched(monkeypatch)
    with closing(Session(None)) as session:
        begun: list[int] = []
        rows = session.measure(points(3, 5, 7), Method(4, warmup=2, parents=True), begun.append)
    assert sources == [3, 5, 7] * 6 + [3, 5, 7], "two untimed, four timed, and one for parents"
    assert begun[3:] == [0, *[0, 1, 2] * 9], "each point is announced before its reference and each search"
    for row, source in zip(rows, "357", strict=True):
        assert (row["source"], row["method"]) == (source, "warmup=2 sources=alternating")
        assert row["search_ms_samples"].count(";") == 3 and float(row["parents_ms"]) > 0


def test_a_source_that_needs_more_samples_than_others_never_follows_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = Searched(monkeypatch)
    quiet = iter([*[False, True] * 3, *[False] * 4])
    monkeypatch.setattr(
        "bfsbench.bench.measure.enough",
        lambda method, taken: len(taken) >= (3 if next(quiet, True) else 1) and len(taken) > 0,
    )
    with closing(Session(None)) as session:
        rows = session.measure(points(3, 5), Method(1))
    assert len({row["search_ms_samples"].count(";") for row in rows}) == 2
    assert all(one != other for one, other in itertools.pairwise(sources)), sources


def test_a_point_that_fails_is_left_out_of_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(source: int) -> None:
        if source == 5:
            raise WrongResultError("as planned")

    Searched(monkeypatch, fails)
    with closing(Session(None)) as session:
        (row,) = session.measure(points(3, 5, 7), Method(2))
    assert (row["source"], row["status"], row["reason"]) == ("5", "wrong", "as planned")


@pytest.mark.parametrize(
    ("how", "status", "rule"),
    one_in(
        2,
        [
            ("hangs", "timeout", "interposed"),
            ("errs", "wrong", "alternating"),
            ("dies", "crash", "alternating"),
        ],
    ),
)
def test_a_source_that_fails_costs_its_own_row(tmp_path: Path, how: str, status: str, rule: str) -> None:
    """The other points begin again. After a timeout they run one by one."""
    words = ("--dataset", LATTICE, "--variant", "unlucky", "--failure", how, "--source", "0:4:+1")
    run_faulty(*words, "--repeats", "3", "--timeout", "3", cwd=tmp_path, check=1)
    rows = {row["source"]: row for row in read_rows(tmp_path / "r.csv")}
    assert rows.pop("2")["status"] == status
    assert {source: (row["status"], row["method"]) for source, row in rows.items()} == dict.fromkeys(
        "0134", ("ok", f"sources={rule}")
    )


@pytest.mark.parametrize(
    ("words", "rules"),
    one_in(
        3,
        [
            (("--source", "0,1,2"), ["alternating"] * 3),
            (("--source", "0,1,2", "--order", "interleaved"), ["alternating"] * 3),
            (("--source", "0,1,2", "--order", "shuffled:1"), ["interposed"] * 3),
            (("--source", "4"), ["interposed"]),
            (("--source", "4", "--variant", "push"), ["repeated"]),
            (("--dataset", "path(n=1)", "--source", "0"), ["repeated"]),
            (("--dataset", "star(n=30,arcs=in)", "--source", "0"), ["interposed"]),
            (("--source", "0,1", "--variant", "push"), ["alternating"] * 2),
        ],
    ),
)
def test_rows_name_the_rule_of_their_sources(
    tmp_path: Path, words: tuple[str, ...], rules: list[str]
) -> None:
    given = {
        "--dataset": LATTICE,
        "--variant": "cpu_queue",
        **dict(zip(words[::2], words[1::2], strict=True)),
    }
    usual = [*itertools.chain(*given.items()), "--repeats", "2"]
    rows = measured(*usual, cwd=tmp_path)
    assert [row["method"].split()[-1] for row in rows] == [f"sources={rule}" for rule in rules]
    assert measured(*usual, "--resume", cwd=tmp_path) == rows


def test_resuming_does_not_add_to_rows_of_the_former_rule(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "cpu_queue", "--repeats", "1")
    run(*words, "--source", "0,1", cwd=tmp_path)
    path = tmp_path / "r.csv"
    run(*words, "--source", "0:2:+1", "--resume", cwd=tmp_path)
    assert [row["method"] for row in read_rows(path)] == ["sources=alternating"] * 2 + ["sources=interposed"]
    path.write_text(re.sub("sources=[a-z]+", "", path.read_text()))
    done = run(*words, "--source", "0:3:+1", "--resume", cwd=tmp_path, check=2)
    assert "has rows of searches repeated from one source; now sources alternate" in done.stderr


def test_samples_are_as_many_as_noise_and_time_ask_for(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "cpu_queue", "--energy")
    done = run(*words, "--max-noise", "0.000001", "--max-samples", "9", cwd=tmp_path)
    (row,) = read_rows(tmp_path / "r.csv")
    assert "warning: energy: 1 of 1 rows" in done.stderr
    assert row["search_ms_samples"].count(";") == 8 and row["method"] == "max_noise=1e-06% sources=interposed"
    assert (
        row["energy_j"] == "" and "energy: unknown, the device has no counter that changes" in row["warnings"]
    )


SLOW_MS = 30.0


def slow_part(graph: DeviceGraph) -> int:
    graph.row_offsets  # noqa: B018  what is uploaded here counts once
    time.sleep(SLOW_MS / 1e3)
    return 1


def test_what_searches_share_counts_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with CpuDevice() as device:
        graph = DeviceGraph(device, load("path(n=50)"))
        upload = device.upload

        def slowly(array: object) -> object:
            time.sleep(SLOW_MS / 1e3)
            return upload(array)  # type: ignore[arg-type]

        monkeypatch.setattr(device, "upload", slowly)

        def compiles() -> None:
            device.compile_ms += 5.0
            time.sleep(5e-3)
            graph.once(slow_part)

        for _ in range(2):
            prepare_ms, compile_ms = graph.preparation_ms(compiles, ("CSR",))
            assert compile_ms >= 5
            assert prepare_ms >= 2 * SLOW_MS, "the second time, too"


def test_rows_have_preparation_and_compilation_apart(tmp_path: Path) -> None:
    run("--dataset", "path(n=50)", "--variant", "pull,adaptive", "--repeats", "1", cwd=tmp_path)
    rows = read_results([tmp_path / "r.csv"])
    assert (rows["prepare_ms"] > 0).all() and (rows["compile_ms"] > 0).all()
    assert (configurations(rows)["prepare_ms"] > 0).all()
    old = rows.assign(compile_ms=float("nan"))
    assert configurations(old)["prepare_ms"].isna().all(), "older rows defined it otherwise"
