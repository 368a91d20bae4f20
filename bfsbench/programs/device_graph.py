"""A graph in a device's memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from bfsbench.programs.check import GuardedArrays

if TYPE_CHECKING:
    import numpy.typing as npt

    from bfsbench.backends.base import Argument, Buffer, Device
    from bfsbench.graphs.graph import Graph

Made = TypeVar("Made")


class DeviceGraph:
    """A graph's arrays on a device, each uploaded when first asked for and then kept.

    All searches share them, so none may write to them; ``written`` detects it.
    """

    def __init__(self, device: Device, host_graph: Graph) -> None:
        self.device = device
        self.host_graph = host_graph
        self._made: dict[Callable[..., Any], Any] = {}
        self._guarded = GuardedArrays(device)

    def once(self, make: Callable[[DeviceGraph], Made]) -> Made:
        """The result of ``make`` for the graph, kept like the arrays and shared by all searches with the same
        key.

        Arrays on the device, by themselves or as members of a tuple or a dataclass, are guarded as well.
        """
        if make not in self._made:
            found = self._made[make] = make(self)
            parts = found if isinstance(found, tuple) else vars(found).values() if is_dataclass(found) else ()
            for place, array in enumerate((found, *parts)):
                if hasattr(array, "download"):
                    self._guarded.add(f"{make.__name__} ({place})" if place else make.__name__, array)
        made: Made = self._made[make]
        return made

    def written(self) -> list[str]:
        """Wait, and return the names of the arrays that have been written to since they were uploaded."""
        return self._guarded.changed()

    @cached_property
    def row_offsets(self) -> Buffer:
        return self._uploaded("row_offsets", self.host_graph.row_offsets)

    @cached_property
    def column_indices(self) -> Buffer:
        return self._uploaded("column_indices", self.host_graph.column_indices)

    @cached_property
    def edge_sources(self) -> Buffer:
        return self._uploaded("edge_sources", self.host_graph.edge_sources)

    @cached_property
    def column_offsets(self) -> Buffer:
        host = self.host_graph
        shared = host.column_offsets is host.row_offsets
        return self.row_offsets if shared else self._uploaded("column_offsets", host.column_offsets)

    @cached_property
    def row_indices(self) -> Buffer:
        host = self.host_graph
        shared = host.row_indices is host.column_indices
        return self.column_indices if shared else self._uploaded("row_indices", host.row_indices)

    @property
    def csr(self) -> dict[str, Argument]:
        """The arrays of out-neighbours, by the names of kernel parameters."""
        return {"row_offsets": self.row_offsets, "column_indices": self.column_indices}

    @property
    def csc(self) -> dict[str, Argument]:
        """The arrays of in-neighbours, by the names of kernel parameters."""
        return {"column_offsets": self.column_offsets, "row_indices": self.row_indices}

    def _uploaded(self, name: str, array: npt.NDArray[Any]) -> Buffer:
        buffer = self.device.upload(array)
        self._guarded.add(name, buffer)
        return buffer
