"""What a variant is: a declaration that people and programs read, and a host loop over the device interface.

A variant belongs to a family: the question that it answers about a graph (:mod:`bfsbench.families`). The
classes here are those of all families, and of breadth-first searches; ``all_pairs.py`` has those of all-pairs
shortest paths. A search's life, driven by :mod:`bfsbench.bench.measure`: it is constructed for a graph and a
launch shape, ``prepare`` compiles and allocates (untimed), then for every search ``reset`` and ``traverse``
run (timed), and ``levels`` brings the answer to the host.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from bfsbench.bench.point import KnobValue
from bfsbench.errors import UsageError
from bfsbench.paths import CUDA_SRC

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.backends.base import Argument, Buffer, Device, Kernel
    from bfsbench.graphs.graph import Graph


Made = TypeVar("Made")

UNREACHED = -1
"""Level of a vertex that has not been reached, in kernels too (``graph.cuh``)."""

PRESETS = ("default", "paper", "auto")
"""Where values of knobs come from that nobody gave: their defaults, the paper, the paper's rules."""


@dataclass(frozen=True)
class Knob:
    """A parameter of a variant beside grid and block, named as its paper names it."""

    name: str
    default: KnobValue
    meaning: str
    choices: tuple[KnobValue, ...] = ()
    """The legal values; empty when minimum and maximum bound them instead."""
    minimum: float | None = None
    maximum: float | None = None
    compile_time: bool = False
    """Compiled into the kernel as a macro of the same name, rather than passed to it."""

    @property
    def option(self) -> str:
        """The command line's spelling: ``W_SZ`` is ``--w-sz``."""
        return "--" + self.name.lower().replace("_", "-")

    @property
    def legal(self) -> str:
        """The legal values in words."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.minimum:g} .. {self.maximum:g}"

    def check(self, value: str | KnobValue) -> KnobValue:
        """The value in the knob's own type. Raises UsageError when it is none or out of range."""
        kind = type(self.default)
        try:
            typed = kind(value)
        except ValueError:
            raise UsageError(f"knob {self.name}: '{value}' is not of type {kind.__name__}") from None
        if kind is int and not isinstance(value, str) and typed != value:
            raise UsageError(f"knob {self.name}: {value} is not a whole number")
        below = self.minimum is not None and not isinstance(typed, str) and typed < self.minimum
        above = self.maximum is not None and not isinstance(typed, str) and typed > self.maximum
        if below or above or (self.choices and typed not in self.choices):
            raise UsageError(f"knob {self.name}: {value} is out of range ({self.legal})")
        return typed


@dataclass(frozen=True)
class Traffic:
    """Bytes that an algorithm has to move through global memory, for holding its searches against what a
    device can move. Ids, levels and offsets have 4; what races add, such as duplicates, is left out."""

    per_edge: int = 8
    """Of an edge that is read: its entry in the adjacency array, and what tells if its other end is new."""
    per_frontier_edge: int = 0
    """Of an edge out of the frontier beyond that, where all edges are read to find these."""
    per_vertex: int = 20
    """Of a vertex reached, once: its level, two offsets, and its place in a queue, written and read."""
    per_scan: int = 0
    """Of every vertex in every level, reached or not: what is read of all to find the frontier."""


LEVEL_SCAN = Traffic(per_vertex=12, per_scan=4)
"""Of searches whose frontier is the vertices at the current level: no queue, but all levels are read."""


class DeviceGraph:
    """A graph's arrays on a device, each uploaded when first asked for and then kept."""

    def __init__(self, device: Device, host_graph: Graph) -> None:
        self.device = device
        self.host_graph = host_graph
        self._made: dict[Callable[..., Any], Any] = {}

    def once(self, make: Callable[[DeviceGraph], Made]) -> Made:
        """What ``make`` makes of the graph; kept like the arrays, for all searches that ask for the same."""
        if make not in self._made:
            self._made[make] = make(self)
        made: Made = self._made[make]
        return made

    @cached_property
    def row_offsets(self) -> Buffer:
        return self.device.upload(self.host_graph.row_offsets)

    @cached_property
    def column_indices(self) -> Buffer:
        return self.device.upload(self.host_graph.column_indices)

    @cached_property
    def edge_sources(self) -> Buffer:
        return self.device.upload(self.host_graph.edge_sources)

    @cached_property
    def column_offsets(self) -> Buffer:
        shared = self.host_graph.column_offsets is self.host_graph.row_offsets
        return self.row_offsets if shared else self.device.upload(self.host_graph.column_offsets)

    @cached_property
    def row_indices(self) -> Buffer:
        shared = self.host_graph.row_indices is self.host_graph.column_indices
        return self.column_indices if shared else self.device.upload(self.host_graph.row_indices)

    @cached_property
    def weight_matrix(self) -> Buffer:
        """int32[V * V]; raises UsageError as :func:`bfsbench.graphs.matrix.weight_matrix` does."""
        from bfsbench.graphs.matrix import weight_matrix

        return self.device.upload(weight_matrix(self.host_graph))


class Variant(ABC):
    """One algorithm of one family. The class is its declaration, an instance a prepared computation."""

    family: ClassVar[str]
    """A name in :data:`bfsbench.families.FAMILIES`."""
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    """One line: what it does."""
    origin: ClassVar[tuple[str, ...]]
    """Paper and figure, each as ``Springer, Fig. 9``."""
    layout: ClassVar[tuple[str, ...]]
    """Which of CSR, CSC, COO, matrix it reads."""
    frontier: ClassVar[str]
    """How the frontier is represented."""
    parallel_unit: ClassVar[str]
    """What one thread, or group of threads, is given."""
    work: ClassVar[str]
    """Work complexity, with V, E and the depth D."""
    space: ClassVar[str] = ""
    """Memory that a search needs, the graph included, in words of 4 bytes; with 32-bit offsets."""
    synchronisation: ClassVar[str] = "a launch a level"
    """What separates one level from the next."""
    knobs: ClassVar[tuple[Knob, ...]] = ()
    counters: ClassVar[Mapping[str, str]] = {}
    """What is counted in every level of a profiled search, and what it means. Kernels count if compiled with
    ``COUNTERS`` set to 1, their ``enum counter`` in the same order."""
    host: ClassVar[bool] = False
    """True for native CPU programs, which have no grid and block."""
    usual_block: ClassVar[int] = 256
    """Threads a block where none are asked for."""
    preprocess_ms: float = 0.0
    """What it takes to change the graph for this search, in ms: a cost that other variants do not have. Where
    searches share the changed graph (``DeviceGraph.once``), each tells what the first ``prepare`` spent."""

    @abstractmethod
    def prepare(self) -> None:
        """Everything that is done once for a graph, outside the timed runs."""

    @classmethod
    def knob_values(cls, given: Mapping[str, str | KnobValue]) -> dict[str, KnobValue]:
        """Values for all knobs, defaults included. Raises UsageError for a knob it does not have."""
        known = {knob.name: knob for knob in cls.knobs}
        for name in given:
            if name not in known:
                raise UsageError(f"variant {cls.name} has no knob {name}")
        return {name: knob.check(given.get(name, knob.default)) for name, knob in known.items()}

    @classmethod
    def preset(cls, name: str, statistics: Mapping[str, float]) -> Mapping[str, KnobValue]:
        """Values that one of PRESETS sets for a graph of these statistics
        (:func:`bfsbench.graphs.statistics.describe`); knobs left out keep their defaults."""
        return {}

    @classmethod
    def own_block(cls, knobs: Mapping[str, KnobValue]) -> int | None:
        """Threads a block, of variants that choose grid and block by their knobs; None for the others."""
        return None


class HostProgram(Variant):
    """A native program on this machine's CPU, the papers' CPU columns."""

    host = True

    def __init__(self, graph: Graph, knobs: Mapping[str, KnobValue]) -> None:
        self.graph = graph
        self.knob = knobs


class KernelProgram(Variant):
    """CUDA kernels and their host loop."""

    child_kernels: ClassVar[bool] = False
    kernel_files: ClassVar[tuple[str, ...]] = ()
    """Names of the ``.cu`` files that hold the kernels, without their ending; by default the variant's."""

    def __init__(
        self,
        device: Device,
        graph: DeviceGraph,
        host_graph: Graph,
        grid: int | None,
        block: int,
        knobs: Mapping[str, KnobValue],
    ) -> None:
        self.device = device
        self.graph = graph
        self.host_graph = host_graph
        self.num_vertices = host_graph.num_vertices
        self.num_edges = host_graph.row_offsets.dtype.type(host_graph.num_edges)
        """Of the kernels' ``offset_t``."""
        self.grid = grid
        self.block = block
        self.knob = knobs

    def blocks(self, work: int) -> int:
        """Blocks to launch for so many work items: one thread each, capped by the grid asked for.

        Never 2^31 threads or more, which is what the kernels' counters rely on (see graph.cuh).
        """
        needed = max(1, -(-work // self.block))
        most = min(self.device.limits.max_grid, (2**31 - 1) // self.block)
        return min(needed, self.grid or most, most)

    def kernel(self, name: str) -> Kernel:
        """A kernel, compiled with the variant's macros: of the file called as the kernel, or of the first."""
        files = self.source_files()
        source = next((file for file in files if file.stem == name), files[0])
        module = self.device.module(source, self.defines(), child_kernels=self.child_kernels)
        return module.kernel(name)

    def defines(self) -> dict[str, int | str]:
        """Macros to compile with: the compile-time knobs, and what the graph asks for."""
        defines = {knob.name: _macro(self.knob[knob.name]) for knob in self.knobs if knob.compile_time}
        return {**defines, "WIDE_OFFSETS": int(self.num_edges.itemsize == 8)}

    @classmethod
    def source_files(cls) -> list[Path]:
        """The ``.cu`` files: each beside the module that declares the variant or in a folder of the file's
        name there, or anywhere in ``cuda_src``."""
        beside = Path(sys.modules[cls.__module__].__file__ or "").parent
        found = []
        for stem in cls.kernel_files or (cls.name,):
            name = f"{stem}.cu"
            places = (beside / name, beside / stem / name, *CUDA_SRC.rglob(name))
            found.append(next((place for place in places if place.is_file()), beside / name))
        return found


class SearchVariant(Variant):
    """A breadth-first search."""

    family = "bfs"

    @abstractmethod
    def reset(self, source: int) -> None:
        """Initialise what a search of its own needs: the first, timed, part of it."""

    @abstractmethod
    def traverse(self, source: int) -> None:
        """Search from ``source``; on return all its work has been issued, not necessarily finished."""

    @abstractmethod
    def levels(self) -> npt.NDArray[np.int32]:
        """Wait, and return int32[V]: the level of each vertex, UNREACHED where it has none."""


class HostVariant(HostProgram, SearchVariant):
    """A search by a native program."""


class KernelVariant(KernelProgram, SearchVariant):
    """A search by CUDA kernels."""

    layers: ClassVar[tuple[str, ...]] = ()
    """Names of the ``layer`` numbers that kernels of several levels note (see profile.cuh)."""
    block_layers: ClassVar[tuple[str, ...]] = ()
    """Those of the layers that run in one block or cluster, whose levels need no barrier between blocks."""
    traffic: ClassVar[Traffic] = Traffic()
    edge_reads: ClassVar[Mapping[str, str]] = {}
    """For level profiles: which edges a kernel reads in a level, ``frontier`` unless said otherwise here:
    ``all``, ``pull`` (of unreached vertices up to their first parent), or ``unknown``."""

    def __init__(
        self,
        device: Device,
        graph: DeviceGraph,
        host_graph: Graph,
        grid: int | None,
        block: int,
        knobs: Mapping[str, KnobValue],
    ) -> None:
        super().__init__(device, graph, host_graph, grid, block, knobs)
        self.mark: Callable[[int, str], None] = _ignore
        """Host loops call this with the first level of a launch and its kernel once they have issued it; a
        profiled run puts something in its place."""
        self.records: Buffer | None = None
        """For kernels that run several levels in one launch: where they note each (see profile.cuh)."""
        self.counts: Buffer | None = None
        """uint64[levels x counters] that the kernels add to, for those that have counters. Set before
        ``prepare``; timed searches leave it None and spend nothing on it."""
        self.level_array: Buffer = device.empty(self.num_vertices, "int32")

    def defines(self) -> dict[str, int | str]:
        counting = {"COUNTERS": int(self.counts is not None)} if self.counters else {}
        return {**super().defines(), **counting}

    def reset(self, source: int) -> None:
        self.level_array.fill(UNREACHED)
        self.level_array.fill(0, start=source, count=1)

    def levels(self) -> npt.NDArray[np.int32]:
        return self.level_array.download()

    def counted(self) -> list[dict[str, int]]:
        """Wait, and return what has been counted in each level while its frontier was expanded, by the names
        in ``counters``. Raises ValueError unless ``counts`` was set."""
        if self.counts is None:
            raise ValueError("nothing was counted: set counts before prepare")
        table = self.counts.download().reshape(-1, len(self.counters)).tolist()
        return [dict(zip(self.counters, level, strict=True)) for level in table]


class LevelKernelVariant(KernelVariant):
    """A search by one kernel a level until a level finds nothing: most of the papers' simpler designs.

    The kernel's last two parameters are ``int *progress, int level``. A thread that changes anything writes
    ``level + 1`` to ``*progress``; the host launches the next level while ``*progress`` moves. So nothing
    needs to be reset between levels, and a level costs one launch and one four-byte copy to pinned memory.
    """

    level_kernel: ClassVar[str | None] = None
    """The kernel, where it is not called as the variant."""

    @abstractmethod
    def arguments(self) -> tuple[Argument, ...]:
        """The kernel's parameters before ``progress``."""

    @abstractmethod
    def work_items(self) -> int:
        """How many items the threads of one launch share out."""

    def shared_memory(self) -> int:
        """Bytes of dynamic shared memory a block."""
        return 0

    def prepare(self) -> None:
        self.progress = self.device.signal()
        arguments, shared = (*self.arguments(), self.progress), self.shared_memory()
        kernel = self.kernel(self.level_kernel or self.name)
        self.expand = kernel.bind(*arguments, block=self.block, shared=shared, scalars=1)
        self.num_blocks = self.blocks(self.work_items())

    def reset(self, source: int) -> None:
        super().reset(source)
        self.progress.fill(0)

    def traverse(self, source: int) -> None:
        expand, progress, num_blocks, mark = self.expand, self.progress, self.num_blocks, self.mark
        kernel = self.level_kernel or self.name
        level = 0
        while True:
            expand(num_blocks, level)
            mark(level, kernel)
            level += 1
            if progress.read() != level:
                return


def _ignore(level: int, kernel: str) -> None:
    """A launch was issued, and nobody keeps a profile."""


def _macro(value: Any) -> int | str:
    return value if isinstance(value, int) else str(value)
