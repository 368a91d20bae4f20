"""Annotated listings as one HTML page: searches side by side, all levels or one, opened from disk."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from bfsbench.explain.counters import Counters
from bfsbench.explain.listing import LineCost, listings
from bfsbench.explain.tables import by_level
from bfsbench.report.formats import header
from bfsbench.report.html import embedded
from bfsbench.storage import output

_ALL = "all"


def write_page(path: Path, counted: Sequence[Counters]) -> None:
    """Write the listings of searches on one graph. Raises UsageError where the page cannot be written."""
    point = counted[0].point
    axes = point.axes()
    source = f", source {axes['source']}" if axes["source"] else ""
    levels = sorted({int(level) for of in counted for level in of.lines["level"]})
    data = {
        "what": f"{axes['graph']}{source}",
        "levels": levels,
        "searches": [_search(of) for of in counted],
    }
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    with output(path) as file:
        file.write(template.replace("__DATA__", embedded(data)))


def _search(counted: Counters) -> dict[str, object]:
    frame = by_level(counted)
    every = listings(counted)
    costs = {_ALL: {listing.file: _costs(listing.costs) for listing in every}}
    for level in sorted({int(level) for level in counted.lines["level"]}):
        costs[str(level)] = {of.file: _costs(of.costs) for of in listings(counted, level)}
    return {
        "title": counted.title,
        "levelColumns": [header(name) for name in frame.columns],
        "levels": frame.to_numpy(dtype=object).tolist(),
        "files": [
            {"name": of.file, "lines": [(line.number, line.text) for part in of.parts for line in part]}
            for of in every
        ],
        "costs": costs,
    }


def _costs(costs: dict[int, LineCost]) -> dict[str, tuple[float, ...]]:
    """Costs by line number, as text, for page.html."""
    return {
        str(number): (
            *(cost.executions, round(cost.lanes * cost.executions)),
            *(cost.sectors, cost.conflicts, cost.collisions, round(cost.share, 5)),
        )
        for number, cost in costs.items()
    }
