"""The best time of every search on every graph: the data of a page's matrix and bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bfsbench.report.footnotes import with_footnotes
from bfsbench.report.plots.measured import Measured, ratios
from bfsbench.report.rows import comparable, fastest, short_names
from bfsbench.report.table import Table
from bfsbench.variants import with_aliases

if TYPE_CHECKING:
    import pandas as pd

Cell = dict[str, Any] | str | None
"""What is known of a search on a graph; None if it was not run."""

FAILED = "failed"
"""Cell of a search that was tried and has no time."""


def searches(measured: Measured) -> dict[str, Any]:
    """Graphs across and searches down, those with times on most graphs first, then by ``mean``.

    ``mean`` is the geometric mean of the ratios to the best of each graph, ``best`` on how many graphs the
    search is the best, ``worst`` its largest ratio, ``prepared`` the median preprocessing in ms: all over the
    graphs that are ``compared``, on which several searches have a time from all sources. ``against_first`` is
    the mean of the times over those of the first search on the graphs of both. ``notes`` say what the clocks
    of other programs cover.
    """
    compared = _compared(measured)
    cells = _cells(measured, compared)
    made = [_search(label, measured, compared[compared["label"] == label]) for label in measured.labels]
    for search in made:
        search["cells"] = [cells.get((graph, search["label"])) for graph in measured.graphs]
    made.sort(key=lambda search: (-search["graphs"], search["mean"] or math.inf))
    for search in made:
        search["against_first"] = _against(made[0]["cells"], search["cells"])
    return {
        "key": measured.suffix,
        "heading": measured.heading.strip(" ()"),
        "emulated": measured.emulated,
        "notes": _footnotes(measured.rows),
        "graphs": _graphs(measured, set(compared["title"])),
        "searches": made,
    }


def _compared(measured: Measured) -> pd.DataFrame:
    """The best configurations that are held against each other, with their ``ratio``."""
    whole = comparable(measured.rows, measured.family, also=("title", "label"))
    best = fastest(whole, ("title", "label"))
    several = best.groupby("title")["label"].transform("nunique") > 1
    best = best[several & ratios(best).notna()]
    return best.assign(ratio=ratios(best))


def _against(first: Sequence[Cell], cells: Sequence[Cell]) -> float | None:
    """The geometric mean of a search's times over those of another, on the graphs where both are compared."""
    found = [
        mine["ratio"] / its["ratio"]
        for its, mine in zip(first, cells, strict=True)
        if isinstance(its, dict) and isinstance(mine, dict) and its["ratio"] and mine["ratio"]
    ]
    return geometric_mean(found) if found else None


def _footnotes(rows: pd.DataFrame) -> tuple[str, ...]:
    """What a reader must know of the times of other programs."""
    (table,) = with_footnotes([Table("", "", tuple(rows["variant"].unique()), [])], rows)
    return table.notes


def _graphs(measured: Measured, compared: set[str]) -> list[dict[str, Any]]:
    short = short_names(title for title in measured.graphs if title in compared)
    return [
        {
            "title": title,
            "short": short.get(title, title),
            "searched": measured.searched(title),
            "compared": title in compared,
        }
        for title in measured.graphs
    ]


def _search(label: str, measured: Measured, compared: pd.DataFrame) -> dict[str, Any]:
    rows = measured.rows[measured.rows["label"] == label]
    found = compared["ratio"]
    variant = str(rows["variant"].iloc[0])
    return {
        "label": label,
        "name": label.replace(variant, with_aliases(variant), 1),
        "host": bool((rows["backend"] == "host").all()),
        "graphs": len(compared),
        "mean": geometric_mean(found) if len(found) else None,
        "best": int((found == 1).sum()),
        "worst": float(found.max()) if len(found) else None,
        "prepared": _known(compared["preprocess_ms"].median()),
    }


def _cells(measured: Measured, compared: pd.DataFrame) -> dict[tuple[str, str], Cell]:
    """The best configuration, or FAILED, by graph and search. ``ratio`` is None where it is not compared."""
    import pandas as pd

    places = ["title", "label"]
    tried = measured.rows[places].drop_duplicates()
    cells: dict[tuple[str, str], Cell]
    cells = dict.fromkeys(zip(tried["title"], tried["label"], strict=True), FAILED)
    timed = measured.best().assign(ratio=math.nan)
    frame = pd.concat([compared, timed]).drop_duplicates(places).astype({"block": "float64"})
    for row in frame.to_dict("records"):
        cells[row["title"], row["label"]] = {
            "ms": float(row["search_ms"]),
            "ratio": _known(row["ratio"]),
            "sources": int(row["sources"]),
            "variant": with_aliases(row["variant"]),
            "block": None if math.isnan(row["block"]) else int(row["block"]),
            **{name: row[name] for name in ("graph", "backend", "device", "grid", "knobs")},
        }
    return cells


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
