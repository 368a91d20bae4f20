"""Follows searches of small graphs in detail: PMPP's kernels thread by thread, and a net routed through a
maze.

The emulator runs threads one after the other. If several threads can give a vertex its level, the first
thread that runs does so. Under another schedule it may be another thread, but the level is equal. The route
through a maze is a path of a breadth-first tree, followed back from the last cell.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Access, Buffer, Signal
from bfsbench.graphs.generators.shapes import maze, open_cells
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import resolve
from bfsbench.programs import DeviceGraph, KernelSetup
from bfsbench.programs.families.bfs.parents import parents_on_host, path
from bfsbench.programs.families.bfs.search import Levels, reference_levels
from bfsbench.support.errors import NoPathError, UsageError
from bfsbench.variants import find
from bfsbench.variants.base import KernelVariant
from bfsbench.variants.level_queues import LevelQueueVariant

WALL, PATH, TERMINAL, REACHED, UNREACHED = "█", "●", "◆", "·", " "


@dataclass(frozen=True)
class Route:
    """A routed maze of ``rows`` x ``columns`` cells.

    ``open`` is bool[rows, columns]. ``levels`` is int32[rows, columns], with -1 for unreached cells. ``path``
    holds the cells (row, column) from the first terminal to the last. It is empty if there is no way.
    """

    open: npt.NDArray[np.bool_]
    levels: npt.NDArray[np.int32]
    path: list[tuple[int, int]]

    @property
    def text(self) -> str:
        """The maze as text, with one character per cell."""
        cells = np.where(self.open, np.where(self.levels >= 0, REACHED, UNREACHED), WALL)
        for row, column in self.path:
            cells[row, column] = PATH
        cells[0, 0] = cells[-1, -1] = TERMINAL
        return "\n".join("".join(line) for line in cells)


def routed(graph: Graph) -> Route:
    """Searches a maze from its first cell. Returns the path to its last cell, read back from the parents.

    Raises UsageError if the graph is not a generated maze.
    """
    rows, columns, blocked, seed = _parameters(graph)
    levels = reference_levels(graph, 0)
    parents = next(parents_on_host(graph, levels)).links
    try:
        cells = [divmod(int(v), columns) for v in path(parents, graph.num_vertices - 1)]
    except NoPathError:
        cells = []
    return Route(open_cells(rows, columns, blocked, seed), levels.reshape(rows, columns), cells)


def _parameters(graph: Graph) -> tuple[int, int, float, int]:
    name, given = resolve(graph.locator or graph.full_name).drawn or ("", {})
    if name != maze.name:
        raise UsageError(f"{graph.name} is no maze: a maze is drawn from the generator '{maze.name}'")
    values = maze.complete(given)
    return int(values["rows"]), int(values["columns"]), float(values["blocked"]), int(values["seed"])


@dataclass(frozen=True)
class Thread:
    """One thread of a launch that has work."""

    index: int
    item: str
    """The vertex, edge or frontier entry that the thread works on, as text."""
    writes: tuple[int, ...]
    """Vertices that the thread gives a level. It is empty if the thread finds no unreached vertex."""


@dataclass(frozen=True)
class Step:
    """One launch, which expands the frontier of one level."""

    level: int
    threads: int
    """Number of threads launched."""
    working: tuple[Thread, ...]
    """The threads that read the graph's arrays of neighbours."""


@dataclass(frozen=True)
class Commit:
    """How one block of the privatised kernel (Fig. 15.15) moves its private frontier to the global
    frontier."""

    block: int
    private: tuple[int, ...]
    """Vertices queued in the block's shared memory."""
    start: int
    """The place of these vertices in the global frontier, which one atomic addition reserves."""


def _edge(graph: Graph, index: int, read: list[int]) -> str:
    return f"edge {graph.edge_sources[index]}→{graph.column_indices[index]}"


ITEMS: dict[str, Callable[[Graph, int, list[int]], str]] = {
    "frontier_numbers": lambda graph, index, read: f"vertex {index}",
    "pull": lambda graph, index, read: f"vertex {index}",
    "edge_frontier_numbers": _edge,
    "push_frontier": lambda graph, index, read: f"entry {index}: vertex {read[0]}",
}
"""The traced variants (Figs. 15.6, 15.8, 15.10 and 15.12). Each has a function that returns a thread's item
as text, from the thread's index and the frontier entries that it has read."""


def trace(graph: Graph, source: int, variant: str) -> tuple[list[Step], Levels]:
    """Returns all launches of a search, and the levels of the vertices.

    In a variant without a frontier queue, the last launch finds no vertex. Blocks have one thread each, so
    that no thread is left without work.
    """
    with CpuDevice(workers=1, watched=True) as device:
        search = _prepared(device, graph, variant, 1)
        steps = [
            _step(search, variant, level, accesses)
            for level, accesses in enumerate(_launches(device, search, source))
        ]
        return steps, search.levels()


def commits(graph: Graph, source: int, block_size: int) -> list[list[Commit]]:
    """Returns how each block of the privatised kernel moves its private frontier to the global frontier.

    There is one list per launch, with one element per block, in the order of the blocks.
    """
    with CpuDevice(workers=1, watched=True) as device:
        search = _prepared(device, graph, "push_private", block_size)
        return [list(_commits(search, accesses)) for accesses in _launches(device, search, source)]


def _prepared(device: CpuDevice, graph: Graph, name: str, block: int) -> KernelVariant:
    variant = find(name)
    assert issubclass(variant, KernelVariant)
    search = variant(KernelSetup(DeviceGraph(device, graph), None, block, variant.knob_values({})))
    search.prepare()
    return search


def _launches(device: CpuDevice, search: KernelVariant, source: int) -> Iterator[list[Access]]:
    """Runs a search. Yields the memory accesses of each launch."""
    search.reset(source)
    with device.traced() as accesses:
        search.traverse(source)
    for _, launch in groupby(accesses, key=lambda access: access.launch):
        yield list(launch)


def _of(accesses: Iterable[Access], *buffers: object) -> Iterator[Access]:
    """Returns the accesses that go to these buffers of a search."""
    addresses = {buffer.pointer.value for buffer in buffers if isinstance(buffer, Buffer | Signal)}
    return (access for access in accesses if access.buffer in addresses)


def _step(search: KernelVariant, variant: str, level: int, accesses: list[Access]) -> Step:
    graph = search.host_graph
    by_thread: dict[int, list[Access]] = {}
    for access in accesses:
        by_thread.setdefault(access.block, []).append(access)
    neighbours = [
        vars(search.graph).get(name) for name in ("row_offsets", "column_offsets", "column_indices")
    ]
    queues = search.queues if isinstance(search, LevelQueueVariant) else []
    working = []
    for index, done in sorted(by_thread.items()):
        if any(_of(done, *neighbours)):
            queued = [access.before for access in _of(done, *queues) if access.act == "read"]
            given = [a.index for a in _of(done, search.level_array) if a.before != a.after == level + 1]
            working.append(Thread(index, ITEMS[variant](graph, index, queued), tuple(given)))
    return Step(level, len(by_thread), tuple(working))


def _commits(search: KernelVariant, accesses: list[Access]) -> Iterator[Commit]:
    assert isinstance(search, LevelQueueVariant)
    for block in sorted({access.block for access in accesses}):
        mine = [access for access in accesses if access.block == block]
        starts = [access.before for access in _of(mine, search.sizes) if access.act == "update"]
        queued = {a.index: a.after for a in _of(mine, *search.queues) if a.act == "write"}
        yield Commit(block, tuple(queued[place] for place in sorted(queued)), starts[-1])
