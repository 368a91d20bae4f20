"""Keeps the arrays of a graph in the memory of a device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from bfsbench.programs.check import ExpectedAnswer, GuardedArrays

if TYPE_CHECKING:
    import numpy.typing as npt

    from bfsbench.backends.base import Argument, Buffer, Device
    from bfsbench.graphs.graph import Graph

Made = TypeVar("Made")

ARRAYS = {
    "CSR": ("row_offsets", "column_indices"),
    "CSC": ("column_offsets", "row_indices"),
    "COO": ("edge_sources", "column_indices"),
}
"""Maps each graph layout to the names of its arrays."""


class DeviceGraph:
    """The arrays of one graph on a device. An array is uploaded at its first use, and then kept. An array
    that another library stores in GPU memory is used in place, and not uploaded. All searches share the
    arrays, so no search may write to them. The method ``written`` detects writes."""

    def __init__(self, device: Device, host_graph: Graph) -> None:
        self.device = device
        self.host_graph = host_graph
        self._made: dict[Callable[..., Any], Any] = {}
        self._cost: dict[object, tuple[float, set[object]]] = {}
        """Maps an array's name, or a preprocessing function, to its cost: the time in ms, and the keys of the
        arrays that it used."""
        self._used: set[object] = set()
        self._nested_ms = 0.0
        self._guarded = GuardedArrays(device)
        self._expected: tuple[object, object, ExpectedAnswer] | None = None

    def once(self, make: Callable[[DeviceGraph], Made]) -> Made:
        """Call ``make`` with this graph, and keep the result. Returns the result. Later calls with the
        function ``make`` return the kept result, so that searches can share it.

        The result may be an array, a tuple or a dataclass. Device arrays in it are protected: ``written``
        detects writes to them.
        """
        if make not in self._made:
            found = self._made[make] = self._clocked(make, lambda: make(self))
            parts = found if isinstance(found, tuple) else vars(found).values() if is_dataclass(found) else ()
            for place, array in enumerate((found, *parts)):
                if hasattr(array, "download"):
                    self._guarded.add(f"{make.__name__} ({place})" if place else make.__name__, array)
        self._used |= {make, *self._cost[make][1]}
        made: Made = self._made[make]
        return made

    def expected(self, reference: npt.NDArray[Any], rows: npt.NDArray[Any] | None = None) -> ExpectedAnswer:
        """Upload the expected result ``reference``. Returns an object that compares device arrays with it.
        Only the latest expected result is kept on the device."""
        if self._expected is None or self._expected[0] is not reference or self._expected[1] is not rows:
            self._expected = None  # this first frees the memory of the previous expected result
            self._expected = reference, rows, ExpectedAnswer(self.device, reference, rows=rows)
        return self._expected[2]

    def preparation_ms(self, prepare: Callable[[], None], layout: tuple[str, ...]) -> tuple[float, float]:
        """Call ``prepare``, which prepares a search. Returns two times in ms: the preparation without
        compilation, and the compilation. ``layout`` names the graph layouts that the search reads.

        The preparation time is computed as if this search were the first search of the graph. So if an
        earlier search has uploaded or made an array that this search uses, the time for that array counts
        too.
        """
        compiled = self.device.compile_ms
        self._clocked("preparation", prepare)
        own_ms, used = self._cost.pop("preparation")
        for name in layout:
            used |= {*ARRAYS.get(name, ())}
        shared_ms = sum(self._cost[key][0] for key in used if key in self._cost)
        return own_ms + shared_ms, self.device.compile_ms - compiled

    def _clocked(self, key: object, make: Callable[[], Made]) -> Made:
        """Call ``make``, and record its time in ms under ``key``. Returns the result of ``make``.

        The recorded time excludes compilation. It also excludes the time for other arrays that ``make``
        requests. The times of these arrays are recorded under their own keys, and the keys are recorded
        together with the time of ``make``.
        """
        outer, nested = self._used, self._nested_ms
        self._used, self._nested_ms = set(), 0.0
        started, compiled = time.perf_counter(), self.device.compile_ms
        made = make()
        took = (time.perf_counter() - started) * 1e3 - (self.device.compile_ms - compiled)
        self._cost[key] = took - self._nested_ms, self._used
        self._used, self._nested_ms = {*outer, key, *self._used}, nested + took
        return made

    def written(self) -> list[str]:
        """Wait for the device. Returns the names of the arrays that have changed since they were uploaded or
        made."""
        return self._guarded.changed()

    @cached_property
    def row_offsets(self) -> Buffer:
        return self._uploaded("row_offsets")

    @cached_property
    def column_indices(self) -> Buffer:
        return self._uploaded("column_indices")

    @cached_property
    def edge_sources(self) -> Buffer:
        return self._uploaded("edge_sources")

    @cached_property
    def column_offsets(self) -> Buffer:
        host = self.host_graph
        shared = host.column_offsets is host.row_offsets
        return self.row_offsets if shared else self._uploaded("column_offsets")

    @cached_property
    def row_indices(self) -> Buffer:
        host = self.host_graph
        shared = host.row_indices is host.column_indices
        return self.column_indices if shared else self._uploaded("row_indices")

    @property
    def csr(self) -> dict[str, Argument]:
        """Returns the device arrays of out-neighbours (CSR), as a dictionary whose keys are the names of
        kernel parameters.
        """
        return {"row_offsets": self.row_offsets, "column_indices": self.column_indices}

    @property
    def csc(self) -> dict[str, Argument]:
        """Returns the device arrays of in-neighbours (CSC), as a dictionary whose keys are the names of
        kernel parameters.
        """
        return {"column_offsets": self.column_offsets, "row_indices": self.row_indices}

    def _uploaded(self, name: str) -> Buffer:
        array, on_gpu = getattr(self.host_graph, name), self.host_graph.on_gpu.get(name)

        def make() -> Buffer:
            borrowed = None if on_gpu is None else self.device.borrow(on_gpu)
            return self.device.upload(array) if borrowed is None else borrowed

        buffer = self._clocked(name, make)
        self._guarded.add(name, buffer)
        return buffer
