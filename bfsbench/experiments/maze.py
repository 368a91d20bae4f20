"""A net routed through a maze: a path of a breadth-first tree, followed back from one terminal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bfsbench.errors import NoPathError, UsageError
from bfsbench.families.bfs import reference_levels
from bfsbench.families.bfs.parents import parents_on_host, path
from bfsbench.graphs.generators import parse_spec
from bfsbench.graphs.generators.lattice import MAZE, open_cells
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import resolve

WALL, PATH, TERMINAL, REACHED, UNREACHED = "█", "●", "◆", "·", " "


@dataclass(frozen=True)
class Route:
    """A routed maze. ``open``: bool[rows, columns]; ``levels``: int32[rows, columns], -1 where unreached;
    ``path``: cells (row, column) from the first terminal to the last, empty where no way leads there."""

    open: npt.NDArray[np.bool_]
    levels: npt.NDArray[np.int32]
    path: list[tuple[int, int]]

    @property
    def text(self) -> str:
        """A character a cell."""
        cells = np.where(self.open, np.where(self.levels >= 0, REACHED, UNREACHED), WALL)
        for row, column in self.path:
            cells[row, column] = PATH
        cells[0, 0] = cells[-1, -1] = TERMINAL
        return "\n".join("".join(line) for line in cells)


def routed(graph: Graph) -> Route:
    """Search a maze from its first cell and read the path to its last one back from the parents.

    Raises UsageError when the graph is no generated maze.
    """
    rows, columns, blocked, seed = _parameters(graph)
    levels = reference_levels(graph, 0)
    parents = next(parents_on_host(graph, levels)).links
    try:
        cells = [divmod(int(v), columns) for v in path(parents, graph.num_vertices - 1)]
    except NoPathError:
        cells = []
    return Route(open_cells(rows, columns, blocked, seed), levels.reshape(rows, columns), cells)


def _parameters(graph: Graph) -> tuple[int, int, float, int]:
    spec = resolve(graph.locator or graph.full_name).spec
    name, given = parse_spec(spec) if spec else ("", {})
    if name != MAZE.name:
        raise UsageError(f"{graph.name} is no maze: a maze is drawn from the generator '{MAZE.name}'")
    values = MAZE.complete(given)
    return int(values["rows"]), int(values["columns"]), float(values["blocked"]), int(values["seed"])
