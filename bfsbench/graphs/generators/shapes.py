"""Generates small graphs for teaching and tests. They have no random parts."""

import numpy as np

from bfsbench.graphs.generators.declaration import (
    Generator,
    Parameter,
    Value,
    orientation_of,
    switch,
    vertices,
)
from bfsbench.graphs.graph import EdgeList, Ids

_SOURCE = "teaching and tests"
_DIRECTED = switch("directed", "1: the edges are arcs, 0: undirected")


def _tree_size(n: int, **_: Value) -> tuple[int, int]:
    return n, n - 1


def star(n: int, arcs: str) -> EdgeList:
    """Generate a star: vertex 0 is joined to every other vertex."""
    hub, leaves = np.zeros(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32)
    if arcs == "in":
        return EdgeList(leaves, hub, n, "directed")
    return EdgeList(hub, leaves, n, "directed" if arcs == "out" else "each_once")


def path(n: int, directed: int) -> EdgeList:
    """Generate a path through the vertices 0, 1, ... n-1."""
    ids = np.arange(n, dtype=np.int32)
    return EdgeList(ids[:-1], ids[1:], n, orientation_of(directed))


def cycle(n: int, directed: int) -> EdgeList:
    """Generate a cycle through the vertices 0, 1, ... n-1 and back to 0."""
    ids = np.arange(n, dtype=np.int32)
    return EdgeList(ids, np.roll(ids, -1), n, orientation_of(directed))


def complete(n: int) -> EdgeList:
    """Generate a complete graph: every pair of vertices is joined."""
    sources, targets = np.triu_indices(n, 1)
    return EdgeList(sources.astype(np.int32), targets.astype(np.int32), n, "each_once")


def binary_tree(n: int, directed: int) -> EdgeList:
    """Generate the first n vertices of a complete binary tree, numbered level by level from the root 0. If
    the tree is directed, arcs lead from parents to children."""
    children = np.arange(1, n, dtype=np.int32)
    return EdgeList((children - 1) // 2, children, n, orientation_of(directed))


PMPP_OFFSETS = (0, 2, 4, 7, 9, 11, 12, 13, 15, 15)
PMPP_TARGETS = (1, 2, 3, 4, 5, 6, 7, 4, 8, 5, 8, 6, 8, 0, 6)
"""The CSR arrays of PMPP Fig. 15.3 (A)."""


def pmpp() -> EdgeList:
    """Returns the example graph of the book PMPP, with 9 vertices and 15 arcs."""
    vertices_of = np.arange(len(PMPP_OFFSETS) - 1, dtype=np.int32)
    sources: Ids = np.repeat(vertices_of, np.diff(PMPP_OFFSETS))
    return EdgeList(sources, np.array(PMPP_TARGETS, dtype=np.int32), len(vertices_of), "directed")


STAR = Generator(
    name="star",
    description="vertex 0 joined to all others",
    source=_SOURCE,
    orientation="each_once",
    parameters=(
        vertices(),
        Parameter(
            "arcs", str, "arcs both ways, out of or into 0", default="both", choices=("both", "out", "in")
        ),
    ),
    build=star,
    size=_tree_size,
)
PATH = Generator(
    "path", "vertices in a line", _SOURCE, "each_once", (vertices(), _DIRECTED), path, _tree_size
)
CYCLE = Generator(
    "cycle",
    "vertices in a ring",
    _SOURCE,
    "each_once",
    (vertices(minimum=3), _DIRECTED),
    cycle,
    lambda n, **_: (n, n),
)
COMPLETE = Generator(
    name="complete",
    description="every pair of vertices joined",
    source=_SOURCE,
    orientation="each_once",
    parameters=(vertices(maximum=10_000),),
    build=complete,
    size=lambda n: (n, n * (n - 1) / 2),
)
BINARY_TREE = Generator(
    "binary_tree",
    "complete binary tree, root 0",
    _SOURCE,
    "each_once",
    (vertices(), _DIRECTED),
    binary_tree,
    _tree_size,
)
PMPP = Generator(
    name="pmpp",
    description="the example of 9 vertices and 15 arcs",
    source="PMPP Fig. 15.1",
    orientation="directed",
    parameters=(),
    build=pmpp,
    size=lambda: (9, 15),
    start=lambda: 0,
)
