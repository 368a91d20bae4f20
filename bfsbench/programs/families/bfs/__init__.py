"""Declares the family of breadth-first search, which finds the level of every vertex that a source reaches.
To let commands start quickly, this module does not import NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.programs.families.base import PICTURES, Column, Family, Figure
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.graphs.graph import Graph, Ids
    from bfsbench.programs import ForeignProgram
    from bfsbench.programs.families.bfs.parents import Parents
    from bfsbench.programs.families.bfs.search import Search

_BARELY = 0.01
"""A source whose search reaches a smaller share of the vertices than this does not represent the graph."""


class BreadthFirstSearch(Family):
    """Breadth-first search. The variants are searches from publications, this project's own searches, and
    programs of other authors. Results are checked against a sequential search."""

    name = "bfs"
    title = "breadth-first search"
    baseline = "cpu_queue"
    one = "a search"
    from_sources = True
    columns = (
        Column("depth", "levels below the source"),
        Column("reached", "vertices reached"),
        Column("edges_traversed", "sum of out-degrees of reached vertices"),
        Figure(
            "mteps",
            "millions of edges traversed per second of search_ms",
            "MTEPS",
            harmonic=True,
            quartiles=True,
        ),
        Figure(
            "mteps_graph500",
            "mteps if an undirected edge counts once, as in Graph500: half of mteps",
            harmonic=True,
            shown=False,
        ),
    )
    profile = (
        Column("level", "levels below the source"),
        Column("kernel", "the kernel, or the layer of a kernel, that ran the level", kind="text"),
        Column("frontier_size", "vertices at this level"),
        Column(
            "edges_inspected", "adjacency entries read; empty if only the search knows", total="arcs read"
        ),
        Column(
            "time_us",
            "time in the profiled run; the last level of a launch includes the launch",
            kind="number",
        ),
        Column("counts", "NAME=COUNT for each of the variant's counters that is not 0", kind="text"),
    )
    pictures = (*PICTURES, "profile", "roofline", "duplicates")

    def require(self, graph: Graph) -> None:
        """Do nothing, because every graph can be searched."""

    def problem(self, graph: Graph, source: int | None) -> Search:
        if source is None:
            raise UsageError("a breadth-first search needs a source")
        from bfsbench.programs.families.bfs.search import Search

        return Search(graph, source)

    def path(self, links: Parents | None, source: int, target: int) -> Ids:
        from bfsbench.programs.families.bfs.parents import path

        return path(links, target)

    def foreign(self) -> type[ForeignProgram]:
        from bfsbench.programs.families.bfs.searches import ForeignSearch

        return ForeignSearch

    def advice(self, rows: pd.DataFrame) -> Iterator[str]:
        """Yields a warning for each graph with sources that reach few vertices. The warning is needed because
        these sources dominate a harmonic mean of rates.
        """
        rows = rows[["graph", "graph_checksum", "source", "status", "reached", "num_vertices"]]
        searched = rows[rows["status"] == "ok"].drop_duplicates(["graph", "graph_checksum", "source"])
        short = searched["reached"] < _BARELY * searched["num_vertices"]
        for (graph, _), found in short.groupby([searched["graph"], searched["graph_checksum"]]):
            if found.any():
                count = f"{found.sum()} of {len(found)} sources" if len(found) > 1 else "the source"
                mean = "; the harmonic mean is theirs, look at the median" if len(found) > 1 else ""
                yield f"Warning: {graph}: {count} reached less than 1 % of the vertices{mean}."
