"""Defines base classes of variants that find all-pairs shortest paths."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from bfsbench.backends.base import Buffer, Launch
from bfsbench.programs import POISON, DeviceGraph, HostProgram, KernelProgram, Variant

if TYPE_CHECKING:
    from bfsbench.programs.families.apsp.matrix import Matrix

_COPY_BLOCK = 256


class AllPairsVariant(Variant):
    """The base class of variants that find all-pairs shortest paths in a matrix of weights.

    :func:`bfsbench.programs.families.apsp.matrix.weight_matrix` makes the matrix. If ``tracks`` is set before
    ``prepare``, the variant also records next hops, which takes longer.
    """

    family = "apsp"
    layout = ("matrix",)
    frontier = "none"
    tracks: bool = False

    @abstractmethod
    def poison(self) -> None:
        """Fill the result arrays with POISON, a value that no run writes."""

    @abstractmethod
    def reset(self) -> None:
        """Copy the weights to the distance matrix. This is the first part of the timed run."""

    @abstractmethod
    def solve(self) -> None:
        """Start the computation of all distances. The computation may continue after the method has
        returned."""

    @abstractmethod
    def distances(self) -> Matrix:
        """Wait for the run. Returns the distance from each row's vertex to each column's vertex, int32[V, V].
        A distance is INFINITY if there is no path."""

    @abstractmethod
    def next_hops(self) -> Matrix:
        """Wait for the run. Returns the next hops, int32[V, V]. They are available only if ``tracks`` was
        set.

        Element [s, t] is the vertex after s on a shortest path from s to t. It is -1 if there is no path, and
        s itself if s = t.
        """


class HostAllPairs(HostProgram, AllPairsVariant):
    """The base class of variants that compute all-pairs shortest paths on the CPU. ``prepare`` allocates
    ``matrix``, and also ``hops`` if ``tracks`` is set."""

    matrix: Matrix
    """The distances after a run, int32[V, V]."""
    hops: Matrix | None = None
    """The next hops after a run that tracks them, int32[V, V]."""

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
    """The base class of variants that compute all-pairs shortest paths with CUDA kernels. The rows and
    columns of the distance matrix are padded to a multiple of the tile size. Results have no padding."""

    def tile(self) -> int:
        """Returns the number of rows of a square tile. The number of rows of a padded matrix is a multiple of
        the result."""
        return 1

    def prepare(self) -> None:
        """Allocate the arrays, and bind the kernel that copies the weights. Subclasses extend this method to
        bind the other kernels."""
        tile = self.tile()
        self.pitch = -(-self.num_vertices // tile) * tile
        """Number of rows, and of elements per row, of the padded matrix."""
        self.matrix: Buffer = self.device.empty(self.pitch**2, "int32")
        self.via: Buffer | None = self.device.empty(self.pitch**2, "int32") if self.tracks else None
        """For each pair of vertices, an intermediate vertex of its shortest path. It is -1 if the path is a
        single arc, or if there is no path."""
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
        """Returns a dictionary of kernel arguments by parameter name. They are the padded distance matrix,
        the matrix of intermediate vertices on shortest paths, and the row length."""
        return {"matrix": self.matrix, "via": self.via, "pitch": self.pitch}

    def result(self) -> Buffer:
        """Returns the padded matrix that holds the distances after ``solve``."""
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
    """Returns the weight matrix of a graph on the device, int32[V * V]. Raises UsageError if the graph is
    unfit for all-pairs shortest paths."""
    from bfsbench.programs.families.apsp.matrix import weight_matrix

    return graph.device.upload(weight_matrix(graph.host_graph))
