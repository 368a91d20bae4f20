"""Follows searches of small graphs in detail: thread by thread for the kernels of the book PMPP (*Programming
Massively Parallel Processors*), and along a route through a maze.

The emulator runs threads one after the other. If several threads can set the level of a vertex, the first
thread that runs sets it. On a GPU, another thread may be first, but it sets the same level. The route through
a maze is a path of a breadth-first tree, followed back from the last cell.

``trace_tables`` makes tables of the book's example graph. They show its matrix, three formats, the levels
from each root, the work of threads and blocks, and the launched grids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Access, Buffer, Signal
from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.series import every_series
from bfsbench.graphs.generators.kinds import maze, open_cells
from bfsbench.graphs.graph import Graph, Ids, Offsets
from bfsbench.graphs.load import resolve
from bfsbench.programs import DeviceGraph, KernelSetup
from bfsbench.programs.families.bfs.parents import parents_on_host, path
from bfsbench.programs.families.bfs.search import Levels, reference_levels
from bfsbench.reports.table import Cell, Table
from bfsbench.support.errors import NoPathError, UsageError
from bfsbench.variants import all_variants, find
from bfsbench.variants.base import KernelVariant
from bfsbench.variants.level_queues import LevelQueueVariant

if TYPE_CHECKING:
    from bfsbench.experiments.drawings import Trace

WALL, PATH, TERMINAL, REACHED, UNREACHED = "█", "●", "◆", "·", " "


@dataclass(frozen=True)
class Route:
    """A maze of cells in rows and columns, with the levels of a search and a route.

    ``open`` is bool[rows, columns]. ``levels`` is int32[rows, columns], with -1 for unreached cells. ``path``
    holds the cells (row, column) of the route from the first cell to the last. It is empty if there is no
    route.
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
    """Searches a maze from its first cell. Returns the maze with the levels, and with the path to its last
    cell.

    Raises UsageError if the graph is not a generated maze.
    """
    name, given = resolve(graph.locator or graph.full_name).drawn or ("", {})
    if name != maze.name:
        raise UsageError(f"{graph.name} is no maze: a maze is drawn from the generator '{maze.name}'")
    values = maze.complete(given)
    rows, columns = int(values["rows"]), int(values["columns"])
    levels = reference_levels(graph, 0)
    parents = next(parents_on_host(graph, levels)).links
    try:
        cells = [divmod(int(v), columns) for v in path(parents, graph.num_vertices - 1)]
    except NoPathError:
        cells = []
    is_open = open_cells(rows, columns, float(values["blocked"]), int(values["seed"]))
    return Route(is_open, levels.reshape(rows, columns), cells)


@dataclass(frozen=True)
class Thread:
    """A thread that has work to do in a kernel launch."""

    index: int
    item: str
    """Describes the vertex, edge or frontier entry that the thread works on."""
    writes: tuple[int, ...]
    """Vertices to which the thread gives a level. Empty if the thread finds no unreached vertex."""


@dataclass(frozen=True)
class Step:
    """One kernel launch, which expands the frontier of one level."""

    level: int
    threads: int
    """Number of threads in the launch."""
    working: tuple[Thread, ...]
    """The threads that read at least one neighbour in the arrays of the graph."""


@dataclass(frozen=True)
class Commit:
    """The step in which a block of the kernel ``push_private`` (PMPP, Fig. 15.14) copies the vertices of its
    queue in shared memory to the frontier in global memory."""

    block: int
    private: tuple[int, ...]
    """Vertices queued in the block's shared memory."""
    start: int
    """Index of the block's first vertex in the global frontier. One atomic addition reserves the space."""


ITEMS: dict[str, Callable[[Graph, int, list[int]], str]] = {
    "frontier_numbers": lambda graph, index, read: f"vertex {index}",
    "pull": lambda graph, index, read: f"vertex {index}",
    "edge_frontier_numbers": lambda graph, at, read: (
        f"edge {graph.edge_sources[at]}→{graph.column_indices[at]}"
    ),
    "push_frontier": lambda graph, index, read: f"entry {index}: vertex {read[0]}",
}
"""The traced variants (PMPP, Figs. 15.6, 15.8, 15.10 and 15.12). Each variant has a function that returns a
text about what a thread works on. Its arguments are the graph, the thread's index, and the frontier entries
that the thread has read."""


def trace(graph: Graph, source: int, variant: str) -> tuple[list[Step], Levels]:
    """Searches a graph in the emulator. Returns all launches of the search, and the levels of the vertices.

    Each block has one thread, so that no launch has more threads than work. A variant without a queue of the
    frontier ends with a launch that reaches no vertex.
    """
    steps = []
    with CpuDevice(workers=1, watched=True) as device:
        search = _prepared(device, graph, variant, 1)
        launches = _launches(device, search, source)
        arrays = vars(search.graph)
        neighbours = [arrays.get(name) for name in ("row_offsets", "column_offsets", "column_indices")]
        queues = search.queues if isinstance(search, LevelQueueVariant) else []
        for level, by_thread in enumerate(launches):
            working = []
            for index, done in by_thread.items():
                if any(_of(done, *neighbours)):
                    read = [a.before for a in _of(done, *queues) if a.act == "read"]
                    given = [
                        a.index for a in _of(done, search.level_array) if a.before != a.after == level + 1
                    ]
                    working.append(Thread(index, ITEMS[variant](graph, index, read), tuple(given)))
            steps.append(Step(level, len(by_thread), tuple(working)))
        return steps, search.levels()


def commits(graph: Graph, source: int, block_size: int) -> list[list[Commit]]:
    """Searches a graph with ``push_private``, whose blocks have private queues. Returns how each block moves
    its vertices to the global frontier.

    There is one list per launch, with one element per block, in the order of the blocks.
    """
    made: list[list[Commit]] = []
    with CpuDevice(workers=1, watched=True) as device:
        search = _prepared(device, graph, "push_private", block_size)
        assert isinstance(search, LevelQueueVariant)
        for by_block in _launches(device, search, source):
            made.append([])
            for block, done in by_block.items():
                starts = [a.before for a in _of(done, search.sizes) if a.act == "update"]
                queued = {a.index: a.after for a in _of(done, *search.queues) if a.act == "write"}
                made[-1].append(Commit(block, tuple(queued[place] for place in sorted(queued)), starts[-1]))
    return made


def _prepared(device: CpuDevice, graph: Graph, name: str, block: int) -> KernelVariant:
    variant = find(name)
    assert issubclass(variant, KernelVariant)
    search = variant(KernelSetup(DeviceGraph(device, graph), None, block, variant.knob_values({})))
    search.prepare()
    return search


def _launches(device: CpuDevice, search: KernelVariant, source: int) -> list[dict[int, list[Access]]]:
    """Runs a search. Returns one dictionary per launch. The keys of the dictionary are the indices of blocks,
    and the values are the memory accesses of each block."""
    search.reset(source)
    with device.traced() as accesses:
        search.traverse(source)
    launches: dict[int, dict[int, list[Access]]] = {}
    for access in accesses:
        launches.setdefault(access.launch, {}).setdefault(access.block, []).append(access)
    return [dict(sorted(by_block.items())) for by_block in launches.values()]


def _of(accesses: Iterable[Access], *buffers: object) -> Iterator[Access]:
    """Yields only the accesses that go to one of the given buffers."""
    addresses = {buffer.pointer.value for buffer in buffers if isinstance(buffer, Buffer | Signal)}
    return (access for access in accesses if access.buffer in addresses)


BLOCK_SIZE = 2
"""Threads per block in the tables of the kernel with private queues. The number is small, so that several
blocks have vertices to copy."""


def trace_tables(outcome: Outcome, drawing: Trace) -> Iterator[Table]:
    """Yields all tables of the drawing ``trace``, for each graph that the drawing names."""
    for name in outcome.graphs_of(drawing):
        graph, title = outcome.loaded[name], outcome.title(name)
        vertices = tuple(map(str, range(graph.num_vertices)))
        matrix = np.zeros((graph.num_vertices, graph.num_vertices), np.int64)
        np.add.at(matrix, (graph.edge_sources, graph.column_indices), 1)
        lines: list[tuple[Cell, ...]] = [(str(v), *row) for v, row in enumerate(matrix.tolist())]
        yield Table("adjacency", f"Adjacency matrix of {title}", ("from \\ to", *vertices), lines)
        yield from _formats(graph, title)
        lines = []
        for source in drawing.sources:
            levels = reference_levels(graph, source)
            lines.append((f"root {source}", *(str(level) if level >= 0 else "-" for level in levels)))
        heading = f"Levels of the vertices of {title}"
        yield Table("levels_from_roots", heading, ("levels from", *vertices), lines)
        for source in drawing.sources:
            for variant in ITEMS:
                yield _threads(f"{variant} on {title} from {source}", trace(graph, source, variant)[0])
            yield _private_frontiers(graph, title, source)
        yield _grids(outcome, name)


def _formats(graph: Graph, title: str) -> Iterator[Table]:
    """Yields three tables of the graph's arrays: as compressed rows, as compressed columns, and as a list of
    arcs."""
    forms: dict[str, dict[str, Ids | Offsets]] = {
        "CSR": {"row pointers srcPtrs": graph.row_offsets, "column indices dst": graph.column_indices},
        "CSC": {"column pointers dstPtrs": graph.column_offsets, "row indices src": graph.row_indices},
        "COO": {"row indices src": graph.edge_sources, "column indices dst": graph.column_indices},
    }
    for form, arrays in forms.items():
        lines: list[tuple[Cell, ...]] = [
            (label, " ".join(map(str, array.tolist()))) for label, array in arrays.items()
        ]
        yield Table(form.lower(), f"{form} of {title}", ("array", "values"), lines)


def _threads(title: str, steps: list[Step]) -> Table:
    """Returns a table of the threads that have work, with the vertices whose level each thread sets."""
    lines: list[tuple[Cell, ...]] = []
    for step in steps:
        for thread in step.working:
            wrote = ", ".join(map(str, thread.writes)) or "nothing"
            lines.append((f"{step.level} → {step.level + 1}", str(thread.index), thread.item, wrote))
    launched = {step.threads for step in steps}
    threads = " to ".join(map(str, sorted({min(launched), max(launched)})))
    launches = f"{len(steps)} launches of {threads} threads."
    notes = (f"{launches} The table leaves out threads that return immediately.",)
    columns = ("levels", "thread", "works_on", "gives_a_level_to")
    return Table("threads", f"What threads do: {title}", columns, lines, notes)


def _private_frontiers(graph: Graph, title: str, source: int) -> Table:
    """Returns a table of the vertices that each block queues in its shared memory."""
    lines: list[tuple[Cell, ...]] = []
    for level, blocks in enumerate(commits(graph, source, BLOCK_SIZE)):
        for commit in blocks:
            queued = ", ".join(map(str, commit.private)) or "nothing"
            lines.append((f"{level} → {level + 1}", str(commit.block), queued, str(commit.start)))
    heading = f"Privatised frontiers: push_private on {title} from {source}, blocks of {BLOCK_SIZE} threads"
    columns = ("levels", "block", "queues_in_shared_memory", "commits_them_from_place")
    return Table("private", heading, columns, lines)


def _grids(outcome: Outcome, graph: str) -> Table:
    """Returns a table of the grids that each search launches.

    Some kernels run several consecutive levels in one launch. Such levels count as one grid.
    """
    lines: list[tuple[Cell, ...]] = []
    for series in every_series(outcome.experiment):
        profiled = series.select(outcome.levels[outcome.levels["graph"] == graph])
        for source, search in profiled.groupby("source"):
            kernels = list(search.sort_values("level")["kernel"])
            declared = all_variants()[series.variant]
            layers = declared.layers if issubclass(declared, KernelVariant) else ()
            before = [None, *kernels]
            grids = sum(one not in layers or one != last for last, one in zip(before, kernels, strict=False))
            lines.append((series.title, int(float(str(source))), len(kernels), grids))
    columns = ("search", "root", "levels_expanded", "grids_launched")
    return Table("grids", f"Grids launched on {outcome.title(graph)}, as profiled", columns, lines)
