"""Spreads labels on the host until no label gets smaller."""

from __future__ import annotations

import numpy as np
from bfsbench.variants.components import ComponentsVariant, Labels

from bfsbench.variants.base import POISON, HostProgram


class HostComponents(HostProgram, ComponentsVariant):
    name = "cc_host"
    summary = "labels spread along all arcs at once, in NumPy"

    def prepare(self) -> None:
        self.label = np.empty(self.graph.num_vertices, np.int32)

    def poison(self) -> None:
        self.label.fill(POISON)

    def reset(self) -> None:
        self.label[:] = np.arange(len(self.label))

    def solve(self) -> None:
        tails, heads = self.graph.edge_sources, self.graph.column_indices
        before = None
        while before is None or not np.array_equal(before, self.label):
            before = self.label.copy()
            np.minimum.at(self.label, heads, before[tails])
            np.minimum.at(self.label, tails, before[heads])

    def labels(self) -> Labels:
        return self.label.copy()


class MergedComponents(HostComponents):
    """Puts the last vertex into the component of vertex 0, which may be wrong."""

    name = "cc_merged"
    summary = "is wrong where the last vertex is in a component of its own"

    def solve(self) -> None:
        super().solve()
        self.label[-1] = 0
