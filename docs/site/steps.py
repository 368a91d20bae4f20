"""Draws the search of the tutorial's graph step by step: ``python docs/site/steps.py`` writes the picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs.families.bfs.search import reference_levels

PICTURE = Path(__file__).resolve().parents[1] / "pictures" / "pmpp-steps.svg"
PLACES = ((20, 80), (70, 40), (70, 120), (130, 20), (130, 60), (130, 100), (180, 120), (130, 150), (200, 50))
"""The place of each vertex in a panel, in pixels."""
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
"""The colour of each level."""
WIDTH, HEIGHT, RADIUS, LEFT, TOP = 230, 190, 11, 70, 40
SEARCHES = ("push", "pull", "queue")

Arc = tuple[int, int]


def work(search: str, graph: Graph, levels: np.ndarray, level: int) -> tuple[set[int], set[Arc]]:
    """Returns the vertices whose threads work in a step, and the arcs that they read."""
    if search == "pull":
        vertices = {int(v) for v in np.flatnonzero((levels > level) | (levels < 0))}
        return vertices, {arc for v in vertices for arc in _pulled(v, graph, levels, level)}
    vertices = {int(v) for v in np.flatnonzero(levels == level)}
    rows, targets = graph.row_offsets, graph.column_indices
    return vertices, {(v, int(w)) for v in vertices for w in targets[rows[v] : rows[v + 1]]}


def _pulled(v: int, graph: Graph, levels: np.ndarray, level: int) -> Iterator[Arc]:
    """Yields the arcs into a vertex, up to the first arc from a vertex of the level."""
    for u in graph.row_indices[graph.column_offsets[v] : graph.column_offsets[v + 1]]:
        yield int(u), v
        if levels[u] == level:
            return


def render() -> str:
    """Returns the picture as SVG: a row for each search, a column for each step."""
    graph = load("pmpp-example")
    levels = reference_levels(graph, 0)
    steps = range(int(levels.max()))
    parts = [_text(LEFT + WIDTH * (level + 0.5), 24, f"level {level} finds {level + 1}") for level in steps]
    for line, search in enumerate(SEARCHES):
        parts.append(_text(34, TOP + HEIGHT * (line + 0.45), search, "bold"))
        for level in steps:
            panel = "".join(_panel(search, graph, levels, level))
            parts.append(
                f'<g transform="translate({LEFT + WIDTH * level} {TOP + HEIGHT * line})">{panel}</g>'
            )
    size = (LEFT + WIDTH * len(steps), TOP + HEIGHT * len(SEARCHES))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif">'
    )
    size_of_head = 'markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9"'
    arrow = f'<marker id="to" viewBox="0 0 6 6" refX="6" refY="3" orient="auto" {size_of_head}>'
    arrow += '<path d="M0 0 6 3 0 6z" fill="#666"/></marker>'
    paper = f'<rect width="{size[0]}" height="{size[1]}" rx="8" fill="#fff"/>'
    return "\n".join([head, f"<defs>{arrow}</defs>{paper}", *parts, "</svg>\n"])


def _panel(search: str, graph: Graph, levels: np.ndarray, level: int) -> Iterator[str]:
    """Yields the parts of the panel of one step.

    Filled vertices have a level after the step. The threads of ringed vertices work in the step.
    """
    vertices, read = work(search, graph, levels, level)
    for arc in zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True):
        yield _line(arc, read=arc in read)
    for v, (x, y) in enumerate(PLACES):
        reached = 0 <= levels[v] <= level + 1
        fill, ink = (COLOURS[levels[v]], "#fff") if reached else ("#fff", "#000")
        ring = ' stroke="#000" stroke-width="3"' if v in vertices else ' stroke="#999"'
        yield f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="{fill}"{ring}/>'
        yield _text(x, y + 4, str(v), colour=ink)
    if search == "queue":
        yield _text(110, 182, "queue: " + " ".join(map(str, sorted(vertices))))


def _line(arc: Arc, *, read: bool) -> str:
    """Returns a line between the rims of two vertices. It is thick if a thread reads the arc."""
    (x, y), (to_x, to_y) = (np.array(PLACES[v], float) for v in arc)
    away = np.array([to_x - x, to_y - y])
    away *= (RADIUS + 2) / np.hypot(*away)
    ends = (
        f'x1="{x + away[0]:.1f}" y1="{y + away[1]:.1f}" x2="{to_x - away[0]:.1f}" y2="{to_y - away[1]:.1f}"'
    )
    look = 'stroke="#D55E00" stroke-width="2.5"' if read else 'stroke="#bbb"'
    return f'<line {ends} {look} marker-end="url(#to)"/>'


def _text(x: float, y: float, text: str, weight: str = "normal", colour: str = "#000") -> str:
    look = f'font-size="12" font-weight="{weight}" fill="{colour}" text-anchor="middle"'
    return f'<text x="{x:g}" y="{y:g}" {look}>{text}</text>'


if __name__ == "__main__":
    PICTURE.write_text(render(), encoding="utf-8")
