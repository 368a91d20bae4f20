"""'bfsbench explain', and 'bfsbench compare' of what it writes, as a user meets them."""

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bfsbench.graphs.load import load
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.ceilings import read_ceilings
from bfsbench.support.paths import H200_CEILINGS
from tests import commands
from tests.commands import Completed
from tests.kernel_folders import write_variant

GRAPH = ("--dataset", "lattice(rows=6,columns=8)", "--source", "3")
DENSE = "kronecker(scale=8,seed=1):symmetrised"


def bfsbench(*words: str | Path, columns: int = 100, check: int | None = 0) -> Completed:
    """Runs a command in a terminal of this width, and checks its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        return commands.bfsbench(*words, cwd=Path.cwd(), check=check)


def test_a_search_that_does_not_end_is_an_error() -> None:
    done = bfsbench("explain", "push", *GRAPH, "--timeout", "0.001", check=1)
    assert "has not ended after 0.001 s: raise --timeout" in done.stderr


def test_a_search_that_launches_without_end_is_ended_early(tmp_path: Path) -> None:
    change = "if ((*progress = level + 1, levels[v] == level))"
    write_variant(tmp_path, "launches_forever", lambda text: text.replace("if (levels[v] == level)", change))
    words = ["explain", str(tmp_path), "--dataset", "lattice(rows=3,columns=3)"]
    done = subprocess.run(
        [sys.executable, "-m", "bfsbench", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "launches" in done.stderr.splitlines()[-1] and "has not ended" not in done.stderr


@pytest.mark.parametrize(
    ("words", "bound"),
    [
        (("push", *GRAPH), "launches"),
        (("push", *GRAPH, "--level", "2"), "latency"),
        (("adaptive", *GRAPH), "latency"),
    ],
)
def test_advice_begins_with_the_bound_of_the_prediction(words: tuple[str, ...], bound: str) -> None:
    lines = bfsbench("explain", *words).stdout.splitlines()
    (place,) = (place for place, line in enumerate(lines) if line.startswith("bound by "))
    assert re.match(rf"bound by {bound}, \S+ ms of the predicted \S+ ms: the ", lines[place])
    coalescing = [line for line in lines[place:] if line.endswith("access neighbouring words.")]
    lanes = [line for line in lines[place:] if line.endswith("The others wait.")]
    after = lines[place + 1 :]
    split = next((i for i, line in enumerate(after) if line.startswith("The next remarks")), len(after))
    assert not {*coalescing} & {*after[:split]}, "they concern the throughput"
    assert bound == "latency" or not {*lanes} & {*after[:split]}
    assert words[0] == "adaptive" or coalescing or lanes


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(newline="")))


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    """Writes a file of counters with these rows. Returns its path."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def counters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("counters") / "push.counters.csv"
    bfsbench("explain", "push", *GRAPH, "--out", path)
    return path


def test_levels_and_source_lines_of_a_search() -> None:
    done = bfsbench("explain", "push", *GRAPH, columns=120)
    summary, _, tables = done.stdout.partition("\n\n")
    assert summary.startswith("frontier_numbers, block 256: ") and " levels, predicted " in summary
    assert 2 <= len(summary.splitlines()) <= 5
    assert tables.startswith("Prediction, not a measurement: times on one NVIDIA H200\n")
    assert "\nfrontier_numbers, block 256\n====" in done.stdout
    levels, _, listing = done.stdout.partition("\ncost: a line's share of all sectors")
    rows = [line.split() for line in levels.splitlines() if "frontier_numbers " in line[:30]]
    assert [row[0] for row in rows] == [str(level) for level in range(len(rows))]
    (reading,) = (line for line in listing.splitlines() if "int neighbour = column_indices[e];" in line)
    share, warps, lanes = reading.split()[:3]
    assert share.endswith("%")
    assert int(warps) > len(rows)
    assert 1 <= float(lanes) <= 32
    assert "common/neighbours.cuh" in listing
    assert "count_differences" not in done.stdout  # checking the answer is no part of the search


def test_counters_repeat_exactly_and_are_whole(counters: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.counters.csv"
    bfsbench("explain", "push", *GRAPH, "--out", again)
    assert again.read_bytes() == counters.read_bytes()
    rows = read(counters)
    scanned = [row for row in rows if row["file"] == "frontier_numbers.cu" and row["kind"] == "load"]
    assert {row["executions"] for row in scanned} == {"2"}  # 48 vertices are two warps
    assert {row["lanes"] for row in scanned} == {"48"}
    assert {row["sectors"] for row in scanned} == {"6"}


def test_a_predicted_time_is_called_so(tmp_path: Path) -> None:
    done = bfsbench("explain", "push", "luo", *GRAPH, "--format", "json")
    table = json.loads(done.stdout)["prediction"]
    assert table["title"].startswith("Prediction, not a measurement")
    push, luo = table["rows"]
    assert push["bound"] == "launches"  # a launch a level, of next to no work
    assert luo["launches_ms"] < push["launches_ms"]  # all levels in one block
    assert push["predicted_ms"] > push["launches_ms"]
    ceilings = Path("results/h200/ceilings.csv").read_text()
    slow = tmp_path / "slow-ceilings.csv"
    lines = [line for line in ceilings.splitlines() if not line.startswith("launch_and_read")]
    slow.write_text("\n".join(lines) + "\n")
    lacking = bfsbench("explain", "push", *GRAPH, "--ceilings", slow, check=2)
    assert "the ceilings lack the probe 'launch_and_read'" in lacking.stderr


@pytest.mark.exhaustive
def test_a_search_that_pushes_pulls_and_waits_for_blocks_of_a_cluster(tmp_path: Path) -> None:
    table = tmp_path / "adaptive.counters.csv"
    bfsbench("explain", "adaptive", "--dataset", DENSE, "--source", "1", "--out", table)
    rows = read(table)
    reads = [(Path(row["file"]).name, row["level"]) for row in rows if row["kind"] == "load"]
    assert {"cluster.cuh", "pull.cuh"} <= {file for file, _ in reads}
    assert ("pull.cuh", "3") in reads
    assert ("pull.cuh", "0") not in reads
    of_clusters = [row for row in rows if row["file"] == "adaptive/block_cluster.cuh"]
    meetings = [row for row in of_clusters if row["kind"] == "barrier"]
    assert {float(row["lanes"]) / float(row["executions"]) for row in meetings} == {32}


@pytest.mark.exhaustive
def test_levels_of_few_vertices_within_one_launch(tmp_path: Path) -> None:
    out = tmp_path / "tiny.counters.csv"
    graph = "lattice(rows=3,columns=8)"
    bfsbench("explain", "adaptive", "--dataset", graph, "--source", 0, "--out", out)
    assigned: Counter[int] = Counter()
    for row in read(out):
        if row["file"] == "adaptive/answer.cuh" and row["kind"] == "store":
            assigned[int(row["level"])] += int(row["lanes"])
    levels = reference_levels(load(graph), 0)
    assert assigned == Counter((levels.clip(1) - 1).tolist()), "the first level finds the source as well"


def test_variants_and_knobs_side_by_side() -> None:
    done = bfsbench("explain", "virtual_warp", "pull", *GRAPH, "--w-sz", "1,16", columns=300)
    beside = [line for line in done.stdout.splitlines() if line.count(" | ") == 2]
    assert any("virtual_warp W_SZ=1," in line and "pull, block" in line for line in beside)
    bounds = [line for line in done.stdout.splitlines() if ": bound by " in line]
    heads = ("virtual_warp W_SZ=1, block", "virtual_warp W_SZ=16, block", "pull, block")
    assert [bound.startswith(head) for bound, head in zip(bounds, heads, strict=True)] == [True] * 3


def test_searches_are_the_headings_of_numbers_side_by_side() -> None:
    words = ("explain", "virtual_warp", "pull", "--dataset", "path(n=4)", "--format")
    (head,) = re.findall(r"^counter & (.*) \\\\$", bfsbench(*words, "latex").stdout, re.MULTILINE)
    assert "W\\_SZ=16" in head and "pull, \\\\ block 256" in head
    assert "\\begin{tabular}{lrr}" in bfsbench(*words, "latex").stdout
    totals = json.loads(bfsbench(*words, "json").stdout)["totals"]["rows"]
    levels = {"counter": "levels", "virtual_warp W_SZ=16, block 256": 4, "pull, block 256": 4}
    assert totals[0] == levels
    grids = json.loads(
        bfsbench("explain", "push", "--dataset", "path(n=4)", "--grid", "4,8", *words[-1:], "json").stdout
    )
    assert [*grids["totals"]["rows"][0]][1:] == [f"frontier_numbers, block 256, grid {n}" for n in (4, 8)]


def page_data(page: Path) -> dict[str, Any]:
    """Returns the data in a page of ``explain``."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    return json.loads(text)  # type: ignore[no-any-return]


def test_a_page_of_two_searches(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    bfsbench("explain", "push", "pull", *GRAPH, "--html", page)
    data = page_data(page)
    assert data["what"].endswith(", source 3")
    push, pull = data["searches"]
    assert re.fullmatch(
        r"Predicted, not measured: [0-9.e-]+ ms on one NVIDIA H200, bound by \w+", pull["predicted"]
    )
    assert [of["title"] for of in (push, pull)] == ["frontier_numbers, block 256", "pull, block 256"]
    assert data["levels"] == list(range(len(data["levels"])))
    assert {"latency ms", "contention ms", "banks ms"} <= {*data["prediction"]["columns"]}
    assert [row[0] for row in data["prediction"]["rows"]] == [of["title"] for of in (push, pull)]
    assert any(note.startswith("How far to trust it") for note in data["prediction"]["notes"])
    assert all(of["levelColumns"][-1] == "predicted us" for of in (push, pull))
    assert all(of["advice"]["all"][0].startswith("bound by ") for of in (push, pull))
    kernel = {file["name"]: dict(file["lines"]) for file in pull["files"]}["pull.cu"]
    (line,) = (number for number, source in kernel.items() if "levels[v] == UNREACHED" in source)
    executions, lanes, sectors, conflicts, collisions, _ = pull["costs"]["0"]["pull.cu"][str(line)]
    assert (executions, lanes, sectors, conflicts, collisions) == (2, 48, 6, 0, 0)
    shares = [of[5] for file in push["costs"]["all"].values() for of in file.values()]
    assert sum(shares) == pytest.approx(1, abs=0.001)
    refused = bfsbench("explain", "push", *GRAPH, "--html", tmp_path / "none" / "page.html", check=2)
    assert "cannot write" in refused.stderr


def test_a_folder_is_explained_into_a_file_of_any_name(tmp_path: Path) -> None:
    write_variant(tmp_path, "mine_to_explain")
    out = tmp_path / "mine"
    words = [sys.executable, "-m", "bfsbench", "explain", str(tmp_path), *GRAPH, "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)  # keeps the variant out of here
    assert "mine_to_explain, block 256" in done.stdout
    assert "0 more, 0 less" in bfsbench("compare", out, out).stdout


def test_one_level_of_a_listing() -> None:
    done = bfsbench("explain", "push", *GRAPH, "--level", "0")
    (reading,) = (line for line in done.stdout.splitlines() if "int neighbour = column_indices[e];" in line)
    assert reading.split()[2] == "1.0"  # only the source's thread is at work
    found = json.loads(bfsbench("explain", "push", *GRAPH, "--level", "2", "--format", "json").stdout)
    assert {row["level"] for row in found["levels"]["rows"]} == {2}


def test_compare_takes_counters(counters: Path, tmp_path: Path) -> None:
    same = bfsbench("compare", counters, counters)
    assert "5 counters of kernels in both: 0 more, 0 less, 5 the same within 5 %" in same.stdout
    rows = read(counters)
    doubled = [{**row, "sectors": str(int(row["sectors"]) * 2)} for row in rows]
    worse = written(tmp_path / "worse.counters.csv", doubled)
    more = bfsbench("compare", counters, worse, check=1)
    assert "1 more, 0 less, 4 the same" in more.stdout
    bfsbench("compare", worse, counters)
    two = written(tmp_path / "two.counters.csv", [*rows, *({**row, "kernel": "other"} for row in rows)])
    for options, code in (((), 0), (("--fail-on", "missing"), 1)):
        fewer = bfsbench("compare", two, counters, *options, check=code)
        assert re.search(r"Only in A: 1 kernel: \w+ \(other\) on", fewer.stdout)
    bfsbench("compare", counters, two, "--fail-on", "missing")
    refused = bfsbench("compare", counters, two, "--variant", "push", check=2)
    assert refused.stderr == "bfsbench: --variant does not go with files of counters\n"
    for pair in ((counters, "none.csv"), ("none.csv", counters), (counters, "none.counters.csv")):
        missing = next(name for name in pair if name is not counters)
        refused = bfsbench("compare", *pair, check=2)
        assert refused.stderr == f"bfsbench: cannot read {missing}: No such file or directory\n"
    (tmp_path / "rows.csv").write_text("graph\n")
    for pair in ((counters, tmp_path / "rows.csv"), (tmp_path / "rows.csv", counters)):
        refused = bfsbench("compare", *pair, check=2)
        assert f"{counters} holds counters, and {tmp_path / 'rows.csv'} does not" in refused.stderr
    other = tmp_path / "other.counters.csv"
    other.write_text(counters.read_text().replace(rows[0]["graph_checksum"], "0" * 64))
    refused = bfsbench("compare", counters, other, check=2)
    assert "different graphs" in refused.stderr


@pytest.mark.parametrize("count", ["many", "1.5", "-1e400", str(2**63), str(-(2**63) - 1)])
def test_counts_that_are_none_are_one_line(counters: Path, tmp_path: Path, count: str) -> None:
    rows = read(counters)
    bad = written(tmp_path / "bad.counters.csv", [*rows, rows[0] | {"sectors": count}])
    done = bfsbench("compare", counters, bad, check=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"bfsbench: {bad}: column sectors has a value that is not a whole number")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cpu_queue", *GRAPH), "variant cpu_queue has no kernels to explain"),
        (("pusch",), "unknown variant 'pusch': did you mean push"),
        (("push", *GRAPH, "--w-sz", "4"), "knob W_SZ belongs to none of the variants chosen"),
        (("push", *GRAPH, "--level", "99"), "the search has no such level"),
        (("push", "--dataset", "lattice(rows=3,columns=3),star(n=4)"), "names several graphs"),
        (("push", *GRAPH[:2], "--source", "48"), "source 48 is out of range"),
        (("push", *GRAPH, "--block", "32:1024:+32"), "explain takes at most 8"),
    ],
)
def test_what_cannot_be_explained_is_one_line(words: tuple[str, ...], message: str) -> None:
    done = bfsbench("explain", *words, check=None)
    assert done.returncode in (1, 2)
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


PROGRAM = """
__global__ void scale(int *x, int step) {
    __shared__ int far[32 * 32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    far[threadIdx.x % 32 * 32] = 1;
    __syncthreads();
    x[i * step % 65536] += far[threadIdx.x % 32 * 32];
}
int main() {
    int *x;
    cudaMalloc(&x, 65536 * sizeof(int));
    cudaMemset(x, 0, 65536 * sizeof(int));
    scale<<<64, 256>>>(x, 1);
    scale<<<64, 256>>>(x, 33);
    cudaFree(x);
}
"""


def test_a_program_begins_with_advice_and_has_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "strided.cu"
    terms = " + ".join(f"x[(i * {step}) % 65536]" for step in (33, 65, 97, 129))
    path.write_text(PROGRAM.replace("x[i * step % 65536] +=", f"x[i * step % 65536] = {terms} +"))
    done = bfsbench("explain", path, columns=100)
    summary, _, tables = done.stdout.strip().partition("\n\n")
    assert summary.startswith("strided.cu: 2 launches, predicted ")
    assert 2 <= len(summary.splitlines()) <= 6
    assert summary.splitlines()[1] == "The predicted time leaves out arithmetic."
    assert "Let neighbouring lanes access neighbouring words." in summary
    listing = "".join(line[51:] for line in tables.splitlines())
    shown = tables.partition("cost   warps")[2].splitlines()
    assert max(len(line) for line in shown if "Let the lanes" not in line) <= 100
    assert terms.replace(" ", "") in listing.replace(" ", "")


WAITS = """
__global__ void add(int *x) { x[threadIdx.x] += 1; }
int main() {
    int *x, first;
    cudaMalloc(&x, 64 * sizeof(int));
    cudaMemset(x, 0, 64 * sizeof(int));
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaDeviceSynchronize();
    for (int i = 0; i < 6; ++i) add<<<1, 64>>>(x);
    cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
    cudaDeviceSynchronize();
    add<<<1, 64, 0, stream>>>(x);
    cudaMemsetAsync(x, 0, sizeof first, stream);
    cudaStreamSynchronize(stream);
    add<<<1, 64>>>(x);
    cudaEventRecord(event);
    cudaEventSynchronize(event);
    add<<<1, 64>>>(x);
    cudaFree(x);
}
"""


def test_a_program_pays_for_a_wait_only_where_the_host_waits(tmp_path: Path) -> None:
    path = tmp_path / "waits.cu"
    path.write_text(WAITS)
    found = json.loads(bfsbench("explain", path, "--format", "json").stdout)
    device = read_ceilings(H200_CEILINGS)
    launch, wait = (device.at(name) for name in ("launch", "launch_and_read"))
    (row,) = found["prediction"]["rows"]
    assert row["launches_ms"] == pytest.approx((9 * launch + 4 * (wait - launch)) / 1e3)


COPIES = """
#include <vector>
__global__ void add(int *x) { x[threadIdx.x] += 1; }
int main() {
    std::vector<int> all(SIZE);
    int *x;
    cudaMalloc(&x, SIZE * sizeof(int));
    for (int i = 0; i < 5; ++i) {
        cudaMemcpy(x, all.data(), SIZE * sizeof(int), cudaMemcpyHostToDevice);
        add<<<1, 64>>>(x);
        cudaMemcpy2D(all.data(), 32, x, 32, 16, SIZE / 8, cudaMemcpyDeviceToHost);
    }
    cudaMemcpy(x + SIZE / 2, x, SIZE, cudaMemcpyDeviceToDevice);
    cudaFree(x);
}
"""


def test_the_hosts_copies_are_counted_and_compared_with_the_predicted_time(tmp_path: Path) -> None:
    path, page = tmp_path / "copies.cu", tmp_path / "page.html"
    path.write_text(COPIES)
    left_out = "The predicted time leaves out arithmetic and the host's copies (10 copies, {}).{}"
    large = bfsbench("explain", path, "-D", "SIZE=1000000", "--html", page).stdout.strip().splitlines()
    slow = (
        " At an assumed 25 GB/s, the copies take 1.2 ms, longer than the predicted time: copy less, or keep "
        "data on the GPU."
    )
    assert large[1] == left_out.format("30 MB", slow)
    assert large[2].startswith("bound by launches") and "The input is small" not in large[2]
    assert (
        "launches (5) and the host's waits for their results (5). Let the host wait less often." in large[2]
    )
    assert large[1] in page_data(page)["searches"][0]["predicted"]
    small = bfsbench("explain", path, "-D", "SIZE=64").stdout.strip().splitlines()
    assert small[1] == left_out.format("1.92 kB", "")
    assert "Let the host wait less often." in small[2] and "The input is small" in small[2]


def test_a_program_without_memory_accesses_has_nothing_to_count(tmp_path: Path) -> None:
    path = tmp_path / "hello.cu"
    path.write_text(
        "__global__ void hello() {}\nint main() { hello<<<1, 32>>>(); cudaDeviceSynchronize(); }\n"
    )
    assert "nothing to count" in bfsbench("explain", path).stdout


def test_a_program_is_explained_by_launch(tmp_path: Path) -> None:
    path, page = tmp_path / "scale.cu", tmp_path / "page.html"
    path.write_text(PROGRAM)
    done = bfsbench("explain", path, "--html", page, columns=200)
    assert "launch  kernel" in done.stdout and "a warp accesses" in done.stdout
    assert "bank conflicts in" in done.stdout and "scale" in page.read_text()
    assert "bound by launches" in done.stdout and "The input is small" in done.stdout
    assert "level" not in done.stdout.partition("Prediction, not")[0]
    assert "These figures come from searches of graphs." in " ".join(done.stdout.split())
    assert "a line's share" in done.stdout.partition("\nFurther remarks\n===============\n")[0]
    found = json.loads(bfsbench("explain", path, "--level", "1", "--format", "json").stdout)
    assert [row["launch"] for row in found["levels"]["rows"]] == [1]
    assert "no such launch" in bfsbench("explain", path, "--level", "2", check=2).stderr


THREE_READS = """
#include <cstdio>
__global__ void sum(const int *x, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
    y[i] += x[i];
    y[i] += x[i];
}
int main() {
    int *x, *y;
    cudaMalloc(&x, 1024 * sizeof(int));
    cudaMalloc(&y, 1024 * sizeof(int));
    cudaMemset(x, 0, 1024 * sizeof(int));
    sum<<<2, 512>>>(x, y);
    cudaDeviceSynchronize();
    printf("a line of the program\\n");
    cudaFree(x);
    cudaFree(y);
}
"""


def json_of(*words: str | Path) -> dict[str, Any]:
    """Runs a command in a process. Returns the JSON that it prints. The program's own output is on stderr."""
    command = [sys.executable, "-m", "bfsbench", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "a line of the program" in done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_a_programs_costs_are_json_beside_its_own_output(tmp_path: Path) -> None:
    path = tmp_path / "three.cu"
    path.write_text(THREE_READS)
    found = json_of("explain", path, "--format", "json")
    (launch,) = found["levels"]["rows"]
    assert (launch["grid"], launch["block"]) == (2, 512)
    assert launch["distinct_kib"] == 8, "two arrays of 4 KiB, one of them read on three lines"
    lines = found["lines"]["rows"]
    assert sum(row["sectors"] for row in lines) == launch["sectors"]
    assert {row["line"] for row in lines} == {5, 6, 7} and {row["launch"] for row in lines} == {0}
    assert json_of("check", path, "--json", "--seeds", "1")["exit_codes"] == [0]


def test_too_few_blocks_are_named(tmp_path: Path) -> None:
    path, page = tmp_path / "few.cu", tmp_path / "page.html"
    path.write_text(re.sub("int i = .*;", "int i = 0; for (; i < 500; ++i)", THREE_READS))
    shown = bfsbench("explain", path, "--html", page).stdout
    advice = "In launch 0, only 2 of an H200's 132 multiprocessors have a block: launch more blocks."
    (bound,) = (line for line in shown.splitlines() if line.startswith("bound by latency"))
    assert advice in bound
    (search,) = page_data(page)["searches"]
    assert bound in search["advice"]["all"] and bound.partition(": ")[2] in search["advice"]["0"][0]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        *(("explain", one) for one in ("--dataset pmpp-example", "--source 1", "--grid 2")),
        *(("explain", one) for one in ("--knobs paper", "--w-sz 8")),
        *(("check", one) for one in ("--dataset pmpp-example", "--block 64", "--w-sz 8")),
    ],
)
def test_options_of_searches_are_refused_for_programs(tmp_path: Path, command: str, option: str) -> None:
    (tmp_path / "scale.cu").write_text(PROGRAM)
    refused = bfsbench(command, tmp_path / "scale.cu", *option.split(), check=2)
    assert f"{option.split()[0]} is for searches" in refused.stderr


def test_a_macro_with_several_values_makes_several_runs(tmp_path: Path) -> None:
    path, page, out = (tmp_path / name for name in ("three.cu", "page.html", "out.csv"))
    path.write_text(THREE_READS.replace("<<<2, 512>>>", "<<<1024 / BLOCK, BLOCK>>>"))
    words = ("-D", "BLOCK=128", "-D", "FAST", "-D", "BLOCK=256", "--html", page, "--out", out)
    found = json_of("explain", path, *words, "--format", "json")
    titles = ["three.cu BLOCK=128", "three.cu BLOCK=256"]
    assert [row["program"] for row in found["prediction"]["rows"]] == titles
    assert [found[f"levels_{place}"]["rows"][0]["grid"] for place in (1, 2)] == [8, 4]
    assert [of["title"] for of in page_data(page)["searches"]] == titles
    assert {row.split(",")[6] for row in out.read_text().splitlines()[1:]} == {"BLOCK=128", "BLOCK=256"}
    shown = bfsbench("explain", path, *words).stdout.splitlines()
    for title in titles:
        (bound,) = (line for line in shown if line.startswith(f"{title}: bound by "))
        assert " ms of the predicted " in bound
        assert f"{title}: The predicted time leaves out arithmetic." in shown
    many = [word for size in range(9) for word in ("-D", f"BLOCK={size}")]
    refused = bfsbench("explain", path, *many, check=2)
    assert "9 runs of the program: explain takes at most 8" in refused.stderr


def test_counters_of_two_versions_of_a_program_are_compared(tmp_path: Path) -> None:
    for name, text in (("old", THREE_READS), ("new", THREE_READS.replace("x[i]", "x[i * 8 % 1024]"))):
        (tmp_path / f"{name}.cu").write_text(text)
        words = ("-D", "FAST") if name == "new" else ()
        bfsbench("explain", tmp_path / f"{name}.cu", *words, "--out", tmp_path / f"{name}.csv")
    done = bfsbench("compare", tmp_path / "old.csv", tmp_path / "new.csv", check=1)
    assert re.search(r"program +sum +sectors +\d+ +\d+  more", done.stdout)


def test_out_names_no_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = bfsbench("explain", "push", *GRAPH, "--out", page, check=2)
    assert f"for a page, write --html {page}" in done.stderr and not page.exists()
