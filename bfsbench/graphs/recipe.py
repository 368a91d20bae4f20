"""The choices by which a source becomes a searchable graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from bfsbench.graphs.graph import Orientation

IdPolicy = Literal["compact", "keep", "names"]
WeightPolicy = Literal["read", "ignore"]
WEIGHT_POLICIES = (*get_args(WeightPolicy), None)
FormatName = Literal[
    "snap", "dimacs9", "metis", "mtx", "csv", "npz", "npy", "parquet", "arrow", "graphml", "gml"
]
Keep = Literal["keep", "drop"]


@dataclass(frozen=True)
class Recipe:
    """How to read and convert a graph; part of its key in the cache. None means the source's default."""

    symmetrise: bool = False
    """Add the reverse of every arc of a directed graph; undirected ones contain it already."""
    ids: IdPolicy | None = None
    """``compact``: vertices are the ids that occur, renumbered in ascending order. ``keep``: every id up to
    the largest, or to the count in the header, is a vertex. ``names``: of an edge list, words are vertices,
    in ascending order, even if they look like numbers. None: compact for edge lists, keep for the others."""
    self_loops: Keep | None = None
    """None: drop those of a matrix (its diagonal), keep others."""
    duplicates: Keep | None = None
    """Parallel arcs. None: keep, but drop when ``symmetrise`` has made them."""
    orientation: Orientation | None = None
    """How to read the edges of a file. None: as its format says; directed where it says nothing."""
    weights: WeightPolicy | None = None
    """``read``: arcs have the source's weights, whole numbers of 32 bits. ``ignore``: every arc weighs 1.
    None: they are not read, which does not affect searches; all-pairs shortest paths refuse the graph."""
    format: str | None = None
    """A key of :data:`bfsbench.graphs.formats.FORMATS`. None: from the file's name and content."""


DEFAULT = Recipe()
"""The recipe with all defaults of the source."""
