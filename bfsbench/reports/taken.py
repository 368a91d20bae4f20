"""Which code the rows of a table measured, and when: a line below it, made of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bfsbench.support.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

FACTS = ("variant", "backend", "knobs", "graph", "code", "commit", "taken_at", "file")
_SEARCH = ["variant", "backend", "knobs"]
_MOST_NAMED = 4
_COMMIT, _DAY = 7, len("2026-11-21")


def files_of(frames: Sequence[pd.DataFrame]) -> list[str]:
    """The files of rows that stand in one table."""
    return [*dict.fromkeys(file for frame in frames if "file" in frame for file in frame["file"].unique())]


def line_of(
    frames: Sequence[pd.DataFrame], reason: str | None, commands: Mapping[str, str] | None = None
) -> str:
    """The files, commits and days of rows that stand in one table; empty without rows.

    ``commands`` says by which command a file was written, as far as that is known. ``reason`` says why rows
    of one search may be of different code; such searches are then named. Raises InputError where there are
    some and no reason.
    """
    import pandas as pd

    known = [frame[[*FACTS]] for frame in frames if set(FACTS) <= set(frame)]
    if not known:
        return ""
    rows = pd.concat(known).drop_duplicates()
    rows = rows.assign(commit=rows["commit"].str[:_COMMIT], day=rows["taken_at"].str[:_DAY])
    mixed = _mixed(rows)
    if mixed and reason is None:
        raise InputError(
            f"a table compares rows of different code: {'; '.join(mixed)}; "
            'if this is meant, say {{ mixed("why") }} above the table'
        )
    by = {file: f", by {command}" for file, command in (commands or {}).items()}
    files = []
    for file in dict.fromkeys(map(str, rows["file"])):
        some = rows[rows["file"] == file]
        origin = f"commit {_listed(some['commit'])}, {_listed(some['day'])}{by.get(file, '')}"
        files.append(f"`{file.split('/')[-1]}` ({origin})")
    taken = "; ".join(files)
    why = f" {reason} Of different code: {', '.join(mixed)}." if mixed else ""
    return f"Rows: {taken}.{why}"


def _mixed(rows: pd.DataFrame) -> list[str]:
    """Searches whose rows, with equal knobs, measured different code; rows without a hash go by commit."""
    said = rows.assign(code=rows["code"].where(rows["code"] != "", rows["commit"]))
    found: dict[str, dict[str, None]] = {}
    for (variant, *_), some in said.groupby(_SEARCH, sort=False, dropna=False):
        if some["code"].nunique() > 1:
            parts = [f"{commit} on {_graphs(of)}" for commit, of in some.groupby("commit", sort=False)]
            found.setdefault(", ".join(parts), {})[f"`{variant}`"] = None
    return [
        f"{', '.join(names) if len(names) <= _MOST_NAMED else f'{len(names)} searches'} ({parts})"
        for parts, names in found.items()
    ]


def _graphs(rows: pd.DataFrame) -> str:
    graphs = [name.split(":")[0] for name in dict.fromkeys(rows["graph"])]
    return graphs[0] if len(graphs) == 1 else f"{len(graphs)} graphs"


def _listed(values: Iterable[str]) -> str:
    return " and ".join(sorted({value or "unknown" for value in values}))
