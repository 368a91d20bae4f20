"""Says where and when rows were taken, warns about comparing them, and explains the times of other authors'
programs.

The explanations say whose clock measured these times, what the clock covers, and what else the program took.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bfsbench.reports.rows import compact
from bfsbench.reports.table import Cell, Table, header
from bfsbench.support.errors import printable

if TYPE_CHECKING:
    import pandas as pd

_CLOCKS = {
    "events": "device events",
    "theirs": "its own clock",
    "ours": "the host's clock",
}
_FACTS = ("variant", "program", "clock", "covers", "prepare_ms", "compile_ms", "host_mib", "device_mib")


def with_footnotes(tables: Iterable[Table], rows: pd.DataFrame) -> list[Table]:
    """Returns the tables, with a note added for each program of other authors (entry) that a table shows.

    ``rows`` are the rows that the tables were made from.
    """
    entries = _entries(rows)
    return [replace(table, notes=(*table.notes, *_of(table, entries))) for table in tables]


def footnotes_of(rows: pd.DataFrame) -> list[str]:
    """Returns one line for each entry (another author's program) that has a time in ``rows``."""
    return footnotes(_entries(rows).drop_duplicates().to_dict("records"))  # type: ignore[arg-type]


def footnotes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns one line for each entry (another author's program) in rows that have a time. Numbers in the
    rows may be text."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["program"]:
            found.setdefault(row["variant"], []).append(row)
    return [_footnote(variant, of_entry) for variant, of_entry in sorted(found.items())]


def _entries(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of entries (other authors' programs) that have a time, with the columns that notes are
    made of."""
    if "program" not in rows:
        return rows.iloc[:0]
    named = rows["program"].notna() & (rows["program"] != "")
    return rows.loc[named & (rows["status"] == "ok"), list(_FACTS)]


def _of(table: Table, entries: pd.DataFrame) -> list[str]:
    """Returns the notes on the entries (other authors' programs) that a table names in a cell or above a
    column."""
    if entries.empty:
        return []
    named = {cell for row in table.rows for cell in row if isinstance(cell, str)} | {*table.columns}
    shown = entries[entries["variant"].isin(named)]
    return footnotes(shown.drop_duplicates().to_dict("records"))  # type: ignore[arg-type]


def _footnote(variant: str, rows: list[Mapping[str, Any]]) -> str:
    programs = ", ".join(sorted({row["program"] for row in rows}))
    clocks = " or ".join(sorted({_CLOCKS.get(row["clock"], row["clock"]) for row in rows}))
    covered = " or ".join(sorted({_covered(row["covers"]) for row in rows}))
    prepared = _span(_defined(rows, "prepare_ms"), "ms", only_most=False)
    memory = [
        f"up to {span} {where}"
        for name, where in (("host_mib", "on the host"), ("device_mib", "on the GPU"))
        if (span := _span(_defined(rows, name), "MiB", only_most=True))
    ]
    facts = [
        f"{variant} is a program of others: {programs}",
        f"Its times are measured by {clocks}, and include {covered}",
        f"Preparation took {prepared}" if prepared else "Its preparation was not measured",
        *([f"It took {' and '.join(memory)}"] if memory else []),
    ]
    return f"{'. '.join(facts)}."


def _defined(rows: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    """Returns the values of a column.

    Values of ``prepare_ms`` are left out where ``compile_ms`` is empty, because ``prepare_ms`` then meant
    another time.
    """
    return [row[name] for row in rows if name != "prepare_ms" or [*_numbers([row["compile_ms"]])]]


def _covered(covers: str) -> str:
    """Returns in words what a time includes, from text such as ``initialisation=yes transfers=no``."""
    parts = dict(part.split("=", 1) for part in covers.split() if "=" in part)
    yes, no = ([name for name, said in parts.items() if said == wanted] for wanted in ("yes", "no"))
    return " and ".join(yes or ["the search alone"]) + (f", but not {' or '.join(no)}" if no else "")


def _span(values: Iterable[object], unit: str, *, only_most: bool) -> str:
    """Returns the range of the numbers as text, such as ``2 to 5 ms``. With ``only_most``, the text has only
    the largest.

    The text is empty if there are no numbers.
    """
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


_ORIGIN = (
    *("backend", "gpu", "compute_capability", "driver", "cuda", "host", "host_cpu"),
    *("python", "version", "commit", "schema"),
)
_ORIGINS_ACROSS = 3
"""Number of origins side by side when the table is text."""
_NOT_THROTTLED = ("", "none")


def origins(rows: pd.DataFrame) -> list[Table]:
    """Returns a table with one row per origin: devices, versions, number of rows, clock rates, and the first
    and last time of a row."""
    summed = ["status", "sm_clock_mhz", "memory_clock_mhz", "taken_at"]
    taken = compact(rows[[*_ORIGIN, *summed]], _ORIGIN).assign(throttled=_throttled(rows))
    frame = taken.groupby(list(_ORIGIN), as_index=False, sort=False, observed=True).agg(
        rows=("status", "size"),
        throttled_rows=("throttled", "sum"),
        sm_clock_min_mhz=("sm_clock_mhz", "min"),
        sm_clock_max_mhz=("sm_clock_mhz", "max"),
        memory_clock_min_mhz=("memory_clock_mhz", "min"),
        memory_clock_max_mhz=("memory_clock_mhz", "max"),
        first_taken=("taken_at", "min"),
        last_taken=("taken_at", "max"),
    )
    table = Table.of("provenance", "Provenance", frame, [f"Warning: {text}." for text in warnings(rows)])
    starts = range(0, len(table.rows), _ORIGINS_ACROSS)
    return [replace(table, drawings=tuple(_upright(table, start) for start in starts))]


def _upright(table: Table, start: int) -> Table:
    """Returns a table with facts as rows and some of the origins as columns. It omits a fact that none of
    them has."""
    origins = table.rows[start : start + _ORIGINS_ACROSS]
    facts: list[tuple[Cell, ...]] = []
    for column, values in zip(table.columns, zip(*origins, strict=True), strict=True):
        if any(values):
            facts.append((header(column), *(_plain(value) for value in values)))
    return Table("", "", ("", *(f"origin {start + i}" for i in range(1, len(origins) + 1))), facts)


def _plain(value: Cell) -> Cell:
    return f"{value:.0f}" if isinstance(value, int | float) else value


def _throttled(rows: pd.DataFrame) -> pd.Series[bool]:
    texts = rows["throttle"].unique()
    return ~rows["throttle"].isin([text for text in texts if text.lower() in _NOT_THROTTLED])


def warnings(rows: pd.DataFrame) -> list[str]:
    """Returns warnings about comparing the times of these rows. Rows of emulated kernels do not count."""
    rows = rows[rows["backend"] != "cpu"]
    found = []
    gpus = set(rows["gpu"]) - {""}
    if len(gpus) > 1:
        found.append(f"GPU times come from different devices: {_listed(gpus)}")
    hosts = rows[["host_cpu", "host"]].drop_duplicates().itertuples(index=False)
    machines = {f"{cpu} on {host}" for cpu, host in hosts if host}
    if len(machines) > 1:
        found.append(f"rows come from different machines: {_listed(machines)}")
    commits = {str(commit): int(count) for commit, count in rows["commit"].value_counts().items()}
    versions = {commit.removesuffix("+dirty") for commit in commits} - {""}
    if len(versions) > 1:
        found.append(f"rows come from different commits: {_listed(text[:12] for text in versions)}")
    dirty = sum(count for commit, count in commits.items() if commit.endswith("+dirty"))
    if dirty:
        found.append(f"{dirty} of {len(rows)} rows were taken with uncommitted changes")
    throttled = rows["throttle"][_throttled(rows)]
    if len(throttled):
        found.append(f"{len(throttled)} of {len(rows)} rows had throttled clocks ({_listed(set(throttled))})")
    return [*found, *_about_samples(rows)]


def _about_samples(rows: pd.DataFrame) -> list[str]:
    """Returns a line for each kind of warning in the rows: how many rows have it, and the first of the
    warnings."""
    found: dict[str, list[str]] = {}
    warned = rows[rows["warnings"] != ""]
    for graph, variant, texts in zip(warned["graph"], warned["variant"], warned["warnings"], strict=True):
        for text in texts.split("; "):
            kind, _, says = text.partition(": ")
            found.setdefault(kind, []).append(f"{variant} on {graph}: {says}")
    lines = (f"{kind}: {len(said)} of {len(rows)} rows, such as {said[0]}" for kind, said in found.items())
    return [*map(printable, lines)]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def origin_numbers(rows: pd.DataFrame) -> pd.Series[int]:
    """Returns the number of each row's origin. Numbers start at 1 and follow the order of the table of
    origins."""
    found = compact(rows[list(_ORIGIN)], _ORIGIN).groupby(list(_ORIGIN), sort=False, observed=True)
    return found.ngroup() + 1
