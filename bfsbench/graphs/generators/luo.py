"""Generates the graphs of Luo, Wong and Hwu, "An effective GPU implementation of breadth-first search" (DAC
2010)."""

import itertools
import math

from bfsbench.graphs.generators.declaration import SEED, Generator, Parameter, vertices
from bfsbench.graphs.generators.native import chance, draw_edges
from bfsbench.graphs.graph import EdgeList

HUB_SPACING = 1000
"""Number of vertices per hub. In the paper, 0.1 % of the vertices are hubs."""
HUB_DEGREE = 1000


def luo_grid(n: int, form: str) -> EdgeList:
    """Generate a grid of exactly n vertices, as near to a cube or square as n allows. Inner vertices have
    degree 6.

    ``grid3d`` joins neighbours along three axes. ``triangular2d`` joins them along two axes and one diagonal.
    """
    columns, rows, diagonal = _box(n, form)
    sources, targets = draw_edges("box", columns, rows, n, diagonal, chance(1.0), seed=0)
    return EdgeList(sources, targets, n, "each_once")


def centre(n: int, form: str) -> int:
    """Returns the vertex in the middle of :func:`luo_grid`, from which the paper searches."""
    columns, rows, _ = _box(n, form)
    layers, rest = divmod(n, columns * rows)
    lines = rows if layers else rest // columns
    # This is the middle of the full layers and lines, because the last ones may be incomplete.
    return (layers // 2 * rows + lines // 2) * columns + columns // 2


def _box(n: int, form: str) -> tuple[int, int, int]:
    """Returns the columns and rows of a grid of n vertices, and 1 if diagonal neighbours are joined, else
    0."""
    if form == "triangular2d":
        columns = math.isqrt(n - 1) + 1
        return columns, columns, 1
    columns = next(side for side in itertools.count(1) if side**3 >= n)
    return columns, columns, 0


def luo_scale_free(n: int, seed: int) -> EdgeList:
    """Generate a random graph in which one vertex in a thousand has degree 1000.

    All other vertices have degree 5, 6 or 7 with equal probability. Edge ends are matched at random
    (configuration model), but no vertex is joined to itself. The few repeated edges stay and count. If the
    sum of the degrees is odd, one vertex has one edge less.
    """
    sources, targets = draw_edges("scale_free", n, HUB_SPACING, HUB_DEGREE, seed=seed)
    return EdgeList(sources, targets, n, "each_once")


LUO_GRID = Generator(
    name="luo_grid",
    kind="lattice",
    description="regular grid of degree 6, lower on the boundary, searched from the centre",
    source="Luo Table 1; the paper does not say which grid",
    orientation="each_once",
    parameters=(
        vertices(),
        Parameter("form", str, "which grid", default="grid3d", choices=("grid3d", "triangular2d")),
    ),
    build=luo_grid,
    size=lambda n, **_: (n, 3 * n),
    start=centre,
)

LUO_SCALE_FREE = Generator(
    name="luo_scale_free",
    kind="random",
    description="0.1 % of the vertices have degree 1000, the rest 6 on average and at most 7",
    source="Luo Table 3",
    orientation="each_once",
    parameters=(vertices(minimum=2 * HUB_SPACING), SEED),
    build=luo_scale_free,
    size=lambda n, **_: (n, n * (6 + HUB_DEGREE / HUB_SPACING) / 2),
)
