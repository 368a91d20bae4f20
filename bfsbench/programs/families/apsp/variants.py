"""Base classes of variants of all-pairs shortest paths."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from bfsbench.backends.base import Buffer, Launch
from bfsbench.programs import POISON, DeviceGraph, HostProgram, KernelProgram, Variant

if TYPE_CHECKING:
    from bfsbench.programs.families.apsp.matrix import Matrix

_COPY_BLOCK = 256


class AllPairsVariant(Variant):
    """All-pairs shortest paths on a matrix of weights
    (:func:`bfsbench.programs.families.apsp.matrix.weight_matrix`).

    With ``tracks`` set before ``prepare``, next hops are recorded as well, which takes longer.
    """

    family = "apsp"
    layout = ("matrix",)
    frontier = "none"
    tracks: bool = False

    @abstractmethod
    def poison(self) -> None:
        """Fill the arrays behind ``distances`` and ``next_hops`` with POISON."""

    @abstractmethod
    def reset(self) -> None:
        """Copy the weights to the array of distances: the first, timed, part of a run."""

    @abstractmethod
    def solve(self) -> None:
        """Find all distances; on return the work has been issued, not necessarily finished."""

    @abstractmethod
    def distances(self) -> Matrix:
        """Wait, and return int32[V, V]: from row to column, INFINITY where there is no path."""

    @abstractmethod
    def next_hops(self) -> Matrix:
        """Wait, and return int32[V, V]: the vertex after the row's on a shortest path to the column's.

        -1 where there is no path, the vertex itself on the diagonal. Only when it ``tracks``.
        """


class HostAllPairs(HostProgram, AllPairsVariant):
    """A native program, which allocates ``matrix`` in ``prepare``, and ``hops`` if it ``tracks``."""

    matrix: Matrix
    """int32[V, V]: the distances after a run."""
    hops: Matrix | None = None
    """int32[V, V]: the next hops after a run that tracks them."""

    def poison(self) -> None:
        self.matrix.fill(POISON)
        if self.hops is not None:
            self.hops.fill(POISON)

    def distances(self) -> Matrix:
        return self.matrix.copy()

    def next_hops(self) -> Matrix:
        if self.hops is None:
            raise ValueError("nothing was tracked: set tracks before prepare")
        return self.hops.copy()


class KernelAllPairs(KernelProgram, AllPairsVariant):
    """CUDA kernels on a matrix that is padded to a multiple of a tile; the padding is internal."""

    def tile(self) -> int:
        """The tile size: the number of rows is a multiple of it."""
        return 1

    def prepare(self) -> None:
        """Allocate, and bind the kernel that copies the weights; subclasses add their own kernels."""
        tile = self.tile()
        self.pitch = -(-self.num_vertices // tile) * tile
        """Rows of the padded matrix, and elements a row."""
        self.matrix: Buffer = self.device.empty(self.pitch**2, "int32")
        self.via: Buffer | None = self.device.empty(self.pitch**2, "int32") if self.tracks else None
        """An intermediate vertex of each pair's shortest path; -1 where the path is one arc, or there is
        none."""
        begin = self.kernel("apsp_begin")
        self.begin: Launch = begin.bind(
            weights=self.graph.once(_weights),
            num_vertices=self.num_vertices,
            **self.padded(),
            block=_COPY_BLOCK,
        )

    def defines(self) -> dict[str, int | str]:
        return {**super().defines(), "TRACKS": int(self.tracks)}

    def shared_constants(self) -> dict[str, int]:
        from bfsbench.programs.families.apsp.matrix import INFINITY

        return {**super().shared_constants(), "INFINITY_DISTANCE": INFINITY}

    def padded(self) -> dict[str, Any]:
        """The matrix, the intermediate vertices and the pitch, by the names of kernel parameters."""
        return {"matrix": self.matrix, "via": self.via, "pitch": self.pitch}

    def result(self) -> Buffer:
        """The padded matrix that holds the distances after ``solve``."""
        return self.matrix

    def poison(self) -> None:
        for matrix in (self.matrix, self.result(), self.via):
            if matrix is not None:
                matrix.fill(POISON)

    def reset(self) -> None:
        self.begin(self.pitch)

    def distances(self) -> Matrix:
        return self._unpadded(self.result())

    def next_hops(self) -> Matrix:
        hops = self.device.empty(self.pitch**2, "int32")
        find = self.kernel("apsp_next_hops")
        distances = {**self.padded(), "matrix": self.result(), "num_vertices": self.num_vertices}
        find.bind(**distances, hops=hops, block=_COPY_BLOCK)(self.pitch)
        return self._unpadded(hops)

    def _unpadded(self, buffer: Buffer) -> Matrix:
        n = self.num_vertices
        return buffer.download().reshape(self.pitch, self.pitch)[:n, :n]


def _weights(graph: DeviceGraph) -> Buffer:
    """int32[V * V]; raises UsageError as :func:`bfsbench.programs.families.apsp.matrix.weight_matrix`
    does."""
    from bfsbench.programs.families.apsp.matrix import weight_matrix

    return graph.device.upload(weight_matrix(graph.host_graph))
