"""Estimates the memory for building a graph beforehand.

An estimate sums the arrays that are alive at the peak of a conversion. It is compared with the memory that
the machine and its limits leave (:func:`bfsbench.support.machine.available_memory`).
"""

from dataclasses import dataclass

from bfsbench.support.errors import NotEnoughMemoryError, size_text
from bfsbench.support.machine import available_memory

_PER_VERTEX = 40
"""Bytes per vertex for offsets, original ids and the working memory of the statistics."""


@dataclass(frozen=True)
class Size:
    """The size of a graph, as far as it is known: vertices, listed edges, and how edges are stored."""

    vertices: int
    edges: int
    mirrored: bool = False
    """True if every edge is stored as two arcs."""
    weighted: bool = False

    @property
    def peak_bytes(self) -> int:
        """Returns the peak memory in bytes of reading or generating the edges and converting them.

        An undirected graph takes 8 bytes per listed edge, and 12 bytes for each of its two arcs. A directed
        graph takes 20 bytes per arc: 8 for the packed arc, and 4 each for its column, row and transposed
        column. Weights take more memory, because they are sorted first.
        """
        arc_bytes = 32 if self.mirrored else 20
        if self.weighted:
            arc_bytes += 64 if self.mirrored else 24
        return self.vertices * _PER_VERTEX + self.edges * arc_bytes


def require(size: Size, name: str, held: int = 0) -> None:
    """Check that there is enough memory to make a graph of this size. Raises NotEnoughMemoryError if not.
    ``held`` bytes of the estimate are already allocated."""
    require_bytes(size.peak_bytes - held, f"{name}: {size.vertices:,} vertices and {size.edges:,} edges")


def require_bytes(needed: int, what: str) -> None:
    """Check that ``needed`` bytes are available. Raises NotEnoughMemoryError if not. ``what`` names their
    use."""
    available = available_memory()
    if available is not None and needed > available:
        raise NotEnoughMemoryError(
            f"{what} need about {size_text(needed)} of memory, {size_text(available)} are available"
        )
