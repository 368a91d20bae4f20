"""Makes the line below a table that says which code its rows measured, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bfsbench.support.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

FACTS = ("variant", "backend", "knobs", "graph", "source", "code", "commit", "taken_at", "file")
_SEARCH = ["variant", "backend", "knobs"]
_PLACE = ["variant", "backend", "graph"]
_MOST_NAMED = 4
_COMMIT, _DAY = 7, len("2026-11-21")


def files_of(frames: Sequence[pd.DataFrame]) -> list[str]:
    """Returns the result files that the rows of one table come from."""
    return [*dict.fromkeys(file for frame in frames if "file" in frame for file in frame["file"].unique())]


def facts_of(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The columns FACTS of the rows that stand in one table, each row once."""
    import pandas as pd

    known = [frame[[*FACTS]] for frame in frames if set(FACTS) <= set(frame)]
    return pd.concat(known).drop_duplicates() if known else pd.DataFrame(columns=[*FACTS])


def other_rows(here: pd.DataFrame, above: Iterable[pd.DataFrame]) -> str:
    """Returns a sentence if tables ``above`` show searches of this table on its graphs from other rows, and
    so with other numbers. The sentence names the files of these rows and their numbers of sources. Otherwise
    returns ""."""
    found: dict[str, set[int]] = {}
    counts: set[int] = set()
    rows_here = _rows_of_places(here)
    for table in above:
        rows_there = _rows_of_places(table)
        for place in rows_here.keys() & rows_there.keys():
            if rows_here[place] != rows_there[place]:
                counts.add(len({source for _, source in rows_here[place]}))
                for file in {file for file, _ in rows_there[place]}:
                    sources = {source for name, source in rows_there[place] if name == file}
                    found.setdefault(file, set()).add(len(sources))
    if not found:
        return ""
    files = ", ".join(f"`{file.split('/')[-1]}` ({_sources(found[file])})" for file in sorted(found))
    return f" Tables above use different rows of these searches: {files}. This table has {_sources(counts)}."


def _sources(counts: Iterable[int]) -> str:
    ordered = sorted(counts)
    return f"{' or '.join(map(str, ordered))} {'source' if ordered == [1] else 'sources'}"


def _rows_of_places(rows: pd.DataFrame) -> dict[tuple[str, ...], frozenset[tuple[str, float]]]:
    """The file and source of each row, by the search and the graph."""
    made: dict[tuple[str, ...], set[tuple[str, float]]] = {}
    places = zip(*(rows[name] for name in (*_PLACE, "file", "source")), strict=True)
    for variant, backend, graph, file, source in places:
        made.setdefault((variant, backend, graph), set()).add((file, source))
    return {place: frozenset(found) for place, found in made.items()}


def outdated(rows: pd.DataFrame, current: Callable[[str, str, str], set[str]]) -> str:
    """Says which searches have other code now than when these rows were taken.

    ``current`` gives for a variant, backend and knobs the hashes that the present code may have; none if that
    is unknown. Rows without a hash are older than hashes.
    """
    older, known = set[str](), set[str]()
    measured = rows[[*_SEARCH, "code"]].drop_duplicates()
    for variant, backend, knobs, code in measured.itertuples(index=False, name=None):
        if now := current(variant, backend, knobs):
            known.add(variant)
            if code not in now:
                older.add(variant)
    if not older:
        return ""
    which = "all searches" if older == known else _named([f"`{name}`" for name in sorted(older)])
    return f" Other code since: {which}."


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} searches"


def line_of(
    frames: Sequence[pd.DataFrame], reason: str | None, commands: Mapping[str, str] | None = None
) -> str:
    """Returns a line with the files, commits and days of the rows of one table. It is empty without rows.

    ``commands`` gives the command that wrote each file, where it is known. ``reason`` says why rows of one
    search may have measured different code. The line then names these searches. Raises InputError if there
    are some and ``reason`` is None.
    """
    rows = facts_of(frames)
    if rows.empty:
        return ""
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
    return [f"{_named([*names])} ({parts})" for parts, names in found.items()]


def _graphs(rows: pd.DataFrame) -> str:
    graphs = [name.split(":")[0] for name in dict.fromkeys(rows["graph"])]
    return graphs[0] if len(graphs) == 1 else f"{len(graphs)} graphs"


def _listed(values: Iterable[str]) -> str:
    return " and ".join(sorted({value or "unknown" for value in values}))
