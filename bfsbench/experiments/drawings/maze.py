"""A maze and the route through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from bfsbench.experiments.drawings.base import Chart
from bfsbench.experiments.maze import Route, routed
from bfsbench.experiments.outcome import Outcome
from bfsbench.report.plots import Picture, matplotlib_style
from bfsbench.report.plots.picture import COLOURS, file_name, panels
from bfsbench.report.table import Cell, Table


class Maze(Chart, frozen=True, kw_only=True, tag="maze"):
    """A maze of the generator ``maze``, routed from its first to its last cell by ``series``."""

    needs_graphs: ClassVar[bool] = True

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        yield _maze_table(outcome, self)

    def texts(self, outcome: Outcome) -> dict[str, str]:
        return {outcome.title(name): routed(outcome.loaded[name]).text for name in outcome.graphs_of(self)}

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        with matplotlib_style():
            made = [_maze(outcome, name, title) for name in outcome.graphs_of(self)]
        yield from made


def _maze_table(outcome: Outcome, drawing: Maze) -> Table:
    """The routes found."""
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs_of(drawing):
        route = routed(outcome.loaded[name])
        steps = len(route.path) - 1 if route.path else None
        blocked = int((~route.open).sum())
        lines.append((outcome.title(name), *map(int, route.open.shape), blocked, steps))
    columns = ("maze", "rows", "columns", "blocked_cells", "steps_of_the_route")
    return Table("mazes", "Routes from the first cell to the last", columns, lines)


def _maze(outcome: Outcome, graph: str, title: str) -> Picture:
    """Blocked cells black, reached ones coloured by their level, the route drawn through them."""
    route = routed(outcome.loaded[graph])
    about = (outcome.title(graph), _in_words(route))
    figure, (axis,) = panels(title, 1, across=1, size=(6.4, 5.7), about=about)
    levels = np.ma.masked_where(route.levels < 0, route.levels)
    image = axis.imshow(levels, cmap="cividis", interpolation="nearest")
    axis.imshow(np.ma.masked_where(route.open, route.open), cmap="gray", vmin=0, vmax=1)
    if route.path:
        down, across = zip(*route.path, strict=True)
        axis.plot(across, down, color=COLOURS[4], linewidth=2, label="route")
    last = (route.open.shape[1] - 1, route.open.shape[0] - 1)
    axis.plot(*zip((0, 0), last, strict=True), "o", color="white", markeredgecolor="black", label="terminals")
    axis.grid(visible=False)
    axis.set_xlabel("column (black cells are blocked, white ones out of reach)")
    axis.set_ylabel("row")
    figure.colorbar(image, label="level (cells from the first terminal)", shrink=0.8)
    figure.legend(loc="outside lower center", ncols=2)
    return Picture(file_name("maze", graph), f"{title}: {', '.join(about)}", figure)


def _in_words(route: Route) -> str:
    return f"{len(route.path) - 1} steps" if route.path else "no route"
