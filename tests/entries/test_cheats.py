"""bfsbench detects what programs of other authors do wrong, and rejects their searches."""

from pathlib import Path

import pytest

from bfsbench.bench.measure import Machine, time_runs
from bfsbench.bench.options import Method
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs.families.bfs.search import Search
from bfsbench.support.errors import BfsbenchError, DeviceError, DeviceOutOfMemoryError, WrongResultError
from tests.entries.toy_entries import LINE, compile_toys, declare, made, marked_processes, timed
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toys")
    compile_toys(folder)
    return folder


@pytest.fixture
def line() -> Graph:
    """Returns a graph for one test. The programs on it end when the graph is deleted."""
    return load(LINE)


@pytest.mark.parametrize(
    ("kind", "how", "message"),
    [
        ("command", "wrong", "1 of 40 levels differ"),
        ("command", "stale", "left 40 of 40 answers unwritten"),
        ("command", "lies_high", "says a search took 5000 ms, the host's clock saw"),
        ("command", "negative", "says a search took -1 ms"),
        ("command", "lies_low", r"says a search took 0.01 ms.* explains no more than 1[0-9][0-9] ms"),
        ("command", "beyond", "wrote beyond its answer: left 164 bytes, not 160"),
        ("library", "wrong", "1 of 40 levels differ"),
        ("library", "stale", "left 40 of 40 answers unwritten"),
        ("library", "past_end", "wrote outside its array"),
        ("library", "before_begin", "wrote outside its array"),
        ("python", "wrong", "1 of 40 levels differ"),
        ("python", "stale", "left 40 of 40 answers unwritten"),
        ("python", "returned_again", "40 of 40 levels differ"),
        ("python", "past_end", "wrote outside its array"),
    ],
)
def test_a_wrong_search(toys: Path, line: Graph, kind: str, how: str, message: str) -> None:
    with pytest.raises(WrongResultError, match=message):
        timed(declare(toys, kind, how), line)


@pytest.mark.parametrize("how", ["too_wide", "fractions", "complex_numbers", "texts"])
def test_answers_that_are_no_whole_numbers(toys: Path, line: Graph, how: str) -> None:
    with pytest.raises(BfsbenchError, match="an answer of other than whole numbers of 32 bits"):
        timed(declare(toys, "python", how), line)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("command", "leaves_child"),
        ("command", "hides_child"),
        ("library", "leaves_child"),
        ("python", "leaves_child"),
    ],
)
def test_a_child_that_is_left(toys: Path, line: Graph, kind: str, how: str) -> None:
    before = marked_processes()
    with pytest.raises(WrongResultError, match="left 1 other processes running"):
        timed(declare(toys, kind, how), line)
    wait_until(lambda: marked_processes() <= before, 1)


def test_a_launcher_must_replace_itself_by_the_program(toys: Path, line: Graph) -> None:
    file, launcher = declare(toys, "command", "launched"), toys / "launcher"
    file.write_text(file.read_text().replace('"{here}/cheat"', '"{here}/launcher", "{here}/cheat"'))
    launcher.write_text('#!/bin/sh\nexec "$@"\n')
    launcher.chmod(0o755)
    assert len(timed(file, line).search_ms) == 3
    launcher.write_text('#!/bin/sh\n"$@"\nexit $?\n')
    with pytest.raises(WrongResultError, match="left 1 other processes running"):
        timed(file, load(LINE))


@pytest.mark.parametrize(
    ("kind", "how", "message"),
    [
        ("command", "crashes", "killed by SIGABRT: my pointer is gone"),
        ("command", "gives_up", "there is no way"),
        ("library", "crashes", "killed by SIGSEGV"),
        ("library", "fails", "RuntimeError: fails returned 7"),
        ("library", "not_there", "undefined symbol"),
        ("python", "raises", r"ValueError: no such thing \(cheats.py, line \d+\)"),
        ("python", "no_search", "cheats:no_search returned a value of type NoneType, not a search function"),
        ("python", "ends", "ended with exit code 3"),
        ("python", "not_there", "has no attribute 'not_there'"),
    ],
)
def test_a_crash(toys: Path, line: Graph, kind: str, how: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message) as caught:
        timed(declare(toys, kind, how), line)
    assert caught.value.status == "crash"


def test_unbounded_memory(toys: Path, line: Graph) -> None:
    with pytest.raises(DeviceOutOfMemoryError, match="took more than 300 MiB on the host"):
        timed(declare(toys, "command", "huge", "memory_mib = 300"), line)


@pytest.mark.parametrize(
    ("kind", "how", "more"),
    [
        ("command", "honest", ""),
        ("command", "parents", 'answer = "parents"'),
        ("command", "rounds", ""),
        ("command", "rounds", 'unit = "s"'),
        ("library", "honest", ""),
        ("python", "honest", ""),
        ("python", "returned", ""),
        ("python", "prints", ""),
        ("python", "stops_the_clock", ""),
    ],
)
def test_a_right_search(toys: Path, line: Graph, kind: str, how: str, more: str) -> None:
    for source in (0, line.num_vertices - 1):
        timing = timed(declare(toys, kind, how, more), line, source)
        assert all(0 < ms <= wall for ms, wall in zip(timing.search_ms, timing.wall_ms, strict=True))
        assert timing.preprocess_ms > 0
        assert how != "stops_the_clock" or min(timing.search_ms) >= 20


def test_one_slow_first_search_is_no_sign_of_kept_answers(
    toys: Path, line: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first search from one of two sources is slow, and the first one from the other source is fast."""
    monkeypatch.setattr("bfsbench.entries.variant._COMPARED_MS", 100.0)  # a loaded machine delays less
    variant = made(declare(toys, "python", "slow_at_first"), line)
    runs = [Search(line, source).run(variant) for source in (3, 20)]
    timings = time_runs(variant, runs, Method(3), Machine(None))
    assert [len(timing.search_ms) for timing in timings] == [3, 3]


def test_a_program_that_warms_up_keeps_no_answers(toys: Path, line: Graph) -> None:
    """The first searches from all eight sources are slow. The repeated searches are fast, and so are searches
    from sources that were never searched."""
    variant = made(declare(toys, "python", "warms_up"), line)
    runs = [Search(line, source).run(variant) for source in range(8)]
    timings = time_runs(variant, runs, Method(3), Machine(None))
    assert [len(timing.search_ms) for timing in timings] == [3] * 8
    assert max(ms for timing in timings for ms in timing.search_ms) < 50
    assert runs[-1].answer()[0] == 7


def test_parents_that_are_no_tree(toys: Path, line: Graph) -> None:
    with pytest.raises(WrongResultError, match="rule 1"):
        timed(declare(toys, "command", "no_tree", 'answer = "parents"'), line)


def test_a_wrong_tree_costs_only_its_own_point(toys: Path, line: Graph) -> None:
    file = declare(toys, "python", "no_tree_from_3", 'answer = "parents"')
    with pytest.raises(WrongResultError, match="the parents break rule 1"):
        timed(file, line, 3)
    assert min(timed(file, line, 20).search_ms) > 0


def test_searches_on_a_graph_share_a_process_that_ends_with_it(toys: Path) -> None:
    before, graph = marked_processes(), load(LINE)
    file = declare(toys, "python", "honest")
    first = timed(file, graph, 0).preprocess_ms
    assert timed(file, graph, 1).preprocess_ms == first
    (process,) = marked_processes() - before
    wait_until(lambda: state_of(process) == "T", 1)  # it is stopped, so it uses no core
    del graph
    wait_until(lambda: marked_processes() <= before, 1)


def state_of(process: int) -> str:
    """Returns the letter by which Linux names the state of a process."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
