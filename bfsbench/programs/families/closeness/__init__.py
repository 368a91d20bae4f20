"""Declares the family closeness. A variant of this family searches from many sources, and sums the distances
from each source to all vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.programs.families.base import Column, Family, Figure
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph
    from bfsbench.programs.families.closeness.problem import ManySources


class Closeness(Family):
    """The family of searches from many sources: from all vertices, or from ``--sources S`` random vertices.

    Closeness centralities and diameters follow from the distances. The result column ``source`` contains the
    number of random sources. The column is empty if every vertex is a source.
    """

    name = "closeness"
    title = "closeness from many sources"
    baseline = "one_by_one"
    one = "all sources"
    from_sources = False
    draws_sources = True
    columns = (
        Column("sources", "vertices that were searched from"),
        Column("diameter", "largest eccentricity of the sources: exact if every vertex is a source"),
        Column("average_distance", "mean over pairs of a source and a vertex that it reaches", kind="number"),
        Figure("sources_s", "searches from single sources per second", "sources/s"),
        Figure(
            "gteps_single",
            "10^9 arcs per second of single searches in this time; estimated if not all sources are checked",
            "GTEPS eq.",
        ),
        Figure("bytes_source", "bytes besides the graph, per source that is served at once", "bytes/source"),
    )

    def require(self, graph: Graph) -> None:
        if graph.num_vertices == 0:
            raise UsageError("a graph without vertices has no sources")

    def problem(self, graph: Graph, source: int | None) -> ManySources:
        from bfsbench.programs.families.closeness.problem import ManySources

        self.require(graph)
        return ManySources(graph, source)
