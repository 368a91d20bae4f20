"""Generates lattices, road networks, and mazes for routing."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.generators.declaration import SEED, Generator, Parameter, Value, share
from bfsbench.graphs.generators.native import chance, draw_cells, draw_edges
from bfsbench.graphs.graph import MAX_VERTICES, EdgeList
from bfsbench.support.errors import UsageError


def lattice(rows: int, columns: int, depth: int, keep: float, seed: int) -> EdgeList:
    """Generate a box of cells, in which each edge between neighbouring cells is kept with probability
    ``keep``. The vertex of a cell is (layer * rows + row) * columns + column."""
    cells = _count("lattice", rows * columns * depth)
    sources, targets = draw_edges("box", columns, rows, cells, 0, chance(keep), seed=seed)
    return EdgeList(sources, targets, cells, "each_once")


def _lattice_size(rows: int, columns: int, depth: int, keep: float, **_: Value) -> tuple[int, float]:
    cells = rows * columns * depth
    return cells, keep * sum(cells - cells // side for side in (rows, columns, depth))


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
    for step, (first, second) in enumerate(pairwise(path)):
        kept = whole if step == segments // 2 else slice(None)
        parts.append((first[kept], second[kept]))
    sources, targets = (np.concatenate(ids) for ids in zip(*parts, strict=True))
    return EdgeList(sources, targets, junctions + len(starts) * (segments - 1), "each_once")


def _roads_size(rows: int, columns: int, segments: int, keep: float, **_: Value) -> tuple[int, float]:
    roads = 2 * rows * columns - rows - columns
    return rows * columns + roads * (segments - 1), roads * (segments - 1 + keep)


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
    """Returns bool[rows, columns], True for each cell of :func:`maze` that is not blocked."""
    cells = draw_cells(rows * columns, blocked, seed=seed)
    cells[[0, -1]] = True
    return cells.reshape(rows, columns)


def _count(name: str, cells: int) -> int:
    if cells > MAX_VERTICES:
        raise UsageError(
            f"{name}: {cells:,} cells are more than the {MAX_VERTICES:,} vertices a graph may have"
        )
    return cells


def _side(name: str, default: int | None = None) -> Parameter:
    what = f"{name} of cells"
    return Parameter(name, int, what, default=default, minimum=1, maximum=MAX_VERTICES, growth="side")


LATTICE = Generator(
    name="lattice",
    kind="lattice",
    description="2-D or 3-D lattice of which a share of the edges is kept; 0.7 gives degree 2.8, like roads",
    source="road-like graph of large diameter",
    orientation="each_once",
    parameters=(
        _side("rows"),
        _side("columns"),
        Parameter("depth", int, "layers of cells", default=1, minimum=1, maximum=MAX_VERTICES, growth="side"),
        share("keep", "probability that an edge is kept", 0.7),
        SEED,
    ),
    build=lattice,
    size=_lattice_size,
)

ROADS = Generator(
    name="roads",
    kind="road",
    description="road network: junctions of a grid, joined by paths; its degree is 2.1, as in OpenStreetMap",
    source="road networks of OpenStreetMap, such as europe_osm",
    orientation="each_once",
    parameters=(
        _side("rows"),
        _side("columns"),
        Parameter("segments", int, "edges of a road", default=4, minimum=1, maximum=10_000),
        share("keep", "probability that a road is whole", 0.7),
        SEED,
    ),
    build=roads,
    size=_roads_size,
)

MAZE = Generator(
    name="maze",
    kind="lattice",
    description="grid with blocked cells, to be routed from the first cell to the last",
    source="PMPP Fig. 15.5",
    orientation="each_once",
    parameters=(_side("rows"), _side("columns"), share("blocked", "share of blocked cells", 0.25), SEED),
    build=maze,
    size=lambda rows, columns, blocked, **_: (rows * columns, 2 * rows * columns * (1 - blocked) ** 2),
    start=lambda **_: 0,
)
