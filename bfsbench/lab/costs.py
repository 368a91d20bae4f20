"""Costs of a kernel that can be counted exactly in the emulator, whatever the machine.

They are sums over the accesses to memory of one search from one source, threads and blocks in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable

from bfsbench.emulator import Access

SECTOR = 32
"""Bytes that a GPU reads at least."""
WARP = 32

_WORD = 4

Cost = Callable[[Iterable[Access], Collection[int], int], int]
"""Of accesses, given the addresses of the graph's arrays and of the level array."""


def reads(accesses: Iterable[Access], graph: Collection[int], levels: int) -> int:
    """Reads of the graph's arrays."""
    return sum(1 for _ in _of_graph(accesses, graph))


def longest(accesses: Iterable[Access], graph: Collection[int], levels: int) -> int:
    """Reads of the graph's arrays by the thread that has most of them in a launch."""
    by_thread = Counter((one.launch, one.block, one.thread) for one in _of_graph(accesses, graph))
    return max(by_thread.values(), default=0)


def atomics(accesses: Iterable[Access], graph: Collection[int], levels: int) -> int:
    """Atomic operations on global memory other than the level array."""
    return sum(one.act == "update" and one.buffer not in (None, levels) for one in accesses)


def sectors(accesses: Iterable[Access], graph: Collection[int], levels: int) -> int:
    """Sectors of the graph's arrays that warps read.

    The k-th reads of a source line by the lanes of a warp are one load, which fetches each sector once.
    """
    turns: Counter[tuple[object, ...]] = Counter()
    fetched = set()
    for one in _of_graph(accesses, graph):
        thread = (one.launch, one.block, one.thread, one.line)
        load = (one.launch, one.block, one.thread // WARP, one.line, turns[thread])
        fetched.add((load, one.buffer, one.index * _WORD // SECTOR))
        turns[thread] += 1
    return len(fetched)


COSTS: dict[str, tuple[Cost, str]] = {
    "reads": (reads, "reads of the graph"),
    "longest": (longest, "reads of the graph by one thread in a launch"),
    "atomics": (atomics, "atomic operations on counters in global memory"),
    "sectors": (sectors, "sectors of 32 bytes of the graph"),
}
"""By the names in exercises: how each is counted, and what it is called."""


def _of_graph(accesses: Iterable[Access], graph: Collection[int]) -> Iterable[Access]:
    return (one for one in accesses if one.act == "read" and one.buffer in graph)
