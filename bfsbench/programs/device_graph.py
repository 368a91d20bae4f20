"""A graph in a device's memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from bfsbench.backends.base import Buffer, Device
    from bfsbench.graphs.graph import Graph

Made = TypeVar("Made")


class DeviceGraph:
    """A graph's arrays on a device, each uploaded when first asked for and then kept."""

    def __init__(self, device: Device, host_graph: Graph) -> None:
        self.device = device
        self.host_graph = host_graph
        self._made: dict[Callable[..., Any], Any] = {}

    def once(self, make: Callable[[DeviceGraph], Made]) -> Made:
        """What ``make`` makes of the graph; kept like the arrays, for all searches that ask for the same."""
        if make not in self._made:
            self._made[make] = make(self)
        made: Made = self._made[make]
        return made

    @cached_property
    def row_offsets(self) -> Buffer:
        return self.device.upload(self.host_graph.row_offsets)

    @cached_property
    def column_indices(self) -> Buffer:
        return self.device.upload(self.host_graph.column_indices)

    @cached_property
    def edge_sources(self) -> Buffer:
        return self.device.upload(self.host_graph.edge_sources)

    @cached_property
    def column_offsets(self) -> Buffer:
        shared = self.host_graph.column_offsets is self.host_graph.row_offsets
        return self.row_offsets if shared else self.device.upload(self.host_graph.column_offsets)

    @cached_property
    def row_indices(self) -> Buffer:
        shared = self.host_graph.row_indices is self.host_graph.column_indices
        return self.column_indices if shared else self.device.upload(self.host_graph.row_indices)
