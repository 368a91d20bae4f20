"""What a reader must know of the times of other programs: whose clock, what it covers, what else it took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bfsbench.report.table import Table

if TYPE_CHECKING:
    import pandas as pd

_CLOCKS = {
    "events": "by device events",
    "theirs": "by its own clock",
    "ours": "by the host's clock, held here",
}
_FACTS = ("variant", "program", "clock", "covers", "preprocess_ms", "host_mib", "device_mib")


def with_footnotes(tables: Iterable[Table], rows: pd.DataFrame) -> list[Table]:
    """Tables made from rows, with a note for each entry in them."""
    entries = _entries(rows)
    return [replace(table, notes=(*table.notes, *_of(table, entries))) for table in tables]


def footnotes_of(rows: pd.DataFrame) -> list[str]:
    """A line for each entry that rows with a time are of."""
    return footnotes(_entries(rows).drop_duplicates().to_dict("records"))  # type: ignore[arg-type]


def footnotes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each entry that rows with a time are of; their numbers may be text."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["program"]:
            found.setdefault(row["variant"], []).append(row)
    return [_footnote(variant, of_entry) for variant, of_entry in sorted(found.items())]


def _entries(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of entries that have a time, and of their columns what notes are made of."""
    if "program" not in rows:
        return rows.iloc[:0]
    named = rows["program"].notna() & (rows["program"] != "")
    return rows.loc[named & (rows["status"] == "ok"), list(_FACTS)]


def _of(table: Table, entries: pd.DataFrame) -> list[str]:
    """The notes on the entries that a table names in a cell or above a column."""
    if entries.empty:
        return []
    named = {cell for row in table.rows for cell in row if isinstance(cell, str)} | {*table.columns}
    shown = entries[entries["variant"].isin(named)]
    return footnotes(shown.drop_duplicates().to_dict("records"))  # type: ignore[arg-type]


def _footnote(variant: str, rows: list[Mapping[str, Any]]) -> str:
    programs = ", ".join(sorted({row["program"] for row in rows}))
    clocks = " and ".join(sorted({_CLOCKS.get(row["clock"], row["clock"]) for row in rows}))
    covered = " or ".join(sorted({_covered(row["covers"]) for row in rows}))
    others = [
        f"{what} {span}"
        for name, what, unit in (
            ("preprocess_ms", "preparation", "ms"),
            ("host_mib", "memory on the host up to", "MiB"),
            ("device_mib", "on the GPU up to", "MiB"),
        )
        if (span := _span([row[name] for row in rows], unit, only_most=unit == "MiB"))
    ]
    return f"{variant}, another's program: {programs}, timed {clocks}, {covered}; {'; '.join(others)}."


def _covered(covers: str) -> str:
    """``initialisation=yes transfers=no`` in words."""
    parts = dict(part.split("=", 1) for part in covers.split() if "=" in part)
    yes, no = (
        " and ".join(name for name, said in parts.items() if said == wanted) for wanted in ("yes", "no")
    )
    return f"{yes or 'nothing beside the search'} included" + (f", {no} not" if no else "")


def _span(values: Iterable[object], unit: str, *, only_most: bool) -> str:
    """The least and the largest of the numbers; empty if there are none."""
    numbers = sorted(_numbers(values))
    if not numbers:
        return ""
    least, most = (
        f"{number:,.3g}" if number < 100 else f"{number:,.0f}" for number in (numbers[0], numbers[-1])
    )
    return f"{most} {unit}" if only_most or least == most else f"{least} to {most} {unit}"


def _numbers(values: Iterable[object]) -> Iterator[float]:
    for value in values:
        text = str(value)
        if text not in ("", "nan", "None"):
            yield float(text)
