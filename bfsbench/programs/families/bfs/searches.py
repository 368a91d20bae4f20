"""Defines base classes of breadth-first searches.

The method ``prepare`` compiles and allocates once, and is not timed. The methods ``reset`` and ``traverse``
run for every search, and are timed. The method ``levels`` copies the result to the host.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bfsbench.programs import (
    POISON,
    ForeignProgram,
    HostProgram,
    KernelProgram,
    KernelSetup,
    Traffic,
    Variant,
)
from bfsbench.support.errors import KernelError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.backends.base import Argument, Buffer, Launch, Signal, Struct


UNREACHED = -1
"""The level of a vertex that a search has not reached. Kernels use this value too (``graph.cuh``)."""

LEVEL_SCAN = Traffic(per_vertex=12, per_scan=4)
"""Memory traffic of searches without a queue. At every level, they read the levels of all vertices to find
the vertices of the frontier."""


class SearchVariant(Variant):
    """The base class of variants that are breadth-first searches."""

    family = "bfs"
    layout: ClassVar[tuple[str, ...]] = ("CSR",)

    @abstractmethod
    def reset(self, source: int) -> None:
        """Initialise a search from ``source``. This is the first part of the timed run."""

    @abstractmethod
    def traverse(self, source: int) -> None:
        """Start a search from ``source``. The work may not have finished when the method returns."""

    @abstractmethod
    def poison(self) -> None:
        """Fill the array of levels with POISON, a value that no search writes."""

    @abstractmethod
    def levels(self) -> npt.NDArray[np.int32]:
        """Wait for the search. Returns the level of each vertex, int32[V]. Vertices that were not reached
        have UNREACHED."""

    @property
    def leaves_tree(self) -> bool:
        """Returns whether a search computes parents instead of levels. If so, the method ``levels`` computes
        the levels from the parents."""
        return False

    def parents(self) -> npt.NDArray[np.int32]:
        """Wait for the search. Returns the parent of each vertex, int32[V].

        The source is its own parent. A vertex that was not reached has UNREACHED. Raises ValueError if the
        search computes levels instead of parents.
        """
        raise ValueError(f"{self.name} leaves levels")


class HostVariant(HostProgram, SearchVariant):
    """The base class of breadth-first searches on the CPU. Subclasses allocate ``level_array`` in
    ``prepare``."""

    level_array: npt.NDArray[np.int32]
    """The level of each vertex after a search, int32[V]."""

    def poison(self) -> None:
        self.level_array.fill(POISON)

    def levels(self) -> npt.NDArray[np.int32]:
        return self.level_array.copy()


class ForeignSearch(ForeignProgram, HostVariant):
    """A breadth-first search by a program of other authors. The program's answer consists of levels, or of
    parents if ``leaves_tree`` is true.

    A negative level or parent means that a vertex was not reached. The source may also have a negative
    parent.
    """

    def links(self, answer: npt.NDArray[np.int32], source: int) -> npt.NDArray[np.int32]:
        """Returns the parents in an answer of the program, int32[V]. The source becomes its own parent, and
        unreached vertices get UNREACHED."""
        tree = answer.copy()
        tree[answer < 0] = UNREACHED
        tree[source] = source
        return tree

    def accepted(self, answer: npt.NDArray[np.int32], source: int) -> npt.NDArray[np.int32]:
        """Returns the levels in a program's answer, int32[V]. If the answer has parents, computes the levels
        from the parents. Raises WrongParentsError if a tree breaks one of Graph500's rules."""
        if not self.leaves_tree:
            return answer
        from bfsbench.programs.families.bfs.parents import levels_of_checked_tree

        return levels_of_checked_tree(self.graph, source, self.links(answer, source))

    def work_of(self, answer: npt.NDArray[np.int32]) -> int:
        from bfsbench.programs.families.bfs.search import edges_below

        return edges_below(self.graph, answer)


class KernelVariant(KernelProgram, SearchVariant):
    """The base class of breadth-first searches that consist of CUDA kernels."""

    layers: ClassVar[tuple[str, ...]] = ()
    """Names of the layers of a search. A layer is a group of threads that runs a level, such as one block or
    all blocks. Kernels that record levels (see profile.cuh) need them. The kernels have an enum of these
    names in a namespace ``layers``."""
    times_levels: ClassVar[bool] = True
    """False if the search runs several levels together. The profile then has one row for these levels, with
    the number of the first level."""
    block_layers: ClassVar[tuple[str, ...]] = ()
    """The layers that run in a single block or cluster. Their levels need no barrier of the whole grid."""
    traffic: ClassVar[Traffic] = Traffic()
    edge_reads: ClassVar[Mapping[str, str]] = {}
    """Maps the name of a kernel to the edges that it reads in a level, so that a level profile can count
    them. The values are ``frontier`` (the default), ``all``, ``unknown`` and ``pull``. ``pull`` stands for
    edges of unreached vertices, up to their first parent."""

    def __init__(self, setup: KernelSetup) -> None:
        super().__init__(setup)
        self.mark: Callable[[int, str], None] = _ignore
        """Host code calls this function after each launch, with the first level of the launch and the name of
        the kernel. A profiled run replaces the function."""
        self.records: Buffer | None = None
        """Device buffer in which kernels record the start of each level, if one launch runs several levels
        (see profile.cuh). None in timed searches."""
        self.counter_buffer: Buffer | None = None
        """uint64[levels x counters] on the device, to which kernels add the events that they count. It must
        be set before ``prepare``. It is None in timed searches, which count nothing."""
        self.level_array: Buffer = self.device.empty(self.num_vertices, "int32")
        """int32[V]: the levels after a search, or the parents if ``leaves_tree`` is true."""
        self.level_places: npt.NDArray[np.int32] | None = None
        """int32[V]: the position of each vertex's level in ``level_array``. None if the position is the
        vertex id."""

    def defines(self) -> dict[str, int | str]:
        counting = {"COUNTERS": int(self.counter_buffer is not None)} if self.counters else {}
        return {**super().defines(), **counting}

    def shared_structs(self) -> tuple[type[Struct], ...]:
        from bfsbench.programs.families.bfs.layouts import LevelRecord

        return (*super().shared_structs(), LevelRecord)

    def shared_constants(self) -> dict[str, int]:
        counters = (*self.counters, "number") if self.counters else ()
        counted = {f"counted::{name}": number for number, name in enumerate(counters)}
        layers = {f"layers::{name}": number for number, name in enumerate(self.layers)}
        return {**super().shared_constants(), "UNREACHED": UNREACHED, **counted, **layers}

    def reset(self, source: int) -> None:
        self.level_array.fill(UNREACHED)
        self.level_array.fill(0, start=source, count=1)

    def poison(self) -> None:
        self.level_array.fill(POISON)

    def finish(self) -> None:
        """Wait for the search. Raises KernelError if its kernels report a failure."""

    def parents(self) -> npt.NDArray[np.int32]:
        if not self.leaves_tree:
            return super().parents()
        self.finish()
        return self.level_array.download()

    def levels(self) -> npt.NDArray[np.int32]:
        if self.leaves_tree:
            from bfsbench.programs.families.bfs.parents import levels_of_tree

            return levels_of_tree(self.parents())
        self.finish()
        levels = self.level_array.download()
        return levels if self.level_places is None else levels[self.level_places]

    def level_counters(self) -> list[dict[str, int]]:
        """Wait for the search. Returns the event counts of each level, as dictionaries whose keys are the
        names in ``counters``.

        An event is counted at the level whose frontier was being expanded. Raises ValueError unless
        ``counter_buffer`` was set.
        """
        if self.counter_buffer is None:
            raise ValueError("nothing was counted: set counter_buffer before prepare")
        table = self.counter_buffer.download().reshape(-1, len(self.counters)).tolist()
        return [dict(zip(self.counters, level, strict=True)) for level in table]


class LevelKernelVariant(KernelVariant):
    """The base class of searches that launch one kernel per level, until a level finds no vertex. Most of the
    simple searches do this.

    The kernel's last two parameters are ``int *progress, int level``. A thread that changes anything writes
    ``level + 1`` to ``*progress``. The host launches the next level as long as ``*progress`` changes. Nothing
    is reset between levels. A level costs one launch, and one copy of four bytes to pinned memory.
    """

    level_kernel: ClassVar[str | None] = None
    """Name of the kernel. None stands for the name of the variant."""

    def arguments(self) -> Mapping[str, Argument]:
        """Returns the arguments for the kernel's parameters before ``progress``, as a dictionary whose keys
        are the names of the parameters. The default suits a kernel that has one thread per vertex and reads
        out-neighbours."""
        return {**self.graph.csr, "num_vertices": self.num_vertices, "levels": self.level_array}

    def work_items(self) -> int:
        """Returns the number of work items of one launch, such as vertices. The default is one item per
        vertex."""
        return self.num_vertices

    def shared_memory(self) -> int:
        """Returns the size of the dynamic shared memory per block, in bytes."""
        return 0

    def prepare(self) -> None:
        self.progress = self.device.signal()
        kernel, arguments = self.kernel(self.level_kernel or self.name), self.arguments()
        launch: dict[str, Any] = {"block": self.block, "shared": self.shared_memory(), "scalars": 1}
        self.expand: Launch = kernel.bind(**arguments, progress=self.progress, **launch)
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


class OneLaunchVariant(KernelVariant):
    """The base class of searches that run in a single launch. All blocks are resident at once, and wait for
    each other at barriers.

    The kernel's last parameter is the source. The kernel, or an earlier launch of it, initialises everything
    that a search needs. ``prepare`` must set ``search``, ``num_blocks`` and ``state``, and pass
    ``max_polls`` to the kernel.
    """

    search: Launch
    """The launch of the kernel, with all its arguments bound except the source."""
    num_blocks: int
    state: Signal
    """A struct on the device with a member ``failed``. A block sets this member if it gives up waiting for
    other blocks."""
    max_polls: int = 1 << 27
    """Maximum number of times that a block polls the barrier before the search fails. The limit is reached
    after a minute or more."""

    def reset(self, source: int) -> None:
        """Do nothing, because the kernel initialises everything that it needs."""

    def traverse(self, source: int) -> None:
        self.search(self.num_blocks, source)
        self.mark(0, self.name)

    def finish(self) -> None:
        """Wait for the search. Raises KernelError if a block gave up waiting for other blocks."""
        if self.state.read_struct().failed:
            raise KernelError(f"{self.name}: {self.num_blocks} blocks did not all meet")


def _ignore(level: int, kernel: str) -> None:
    """Do nothing. Host code calls this function after each launch unless a profile is being taken."""
