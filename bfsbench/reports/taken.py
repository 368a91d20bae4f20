"""Makes the line below a table that says which code its rows measured, and when."""

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
    """Returns the result files that the rows of one table come from."""
    return [*dict.fromkeys(file for frame in frames if "file" in frame for file in frame["file"].unique())]


def line_of(
    frames: Sequence[pd.DataFrame], reason: str | None, commands: Mapping[str, str] | None = None
) -> str:
    """Returns a line with the files, commits and days of the rows of one table. It is empty without rows.

    ``commands`` gives the command that wrote each file, where it is known. ``reason`` says why rows of one
    search may have measured different code. The line then names these searches. Raises InputError if there
    are some and ``reason`` is None.
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
    """Finds searches whose rows measured different code although their knob values are equal. Returns texts
    that name these searches.

    For rows without a hash of their code, the commit is compared instead.
    """
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
