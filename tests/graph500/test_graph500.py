"""``bfsbench reproduce graph500`` as a user runs it: sources, times, checks, statistics, refusals."""

import statistics
import time
from pathlib import Path

import numpy as np
import pytest

from bfsbench.experiments.graph500 import benchmark
from bfsbench.experiments.graph500.benchmark import Graph500Outcome, harmonic, spread
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.base import Paths
from bfsbench.programs.families.bfs.parents import DeviceParents, parents_on_host
from bfsbench.programs.families.bfs.search import Levels, reference_levels
from bfsbench.rows.results import read_rows
from bfsbench.variants.adaptive import Adaptive
from tests.commands import Completed, bfsbench


def graph500(*words: str, cwd: Path, check: int = 0) -> Completed:
    return bfsbench("reproduce", "graph500", *words, "--backend", "cpu", "--out", ".", cwd=cwd, check=check)


def report_of(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (line.split(": ") for line in text.splitlines())}


@pytest.fixture
def few_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "NUM_SOURCES", 3)


def report_of_scale_8(variant: str, folder: Path) -> dict[str, float]:
    return report_of(graph500("--scale", "8", "--variant", variant, cwd=folder).stdout)


def test_sixty_four_sources_are_searched_from_once(tmp_path: Path) -> None:
    done = graph500("--scale", "9", "--variant", "cpu_queue", cwd=tmp_path)
    rows = read_rows(tmp_path / "graph500-9-cpu_queue.csv")
    edges = generate("kronecker", scale=9, edge_factor=16)
    graph = build_graph(edges, "the whole list")
    sources = [int(row["source"]) for row in rows]
    assert len({*sources}) == 64
    others = edges.sources != edges.targets
    assert {*sources} <= {*edges.sources[others].tolist(), *edges.targets[others].tolist()}
    for row in rows:
        levels = reference_levels(graph, int(row["source"]))
        listed = np.count_nonzero(levels[edges.sources] >= 0)
        assert float(row["mteps_graph500"]) * float(row["search_ms"]) * 1e3 == pytest.approx(listed, rel=1e-3)
        assert (int(row["reached"]), int(row["depth"])) == (np.count_nonzero(levels >= 0), levels.max())
        assert (row["status"], row["method"], row["search_ms_samples"].count(";")) == ("ok", "graph500", 0)
    found = report_of(done.stdout)
    assert found == report_of((tmp_path / "graph500-9-cpu_queue.txt").read_text())
    seconds = [float(row["search_ms"]) / 1e3 for row in rows]
    rates = [1e6 * float(row["mteps_graph500"]) for row in rows]
    assert (found["SCALE"], found["edgefactor"], found["NBFS"]) == (9, 16, 64)
    assert found["bfs median_time"] == pytest.approx(statistics.median(seconds), rel=1e-3)
    assert found["bfs max_TEPS"] == pytest.approx(max(rates), rel=1e-3)
    assert found["bfs harmonic_mean_TEPS"] == pytest.approx(statistics.harmonic_mean(rates), rel=1e-3)
    assert 0 < found["construction_time"] == pytest.approx(float(rows[0]["prepare_ms"]) / 1e3, rel=1e-3)


@pytest.mark.usefixtures("few_sources")
@pytest.mark.parametrize("variant", ["frontier_queue", "scipy"])
def test_searches_of_all_kinds_take_part(variant: str, tmp_path: Path) -> None:
    """By kernels, whose levels become parents on the device, and of another program, which gives parents."""
    found = report_of_scale_8(variant, tmp_path)
    assert found["NBFS"] == 3 and found["bfs min_nedge"] > 2000


@pytest.mark.usefixtures("few_sources")
@pytest.mark.exhaustive
def test_the_search_of_one_launch_leaves_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adaptive, "usual_block", 64)
    graph500("--scale", "8", "--tiny-parts", "8", cwd=tmp_path)
    rows = read_rows(tmp_path / "graph500-8-adaptive.csv")
    assert all("TREE=1" in row["knobs"] and "TINY_PARTS=8" in row["knobs"] for row in rows)
    best = ("report", "graph500-8-adaptive.csv", "--table", "best", "--format", "csv")
    assert "TREE=1" in bfsbench(*best, cwd=tmp_path).stdout


@pytest.mark.usefixtures("few_sources")
def test_finding_parents_is_inside_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    derive = DeviceParents.derive

    def slowly(tree: DeviceParents) -> None:
        time.sleep(0.05)
        derive(tree)

    monkeypatch.setattr(DeviceParents, "derive", slowly)
    found = report_of_scale_8("push", tmp_path)
    assert found["bfs min_time"] >= 0.05


@pytest.mark.usefixtures("few_sources")
def test_so_it_is_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(graph: Graph, levels: Levels) -> list[Paths]:
        return [Paths(tree.links, 7000.0) for tree in parents_on_host(graph, levels)]

    monkeypatch.setattr(benchmark, "parents_on_host", slowly)
    found = report_of_scale_8("cpu_queue", tmp_path)
    assert found["bfs min_time"] >= 7


@pytest.mark.usefixtures("few_sources")
@pytest.mark.parametrize("variant", ["cpu_queue", "frontier_queue"])
def test_a_wrong_tree_ends_it(variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_host, on_device = benchmark.HostTrees.search, benchmark.DeviceTrees.search

    def damaged_on_host(trees: benchmark.HostTrees, source: int) -> float:
        took = on_host(trees, source)
        trees._parents[source] = -1
        return took

    def damaged_on_device(trees: benchmark.DeviceTrees, source: int) -> float:
        took = on_device(trees, source)
        trees._parents.fill(-1, start=source, count=1)
        return took

    monkeypatch.setattr(benchmark.HostTrees, "search", damaged_on_host)
    monkeypatch.setattr(benchmark.DeviceTrees, "search", damaged_on_device)
    done = graph500("--scale", "8", "--variant", variant, cwd=tmp_path, check=1)
    assert done.stderr.strip().splitlines()[-1].startswith("bfsbench: the parents break rule 1")
    (row,) = read_rows(tmp_path / f"graph500-8-{variant}.csv")
    assert (row["status"], row["search_ms"]) == ("wrong", "") and "rule 1" in row["reason"]
    assert not (tmp_path / f"graph500-8-{variant}.txt").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "graph500 needs --scale 8 .. 30"),
        (["--scale", "7"], "graph500 needs --scale 8 .. 30"),
        (["--scale", "8.5"], "graph500 needs --scale 8 .. 30"),
        (["--scale", "8", "--repeats", "3"], "rules of its own: it has no --repeats"),
        (["--scale", "8", "--stand-ins"], "rules of its own: it has no --stand-ins"),
        (["--scale", "8", "--variant", "apsp_fw"], "variant apsp_fw is no breadth-first search"),
        (["--scale", "8", "--w-sz", "4"], "variant adaptive has no knob W_SZ"),
        (["--scale", "8", "--likely-first", "0,1"], "give one value of LIKELY_FIRST"),
        (["--scale", "8", "--variant", "reorder"], "renumbers vertices, and finds no parents"),
        (["springer-fig7", "--scale", "8"], "run graph500 alone"),
    ],
)
def test_what_is_refused(words: list[str], says: str, tmp_path: Path) -> None:
    done = graph500(*words, cwd=tmp_path, check=2)
    assert says in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.glob("graph500*"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--scale", "8"], "--scale 8 is not a share of a graph's vertices"),
        (["--w-sz", "8"], "only graph500 takes them as options"),
    ],
)
def test_other_experiments_have_no_such_options(words: list[str], says: str, tmp_path: Path) -> None:
    done = bfsbench("reproduce", "pmpp-trace", *words, cwd=tmp_path, check=2)
    assert says in done.stderr


def test_rows_of_before_are_kept(tmp_path: Path) -> None:
    (tmp_path / "graph500-8-cpu_queue.csv").write_text("mine\n")
    done = graph500("--scale", "8", "--variant", "cpu_queue", cwd=tmp_path, check=2)
    assert "graph500-8-cpu_queue.csv exists: choose another --out" in done.stderr
    assert (tmp_path / "graph500-8-cpu_queue.csv").read_text() == "mine\n"


ORDER = ("min", "firstquartile", "median", "thirdquartile", "max")


def test_statistics_are_those_of_the_specification() -> None:
    assert spread([4, 1, 3, 2, 5]) == dict(zip(ORDER, range(1, 6), strict=True))
    assert [*spread(range(64)).values()] == [0, 15.5, 31.5, 47.5, 63]
    mean, deviation = harmonic([1.0, 2.0, 4.0])
    assert mean == pytest.approx(12 / 7)
    squares = (1 - 7 / 12) ** 2 + (1 / 2 - 7 / 12) ** 2 + (1 / 4 - 7 / 12) ** 2
    assert deviation == pytest.approx(squares**0.5 / 2 * (12 / 7) ** 2)
    outcome = Graph500Outcome(8, 1.0, 2.0, [0.5, 1.0], [100, 300], [3.0, 3.0])
    assert outcome.teps == [200, 300]
    found = report_of("\n".join(outcome.lines()))
    assert (found["bfs mean_time"], found["bfs stddev_time"]) == (0.75, pytest.approx(0.353553))
    assert (found["graph_generation"], found["construction_time"]) == (1, 2)
    with pytest.raises(ValueError, match="two rates"):
        harmonic([1.0])
