"""An experiment's drawings as pictures: those of :mod:`bfsbench.report.plots`, and two of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from bfsbench.experiments.declaration import Chart, Growth, Maze, SpeedUp
from bfsbench.experiments.maze import Route, routed
from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.tables import crossing
from bfsbench.report.plots import FORMATS, PLOTS, NothingToDrawError, Picture, draw, matplotlib_style, save
from bfsbench.report.plots.picture import COLOURS, file_name, look, panels, plain_log

_COMMON = frozenset(("title", "graphs", "series"))


def pictures(outcome: Outcome) -> Iterator[Picture]:
    """The pictures of all drawings; those for which there are no rows are left out.

    Raises UsageError when matplotlib is missing.
    """
    for drawing in outcome.experiment.drawings:
        title = drawing.title or outcome.experiment.title
        if isinstance(drawing, Growth):
            with matplotlib_style():
                made = [_growth(kind, drawing, title) for kind in outcome.by_kind()]
            yield from made
        elif isinstance(drawing, Maze):
            with matplotlib_style():
                made = [_maze(outcome, name, title) for name in outcome.graphs_of(drawing)]
            yield from made
        elif kind_of(drawing) in PLOTS and not outcome.rows.empty:
            rows, levels = outcome.drawn(drawing)
            try:
                yield from draw(kind_of(drawing), rows, levels, title=title, **_options(drawing))
            except NothingToDrawError:
                continue


def kind_of(drawing: Chart) -> str:
    """The value of ``kind`` that stands for the drawing in a file."""
    return str(drawing.__struct_config__.tag)


def _options(drawing: Chart) -> dict[str, object]:
    """What a drawing says beside what all have in common, as the plot's function takes it."""
    if isinstance(drawing, SpeedUp):
        return {"baselines": (drawing.baseline,)}
    names = (field.name for field in msgspec.structs.fields(drawing))
    return {name: getattr(drawing, name) for name in names if name not in _COMMON}


def write_pictures(outcome: Outcome, folder: Path) -> list[Path]:
    """All pictures in all formats, called NAME-PICTURE.png and so on. Raises UsageError."""
    made: dict[str, Picture] = {}
    for picture in pictures(outcome):
        name = f"{outcome.experiment.name}-{picture.name}"
        while name in made:
            name += "-again"
        made[name] = replace(picture, name=name)
    return [path for style in FORMATS for path in save(made.values(), folder, style)]


def _growth(outcome: Outcome, drawing: Growth, title: str) -> Picture:
    """The two model curves with the place where they cross; and times over the number of vertices."""
    heading = title + outcome.heading
    figure, (model, measured) = panels(heading, 2, across=2, size=(4.8, 3.6))
    n = np.logspace(1, 7, 200)
    meeting = crossing(drawing.acceleration)
    model.plot(n, n * n / drawing.acceleration, color=COLOURS[0], label=f"n² / {drawing.acceleration:g}")
    model.plot(n, n * np.log2(n), color=COLOURS[4], linestyle="--", label="n log₂ n")
    model.axvline(meeting, color="#777777", linewidth=0.8, label=f"equal at n = {meeting:,}")
    model.set(xscale="log", yscale="log", xlabel="n")
    model.set_ylabel("steps")
    sizes = outcome.rows.drop_duplicates("graph").set_index("graph")["num_vertices"]
    for place, series in enumerate(outcome.series_of(drawing)):
        best = outcome.best(series)["search_ms"]
        times = sorted((sizes[name], best[name]) for name in outcome.graphs_of(drawing) if name in best.index)
        if times:
            at, ms = zip(*times, strict=True)
            colour, marker = look(place)
            measured.plot(at, ms, color=colour, marker=marker, ms=5, label=series.title)
    measured.set_xlabel("vertices")
    measured.set_ylabel("time of a search (ms)")
    plain_log(measured, "x")
    plain_log(measured, "y")
    for axis in (model, measured):
        axis.legend(fontsize=8)
    return Picture(file_name("growth", "emulated" if outcome.emulated else ""), heading, figure)


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
