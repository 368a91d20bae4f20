"""Keeps a graph's arrays in a device's memory."""

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
"""The arrays of each layout."""


class DeviceGraph:
    """A graph's arrays on a device. Each array is uploaded at its first use, and then kept. All searches
    share the arrays, so no search may write to them. ``written`` detects writes."""

    def __init__(self, device: Device, host_graph: Graph) -> None:
        self.device = device
        self.host_graph = host_graph
        self._made: dict[Callable[..., Any], Any] = {}
        self._cost: dict[object, tuple[float, set[object]]] = {}
        """By name of an array or by function: the ms that it took, and the keys of what it used."""
        self._used: set[object] = set()
        self._nested_ms = 0.0
        self._guarded = GuardedArrays(device)
        self._expected: tuple[object, object, ExpectedAnswer] | None = None

    def once(self, make: Callable[[DeviceGraph], Made]) -> Made:
        """Returns the result of ``make`` for the graph. The result is kept, and all searches that pass this
        function share it.

        Device arrays in the result are guarded against writes. The result may be an array, a tuple or a
        dataclass.
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
        """Returns the reference answer on the device as an ExpectedAnswer. Only the latest answer is kept on
        the device."""
        if self._expected is None or self._expected[0] is not reference or self._expected[1] is not rows:
            self._expected = None  # frees its memory first
            self._expected = reference, rows, ExpectedAnswer(self.device, reference, rows=rows)
        return self._expected[2]

    def preparation_ms(self, prepare: Callable[[], None], layout: tuple[str, ...]) -> tuple[float, float]:
        """Call ``prepare``, which prepares a search. ``layout`` names the arrays that the search reads.
        Returns the times in ms of preparation and of compilation.

        The preparation time is the time that it would take if this search were the first on the graph. So it
        includes the time of arrays that earlier searches have uploaded or made. It does not include
        compilation.
        """
        compiled = self.device.compile_ms
        self._clocked("preparation", prepare)
        own_ms, used = self._cost.pop("preparation")
        for name in layout:
            used |= {*ARRAYS.get(name, ())}
        shared_ms = sum(self._cost[key][0] for key in used if key in self._cost)
        return own_ms + shared_ms, self.device.compile_ms - compiled

    def _clocked(self, key: object, make: Callable[[], Made]) -> Made:
        """Call ``make`` and record its own time in ms under ``key``. Returns its result.

        The time includes neither compilation nor the time of arrays that ``make`` asks for and that are
        recorded under keys of their own. Those keys are recorded beside the time.
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
        """Wait for the device. Returns the names of the arrays that have been written to since they were
        uploaded."""
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
        """Returns the arrays of out-neighbours, by the names of kernel parameters."""
        return {"row_offsets": self.row_offsets, "column_indices": self.column_indices}

    @property
    def csc(self) -> dict[str, Argument]:
        """Returns the arrays of in-neighbours, by the names of kernel parameters."""
        return {"column_offsets": self.column_offsets, "row_indices": self.row_indices}

    def _uploaded(self, name: str) -> Buffer:
        array = getattr(self.host_graph, name)
        buffer = self._clocked(name, lambda: self.device.upload(array))
        self._guarded.add(name, buffer)
        return buffer
