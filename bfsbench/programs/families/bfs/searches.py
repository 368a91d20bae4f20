"""Base classes of breadth-first searches.

``prepare`` compiles and allocates once, untimed. Then for every search ``reset`` and ``traverse`` run, timed,
and ``levels`` brings the answer to the host.
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
"""Level of a vertex that has not been reached, also in kernels (``graph.cuh``)."""

LEVEL_SCAN = Traffic(per_vertex=12, per_scan=4)
"""Traffic of searches whose frontier is the vertices at the current level: no queue, but all levels are
read."""


class SearchVariant(Variant):
    """A breadth-first search."""

    family = "bfs"
    layout: ClassVar[tuple[str, ...]] = ("CSR",)

    @abstractmethod
    def reset(self, source: int) -> None:
        """Initialise a search: its first, timed, part."""

    @abstractmethod
    def traverse(self, source: int) -> None:
        """Search from ``source``; on return all its work has been issued, but may not be finished."""

    @abstractmethod
    def poison(self) -> None:
        """Fill the levels with POISON."""

    @abstractmethod
    def levels(self) -> npt.NDArray[np.int32]:
        """Wait, and return int32[V]: the level of each vertex, UNREACHED where it has none."""

    @property
    def leaves_tree(self) -> bool:
        """Whether a search leaves parents, from which ``levels`` counts the levels."""
        return False

    def parents(self) -> npt.NDArray[np.int32]:
        """Wait, and return the tree that a search has left, int32[V]: the source is its own parent, a vertex
        that is not reached has UNREACHED. Raises ValueError for a search that leaves levels."""
        raise ValueError(f"{self.name} leaves levels")


class HostVariant(HostProgram, SearchVariant):
    """A search by a native program, which allocates ``level_array`` in ``prepare``."""

    level_array: npt.NDArray[np.int32]
    """int32[V]: the levels after a search."""

    def poison(self) -> None:
        self.level_array.fill(POISON)

    def levels(self) -> npt.NDArray[np.int32]:
        return self.level_array.copy()


class ForeignSearch(ForeignProgram, HostVariant):
    """A search by a program of others, which answers with levels or, where it ``leaves_tree``, with parents.

    A negative level or parent means that a vertex was not reached, except for the parent of the source.
    """

    def links(self, answer: npt.NDArray[np.int32], source: int) -> npt.NDArray[np.int32]:
        """The parents of an answer, int32[V], as ``parents`` returns them."""
        tree = answer.copy()
        tree[answer < 0] = UNREACHED
        tree[source] = source
        return tree

    def accepted(self, answer: npt.NDArray[np.int32], source: int) -> npt.NDArray[np.int32]:
        """The levels. Raises WrongParentsError for a tree that breaks one of Graph500's rules."""
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
    """Names of the layers that kernels of several levels record (see profile.cuh). Kernels have an enum of
    these names in a namespace ``layers``."""
    times_levels: ClassVar[bool] = True
    """False if several levels run together, of which a profile has the first."""
    block_layers: ClassVar[tuple[str, ...]] = ()
    """The layers that run in one block or cluster, whose levels need no grid barrier."""
    traffic: ClassVar[Traffic] = Traffic()
    edge_reads: ClassVar[Mapping[str, str]] = {}
    """For level profiles: which edges a kernel reads in a level, by default ``frontier``; otherwise
    ``all``, ``pull`` (of unreached vertices up to their first parent), or ``unknown``."""

    def __init__(self, setup: KernelSetup) -> None:
        super().__init__(setup)
        self.mark: Callable[[int, str], None] = _ignore
        """Host loops call this with the first level of a launch and its kernel after they have issued it; a
        profiled run replaces it."""
        self.records: Buffer | None = None
        """For kernels that run several levels in one launch: the buffer of their level records (see
        profile.cuh)."""
        self.counter_buffer: Buffer | None = None
        """uint64[levels x counters] that kernels with counters add to. Set before ``prepare``; None in timed
        searches, which count nothing."""
        self.level_array: Buffer = self.device.empty(self.num_vertices, "int32")
        """int32[V]: the levels or, where ``leaves_tree``, the parents after a search."""
        self.level_places: npt.NDArray[np.int32] | None = None
        """int32[V]: the index of each vertex's level in ``level_array``, if it is not its number."""

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
        """Wait, and return the counters of each level, counted while its frontier was expanded, by the names
        in ``counters``. Raises ValueError unless ``counter_buffer`` was set."""
        if self.counter_buffer is None:
            raise ValueError("nothing was counted: set counter_buffer before prepare")
        table = self.counter_buffer.download().reshape(-1, len(self.counters)).tolist()
        return [dict(zip(self.counters, level, strict=True)) for level in table]


class LevelKernelVariant(KernelVariant):
    """A search by one kernel a level until a level finds nothing: most of the simpler designs in the papers.

    The kernel's last two parameters are ``int *progress, int level``. A thread that changes anything writes
    ``level + 1`` to ``*progress``; the host launches the next level while ``*progress`` moves. So nothing is
    reset between levels, and a level costs one launch and one copy of four bytes to pinned memory.
    """

    level_kernel: ClassVar[str | None] = None
    """Name of the kernel, where it differs from the variant's."""

    def arguments(self) -> Mapping[str, Argument]:
        """The kernel's arguments before ``progress`` by their names: by default those of a thread per vertex
        that reads out-neighbours."""
        return {**self.graph.csr, "num_vertices": self.num_vertices, "levels": self.level_array}

    def work_items(self) -> int:
        """How many items the threads of one launch divide among them: by default a vertex each."""
        return self.num_vertices

    def shared_memory(self) -> int:
        """Bytes of dynamic shared memory a block."""
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
    """A search by one launch, whose blocks are resident together and wait for each other.

    The kernel's last parameter is the source. It initialises all that a search needs, or leaves it so to the
    next one. ``prepare`` sets ``search``, ``num_blocks`` and ``state``, and passes on ``max_polls``.
    """

    search: Launch
    """The kernel, bound to all its arguments but the source."""
    num_blocks: int
    state: Signal
    """A struct with a member ``failed``, which a block sets if it has given up waiting for the others."""
    max_polls: int = 1 << 27
    """How often a block looks for the others at the barrier before it gives up: for a minute or more."""

    def reset(self, source: int) -> None:
        """Nothing: the launch initialises what it needs."""

    def traverse(self, source: int) -> None:
        self.search(self.num_blocks, source)
        self.mark(0, self.name)

    def finish(self) -> None:
        """Wait for the search. Raises KernelError when blocks gave up waiting for each other."""
        if self.state.read_struct().failed:
            raise KernelError(f"{self.name}: {self.num_blocks} blocks did not all meet")


def _ignore(level: int, kernel: str) -> None:
    """Ignore a launch, when no profile is taken."""
