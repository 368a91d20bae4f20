"""Spreads labels by a kernel that has one thread per arc."""

from __future__ import annotations

import numpy as np
from bfsbench.variants.components import ComponentsVariant, Labels

from bfsbench.variants.base import POISON, KernelProgram, Knob


class SpreadComponents(KernelProgram, ComponentsVariant):
    name = "cc_spread"
    aliases = ("spread",)
    summary = "labels spread along all arcs until a launch changes nothing"
    knobs = (Knob("BOTH_WAYS", 1, "whether a label spreads to the tail as well", (0, 1), compile_time=True),)

    def prepare(self) -> None:
        self.label = self.device.empty(self.num_vertices, np.int32)
        self.progress = self.device.signal()
        arcs = (self.graph.edge_sources, self.graph.column_indices, self.num_edges)
        spread = self.kernel(self.name)
        self.begin = self.kernel("cc_begin").bind(self.label, self.num_vertices, block=self.block)
        self.spread = spread.bind(*arcs, self.label, self.progress, block=self.block, scalars=1)

    def poison(self) -> None:
        self.label.fill(POISON)

    def reset(self) -> None:
        self.progress.fill(0)
        self.begin(self.blocks(self.num_vertices))

    def solve(self) -> None:
        launches = 0
        while self.progress.read() == launches:
            self.spread(self.blocks(int(self.num_edges)), launches)
            launches += 1

    def labels(self) -> Labels:
        return self.label.download()
