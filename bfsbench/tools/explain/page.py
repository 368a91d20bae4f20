"""Writes the HTML page of ``bfsbench explain``: listings side by side, predicted times and advice."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from bfsbench.reports.html import embedded
from bfsbench.reports.table import header
from bfsbench.rows.ceilings import Ceilings
from bfsbench.rows.counters import Counted
from bfsbench.support.errors import plural
from bfsbench.support.storage import output
from bfsbench.tools.explain import (
    costs_by_file,
    kernels_us,
    listings,
    predict,
    predicted_levels,
    prediction_table,
)
from bfsbench.tools.explain.advice import advice, left_out


def write_page(path: Path, counted: Sequence[Counted], device: Ceilings) -> None:
    """Writes an HTML page with the listings of a program, or of searches on one graph. Raises UsageError if
    the page cannot be written."""
    levels = sorted({level for of in counted for level in _levels(of)})
    predicted = prediction_table(counted, device)
    first = counted[0]
    data = {
        "what": first.subject,
        "level": first.level_name,
        "levels": levels,
        "searches": [_search(of, device) for of in counted],
        "prediction": {
            "title": predicted.title,
            "columns": [header(name) for name in predicted.columns],
            "rows": predicted.rows,
            "notes": predicted.notes,
        },
    }
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    with output(path) as file:
        file.write(template.replace("__DATA__", embedded(data)))


def _levels(counted: Counted) -> list[int]:
    return sorted({int(level) for level in counted.lines["level"]})


def _search(counted: Counted, device: Ceilings) -> dict[str, object]:
    """Returns the data of one search, or of a program, for ``page.html``."""
    frame, found = predicted_levels(counted, device), predict(counted, device)
    frame = frame.rename(columns={"level": counted.level_name})
    kernels = kernels_us(counted, device)
    choices = {"all": None} | {str(level): level for level in _levels(counted)}
    ms = f"{found.search_ms:.3g} ms on one {device.gpu}"
    return {
        "title": counted.title,
        "levelColumns": [header(name) for name in frame.columns],
        "levels": frame.to_numpy(dtype=object).tolist(),
        "files": [{"name": of.file, "lines": of.lines} for of in listings(counted)],
        "costs": {
            choice: {
                file: {str(at): (*cost[:-1], round(cost.share, 5)) for at, cost in of.items()}
                for file, of in costs_by_file(counted, level).items()
            }
            for choice, level in choices.items()
        },
        "advice": {choice: [*advice(counted, found, kernels, level)] for choice, level in choices.items()},
        "size": plural(len(frame), counted.level_name),
        "predicted": ". ".join(
            [f"Predicted, not measured: {ms}, bound by {found.bound}", *left_out(counted, found)]
        ),
    }
