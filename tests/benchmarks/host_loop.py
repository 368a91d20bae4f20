"""The cost per level of returning to the host: a path has one vertex per level, so its levels are overhead
only.

    python tests/benchmarks/host_loop.py [BACKEND] [VERTICES]

Per variant: time per level of the whole search; time per launch when as many launches are issued back to back
and waited for once; and the difference, which is the cost of reading the level's outcome on the host.
"""

from __future__ import annotations

import sys
import time

from tabulate import tabulate

import bfsbench
from bfsbench.bench.session import Session
from bfsbench.programs import DeviceClock
from bfsbench.variants.base import LevelKernelVariant

BLOCK = 256
RUNS = 5


def per_level_us(
    session: Session, variant: type[LevelKernelVariant], levels: int
) -> tuple[float, float, float]:
    """(search by events, search by the host's clock, back-to-back launch) in microseconds a level."""
    assert session.device is not None
    search = session.build(variant.name, None, BLOCK, variant.knob_values({}))
    assert isinstance(search, LevelKernelVariant)
    search.prepare()
    clock = DeviceClock(session.device)
    by_events, by_host, launches = [], [], []
    for _ in range(RUNS):
        started = time.perf_counter()
        clock.start()
        search.reset(0)
        search.traverse(0)
        by_events.append(clock.stop())
        by_host.append((time.perf_counter() - started) * 1e3)
    for _ in range(RUNS):
        search.reset(0)
        clock.start()
        for level in range(levels):
            search.expand(search.num_blocks, level)
        launches.append(clock.stop())
    return min(by_events) * 1e3 / levels, min(by_host) * 1e3 / levels, min(launches) * 1e3 / levels


def main() -> None:
    backend = sys.argv[1] if len(sys.argv) > 1 else "auto"
    vertices = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    session = Session(backend)
    assert session.device is not None
    session.use(bfsbench.generate("path", n=vertices))
    rows = []
    for variant in bfsbench.list_variants().values():
        if issubclass(variant, LevelKernelVariant) and variant.name != "simple":
            events, host, launch = per_level_us(session, variant, vertices - 1)
            rows.append((variant.name, events, host, launch, events - launch))
    print(session.device.describe()["gpu"])
    headers = ["variant", "search us/level", "by host clock", "launch alone us", "reading back us"]
    print(tabulate(rows, headers=headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
