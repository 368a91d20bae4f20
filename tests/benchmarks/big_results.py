"""Measures the time and memory of commands on a result file of a million rows.

    python -m tests.benchmarks.big_results [--rows 1000000] [--file FILE] [COMMAND]...

Makes the file if it is not there. It has five graphs, six searches (among them a host program), 25 grids, 16
blocks, knobs, and sources. A point has five samples, and one point in a hundred failed. COMMANDs are names of
the table below. By default, all of them run.

This table has the least processor time and the peak memory of three runs. Other processes shared the two
cores of the Intel Xeon.

    rows        text              page              resume
    100,000      2.0 s  0.23 GB    2.4 s  0.26 GB   1.8 s  0.21 GB
    1,000,000   11.3 s  1.20 GB   13.8 s  1.28 GB   8.5 s  0.79 GB

Resuming takes longer if the file lacks columns, because it is then rewritten.
"""

import argparse
import csv
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bfsbench.bench.options import ALTERNATING
from bfsbench.rows.columns import COLUMNS
from bfsbench.rows.provenance import host_columns

COMMANDS = {
    "text": ("report", "{file}"),
    "best as csv": ("report", "--table", "best", "--format", "csv", "--backend", "cuda,host", "{file}"),
    "json": ("report", "--format", "json", "{file}"),
    "page": ("report", "--format", "html", "--out", "{folder}/page.html", "{file}"),
    "bars": ("report", "--format", "svg", "--plot", "bars", "--out", "{folder}", "{file}"),
    "compare": ("compare", "{file}", "{file}"),
    "resume": (
        *("run", "--dataset", "path(n=8)", "--variant", "cpu_queue", "--repeats", "5"),
        *("--source", "0,1,2,3,4,5,6,7", "--resume", "--out", "{file}"),
    ),
}
GRAPHS = {f"kronecker(scale={scale},edge_factor=16):symmetrised": 1 << scale for scale in range(16, 21)}
KNOBS = {
    "frontier_numbers": [""],
    "virtual_warp": [f"W_SZ={width}" for width in (2, 4, 8, 16, 32)],
    "luo": [""],
    "adaptive": ["LIKELY_FIRST=0", "LIKELY_FIRST=1"],
    "pull": [""],
}
"""The settings of each search of the GPU."""
GRIDS = ["auto", *(str(132 * factor) for factor in range(1, 25))]
BLOCKS = [str(64 * factor) for factor in range(1, 17)]
MACHINE = host_columns()
GPU = {
    **{"gpu": "NVIDIA H200", "gpu_bus_id": "0000:18:00.0", "compute_capability": "9.0"},
    **{"driver": "580.65", "cuda": "13.0", "sm_clock_mhz": "1980", "memory_clock_mhz": "3201"},
    "throttle": "none",
}


def axes() -> Iterator[dict[str, str]]:
    """Yields the axes of rows, for ever more sources."""
    names = ("backend", "graph", "variant", "grid", "block", "knobs", "source")
    for source in map(str, itertools.count()):
        for graph in GRAPHS:
            yield dict(zip(names, ("host", graph, "cpu_queue", "", "", "", source), strict=True))
            for variant, settings in KNOBS.items():
                for grid, block, knobs in itertools.product(GRIDS, BLOCKS, settings):
                    yield dict(zip(names, ("cuda", graph, variant, grid, block, knobs, source), strict=True))


def row(point: dict[str, str], draw: random.Random, number: int) -> dict[str, str]:
    """Returns the row of a point, which failed one time in a hundred."""
    num_vertices = GRAPHS[point["graph"]]
    known = {
        **point,
        **{"family": "bfs", "status": "ok", "method": ALTERNATING},
        **{"num_vertices": str(num_vertices), "num_edges": str(num_vertices * 32)},
        **dict.fromkeys(("graph_checksum", "source_checksum"), f"{num_vertices:064x}"),
        **MACHINE,
        "taken_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_750_000_000 + number // 4)),
        **(GPU if point["backend"] == "cuda" else {}),
    }
    if point["backend"] == "cuda" and draw.random() < 0.01:
        return known | {"status": "timeout", "reason": "no answer within 10 s"}
    samples = sorted(num_vertices / 1e6 * draw.uniform(0.2, 3) + draw.uniform(0, 0.02) for _ in range(5))
    texts = [f"{sample:.6f}" for sample in samples]
    edges = num_vertices * 31
    mteps = edges / samples[0] / 1e3
    return known | {
        **{"search_ms": texts[0], "search_ms_median": texts[2], "search_ms_max": texts[4]},
        **{"search_ms_samples": ";".join(texts), "wall_ms": texts[0], "wall_ms_samples": ";".join(texts)},
        **{"reset_ms": "0.004512", "prepare_ms": "12.253001", "preprocess_ms": "0.000000"},
        **{"depth": "7", "reached": str(num_vertices - 7), "edges_traversed": str(edges)},
        **{"mteps": f"{mteps:.3f}", "mteps_graph500": f"{mteps / 2:.3f}"},
    }


def make(path: Path, num_rows: int) -> None:
    draw = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        points = itertools.islice(axes(), num_rows)
        writer.writerows(row(point, draw, number) for number, point in enumerate(points))


def run_command(command: list[str]) -> tuple[float, float, float, int]:
    """Returns the seconds, the processor seconds, the peak memory in GB, and the exit code of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "bfsbench", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        sys.exit(said)
    busy = used.ru_utime + used.ru_stime
    return time.perf_counter() - start, busy, used.ru_maxrss * 1024 / 1e9, code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--file", type=Path, default=Path(tempfile.gettempdir()) / "bfsbench-big.csv")
    parser.add_argument("commands", nargs="*", default=list(COMMANDS))
    chosen = parser.parse_args()
    if not chosen.file.exists():
        make(chosen.file, chosen.rows)
    print(f"{chosen.file.stat().st_size / 1e6:,.0f} MB")
    print(f"{'command':14} {'s':>7} {'CPU s':>7} {'GB':>6} {'exit':>5}")
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.commands:
            words = [word.format(file=chosen.file, folder=folder) for word in COMMANDS[name]]
            seconds, busy, memory, code = run_command(words)
            made = ", ".join(f"{p.name} {p.stat().st_size / 1e6:.1f} MB" for p in Path(folder).iterdir())
            print(f"{name:14} {seconds:7.1f} {busy:7.1f} {memory:6.2f} {code:5} {made}", flush=True)


if __name__ == "__main__":
    main()
