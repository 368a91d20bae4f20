"""The best time of every search on every graph: the data of a page's matrix and bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bfsbench.report.footnotes import with_footnotes
from bfsbench.report.plots.measured import Measured, ratios
from bfsbench.report.rows import short_names
from bfsbench.report.table import Table
from bfsbench.variants import with_aliases

if TYPE_CHECKING:
    import pandas as pd

FAILED = "failed"
"""Cell of a search that was tried and has no time."""


def searches(measured: Measured) -> dict[str, Any]:
    """Graphs across and searches down, sorted by ``mean``; searches with times on few graphs are last.

    ``mean`` is the geometric mean of the ratios to the best of each graph, ``best`` on how many graphs the
    search is the best, ``worst`` its largest ratio, ``prepared`` the median preprocessing in ms: all over the
    graphs that are ``compared``, on which several searches have a time from all sources. ``notes`` say what
    the clocks of other programs cover.
    """
    best = measured.best()
    best = best.assign(ratio=ratios(best))
    most = best.groupby("title")["sources"].transform("max")
    whole = best[best["sources"] == most]
    several = whole.groupby("title")["label"].transform("nunique") > 1
    compared = whole[several & whole["ratio"].notna()]
    compared = compared.assign(ratio=ratios(compared))
    cells = _cells(measured, best, compared)
    made = [_search(label, measured, compared[compared["label"] == label]) for label in measured.labels]
    for search in made:
        search["cells"] = [cells.get((graph, search["label"])) for graph in measured.graphs]
    few = compared["title"].nunique() / 2
    made.sort(key=lambda search: (search["graphs"] < few, search["mean"] or math.inf))
    return {
        "key": measured.suffix,
        "heading": measured.heading.strip(" ()"),
        "emulated": measured.emulated,
        "notes": _footnotes(measured.rows),
        "graphs": _graphs(measured, set(compared["title"])),
        "searches": made,
    }


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
    logs = [math.log(ratio) for ratio in compared["ratio"]]
    variant = str(rows["variant"].iloc[0])
    return {
        "label": label,
        "name": label.replace(variant, with_aliases(variant), 1),
        "host": bool((rows["backend"] == "host").all()),
        "graphs": len(compared),
        "mean": math.exp(math.fsum(logs) / len(logs)) if logs else None,
        "best": int((compared["ratio"] == 1).sum()),
        "worst": float(compared["ratio"].max()) if logs else None,
        "prepared": _known(compared["preprocess_ms"].median()),
    }


def _cells(
    measured: Measured, best: pd.DataFrame, compared: pd.DataFrame
) -> dict[tuple[str, str], dict[str, Any] | str]:
    """The best configuration, or FAILED, by graph and search. ``ratio`` is None where it is not compared."""
    tried = measured.rows[["title", "label"]].drop_duplicates()
    cells: dict[tuple[str, str], dict[str, Any] | str]
    cells = dict.fromkeys(zip(tried["title"], tried["label"], strict=True), FAILED)
    frame = best.assign(ratio=compared["ratio"]).astype({"block": "float64"})
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
