"""Small graphs followed in detail: PMPP's kernels thread by thread, and a net routed through a maze.

The emulator runs the threads one after the other. Where several threads can give a vertex its level, the
first to run does. Other schedules have other winners, but the same levels. The route through a maze is a path
of a breadth-first tree, followed back from one terminal.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Access, Buffer, Signal
from bfsbench.graphs.generators.lattice import MAZE, open_cells
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
    """A routed maze. ``open``: bool[rows, columns]; ``levels``: int32[rows, columns], -1 where unreached;
    ``path``: cells (row, column) from the first terminal to the last, empty where no way leads there."""

    open: npt.NDArray[np.bool_]
    levels: npt.NDArray[np.int32]
    path: list[tuple[int, int]]

    @property
    def text(self) -> str:
        """A character a cell."""
        cells = np.where(self.open, np.where(self.levels >= 0, REACHED, UNREACHED), WALL)
        for row, column in self.path:
            cells[row, column] = PATH
        cells[0, 0] = cells[-1, -1] = TERMINAL
        return "\n".join("".join(line) for line in cells)


def routed(graph: Graph) -> Route:
    """Search a maze from its first cell and read the path to its last one back from the parents.

    Raises UsageError when the graph is no generated maze.
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
    if name != MAZE.name:
        raise UsageError(f"{graph.name} is no maze: a maze is drawn from the generator '{MAZE.name}'")
    values = MAZE.complete(given)
    return int(values["rows"]), int(values["columns"]), float(values["blocked"]), int(values["seed"])


@dataclass(frozen=True)
class Thread:
    """One thread of one launch that has work."""

    index: int
    item: str
    """Index of its vertex, edge or entry of the frontier."""
    writes: tuple[int, ...]
    """Vertices that it gives a level; empty where it finds no unreached one."""


@dataclass(frozen=True)
class Step:
    """One launch, which expands a level's frontier."""

    level: int
    threads: int
    """Number of threads launched."""
    working: tuple[Thread, ...]
    """The threads that read the graph's arrays of neighbours."""


@dataclass(frozen=True)
class Commit:
    """How one block of the privatised kernel moves its frontier to the global one (Fig. 15.15)."""

    block: int
    private: tuple[int, ...]
    """Vertices queued in its shared memory."""
    start: int
    """Their place in the global frontier, reserved by one atomic addition."""


def _edge(graph: Graph, index: int, read: list[int]) -> str:
    return f"edge {graph.edge_sources[index]}→{graph.column_indices[index]}"


ITEMS: dict[str, Callable[[Graph, int, list[int]], str]] = {
    "frontier_numbers": lambda graph, index, read: f"vertex {index}",
    "pull": lambda graph, index, read: f"vertex {index}",
    "edge_frontier_numbers": _edge,
    "push_frontier": lambda graph, index, read: f"entry {index}: vertex {read[0]}",
}
"""The traced variants (Figs. 15.6, 15.8, 15.10 and 15.12), and the item of a thread, by its index and by what
it has read from the frontier."""


def trace(graph: Graph, source: int, variant: str) -> tuple[list[Step], Levels]:
    """All launches of a search, and the levels. Without a frontier queue the last launch finds nothing.
    Blocks have one thread each, so that no thread is without an item."""
    with CpuDevice(workers=1, watched=True) as device:
        search = _prepared(device, graph, variant, 1)
        steps = [
            _step(search, variant, level, accesses)
            for level, accesses in enumerate(_launches(device, search, source))
        ]
        return steps, search.levels()


def commits(graph: Graph, source: int, block_size: int) -> list[list[Commit]]:
    """What each block of each launch of the privatised kernel commits, in the order of their indices."""
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
    """The accesses of each launch of a search."""
    search.reset(source)
    with device.traced() as accesses:
        search.traverse(source)
    for _, launch in groupby(accesses, key=lambda access: access.launch):
        yield list(launch)


def _of(accesses: Iterable[Access], *buffers: object) -> Iterator[Access]:
    """The accesses to some buffers of a search."""
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
