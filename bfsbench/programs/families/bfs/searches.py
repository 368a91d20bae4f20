"""Defines base classes of breadth-first searches. ``prepare`` compiles and allocates once, untimed. ``reset``
and ``traverse`` then run for every search, timed. ``levels`` copies the answer to the host."""

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
"""Level of a vertex that has not been reached. Kernels use this value too (``graph.cuh``)."""

LEVEL_SCAN = Traffic(per_vertex=12, per_scan=4)
"""Traffic of searches whose frontier is the vertices at the current level. They have no queue, but read all
levels."""


class SearchVariant(Variant):
    """A variant that is a breadth-first search."""

    family = "bfs"
    layout: ClassVar[tuple[str, ...]] = ("CSR",)

    @abstractmethod
    def reset(self, source: int) -> None:
        """Initialise a search. This is the first part of the timed run."""

    @abstractmethod
    def traverse(self, source: int) -> None:
        """Search from ``source``. On return all work has been issued, but may not be finished."""

    @abstractmethod
    def poison(self) -> None:
        """Fill the levels with POISON."""

    @abstractmethod
    def levels(self) -> npt.NDArray[np.int32]:
        """Wait for the search. Returns the level of each vertex, int32[V], or UNREACHED for a vertex without
        a level."""

    @property
    def leaves_tree(self) -> bool:
        """Returns whether a search leaves parents, from which ``levels`` counts the levels."""
        return False

    def parents(self) -> npt.NDArray[np.int32]:
        """Wait for the search. Returns the tree that it has left, int32[V].

        The source is its own parent. A vertex that is not reached has UNREACHED. Raises ValueError for a
        search that leaves levels.
        """
        raise ValueError(f"{self.name} leaves levels")


class HostVariant(HostProgram, SearchVariant):
    """A search by a native program, which allocates ``level_array`` in ``prepare``."""

    level_array: npt.NDArray[np.int32]
    """The levels after a search, int32[V]."""

    def poison(self) -> None:
        self.level_array.fill(POISON)

    def levels(self) -> npt.NDArray[np.int32]:
        return self.level_array.copy()


class ForeignSearch(ForeignProgram, HostVariant):
    """A search by a program of other authors. It answers with levels, or with parents if ``leaves_tree`` is
    true.

    A negative level means that a vertex was not reached. A negative parent means this for all vertices but
    the source.
    """

    def links(self, answer: npt.NDArray[np.int32], source: int) -> npt.NDArray[np.int32]:
        """Returns the parents of an answer, int32[V]. The source is its own parent, and unreached vertices
        have UNREACHED."""
        tree = answer.copy()
        tree[answer < 0] = UNREACHED
        tree[source] = source
        return tree

    def accepted(self, answer: npt.NDArray[np.int32], source: int) -> npt.NDArray[np.int32]:
        """Returns the levels of an answer. Raises WrongParentsError for a tree that breaks one of Graph500's
        rules."""
        if not self.leaves_tree:
            return answer
        from bfsbench.programs.families.bfs.parents import levels_of_checked_tree

        return levels_of_checked_tree(self.graph, source, self.links(answer, source))

    def work_of(self, answer: npt.NDArray[np.int32]) -> int:
        from bfsbench.programs.families.bfs.search import edges_below

        return edges_below(self.graph, answer)


class KernelVariant(KernelProgram, SearchVariant):
    """A search by CUDA kernels."""

    layers: ClassVar[tuple[str, ...]] = ()
    """Names of the layers that kernels of several levels record (see profile.cuh). The kernels have an enum
    of these names in a namespace ``layers``."""
    times_levels: ClassVar[bool] = True
    """False if several levels run together. In this case the profile has one row, for the first of these
    levels."""
    block_layers: ClassVar[tuple[str, ...]] = ()
    """The layers that run in one block or cluster, whose levels need no grid barrier."""
    traffic: ClassVar[Traffic] = Traffic()
    edge_reads: ClassVar[Mapping[str, str]] = {}
    """The edges that a kernel reads in a level, for level profiles. The default is ``frontier``. Other values
    are ``all``, ``pull`` (edges of unreached vertices up to their first parent), and ``unknown``.
    """

    def __init__(self, setup: KernelSetup) -> None:
        super().__init__(setup)
        self.mark: Callable[[int, str], None] = _ignore
        """Host loops call this after they have issued a launch, with the launch's first level and its kernel.
        A profiled run replaces it."""
        self.records: Buffer | None = None
        """The buffer of level records, for kernels that run several levels in one launch (see
        profile.cuh)."""
        self.counter_buffer: Buffer | None = None
        """uint64[levels x counters], to which kernels with counters add. It is set before ``prepare``. It is
        None in timed searches, which count nothing."""
        self.level_array: Buffer = self.device.empty(self.num_vertices, "int32")
        """The levels after a search, int32[V]. It has the parents if ``leaves_tree`` is true."""
        self.level_places: npt.NDArray[np.int32] | None = None
        """int32[V], the index of each vertex's level in ``level_array``. None if the index is the vertex."""

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
        """Wait for the search. Returns the counters of each level, by the names in ``counters``.

        Events of a level are counted while its frontier is expanded. Raises ValueError unless
        ``counter_buffer`` was set.
        """
        if self.counter_buffer is None:
            raise ValueError("nothing was counted: set counter_buffer before prepare")
        table = self.counter_buffer.download().reshape(-1, len(self.counters)).tolist()
        return [dict(zip(self.counters, level, strict=True)) for level in table]


class LevelKernelVariant(KernelVariant):
    """A search that launches one kernel per level until a level finds nothing. Most of the simpler designs do
    this.

    The kernel's last two parameters are ``int *progress, int level``. A thread that changes anything writes
    ``level + 1`` to ``*progress``. The host launches the next level as long as ``*progress`` changes. Nothing
    is reset between levels. A level costs one launch and one copy of four bytes to pinned memory.
    """

    level_kernel: ClassVar[str | None] = None
    """Name of the kernel, if it differs from the variant's."""

    def arguments(self) -> Mapping[str, Argument]:
        """Returns the kernel's arguments before ``progress``, by name. The default suits a kernel with one
        thread per vertex that reads out-neighbours."""
        return {**self.graph.csr, "num_vertices": self.num_vertices, "levels": self.level_array}

    def work_items(self) -> int:
        """Returns how many items the threads of one launch divide among themselves. The default is one item
        per vertex."""
        return self.num_vertices

    def shared_memory(self) -> int:
        """Returns the bytes of dynamic shared memory per block."""
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
    """A search by one launch, whose blocks are all resident and wait for each other.

    The kernel's last parameter is the source. The kernel initialises all that a search needs, or leaves it
    initialised for the next search. ``prepare`` sets ``search``, ``num_blocks`` and ``state``, and passes
    ``max_polls`` to the kernel.
    """

    search: Launch
    """The kernel, bound to all its arguments but the source."""
    num_blocks: int
    state: Signal
    """A struct with a member ``failed``, which a block sets if it has given up waiting for other blocks."""
    max_polls: int = 1 << 27
    """Number of times that a block polls the barrier before it gives up. This takes a minute or more."""

    def reset(self, source: int) -> None:
        """Do nothing, because the launch initialises what it needs."""

    def traverse(self, source: int) -> None:
        self.search(self.num_blocks, source)
        self.mark(0, self.name)

    def finish(self) -> None:
        """Wait for the search. Raises KernelError if blocks gave up waiting for each other."""
        if self.state.read_struct().failed:
            raise KernelError(f"{self.name}: {self.num_blocks} blocks did not all meet")


def _ignore(level: int, kernel: str) -> None:
    """Ignore a launch, because no profile is taken."""
