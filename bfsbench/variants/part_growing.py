"""A graph cut into cells that are grown on the device from seeds."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_int
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument, Buffer, Contract, CType, Device, Kernel, Module, Struct
from bfsbench.errors import KernelError
from bfsbench.families.bfs.layouts import GridBarrier
from bfsbench.paths import CUDA_SRC
from bfsbench.variants.base import DeviceGraph

PLACES = 32
"""Vertices of a part, of either kind, begin at a multiple of this many."""
_BLOCK = 256
_VERTICES_A_THREAD = 8
"""Of a growth, whose frontiers are far smaller than the graph."""
_ROUNDS = 6
"""Times that cells are grown."""
_FILLED = 0.55
"""Share of the most vertices of a cell that the first seeds are to get on average."""
_SMALLEST_SHARE = 8
"""A cell of fewer than its most vertices divided by this is given up."""
_REST_SHARE = 4
"""Likewise, cells of vertices that no seed reaches are smaller."""
_MAX_POLLS = 1 << 27


class Growth(Struct):
    """State of a growth (``grow_parts.cu``)."""

    _fields_: ClassVar = [
        ("barrier", GridBarrier),
        ("failed", c_int),
        ("found", c_int * 3),
        ("number", c_int),
        ("unlabelled", c_int),
    ]


@dataclass(frozen=True)
class Cells:
    """Parts without their rows."""

    places: Buffer
    vertices: Buffer
    first_places: npt.NDArray[np.int32]
    """int32[N]: each part's."""
    sizes: npt.NDArray[np.int32]
    """int32[N]: vertices of each part."""
    num_places: int


class _Labelling:
    """Arrays of a growth: ``labelling`` of grow_parts.cu."""

    def __init__(self, device: Device, num_vertices: int, most_labels: int) -> None:
        self.labels, self.ranks, self.queue = (device.empty(num_vertices, np.int32) for _ in range(3))
        self.last, self.sizes = (device.empty(most_labels, np.int32) for _ in range(2))

    def argument(self) -> tuple[Argument, ...]:
        return (self.labels, self.ranks, self.queue, self.last, self.sizes)


def rows_of(graph: DeviceGraph) -> tuple[Argument, ...]:
    """The kernels' ``graph_rows``."""
    return (*graph.csr.values(), *graph.csc.values())


def module_of(graph: DeviceGraph, name: str, types: Mapping[str, CType], macros: Mapping[str, int]) -> Module:
    """A file of kernels that prepare parts."""
    offsets = graph.host_graph.row_offsets.dtype
    contract = Contract(Path(__file__).name, {"offset_t": offsets, **types}, {"PLACES": PLACES})
    source = CUDA_SRC / "resident_parts" / f"{name}.cu"
    return graph.device.module(
        source, {"WIDE_OFFSETS": int(offsets.itemsize == 8), **macros}, contract=contract
    )


class Growing:
    """Cells grown from seeds in several rounds (``grow_parts.cu``)."""

    def __init__(self, graph: DeviceGraph, most_vertices: int) -> None:
        self.device, self.num_vertices = graph.device, graph.host_graph.num_vertices
        self.most = -(-most_vertices // PLACES) * PLACES
        self.rest = max(PLACES, self.most // _REST_SHARE // PLACES * PLACES)
        self.first_seeds = max(1, round(self.num_vertices / (_FILLED * self.most)))
        most_labels = self.first_seeds + (_SMALLEST_SHARE + 2) * (self.num_vertices // self.most + 1)
        self.seeds = self.device.empty(most_labels, np.int32)
        self.outwards = _Labelling(self.device, self.num_vertices, most_labels)
        self.inwards = _Labelling(self.device, self.num_vertices, most_labels)
        self.state = self.device.signal(Growth)
        self.module = module_of(graph, "grow_parts", {"growth": Growth, "grid_barrier": GridBarrier}, {})
        self.rows = rows_of(graph)

    def _launch(self, name: str, work: int, **arguments: Argument) -> None:
        blocks = max(1, min(-(-work // _BLOCK), self.device.limits.max_grid))
        self._kernel(name).bind(**arguments, block=_BLOCK)(blocks)

    def _kernel(self, name: str) -> Kernel:
        return self.module.kernel(name)

    def _grow(self, to: _Labelling) -> None:
        kernel = self._kernel("grow")
        launch = kernel.bind(
            graph=self.rows, to=to.argument(), state=self.state, max_polls=_MAX_POLLS, block=_BLOCK
        )
        launch(min(kernel.resident_blocks(_BLOCK), -(-self.num_vertices // (_VERTICES_A_THREAD * _BLOCK))))

    def _grow_both_ways(self, number: int) -> None:
        """From seeds until all is reached, and from the boundaries inwards."""
        arguments: dict[str, Argument] = {"state": self.state}
        self.outwards.labels.fill(-1)
        self._launch(
            "plant", number, to=self.outwards.argument(), seeds=self.seeds, number=number, **arguments
        )
        self._grow(self.outwards)
        self.inwards.sizes.fill(0)
        for level in range(3):
            self.state.fill_member(0, "found", level)
        self._launch(
            "find_boundary",
            self.num_vertices,
            graph=self.rows,
            labels=self.outwards.labels,
            to=self.inwards.argument(),
            num_vertices=self.num_vertices,
            **arguments,
        )
        self._grow(self.inwards)

    def cells(self) -> Cells:
        """Raises KernelError when blocks gave up waiting for each other."""
        self.state.fill(0)
        number = self.first_seeds
        self._launch("draw_seeds", number, seeds=self.seeds, number=number, num_vertices=self.num_vertices)
        for rest in reversed(range(_ROUNDS)):
            self._grow_both_ways(number)
            if rest:
                number = self._choose_seeds(number)
        self._launch(
            "rank_rest",
            self.num_vertices,
            outwards=self.outwards.argument(),
            inwards=self.inwards.argument(),
            state=self.state,
            num_vertices=self.num_vertices,
            number=number,
        )
        state = self.state.read_struct()
        if state.failed:
            raise KernelError("grow_parts: blocks did not all meet")
        return self._places(np.append(self.inwards.sizes.download()[:number], state.unlabelled))

    def _choose_seeds(self, number: int) -> int:
        self.state.fill_member(0, "number")
        self._launch(
            "choose_seeds",
            number,
            outwards=self.outwards.argument(),
            inwards=self.inwards.argument(),
            seeds=self.seeds,
            state=self.state,
            least=-(-self.most // _SMALLEST_SHARE),
            most=self.most,
            number=number,
        )
        return int(self.state.read_struct().number)

    def _places(self, sizes: npt.NDArray[np.int32]) -> Cells:
        """Cells of at most ``most`` vertices, at their places; the last ones, of the rest, are smaller."""
        most = np.full(len(sizes), self.most)
        most[-1] = self.rest
        cells = -(-sizes // most)
        labels = np.repeat(np.arange(len(sizes)), cells)
        nth = np.arange(len(labels)) - np.repeat(np.cumsum(cells) - cells, cells)
        own = np.minimum(most[labels], sizes[labels] - nth * most[labels])
        padded = -(-own // PLACES) * PLACES
        first = np.cumsum(padded) - padded
        num_places = int(padded.sum())
        first_of_label = np.zeros(len(sizes), np.int32)
        first_of_label[labels[nth == 0]] = first[nth == 0]
        places = self.device.empty(self.num_vertices, np.int32)
        vertices = self.device.empty(num_places, np.int32)
        vertices.fill(-1)
        self._launch(
            "give_places",
            self.num_vertices,
            labels=self.inwards.argument(),
            first_places=self.device.upload(first_of_label),
            places=places,
            vertices=vertices,
            num_vertices=self.num_vertices,
            state=self.state,
            most=self.most,
            few=self.rest,
            number=len(sizes) - 1,
        )
        self.device.synchronize()
        return Cells(places, vertices, first.astype(np.int32), own.astype(np.int32), num_places)
