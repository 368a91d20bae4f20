"""Estimates of the memory for building a graph, made beforehand. They sum the arrays that are alive at the
peak of a conversion, and are compared with the memory that the machine and its limits leave
(:func:`bfsbench.support.machine.available_memory`).
"""

from dataclasses import dataclass

from bfsbench.support.errors import NotEnoughMemoryError, size_text
from bfsbench.support.machine import available_memory

_PER_VERTEX = 40
"""Offsets, original ids and the statistics' working memory, in bytes."""


@dataclass(frozen=True)
class Size:
    """The size of a graph, as far as it is known: vertices, edges as listed, and how they are stored."""

    vertices: int
    edges: int
    mirrored: bool = False
    """Whether every edge is stored as two arcs."""
    weighted: bool = False

    @property
    def peak_bytes(self) -> int:
        """Peak memory of reading or generating the edges and converting them.

        Undirected: the edges, 8 bytes each, beside two arcs of each, packed in 8 bytes and as columns in 4.
        Directed: columns, rows and transposed columns, 4 bytes an arc each, beside packed arcs of 8.
        Weights are sorted by position, with an order of the arcs, before all of this.
        """
        arc_bytes = 32 if self.mirrored else 20
        if self.weighted:
            arc_bytes += 64 if self.mirrored else 24
        return self.vertices * _PER_VERTEX + self.edges * arc_bytes


def require(size: Size, name: str, held: int = 0) -> None:
    """Raises NotEnoughMemoryError unless a graph of this size can be made.

    ``held`` are bytes of the estimate that are already allocated.
    """
    require_bytes(size.peak_bytes - held, f"{name}: {size.vertices:,} vertices and {size.edges:,} edges")


def require_bytes(needed: int, what: str) -> None:
    """Raises NotEnoughMemoryError unless ``needed`` bytes are available; ``what`` names their use."""
    available = available_memory()
    if available is not None and needed > available:
        raise NotEnoughMemoryError(
            f"{what} need about {size_text(needed)} of memory, {size_text(available)} are available"
        )
