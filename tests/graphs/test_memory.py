"""Tests estimates of memory. A graph that does not fit is refused in one line."""

import gzip
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.graphs import blocks, graph as graph_module
from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.formats import read_edges
from bfsbench.graphs.generators import GENERATORS, generate
from bfsbench.graphs.graph import Size
from bfsbench.graphs.load import load, memory_lines, peak_memory, resolve
from bfsbench.support import machine
from bfsbench.support.errors import InputError, NotEnoughMemoryError
from tests.commands import bfsbench, complaints
from tests.graphs.texts import put, snap

GIB = 1 << 30
NEEDED = r"need about [\d.]+ [GT]iB of memory, [\d.]+ [GM]iB are available"


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_module, "available_memory", lambda: 8 * GIB)


def refused(path: Path, recipe: Recipe | None = None) -> str:
    with pytest.raises(NotEnoughMemoryError) as caught:
        read_edges(path, recipe or Recipe())
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.gr", "p sp 2147483647 1\na 1 2 1\n"),
        ("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n2147483647 2147483647 1\n1 2\n"),
        ("g.graph", "2147483647 1\n2\n1\n"),
    ],
)
def test_a_header_of_many_vertices_is_refused_before_they_are_made(
    tmp_path: Path, name: str, text: str
) -> None:
    said = refused(put(tmp_path / name, text))
    assert re.search(rf"{name}: 2,147,483,647 vertices and [12] edges {NEEDED}", said)


@pytest.mark.usefixtures("small_machine")
def test_ids_kept_are_counted_up_to_the_largest(tmp_path: Path) -> None:
    path = put(tmp_path / "g.txt", "0 1\n299999999 0\n")
    assert re.search(rf"g.txt: 300,000,000 vertices and 2 edges {NEEDED}", refused(path, Recipe(ids="keep")))
    assert read_edges(path, Recipe()).num_vertices == 3


def test_edges_and_names_are_counted_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_module, "available_memory", lambda: 1_000_000)
    packed = put(tmp_path / "g.txt.gz", gzip.compress(b"1 2\n" * 1_100_000))
    assert re.search(r"g.txt.gz, by its first blocks: about [\d,]+ edges need about", refused(packed))
    named = put(tmp_path / "g.csv", "ann,bob\n" * 20_000)
    assert re.search(r"g.csv: names of vertices need about 3.2 MiB of memory", refused(named))


@pytest.mark.usefixtures("small_machine")
def test_a_large_scale_is_refused_before_an_edge_is_drawn() -> None:
    said = rf"kronecker\(scale=26,seed=1\): 67,108,864 vertices and 1,073,741,824 edges {NEEDED}"
    with pytest.raises(NotEnoughMemoryError, match=said):
        generate("kronecker", scale=26)


def test_a_line_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LONGEST_LINE", 10_000)
    path = put(tmp_path / "g.txt.gz", gzip.compress(b"0 1\n" + b"1 " * 3_000_000))
    with pytest.raises(InputError, match=r"g\.txt\.gz: a line is longer than 9\.8 KiB; is this a graph\?"):
        read_edges(path, Recipe())


def test_the_command_line_never_shows_a_traceback(tmp_path: Path) -> None:
    """The address space is too small for the graph, as after 'ulimit -v'."""
    words = ["path", "--dataset", "kronecker(scale=25)", "--source", "0", "--target", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "bfsbench", *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 * GIB, 3 * GIB)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    (line,) = complaints(done)
    assert done.returncode == 2
    assert re.fullmatch(rf"bfsbench: kronecker\(scale=25,seed=1\): [\d,]+ vertices .* {NEEDED}", line)


def test_a_memory_error_anywhere_is_one_line(tmp_path: Path) -> None:
    code = (
        "from bfsbench import cli; from bfsbench.cli import graphs; import sys\n"
        "def fail(**given): raise MemoryError\n"
        "graphs.path_command.callback = fail\n"
        "cli.main(['path', '--dataset', 'pmpp', '--source', '0', '--target', '1'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[1:]) == (1, [])
    assert done.stderr.startswith("bfsbench: out of memory")


MEASURE = """
import json, re, sys
from pathlib import Path
from bfsbench.graphs.load import load, peak_memory, resolve
from bfsbench.graphs.generators import generate
from bfsbench.support.toolchain import library

def peak(field):
    return int(re.search(field + r":\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

load("path(n=40)")  # brings in and compiles all there is to
estimate, before = peak_memory(resolve(sys.argv[1])), peak("VmRSS")
load(sys.argv[1])
print(json.dumps([estimate, peak("VmHWM") - before]))
"""


@pytest.mark.parametrize("spec", ["kronecker(scale=17)", "uniform(n=200000,m=2000000,directed=1)"])
def test_the_estimate_is_near_what_is_taken(spec: str) -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE, spec], capture_output=True, text=True, check=True)
    estimate, taken = json.loads(done.stdout)
    assert 0.8 * taken < estimate < 2 * taken


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_generators_know_their_size(name: str) -> None:
    generator = GENERATORS[name]
    given = {p.name: min(2000, p.maximum) for p in generator.parameters if p.default is None}
    given |= {key: value for key, value in {"scale": 11, "rows": 40, "columns": 50}.items() if key in given}
    edges = generate(name, **given)
    vertices, count = generator.counts(given)
    assert vertices == edges.num_vertices
    assert abs(count - len(edges.sources)) <= 0.6 * count


def test_the_peak_of_each_way_to_open_a_graph(tmp_path: Path) -> None:
    path = put(tmp_path / "g.txt", snap([(v, v + 1) for v in range(10_000)]))
    request = resolve(str(path))
    before = peak_memory(request)
    assert before is not None and Size(2_000, 9_000).peak_bytes < before < Size(4_000, 11_000).peak_bytes
    load(str(path))
    arrays = peak_memory(request)
    held = 2 * 4 * (10_002 + 10_000) + 4 * 10_000  # rows and columns, offsets and ids; the sources of arcs
    assert arrays is not None and held < arrays < 2 * before
    assert peak_memory(resolve("wiki-Talk")) == Size(2_394_385, 5_021_410).peak_bytes


def test_lines_say_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bfsbench.graphs.load.available_memory", lambda: 8 * GIB)
    small, large = memory_lines([resolve("path(n=77)"), resolve("kronecker(scale=26)")])
    assert small == "path(n=77):symmetrised: about 5.4 KiB"
    assert large.endswith("about 34.5 GiB, but 8.0 GiB are available")


def limited(folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> int | None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        put(folder / name, text)
    monkeypatch.setattr(machine, "_PROC", folder / "proc")
    monkeypatch.setattr(machine, "_CGROUPS", folder / "cgroup")
    return machine.available_memory()


def test_the_least_of_system_and_control_groups_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:  8000 kB\n"}
    assert limited(tmp_path / "none", monkeypatch, system) == 8000 * 1024
    second = {
        "proc/self/cgroup": "0::/slice/job\n",
        "cgroup/slice/memory.max": "5000000\n",
        "cgroup/slice/memory.current": "3000000\n",
        "cgroup/slice/memory.stat": "anon 1\ninactive_file 500000\n",
        "cgroup/slice/job/memory.max": "max\n",
        "cgroup/slice/job/memory.current": "3000000\n",
    }
    assert limited(tmp_path / "v2", monkeypatch, system | second) == 2_500_000
    first = {
        "proc/self/cgroup": "5:cpu:/\n4:memory:/job\n",
        "cgroup/memory/job/memory.limit_in_bytes": "4000000\n",
        "cgroup/memory/job/memory.usage_in_bytes": "4100000\n",
    }
    assert limited(tmp_path / "v1", monkeypatch, system | first) == 0
    assert limited(tmp_path / "elsewhere", monkeypatch, {}) is None


def test_a_dry_run_says_the_peak_of_each_graph(tmp_path: Path) -> None:
    words = ("--dataset", "path(n=78),kronecker(scale=30)", "--variant", "cpu_queue", "--dry-run")
    lines = bfsbench("run", *words, cwd=tmp_path).stdout.splitlines()
    at = lines.index("peak memory to open each graph:")
    assert lines[at + 1] == "  path(n=78):symmetrised: about 5.5 KiB"
    large = r"  kronecker\(scale=30,seed=1\):symmetrised: about 552.0 GiB(, but .* are available)?"
    assert re.fullmatch(large, lines[at + 2])
