"""Generates random graphs, such as uniform and recursive-matrix graphs. Also generates graphs of regular
shape, such as lattices, road networks, mazes, and small graphs for teaching and tests.

Each function returns the list of edges of one kind of graph. The decorator ``Generator`` declares and checks
its parameters.
"""

import ctypes
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
    chance,
    draw_cells,
    draw_edges,
    draw_weights,
    edges,
    orientation_of,
    share,
    switch,
    vertices,
)
from bfsbench.graphs.graph import MAX_VERTICES, EdgeList, Ids
from bfsbench.support.errors import UsageError

_WHOLE = 2**40
"""The sum of the four integer weights of the quadrants."""
_NOISE_UNIT = 2**16


def _quadrants(a: float, b: float, c: float) -> tuple[Parameter, ...]:
    """Returns the declarations of the parameters a, b and c, with the given defaults. Each parameter is the
    probability that an edge falls into one quadrant of the adjacency matrix: low sources and low targets (a),
    low sources and high targets (b), or high sources and low targets (c).
    """
    return (
        share("a", "chance of the quadrant of low sources and low targets", a),
        share("b", "chance of low sources and high targets", b),
        share("c", "chance of high sources and low targets; the rest is the chance of both high", c),
    )


def _weights(name: str, a: float, b: float, c: float) -> ctypes.Array[ctypes.c_int64]:
    """Returns the weights of the four quadrants as integers, for the C++ struct ``Quadrants``. Raises
    UsageError if a + b + c is above 1."""
    weights = [int(quadrant * _WHOLE) for quadrant in (a, b, c)]
    if sum(weights) > _WHOLE:
        raise UsageError(f"{name}: a + b + c must not exceed 1, but {a} + {b} + {c} does")
    return (ctypes.c_int64 * 4)(*weights, _WHOLE - sum(weights))


@partial(
    Generator,
    kind="kronecker",
    description="Graph500's Kronecker graph, without noise; self loops and repeated edges stay in the list",
    source="Graph500 specification; kron_g500-logn20 of BFS-4K Table 1 has scale 20 and edge factor 48",
    parameters=(
        Parameter("scale", int, "2**scale vertices", maximum=30, growth="logarithm"),
        Parameter("edge_factor", int, "edges drawn for each vertex", default=16, maximum=4096),
        *_quadrants(0.57, 0.19, 0.19),
        switch("shuffle", "1: relabel the vertices at random", default=1),
        SEED,
    ),
    size=lambda scale, edge_factor, **_: (2**scale, edge_factor * 2**scale),
)
def kronecker(
    scale: int, edge_factor: int, a: float, b: float, c: float, shuffle: int, seed: int
) -> EdgeList:
    """Returns the edges of a Kronecker graph of 2**scale vertices with edge_factor * 2**scale edges. Self
    loops and repeated edges stay."""
    weights = _weights("kronecker", a, b, c)
    n = 2**scale
    return EdgeList(*draw_edges("rmat", n, edge_factor * n, weights, 0, shuffle, seed=seed), n, "each_once")


@partial(
    Generator,
    kind="rmat",
    description="R-MAT graph; self loops and repeated edges stay in the list",
    source="GTgraph's R-MAT; rmat.2Mv.128Me of BFS-4K Table 1 has m=64000000",
    parameters=(
        vertices(),
        edges(),
        *_quadrants(0.45, 0.15, 0.15),
        share("noise", "how far the chances vary from one halving to the next", 0.1, maximum=0.2),
        DIRECTED,
        switch("shuffle", "1: relabel the vertices at random"),
        SEED,
    ),
    size=lambda n, m, **_: (n, m),
)
def rmat(
    n: int, m: int, a: float, b: float, c: float, noise: float, directed: int, shuffle: int, seed: int
) -> EdgeList:
    """Returns the edges of an R-MAT graph with m edges over n vertices. Self loops and repeated edges stay.

    As in GTgraph, the range of ids is halved floor(log2(n)) times, rounding down. So only 2**floor(log2(n))
    vertices can get edges, and all other vertices stay isolated. After each halving, the chance of each
    quadrant is multiplied by a random factor, drawn uniformly between 1 - noise/2 and 1 + noise/2.
    """
    weights = _weights("rmat", a, b, c)
    ends = draw_edges("rmat", n, m, weights, int(noise * _NOISE_UNIT), shuffle, seed=seed)
    return EdgeList(*ends, n, orientation_of(directed))


@partial(
    Generator,
    kind="random",
    description="random graph, both ends of every edge drawn uniformly; self loops and repeated edges stay",
    source="GTgraph's random generator; random.2Mv.128Me of BFS-4K Table 1 is n=2000000, m=64000000",
    parameters=(vertices(), edges(), DIRECTED, SEED),
    size=lambda n, m, **_: (n, m),
)
def uniform(n: int, m: int, directed: int, seed: int) -> EdgeList:
    """Returns m edges whose two ends are drawn uniformly from n vertices. Self loops and repeated edges
    stay."""
    return EdgeList(*draw_edges("uniform", n, m, seed=seed), n, orientation_of(directed))


@partial(
    Generator,
    kind="small-world",
    description="ring with k neighbours on either side, each edge moved elsewhere with probability p",
    source="SNAP's GenSmallWorld (Watts and Strogatz 1998); BFS-4K Table 1 has n=2000000",
    parameters=(
        vertices(minimum=3),
        Parameter("k", int, "links of a vertex, half its degree", default=10, minimum=1, maximum=1000),
        share("p", "probability that a link is moved", 0.3),
        SEED,
    ),
    size=lambda n, k, **_: (n, n * k),
)
def small_world(n: int, k: int, p: float, seed: int) -> EdgeList:
    """Returns the edges of a small-world graph. The vertices form a ring, and each vertex links to the next k
    vertices.

    With probability p, a link is moved to another target. The new target is drawn uniformly from all vertices
    except the link's source and the targets of the source's earlier links. If two links join the same pair of
    vertices, the edge is listed once. So the graph may have slightly fewer than n * k edges.
    """
    if n <= 2 * k:
        raise UsageError(f"small_world: n must be more than twice k, not {n} with k={k}")
    return EdgeList(*draw_edges("small_world", n, k, chance(p), seed=seed), n, "each_once")


_SIDE = 1 << 30
"""Side length of the square from which points are drawn."""


@partial(
    Generator,
    kind="geometric",
    description="points in a square, joined where they are near; numbered by cells, like a mesh",
    source="random geometric graphs (Gilbert 1961); rgg_n_2_20_s0 of DIMACS10 has n=1048576, degree=13.1",
    parameters=(
        vertices(),
        Parameter("degree", float, "mean degree away from the border", default=13.0, maximum=1000),
        SEED,
    ),
    size=lambda n, degree, **_: (n, n * degree / 2),
)
def geometric(n: int, degree: float, seed: int) -> EdgeList:
    """Returns the edges of a random geometric graph. The generator draws n points uniformly from a square and
    joins near points, so that the mean degree is about ``degree``.

    The square is divided into cells, and vertices are numbered cell after cell. Near points therefore have
    similar numbers, as in a mesh.
    """
    radius = min(_SIDE, round(_SIDE * math.sqrt(degree / (math.pi * n))))
    ends = draw_edges("geometric", n, _SIDE, radius, seed=seed, native="generate_places")
    return EdgeList(*ends, n, "each_once")


@partial(
    Generator,
    kind="web",
    description="web crawl: pages link to near pages of their host, to hubs and to anywhere",
    source="this project, after the locality and the hubs of cnr-2000 (Boldi and Vigna 2004)",
    orientation="directed",
    parameters=(
        vertices(),
        Parameter("degree", int, "mean number of links", default=10, minimum=1, maximum=1000),
        Parameter(
            "host", int, "twice the mean number of pages of a host", default=1000, minimum=1, maximum=2**30
        ),
        share("near", "share of links within a host", 0.75),
        share("hubs", "share of the other links that go to hubs", 0.6),
        SEED,
    ),
    size=lambda n, degree, **_: (n, n * degree),
)
def crawl(n: int, degree: int, host: int, near: float, hubs: float, seed: int) -> EdgeList:
    """Returns the links between n web pages, which are numbered in the order of a crawler, host after host.
    Repeated links stay.

    A page has ``degree`` links on average, and some pages have many more. A share ``near`` of the links stays
    within the host, mostly between close pages. A share ``hubs`` of the other links goes to the first pages
    of some hosts, and a few of these pages get very many links. All remaining links go to random pages.
    """
    arguments = (n, degree, min(host, n), chance(near), chance(hubs))
    ends = draw_edges("crawl", *arguments, seed=seed, native="generate_places")
    return EdgeList(*ends, n, "directed")


_EXPECTED_DEGREE = 8
"""Expected out-degree for up to a million vertices at the default probabilities. Higher probabilities burn
far more vertices."""


@partial(
    Generator,
    kind="social",
    description="growing network in which a new vertex links to every vertex that its fire burns",
    source="SNAP's GenForestFire, its geometric fire without decay or orphans; BFS-4K Table 1 has n=1000000",
    orientation="directed",
    parameters=(
        vertices(),
        share("f", "forward burning probability", 0.35, maximum=0.9),
        share("b", "backward burning probability", 0.32, maximum=0.9),
        Parameter("s", int, "isolated vertices to start with", default=1, minimum=1, maximum=2**31 - 1),
        SEED,
    ),
    size=lambda n, **_: (n, _EXPECTED_DEGREE * n),
)
def forest_fire(n: int, f: float, b: float, s: int, seed: int) -> EdgeList:
    """Returns the arcs of a graph whose vertices arrive one by one. A new vertex starts a fire and links to
    all vertices that burn. This is the model of Leskovec, Kleinberg and Faloutsos.

    The fire starts at one earlier vertex, drawn uniformly. Each burning vertex burns a number x of its
    unburned out-neighbours, where P(x >= i) = f**i. It burns some of its in-neighbours in the same way, with
    b instead of f. Neighbours are chosen uniformly without repetition. The first s vertices start no fire.
    """
    if s > n:
        raise UsageError(f"forest_fire: s must not exceed n, not {s} with n={n}")
    return EdgeList(*draw_edges("forest_fire", n, s, chance(f), chance(b), seed=seed), n, "directed")


_HUB_SPACING = 1000
"""Number of vertices per hub. In the paper, 0.1 % of the vertices are hubs."""
_HUB_DEGREE = 1000


@partial(
    Generator,
    kind="random",
    description="0.1 % of the vertices have degree 1000, the rest 6 on average and at most 7",
    source="Luo Table 3",
    parameters=(vertices(minimum=2 * _HUB_SPACING), SEED),
    size=lambda n, **_: (n, n * (6 + _HUB_DEGREE / _HUB_SPACING) / 2),
)
def luo_scale_free(n: int, seed: int) -> EdgeList:
    """Returns the edges of a random graph in which one vertex in a thousand has degree 1000.

    All other vertices have degree 5, 6 or 7 with equal probability. Edge ends are matched at random
    (configuration model), but no vertex is joined to itself. The few repeated edges stay, and count towards
    the degrees. If the sum of the degrees is odd, one vertex has one edge fewer. The graph is from Luo, Wong
    and Hwu, "An effective GPU implementation of breadth-first search" (DAC 2010).
    """
    return EdgeList(*draw_edges("scale_free", n, _HUB_SPACING, _HUB_DEGREE, seed=seed), n, "each_once")


@partial(
    Generator,
    kind="dense",
    description="random digraph of given density and maximum degree, with self loops and strongly connected",
    source="CSE 6230, initGraph: 1024 to 40960 nodes",
    orientation="directed",
    parameters=(
        vertices("nodes", maximum=2**20),
        share("density", "share of all possible arcs, per cent", 25.0, maximum=100),
        share("degree", "largest out-degree, per cent of the nodes", 100.0, maximum=100),
        SEED,
    ),
    size=lambda nodes, density, degree, **_: (nodes, nodes * (2 + min(density, degree) / 100 * nodes)),
    start=lambda **_: 0,
)
def dense(nodes: int, density: float, degree: float, seed: int) -> EdgeList:
    """Returns the arcs of a dense digraph that is strongly connected and whose out-degree is bounded.

    Every vertex has an arc to itself and an arc to its successor on a ring through all vertices. Each other
    arc exists with a probability of ``density`` per cent. The out-degree is at most ``degree`` per cent of
    ``nodes``. From a vertex with too many arcs, random arcs are removed, but not the arc to itself or to its
    successor. The density is therefore not exact.
    """
    most = int(nodes * degree / 100)
    if most < min(nodes, 2):
        raise UsageError(
            f"dense: degree={degree:g} % of {nodes} nodes leaves no room for the connecting arcs"
        )
    return EdgeList(*draw_edges("dense", nodes, chance(density / 100), most, seed=seed), nodes, "directed")


@partial(
    Generator,
    kind="random",
    description="random digraph of given density, weights drawn uniformly from the integers 1 to max_weight",
    source="CSE 6230, all-pairs shortest paths: 512 to 4096 nodes, weights to 1000",
    orientation="directed",
    parameters=(
        vertices(maximum=2**20),
        share("density", "share of all possible arcs, per cent", 10.0, maximum=100),
        Parameter("max_weight", int, "largest weight", default=1000, minimum=1, maximum=2**31 - 1),
        SEED,
    ),
    size=lambda n, density, **_: (n, density / 100 * n * (n - 1)),
)
def weighted_random(n: int, density: float, max_weight: int, seed: int) -> EdgeList:
    """Returns the arcs and weights of a digraph in which each arc exists with a probability of ``density``
    per cent.

    There are no self loops. Weights are drawn uniformly from 1 .. ``max_weight``, which is 1000 in the CSE
    6230 paper. The paper defines only how weights are drawn. How arcs are drawn is this project's choice.
    """
    sources, targets = draw_edges("digraph", n, chance(density / 100), seed=seed)
    weights = draw_weights(len(sources), max_weight, seed=seed)
    return EdgeList(sources, targets, n, "directed", weights=weights)


def _side(name: str, meaning: str, default: int | None = None) -> Parameter:
    """Returns the declaration of a parameter that counts the cells along one side of a box."""
    return Parameter(name, int, meaning, default=default, minimum=1, maximum=MAX_VERTICES, growth="side")


_GRID = (_side("rows", "rows of cells"), _side("columns", "columns of cells"))


def _count(name: str, cells: int) -> int:
    """Check the number of vertices of a grid. Returns this number, ``cells``. Raises UsageError if it exceeds
    the limit for graphs."""
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
    """Returns the edges of a box of cells, in which each edge between neighbouring cells is kept with
    probability ``keep``. The vertex of a cell is (layer * rows + row) * columns + column."""
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
    """Returns the edges of a grid of junctions, in which each road between neighbouring junctions is a path
    of ``segments`` edges.

    A road has all its edges with probability ``keep``. Any other road lacks its middle edge, which leaves two
    dead ends. Junction (row, column) is vertex row * columns + column. The inner vertices of roads are
    numbered after the junctions.
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
    """Returns the edges of a grid of cells. Edges join neighbouring open cells. Blocked cells are isolated
    vertices.

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
    """Returns two numbers for a grid of n vertices: its side length, and the number of diagonals per cell (0
    or 1)."""
    if form == "triangular2d":
        return math.isqrt(n - 1) + 1, 1
    return next(side for side in itertools.count(1) if side**3 >= n), 0


def _luo_centre(n: int, form: str) -> int:
    """Returns the vertex in the middle of a grid that ``luo_grid`` makes. The searches of Luo, Wong and Hwu
    start there."""
    side, _ = _luo_box(n, form)
    layers, rest = divmod(n, side * side)
    lines = side if layers else rest // side
    # This is the middle of the complete layers and lines, because the last layer and line may be incomplete.
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
    """Returns the edges of a grid of exactly n vertices, as near to a cube or square as n allows. Inner
    vertices have degree 6. The graph is from Luo, Wong and Hwu, "An effective GPU implementation of
    breadth-first search" (DAC 2010).

    If ``form`` is ``grid3d``, edges join neighbours along three axes. If it is ``triangular2d``, edges join
    neighbours along two axes and one diagonal.
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
    """Returns the edges of a star: vertex 0 is joined to every other vertex."""
    hub, leaves = np.zeros(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32)
    if arcs == "in":
        return EdgeList(leaves, hub, n, "directed")
    return EdgeList(hub, leaves, n, "directed" if arcs == "out" else "each_once")


@partial(_SMALL, description="vertices in a line", parameters=(vertices(), DIRECTED), size=_tree_size)
def path(n: int, directed: int) -> EdgeList:
    """Returns the edges of a path through the vertices 0, 1, ... n-1."""
    ids = np.arange(n, dtype=np.int32)
    return EdgeList(ids[:-1], ids[1:], n, orientation_of(directed))


@partial(
    _SMALL,
    description="vertices in a ring",
    parameters=(vertices(minimum=3), DIRECTED),
    size=lambda n, **_: (n, n),
)
def cycle(n: int, directed: int) -> EdgeList:
    """Returns the edges of a cycle through the vertices 0, 1, ... n-1 and back to 0."""
    ids = np.arange(n, dtype=np.int32)
    return EdgeList(ids, np.roll(ids, -1), n, orientation_of(directed))


@partial(
    _SMALL,
    description="every pair of vertices joined",
    parameters=(vertices(maximum=10_000),),
    size=lambda n: (n, n * (n - 1) / 2),
)
def complete(n: int) -> EdgeList:
    """Returns the edges of a complete graph: every pair of vertices is joined."""
    sources, targets = np.triu_indices(n, 1)
    return EdgeList(sources.astype(np.int32), targets.astype(np.int32), n, "each_once")


@partial(
    _SMALL, description="complete binary tree, root 0", parameters=(vertices(), DIRECTED), size=_tree_size
)
def binary_tree(n: int, directed: int) -> EdgeList:
    """Returns the edges of a complete binary tree that is cut to its first n vertices. Vertices are numbered
    level by level from the root 0. If ``directed`` is 1, arcs lead from parents to children."""
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
    """Returns the arcs of the example graph in the book "Programming Massively Parallel Processors" (PMPP).
    The graph has 9 vertices and 15 arcs."""
    sources: Ids = np.repeat(np.arange(9, dtype=np.int32), np.diff(_PMPP_OFFSETS))
    return EdgeList(sources, np.array(_PMPP_TARGETS, dtype=np.int32), 9, "directed")
