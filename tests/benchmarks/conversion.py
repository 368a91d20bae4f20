"""Conversion of a large SNAP edge list beside pandas and SciPy: time and peak memory, one process a run.

    python tests/benchmarks/conversion.py [--edges 64000000] [--order sorted] [--repeat 3] [--folder DIR]

Ours reads the text and leaves CSR, CSC, COO and statistics in the cache; the other reads it with pandas and
makes SciPy's CSR and CSC in memory. The graph is drawn with a skewed degree distribution and 14 edges a
vertex; 64 million edges, sorted by source as SNAP's files are, make a file of 1 GB. Runs alternate. Peak
memory counts mapped files too; processor time, of all threads, is steadier on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

EDGES_PER_VERTEX = 14
CHUNK = 1 << 20


def draw(num_edges: int, order: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Arcs between vertices whose expected degrees fall off as a power of their rank."""
    random = np.random.default_rng(1)
    num_vertices = max(2, num_edges // EDGES_PER_VERTEX)
    names = random.permutation(num_vertices)
    ends = [names[(num_vertices * random.random(num_edges) ** 2).astype(np.int64)] for _ in range(2)]
    if order == "sorted":
        arcs = ends[0] * num_vertices + ends[1]
        arcs.sort()
        ends = [arcs // num_vertices, arcs % num_vertices]
    return ends[0], ends[1]


def digits(ids: npt.NDArray[np.int64], end: bytes) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """Ids as rows of characters with ``end`` behind each, and which characters are not leading zeros."""
    width = len(str(int(ids.max())))
    powers = 10 ** np.arange(width - 1, -1, -1)
    characters = (ids[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    kept = ids[:, None] >= powers
    kept[:, -1] = True
    last = np.full((len(ids), 1), ord(end), np.uint8)
    return np.hstack([characters, last]), np.hstack([kept, np.ones_like(last, bool)])


def write(path: Path, num_edges: int, order: str) -> None:
    sources, targets = draw(num_edges, order)
    with path.open("wb") as file:
        file.write(b"# FromNodeId\tToNodeId\n")
        for start in range(0, num_edges, CHUNK):
            columns = [(sources, b"\t"), (targets, b"\n")]
            parts = [digits(ids[start : start + CHUNK], end) for ids, end in columns]
            text, kept = (np.hstack(halves) for halves in zip(*parts, strict=True))
            file.write(text[kept].tobytes())


def with_pandas(path: Path) -> int:
    import pandas as pd
    from scipy.sparse import coo_matrix

    frame = pd.read_csv(path, sep="\t", comment="#", header=None)
    ones = np.ones(len(frame), np.int8)
    size = int(frame.to_numpy().max()) + 1
    matrix = coo_matrix((ones, (frame[0], frame[1])), shape=(size, size))
    rows, columns = matrix.tocsr(), matrix.tocsc()
    return sum(array.nbytes for form in (rows, columns) for array in (form.indptr, form.indices))


def with_bfsbench(path: Path) -> int:
    from bfsbench.graphs.formats import read_edges
    from bfsbench.graphs.recipe import Recipe
    from bfsbench.graphs.store import GraphStore

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        store = GraphStore(Path(folder))
        store.build("benchmark", Recipe(), lambda: read_edges(path, Recipe()), "")
        return sum(file.stat().st_size for file in Path(folder).glob("*/*.npy"))


WAYS = {"bfsbench": with_bfsbench, "pandas + SciPy": with_pandas}


def run_one(way: str, path: Path) -> None:
    """Print time and processor time in seconds, bytes made, and the peak of resident memory in bytes."""
    start = time.perf_counter()
    made = WAYS[way](path)
    seconds = time.perf_counter() - start, time.process_time()
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert peak
    print(json.dumps([*seconds, made, int(peak.group(1)) * 1024]))


def compare(path: Path, repeat: int) -> None:
    runs: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    for way in [*WAYS] * repeat:
        command = [sys.executable, __file__, "--run", way, "--file", str(path)]
        runs[way].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    best = {way: [min(column) for column in zip(*runs[way], strict=True)] for way in WAYS}
    print(f"{path.stat().st_size / 1e6:,.0f} MB of text; best of {repeat}")
    print(f"{'':16}{'seconds':>9}{'processor':>11}{'made, MB':>10}{'peak, MB':>10}{'peak/made':>11}")
    for way, (seconds, processor, made, peak) in best.items():
        sizes = f"{made / 1e6:10,.0f}{peak / 1e6:10,.0f}{peak / made:11.2f}"
        print(f"{way:16}{seconds:9.2f}{processor:11.2f}{sizes}")
    print(f"bfsbench takes {best['bfsbench'][0] / best['pandas + SciPy'][0]:.2f} of the time")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edges", type=int, default=64_000_000)
    parser.add_argument("--order", choices=("sorted", "drawn"), default="sorted")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--folder", type=Path, help="where to put the file and the cache, for as long as it runs"
    )
    parser.add_argument("--run", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_one(options.run, options.file)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "edges.txt"
        write(path, options.edges, options.order)
        compare(path, options.repeat)


if __name__ == "__main__":
    main()
