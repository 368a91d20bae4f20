"""The result of `tune` with a tenth of the points, against the best of all points.

    python tests/benchmarks/tune_study.py FOLDER GRAPH...

Sweeps the whole of a space of bfs4k's knobs over the graphs with `bfsbench run`, then tunes in the same space
with a tenth of its points. The rows go to FOLDER/exhaustive.csv and FOLDER/tune-N.csv, where a later call
goes on. As times vary, the configuration found is also looked up among the rows of the sweep.
BFSBENCH_STUDY_BACKEND chooses another backend than `auto`.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

from tabulate import tabulate

from bfsbench.bench.results import read_rows
from bfsbench.graphs.load import resolve
from bfsbench.variants.bfs4k import Bfs4k

SPACE = {
    "--block": ("512", "1024"),
    "--k1": ("1", "4", "8", "32"),
    "--k2": ("0",),  # so that only one kernel is compiled
    "--k4": ("0", "1", "2", "4"),
    "--k5": ("0", "1", "4"),
    "--k6": ("64", "128", "256", "512"),
}
SIZE = math.prod(map(len, SPACE.values()))
REPEATS = 10
"""More than usual: the fastest of hundreds of points is partly luck."""


def bfsbench(command: str, out: Path, *words: str) -> None:
    """Run a command over the space, going on where ``out`` stops; other knobs keep their defaults."""
    fixed = {knob.option: (str(knob.default),) for knob in Bfs4k.knobs}
    axes = [word for option, values in (fixed | SPACE).items() for word in (option, ",".join(values))]
    backend = os.environ.get("BFSBENCH_STUDY_BACKEND", "auto")
    where = ["--backend", backend, "--grid", "auto", "--repeats", str(REPEATS), "--out", str(out), "--resume"]
    subprocess.run([sys.executable, "-m", "bfsbench", command, *words, *where, *axes], check=True)


def times(path: Path, graph: str) -> dict[tuple[str, str], float]:
    """ms by (block, knobs) of the rows of a graph."""
    rows = [row for row in read_rows(path) if row["graph"] == resolve(graph).full_name]
    return {(row["block"], row["knobs"]): float(row["search_ms"]) for row in rows if row["status"] == "ok"}


def main() -> None:
    folder, graphs = Path(sys.argv[1]), sys.argv[2:]
    exhaustive = folder / "exhaustive.csv"
    bfsbench("run", exhaustive, "--variant", Bfs4k.name, "--dataset", ",".join(graphs))
    table = []
    for number, graph in enumerate(graphs):
        tuned = folder / f"tune-{number}.csv"
        bfsbench("tune", tuned, "--variant", Bfs4k.name, "--dataset", graph, "--points", str(SIZE // 10))
        swept, found = times(exhaustive, graph), times(tuned, graph)
        best, chosen = min(swept.values()), min(found, key=found.__getitem__)
        ratios = (found[chosen] / best, swept[chosen] / best)
        table.append((graph, len(swept), best, len(found), found[chosen], *ratios, *chosen))
    headers = ["graph", "points", "best ms", "tune's points", "its best ms", "ratio", "ratio in the sweep"]
    print(tabulate(table, headers=[*headers, "block", "knobs"], floatfmt=".4f"))


if __name__ == "__main__":
    main()
