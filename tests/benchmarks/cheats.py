"""Measures cheating programs from random groups of sources, and counts the statuses of their rows.

    nice python -m tests.benchmarks.cheats --cheats 200 --seed 1

The cheats are commands, shared libraries and Python functions of ``tests/entries/toys``, and kernels of
``tests/faulty``. Each cheat is measured from one to three random sources. A row may be ``ok`` only if its
time is at least the time that the cheat really works. An honest program that follows it must be ``ok``.
Prints the counts by kind. The exit code is 1 if a cheat got through.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "entries" / "toys"))

import attacks

from bfsbench.bench.options import Method
from bfsbench.bench.worker import Measured, Worker
from bfsbench.graphs.load import load
from bfsbench.rows.point import Point
from bfsbench.variants import add_folder
from tests.benchmarks.shared import asked
from tests.entries.toy_entries import HEAD, TOYS, compile_toys, declare

FAULTY = Path(__file__).parents[1] / "faulty"
NEVER = float("inf")
ATTACKS = {
    "writes_graph": NEVER,
    "writes_cache": NEVER,
    "child_writes_late": 100.0,
    "thread_writes_late": 100.0,
    "thread_writes_as_child_ends": 100.0,
    "one_honest_search": 100.0,
    "lies_once": 10.0,
    "claims_nothing": 1e-5,
    "keeps_answers": 50.0,
    "hides_a_daemon": NEVER,
}
"""Functions of ``toys/attacks.py`` on 300 vertices, with the least true time in ms."""
TOYS_OF = {
    "command": "wrong stale lies_high negative lies_low beyond leaves_child hides_child",
    "library": "wrong stale past_end before_begin leaves_child crashes fails",
    "python": "wrong stale returned_again past_end too_wide fractions texts ends",
}
KERNELS = ("lies", "vandal", "scribbles", "traps", "dies", "raises")
"""Variants of ``tests/faulty`` that spare their parent process, which is this program."""
KERNEL_GRAPH = "lattice(rows=9,columns=7)"


def declare_attack(folder: Path, how: str) -> str:
    """Declare a function of ``toys/attacks.py``, which is a command unless it takes a graph. Returns the
    name of the entry."""
    python = getattr(attacks, how).__code__.co_varnames[:1] == ("graph",)
    words = f'["{sys.executable}", "{{here}}/attacks.py", "{{graph}}", "{{answer}}", "{how}"]'
    call = f'python = "attacks:{how}"' if python else f"command = {words}"
    clock = f'[clock]\nheld_by = "{"ours" if python else "theirs"}"\n'
    covers = 'covers = ["initialisation", "transfers", "conversion"]\n'
    (folder / f"toy_{how}.toml").write_text(
        f"{HEAD.format(name=f'toy_{how}')}[call]\n{call}\n{clock}{covers}"
    )
    return f"toy_{how}"


def prepared(folder: Path) -> list[tuple[str, str, str, float]]:
    """Returns the cheats: kind, name of the variant, graph, and least true time in ms."""
    compile_toys(folder)
    (folder / "attacks.py").write_bytes((TOYS / "attacks.py").read_bytes())
    found = [("attack", declare_attack(folder, how), "path(n=300)", least) for how, least in ATTACKS.items()]
    for kind, hows in TOYS_OF.items():
        found += [(kind, declare(folder, kind, how).stem, "path(n=40)", NEVER) for how in hows.split()]
    return [*found, *((".cu", how, KERNEL_GRAPH, NEVER) for how in KERNELS)]


def measured(worker: Worker, variant: str, graph: str, sources: list[int], kernel: bool) -> list[Measured]:
    loaded = load(graph)
    backend, block = ("cpu", 32) if kernel else ("host", None)
    points = [Point(loaded.locator, source, variant, backend, None, block) for source in sources]
    return [*worker.run(points, {loaded.locator: loaded}, Method(3, 20))]


def main() -> None:
    given = asked(__doc__, cheats=200, seed=1)
    draw, counts, through = random.Random(given.seed), Counter[tuple[str, str]](), 0
    with tempfile.TemporaryDirectory(prefix="cheats-") as place:
        folder = Path(place)
        os.environ |= {"BFSBENCH_ENTRIES": place, "BFSBENCH_VARIANTS": str(FAULTY)}  # for worker processes
        os.environ["BFSBENCH_CACHE"] = f"{place}/cache"  # one of the cheats writes there
        cheats, worker = prepared(folder), Worker("cpu")
        add_folder(FAULTY)  # this process read the variable when it imported the variants
        for number in range(given.cheats):
            kind, variant, graph, least_ms = cheats[number % len(cheats)]
            sources = draw.sample(range(1, 39), draw.randint(1, 3))
            for one in measured(worker, variant, graph, sources, kind == ".cu"):
                row = one.row
                if row["status"] == "ok" and float(row["search_ms"]) < least_ms:
                    through += 1
                    print(f"{variant} from {sources}: ok with {row['search_ms']} ms")
                counts[kind, "a true time" if row["status"] == "ok" else row["status"]] += 1
            for one in measured(worker, "cpu_queue", graph, sources, False):
                assert one.row["status"] == "ok", one.row
            print(f"{number + 1} cheats, {counts.total()} rows, {through} got through", flush=True)
        worker.close()
    for (kind, outcome), count in sorted(counts.items()):
        print(f"{kind:8} {count:5} {outcome}")
    raise SystemExit(1 if through else 0)


if __name__ == "__main__":
    main()
