"""Draws which search is the fastest on which kind of graph, with one line per graph."""

from __future__ import annotations

from collections.abc import Iterator

from bfsbench.reports.changes import CHANGED, changed_knobs, note_on_changes
from bfsbench.reports.measured import NothingToDrawError, TimedRows, ranking, ratios, wrapped
from bfsbench.reports.plots.picture import (
    COLOURS,
    Picture,
    file_name,
    legend_of_all,
    letters_in,
    look,
    one_page,
    pages,
    panels,
    plain_log,
    scaled,
)
from bfsbench.reports.rows import STATISTIC, short_names

_LINE_INCHES = 0.23
_WIDTH_INCHES = 6.0
_GRAPHS = 24
"""The largest number of graphs in a picture."""
_SEARCHES = len(COLOURS)
"""The largest number of searches in a picture. Each search has its own colour."""


def overviews(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with one line per graph, and one mark on it per search. A mark shows the search's
    ``search_ms`` divided by the best time of the graph. Graphs of one kind are beside each other.

    If there are many searches, only the searches with the least geometric mean of their ratios are shown, and
    every search that is the best of a graph. ``times the best`` then still refers to all searches.
    """
    from bfsbench.graphs.load import kind_of_graph

    best = measured.compared()
    best = best.assign(ratio=ratios(best)).dropna(subset=["ratio"])
    several = best.groupby("title")["label"].transform("nunique") > 1
    best = best[several]
    if best.empty:
        raise NothingToDrawError("an overview needs graphs on which two searches have times")
    order = ranking(best)
    leaders = {*best["label"][best["ratio"] == 1]}
    shown = sorted(order, key=lambda label: label not in leaders)[:_SEARCHES]
    shown = [label for label in order if label in shown]
    best = best[best["label"].isin(shown)]
    changed = {*best["label"][changed_knobs(best) != ""]}
    short = short_names(best["title"])
    kinds = {graph: kind_of_graph(graph) for graph in short}
    graphs = sorted(short, key=lambda graph: (kinds[graph], graph))
    heading = (title or "Which search is the fastest") + measured.heading
    left_out = f" Left out: {len(order) - len(shown)} slower searches." if len(order) > len(shown) else ""
    with one_page():
        for page, part in pages(graphs, _GRAPHS):
            labels = [
                short[graph] if short[graph] == kinds[graph] else f"{kinds[graph]}: {short[graph]}"
                for graph in part
            ]
            size = (_WIDTH_INCHES, _LINE_INCHES * len(part) + 0.6)
            figure, (axis,) = panels(heading, 1, across=1, size=size, labels=labels)
            for label in shown:
                colour, marker = look(label)
                name = label + CHANGED * (label in changed)
                line = best[(best["label"] == label) & best["title"].isin(part)]
                places = [part.index(graph) for graph in line["title"]]
                axis.scatter(
                    line["ratio"], places, s=scaled(42), c=colour, marker=marker, label=name, zorder=3
                )
            axis.set_yticks(range(len(part)), labels)
            axis.set_ylim(len(part) - 0.5, -0.5)
            plain_log(axis, "x", (1, best["ratio"].max()))
            axis.set_xlim(left=0.9)
            axis.set_xlabel("times the best of the graph (logarithmic axis)")
            texts = [f"mark: {STATISTIC}.{left_out}", note_on_changes(best)]
            meaning = "\n".join(wrapped(text, letters_in(figure.get_figwidth())) for text in texts if text)
            figure.supxlabel(meaning, fontsize=scaled(9))
            figure.set_figheight(figure.get_figheight() + scaled(_LINE_INCHES) * meaning.count("\n"))
            legend_of_all(figure)
            yield Picture(file_name(f"overview{measured.suffix}", page), heading, figure)
