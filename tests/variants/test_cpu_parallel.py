"""The multi-core search against the sequential one: shapes, numbers of threads, directions."""

import gc
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.toolchain import HERE
from bfsbench.variants.cpu_parallel import CpuParallel
from tests.shapes import SHAPES, SOURCES, with_wide_offsets
from tests.variants.searching import check_levels, graph_of, shape

Knobs = dict[str, float]
CORES = len(os.sched_getaffinity(0))

DIRECTIONS: dict[str, Knobs] = {
    "as_by_default": {},
    "alone": {"SEQUENTIAL_LIMIT": 2**31 - 1},
    "push": {"SEQUENTIAL_LIMIT": 0, "ALPHA": 0},
    "pull": {"SEQUENTIAL_LIMIT": 0, "ALPHA": 1e12},
    "both": {"SEQUENTIAL_LIMIT": 8},
    "few_first": {"SEQUENTIAL_LIMIT": 100},
}


def prepared(graph: Graph, **knobs: float) -> CpuParallel:
    """Returns a search that can be run, and that records its steps."""
    search = CpuParallel(graph, CpuParallel.knob_values(knobs))
    search.steps = np.empty(graph.num_vertices, np.int8)
    search.prepare()
    return search


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_levels_equal_the_reference_on_all_shapes(threads: int, direction: str) -> None:
    for name in SHAPES:
        check_levels(prepared(shape(name), THREADS=threads, **DIRECTIONS[direction]), *SOURCES[name])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_levels_of_large_levels(direction: str) -> None:
    """Several threads at a time push and pull levels of many blocks of work."""
    graph = build_graph(generate("kronecker", scale=15, edge_factor=8), "kronecker")
    check_levels(prepared(graph, THREADS=4, **DIRECTIONS[direction]), 0, 1, 77)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_wide_offsets_give_the_same_levels(direction: str) -> None:
    wide = with_wide_offsets(shape("kronecker"))
    check_levels(prepared(wide, THREADS=3, **DIRECTIONS[direction]), *SOURCES["kronecker"])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_search_may_see_a_small_part_of_the_graph(direction: str) -> None:
    """The search writes the levels of unseen vertices without reading their marks. The path has more levels
    than a mark can hold."""
    path = [(v, v + 1) for v in range(400)]
    star = [(500, v) for v in range(501, 60_000)]
    search = prepared(graph_of(60_100, path + star, "each_once"), THREADS=2, **DIRECTIONS[direction])
    check_levels(search, 0, 500, 200, 60_050, 400)


def steps_of(search: CpuParallel, source: int) -> str:
    """Check the levels of a search. Returns how it expanded each level: one thread pushes (p), several
    threads push (t), or threads pull (v)."""
    assert search.steps is not None
    search.steps.fill(-1)
    check_levels(search, source)
    return "".join("ptv"[step] for step in search.steps if step >= 0)


STEPS_OF = {
    (0, 0): ("ppp", "pppppppp", 39 * "p"),
    (0, 0.3): ("ppv", "pppppvvv", 39 * "p"),
    (0, 1): ("pvv", "ppppvvvv", 37 * "p" + "vp"),
    (0, 1e12): ("vvv", "vvvvvvvv", 39 * "v"),
    (8, 1): ("pvv", "ppppvvvv", 39 * "p"),
    (8, 1e12): ("vvv", "ppvvvvvv", 23 * "p" + 13 * "v" + "ppp"),
    (500, 1): ("pvv", "ppppvvvp", 39 * "p"),
}
"""For the knobs SEQUENTIAL_LIMIT and ALPHA, how the levels of three graphs are expanded.

A search ends when no vertex is unseen. One thread searches. Several threads may claim a vertex twice, and
then count its arcs twice.
"""


@pytest.mark.parametrize(("limit", "alpha"), STEPS_OF)
def test_levels_are_expanded_as_the_criteria_ask(limit: int, alpha: float) -> None:
    for name, steps in zip(("kronecker", "random_1025", "lattice"), STEPS_OF[limit, alpha], strict=True):
        search = prepared(shape(name), ALPHA=alpha, SEQUENTIAL_LIMIT=limit, THREADS=1)
        assert steps_of(search, 0) == steps, name


def test_a_search_may_expand_its_levels_in_all_ways() -> None:
    assert set(steps_of(prepared(shape("random_1025"), THREADS=3, SEQUENTIAL_LIMIT=8), 0)) == {*"ptv"}


def test_threads_are_at_most_the_cores_that_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    graph = shape("pmpp")
    for cores, threads in itertools.product(({min(allowed)}, allowed), (0, 1, 64)):
        before = native_threads()
        os.sched_setaffinity(0, cores)
        try:
            search = prepared(graph, THREADS=threads, SEQUENTIAL_LIMIT=0)
        finally:
            os.sched_setaffinity(0, allowed)
        assert native_threads() == before + min(threads or 64, len(cores)) - 1
        del search
        gc.collect()


def native_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def test_threads_end_with_the_search() -> None:
    search = prepared(shape("kronecker"), THREADS=7, SEQUENTIAL_LIMIT=0)
    check_levels(search, 0)
    during = native_threads()
    del search
    gc.collect()
    assert native_threads() == during - (CORES - 1)


def test_sleeping_threads_wake_up_again() -> None:
    """Searches are so far apart that the threads have gone to sleep in between."""
    search = prepared(shape("kronecker"), THREADS=2, **DIRECTIONS["push"])
    for _ in range(20):
        time.sleep(0.005)
        check_levels(search, 0)


REFUSED = """
import resource
from pathlib import Path
import numpy as np
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList
from bfsbench.support.errors import LaunchError
from bfsbench.variants.cpu_parallel import CpuParallel

graph = build_graph(EdgeList(np.array([0], np.int32), np.array([1], np.int32), 12_000_000), "arc")
kept = CpuParallel(graph, CpuParallel.knob_values({}))
kept.prepare()  # builds and loads the library
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), resource.RLIM_INFINITY))
try:
    CpuParallel(graph, CpuParallel.knob_values({})).prepare()
except LaunchError as error:
    print(error)
kept.traverse(0)
print(kept.levels()[1])
"""


def test_memory_that_the_system_refuses_is_reported() -> None:
    """A separate process searches, because memory that other tests have freed counts as available."""
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, timeout=60)
    said, level = done.stdout.splitlines()
    assert "lower THREADS" in said and level == "1"


def seconds(search: CpuParallel) -> float:
    """Returns the time of the fastest of several bursts of searches in s."""

    def burst() -> float:
        begin = time.perf_counter()
        for _ in range(20):
            search.traverse(1)
        return time.perf_counter() - begin

    return min(burst() for _ in range(7))


@pytest.mark.parametrize("scale", [2, 13])
def test_threads_on_one_core_take_little_longer_than_one_thread(scale: int) -> None:
    """No thread waits for another that has no core."""
    graph = build_graph(generate("kronecker", scale=scale), "kronecker")
    alone, crowded = prepared(graph, THREADS=1), prepared(graph, THREADS=64)
    allowed = os.sched_getaffinity(0)
    threads = [int(task.name) for task in Path("/proc/self/task").iterdir()]
    for thread in threads:
        os.sched_setaffinity(thread, {min(allowed)})
    try:
        assert seconds(crowded) < 3 * seconds(alone)
    finally:
        for thread in threads:
            os.sched_setaffinity(thread, allowed)


def test_no_race_on_any_shape(tmp_path: Path) -> None:
    """ThreadSanitizer finds no race in any way to expand levels. The program checks the levels as well."""
    program = tmp_path / "races"
    source = Path(__file__).with_name("races.cpp")
    flags = ["-std=c++17", "-O1", "-g", "-fsanitize=thread", "-pthread", f"-I{HERE}"]
    subprocess.run(["g++", *flags, str(source), "-o", str(program)], check=True)
    words: list[npt.NDArray[Any]] = []
    for name in SHAPES:
        graph = shape(name)
        arrays = (graph.row_offsets, graph.column_indices, graph.column_offsets, graph.row_indices)
        for knobs in DIRECTIONS.values():
            values = CpuParallel.knob_values({"SEQUENTIAL_LIMIT": 8, **knobs})
            settings = [min(int(values[name]), 2**31 - 1) for name in ("SEQUENTIAL_LIMIT", "ALPHA")]
            start = SOURCES[name][0]
            sizes = [graph.num_vertices, len(graph.column_indices), 8, *settings, start]
            words += [np.array(sizes, np.int32), *arrays, reference_levels(graph, start)]
    given = b"".join(array.astype(np.int32).tobytes() for array in words)
    ran = subprocess.run([program], input=given, capture_output=True, env={"TSAN_OPTIONS": "exitcode=66"})
    assert ran.returncode == 0, ran.stderr.decode()[:4000]


def test_queue_entries_that_nobody_has_written_are_not_read(tmp_path: Path) -> None:
    """The allocator fills new memory with numbers far beyond any vertex."""
    words = ["run", "--dataset", "soc-Epinions1", "--variant", "cpu_parallel", "--sources", "4"]
    command = [sys.executable, "-m", "bfsbench", *words, "--repeats", "2", "--out", "rows.csv"]
    environment = os.environ | {"MALLOC_PERTURB_": "165"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
