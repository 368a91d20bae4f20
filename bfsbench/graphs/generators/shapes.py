"""Generates graphs of regular shape: lattices, road networks, mazes, and small graphs for teaching and
tests."""

import itertools
import math
from functools import partial

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.generators.declaration import (
    DIRECTED,
    SEED,
    Generator,
    Parameter,
    Value,
    orientation_of,
    share,
    vertices,
)
from bfsbench.graphs.generators.native import chance, draw_cells, draw_edges
from bfsbench.graphs.graph import MAX_VERTICES, EdgeList, Ids
from bfsbench.support.errors import UsageError


def _side(name: str, meaning: str, default: int | None = None) -> Parameter:
    """Returns the declaration of a parameter that counts the cells along one side of a box."""
    return Parameter(name, int, meaning, default=default, minimum=1, maximum=MAX_VERTICES, growth="side")


_GRID = (_side("rows", "rows of cells"), _side("columns", "columns of cells"))


def _count(name: str, cells: int) -> int:
    """Returns ``cells``. Raises UsageError if a graph cannot have so many vertices."""
    if cells > MAX_VERTICES:
        raise UsageError(
            f"{name}: {cells:,} cells are more than the {MAX_VERTICES:,} vertices a graph may have"
        )
    return cells


def _lattice_size(rows: int, columns: int, depth: int, keep: float, **_: Value) -> tuple[int, float]:
    cells = rows * columns * depth
    return cells, keep * sum(cells - cells // side for side in (rows, columns, depth))


@partial(
    Generator,
    kind="lattice",
    description="2-D or 3-D lattice of which a share of the edges is kept; 0.7 gives degree 2.8, like roads",
    source="road-like graph of large diameter",
    parameters=(
        *_GRID,
        _side("depth", "layers of cells", default=1),
        share("keep", "probability that an edge is kept", 0.7),
        SEED,
    ),
    size=_lattice_size,
)
def lattice(rows: int, columns: int, depth: int, keep: float, seed: int) -> EdgeList:
    """Generate a box of cells, in which each edge between neighbouring cells is kept with probability
    ``keep``. The vertex of a cell is (layer * rows + row) * columns + column."""
    cells = _count("lattice", rows * columns * depth)
    return EdgeList(*draw_edges("box", columns, rows, cells, 0, chance(keep), seed=seed), cells, "each_once")


def _roads_size(rows: int, columns: int, segments: int, keep: float, **_: Value) -> tuple[int, float]:
    roads = 2 * rows * columns - rows - columns
    return rows * columns + roads * (segments - 1), roads * (segments - 1 + keep)


@partial(
    Generator,
    kind="road",
    description="road network: junctions of a grid, joined by paths; its degree is 2.1, as in OpenStreetMap",
    source="road networks of OpenStreetMap, such as europe_osm",
    parameters=(
        *_GRID,
        Parameter("segments", int, "edges of a road", default=4, minimum=1, maximum=10_000),
        share("keep", "probability that a road is whole", 0.7),
        SEED,
    ),
    size=_roads_size,
)
def roads(rows: int, columns: int, segments: int, keep: float, seed: int) -> EdgeList:
    """Generate a grid of junctions, in which each road between neighbouring junctions is a path of
    ``segments`` edges.

    A road is whole with probability ``keep``. The middle edge of any other road is missing, which leaves two
    dead ends. Junction (row, column) is vertex row * columns + column. The inner vertices of roads have the
    higher numbers.
    """
    _count("roads", _roads_size(rows, columns, segments, keep)[0])
    junctions = rows * columns
    starts, ends = draw_edges("box", columns, rows, junctions, 0, chance(1.0), seed=seed)
    inner = junctions + np.arange(len(starts), dtype=np.int32) * np.int32(segments - 1)
    whole = draw_cells(len(starts), 1 - keep, seed=seed)
    path = [starts, *(inner + np.int32(step) for step in range(segments - 1)), ends]
    parts = []
    for step, (first, second) in enumerate(itertools.pairwise(path)):
        kept = whole if step == segments // 2 else slice(None)
        parts.append((first[kept], second[kept]))
    sources, targets = (np.concatenate(ids) for ids in zip(*parts, strict=True))
    return EdgeList(sources, targets, junctions + len(starts) * (segments - 1), "each_once")


@partial(
    Generator,
    kind="lattice",
    description="grid with blocked cells, to be routed from the first cell to the last",
    source="PMPP Fig. 15.5",
    parameters=(*_GRID, share("blocked", "share of blocked cells", 0.25), SEED),
    size=lambda rows, columns, blocked, **_: (rows * columns, 2 * rows * columns * (1 - blocked) ** 2),
    start=lambda **_: 0,
)
def maze(rows: int, columns: int, blocked: float, seed: int) -> EdgeList:
    """Generate a grid in which neighbouring open cells are joined. Blocked cells are isolated vertices.

    The vertex of a cell is row * columns + column. A search goes from the first cell to the last. These two
    cells are never blocked, but a path between them need not exist.
    """
    cells = np.arange(_count("maze", rows * columns), dtype=np.int32).reshape(rows, columns)
    is_open = open_cells(rows, columns, blocked, seed)
    across = is_open[:, :-1] & is_open[:, 1:]
    down = is_open[:-1] & is_open[1:]
    sources = np.concatenate((cells[:, :-1][across], cells[:-1][down]))
    targets = np.concatenate((cells[:, 1:][across], cells[1:][down]))
    return EdgeList(sources, targets, rows * columns, "each_once")


def open_cells(rows: int, columns: int, blocked: float, seed: int) -> npt.NDArray[np.bool_]:
    """Returns bool[rows, columns], True for each cell of the generator ``maze`` that is not blocked."""
    cells = draw_cells(rows * columns, blocked, seed=seed)
    cells[[0, -1]] = True
    return cells.reshape(rows, columns)


def _luo_box(n: int, form: str) -> tuple[int, int]:
    """Returns the length of the sides of a grid of n vertices, and 1 if diagonal neighbours are joined, else
    0."""
    if form == "triangular2d":
        return math.isqrt(n - 1) + 1, 1
    return next(side for side in itertools.count(1) if side**3 >= n), 0


def _luo_centre(n: int, form: str) -> int:
    """Returns the vertex in the middle of ``luo_grid``, from which the paper searches."""
    side, _ = _luo_box(n, form)
    layers, rest = divmod(n, side * side)
    lines = side if layers else rest // side
    # This is the middle of the full layers and lines, because the last ones may be incomplete.
    return (layers // 2 * side + lines // 2) * side + side // 2


@partial(
    Generator,
    kind="lattice",
    description="regular grid of degree 6, lower on the boundary, searched from the centre",
    source="Luo Table 1; the paper does not say which grid",
    parameters=(
        vertices(),
        Parameter("form", str, "which grid", default="grid3d", choices=("grid3d", "triangular2d")),
    ),
    size=lambda n, **_: (n, 3 * n),
    start=_luo_centre,
)
def luo_grid(n: int, form: str) -> EdgeList:
    """Generate a grid of exactly n vertices, as near to a cube or square as n allows. Inner vertices have
    degree 6. The graph is from Luo, Wong and Hwu, "An effective GPU implementation of breadth-first search"
    (DAC 2010).

    ``grid3d`` joins neighbours along three axes. ``triangular2d`` joins them along two axes and one diagonal.
    """
    side, diagonal = _luo_box(n, form)
    return EdgeList(*draw_edges("box", side, side, n, diagonal, chance(1.0), seed=0), n, "each_once")


_SMALL = partial(Generator, source="teaching and tests")
"""The declaration that the small graphs share."""


def _tree_size(n: int, **_: Value) -> tuple[int, int]:
    return n, n - 1


@partial(
    _SMALL,
    description="vertex 0 joined to all others",
    parameters=(
        vertices(),
        Parameter(
            "arcs", str, "arcs both ways, out of or into 0", default="both", choices=("both", "out", "in")
        ),
    ),
    size=_tree_size,
)
def star(n: int, arcs: str) -> EdgeList:
    """Generate a star: vertex 0 is joined to every other vertex."""
    hub, leaves = np.zeros(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32)
    if arcs == "in":
        return EdgeList(leaves, hub, n, "directed")
    return EdgeList(hub, leaves, n, "directed" if arcs == "out" else "each_once")


@partial(_SMALL, description="vertices in a line", parameters=(vertices(), DIRECTED), size=_tree_size)
def path(n: int, directed: int) -> EdgeList:
    """Generate a path through the vertices 0, 1, ... n-1."""
    ids = np.arange(n, dtype=np.int32)
    return EdgeList(ids[:-1], ids[1:], n, orientation_of(directed))


@partial(
    _SMALL,
    description="vertices in a ring",
    parameters=(vertices(minimum=3), DIRECTED),
    size=lambda n, **_: (n, n),
)
def cycle(n: int, directed: int) -> EdgeList:
    """Generate a cycle through the vertices 0, 1, ... n-1 and back to 0."""
    ids = np.arange(n, dtype=np.int32)
    return EdgeList(ids, np.roll(ids, -1), n, orientation_of(directed))


@partial(
    _SMALL,
    description="every pair of vertices joined",
    parameters=(vertices(maximum=10_000),),
    size=lambda n: (n, n * (n - 1) / 2),
)
def complete(n: int) -> EdgeList:
    """Generate a complete graph: every pair of vertices is joined."""
    sources, targets = np.triu_indices(n, 1)
    return EdgeList(sources.astype(np.int32), targets.astype(np.int32), n, "each_once")


@partial(
    _SMALL, description="complete binary tree, root 0", parameters=(vertices(), DIRECTED), size=_tree_size
)
def binary_tree(n: int, directed: int) -> EdgeList:
    """Generate the first n vertices of a complete binary tree, numbered level by level from the root 0. If
    the tree is directed, arcs lead from parents to children."""
    children = np.arange(1, n, dtype=np.int32)
    return EdgeList((children - 1) // 2, children, n, orientation_of(directed))


_PMPP_OFFSETS = (0, 2, 4, 7, 9, 11, 12, 13, 15, 15)
_PMPP_TARGETS = (1, 2, 3, 4, 5, 6, 7, 4, 8, 5, 8, 6, 8, 0, 6)
"""The CSR arrays of PMPP Fig. 15.3 (A)."""


@partial(
    Generator,
    description="the example of 9 vertices and 15 arcs",
    source="PMPP Fig. 15.1",
    orientation="directed",
    parameters=(),
    size=lambda: (9, 15),
    start=lambda: 0,
)
def pmpp() -> EdgeList:
    """Returns the example graph of the book PMPP, with 9 vertices and 15 arcs."""
    sources: Ids = np.repeat(np.arange(9, dtype=np.int32), np.diff(_PMPP_OFFSETS))
    return EdgeList(sources, np.array(_PMPP_TARGETS, dtype=np.int32), 9, "directed")
