"""Counters as tables: the cost of each level, and of each source line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bfsbench.explain.counters import COUNTERS, Counters
from bfsbench.explain.prediction import predict
from bfsbench.report.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.probe.ceilings import Ceilings

LEVEL_COLUMNS = (
    *("executions", "lanes", "requests", "sectors", "sectors_a_request", "distinct_kib"),
    *("conflicts", "atomics", "collisions", "barriers", "longest_warp"),
)
LINE_COLUMNS = (
    *("executions", "lanes", "sectors", "sectors_a_request", "distinct_kib", "conflicts", "collisions"),
)
MOST_LEVELS = 40
"""Most rows of a table in text; files have all levels."""


def by_level(counted: Counters) -> pd.DataFrame:
    """A row for each level and kernel: ``level``, ``kernel`` and LEVEL_COLUMNS.

    ``lanes`` is the mean of those that take part in an execution, ``requests`` and ``sectors`` are those of
    global memory, atomics included; ``longest_warp`` the steps of the warp that made the most.
    """
    lines = counted.lines
    keys = ["level", "kernel"]
    frame = lines.groupby(keys)[["executions", "lanes", "conflicts", "collisions", "sectors"]].sum()
    on_global = lines[lines["memory"] == "global"]
    frame["requests"] = on_global.groupby(keys)["executions"].sum()
    frame["distinct_kib"] = on_global.groupby(keys)["distinct_sectors"].sum() / 32
    frame["atomics"] = lines[lines["kind"] == "atomic"].groupby(keys)["lanes"].sum()
    frame["barriers"] = lines[lines["kind"] == "barrier"].groupby(keys)["executions"].sum()
    frame["longest_warp"] = counted.launches.groupby(keys)["steps"].sum()
    frame = frame.fillna(0)
    frame["lanes"] = frame["lanes"] / frame["executions"]
    frame["sectors_a_request"] = (frame["sectors"] / frame["requests"]).fillna(0.0)
    whole = [name for name in LEVEL_COLUMNS if name not in ("lanes", "sectors_a_request", "distinct_kib")]
    frame[whole] = frame[whole].astype("int64")
    return frame[list(LEVEL_COLUMNS)].reset_index()


def by_line(counted: Counters, level: int | None = None) -> pd.DataFrame:
    """A row for each ``file`` and ``line``, with COUNTERS added up; of one level, or of all."""
    lines = counted.lines
    if level is not None:
        lines = lines[lines["level"] == level]
    return lines.groupby(["file", "line"], as_index=False)[list(COUNTERS)].sum()


def level_table(counted: Counters) -> Table:
    """``by_level``; in text the longest levels if there are many."""
    frame = by_level(counted)
    notes = []
    shown = frame
    if len(frame) > MOST_LEVELS:
        shown = frame.nlargest(MOST_LEVELS, "executions").sort_index()
        notes.append(
            f"The {MOST_LEVELS} of {len(frame)} levels with the most executions; --out FILE has all."
        )
    drawing = Table.of("", "", shown)
    return Table.of("levels", counted.title, frame, notes, (drawing,))


def prediction_table(counted: Sequence[Counters], ceilings: Ceilings) -> Table:
    """Predicted times in ms, a row for each search."""
    import pandas as pd

    found = [predict(of, ceilings) for of in counted]
    frame = pd.DataFrame(
        {
            "search": [of.title for of in counted],
            "predicted_ms": [of.search_ms for of in found],
            "launches_ms": [of.launches_ms for of in found],
            "latency_ms": [of.latency_ms for of in found],
            "throughput_ms": [of.throughput_ms for of in found],
            "contention_ms": [of.contention_ms for of in found],
            "bound": [of.bound for of in found],
        }
    )
    title = f"Prediction, not a measurement: times on one {ceilings.gpu}"
    notes = (
        "From these counters and the GPU's ceilings: what the host takes to launch, and level by level the "
        "largest of latency, throughput and contention.",
    )
    return Table.of("prediction", title, frame, notes)


def side_by_side(counted: Sequence[Counters]) -> Table:
    """Totals of several searches, one column each."""
    import pandas as pd

    rows = []
    for of in counted:
        lines = of.lines
        on_global = lines[lines["memory"] == "global"]
        executions = lines["executions"].sum()
        requests = on_global["executions"].sum()
        rows.append(
            {
                "levels": float(lines["level"].nunique()),
                "launches": float(of.launches["launch"].nunique()),
                "executions by a warp": float(executions),
                "lanes in an execution": lines["lanes"].sum() / max(1, executions),
                "requests to global memory": float(requests),
                "sectors": float(on_global["sectors"].sum()),
                "sectors a request": on_global["sectors"].sum() / max(1, requests),
                "bank conflicts": float(lines["conflicts"].sum()),
                "atomics": float(lines.loc[lines["kind"] == "atomic", "lanes"].sum()),
                "lanes that met on a word": float(lines["collisions"].sum()),
                "barriers": float(lines.loc[lines["kind"] == "barrier", "executions"].sum()),
                "steps of the longest warps": float(of.launches["steps"].sum()),
            }
        )
    frame = pd.DataFrame(rows).T
    texts = frame.map(lambda value: f"{value:,.0f}" if value == int(value) else f"{value:,.2f}")
    texts.columns = pd.Index([str(place) for place in range(1, len(counted) + 1)])
    notes = [f"{place}: {of.title}" for place, of in enumerate(counted, 1)]
    return Table.of("totals", "Side by side", texts.rename_axis("counter").reset_index(), notes)
