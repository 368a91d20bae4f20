"""Declares a user's family: the connected components of a graph, without regard to the directions of arcs.

No file of the package refers to this family. Its variants return int32[V], which holds for each vertex the
smallest vertex of its component.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.base import Column, Family, Figure, Problem, Run
from bfsbench.support.errors import UsageError, WrongResultError
from bfsbench.variants.base import Variant

Labels = npt.NDArray[np.int32]


class ComponentsVariant(Variant):
    """Connected components by labels."""

    family = "cc"
    frontier = "none"

    @abstractmethod
    def poison(self) -> None:
        """Overwrite the labels."""

    @abstractmethod
    def reset(self) -> None:
        """Label each vertex with its own number."""

    @abstractmethod
    def solve(self) -> None:
        """Find the components."""

    @abstractmethod
    def labels(self) -> Labels:
        """Wait, and return the labels."""


class ConnectedComponents(Family):
    """Checked against SciPy."""

    name = "cc"
    title = "connected components"
    baseline = "cc_host"
    one = "all components"
    from_sources = False
    columns = (
        Column("components", "how many there are"),
        Column("shape", "one, several or all apart", kind="text"),
        Figure("arcs_us", "arcs of the graph a microsecond", "arcs/us"),
    )

    def require(self, graph: Graph) -> None:
        if graph.num_vertices == 0:
            raise UsageError("a graph without vertices has no components")

    def problem(self, graph: Graph, source: int | None) -> Components:
        self.require(graph)
        return Components(graph)


class Components(Problem):
    """The components of one graph. ``labels``, int32[V], are derived from SciPy's components."""

    def __init__(self, graph: Graph) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        arcs = (np.ones(graph.num_edges, np.int8), graph.column_indices, graph.row_offsets)
        matrix = csr_array(arcs, shape=(graph.num_vertices, graph.num_vertices))
        self.graph = graph
        self.count, component = connected_components(matrix, connection="weak")
        _, first, vertex = np.unique(component, return_index=True, return_inverse=True)
        self.labels = first[vertex].astype(np.int32)

    def run(self, variant: Variant) -> Run:
        if not isinstance(variant, ComponentsVariant):
            raise UsageError(f"variant {variant.name} finds no components")

        def check() -> None:
            wrong = np.flatnonzero(variant.labels() != self.labels)
            if len(wrong):
                raise WrongResultError(f"{len(wrong)} of {len(self.labels)} labels differ")

        return Run(variant.poison, variant.reset, variant.solve, variant.labels, check)

    def columns(self, milliseconds: float) -> dict[str, str]:
        shape = "one" if self.count == 1 else "apart" if self.count == self.graph.num_vertices else "several"
        rate = f"{self.graph.num_edges / milliseconds / 1e3:.3f}"
        return {"components": str(self.count), "shape": shape, "arcs_us": rate}
