"""Makes the table of each search's time over commits, and marks the commits at which the time changed.

The commits are ordered by the date of their first rows. For each search and graph, the table shows the same
configuration (grid, block and knob values) at all commits, because another configuration would change the
time, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from bfsbench.reports.comparison import FASTER, SLOWER, THRESHOLD, UNDECIDED
from bfsbench.reports.rows import (
    DAY,
    GRAPH,
    SHAPE,
    STATISTIC,
    TYPICAL,
    Kind,
    Results,
    comparable,
    kinds,
    short_names,
)
from bfsbench.reports.table import Table
from bfsbench.rows.columns import AXES

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.programs.families.base import Family

NO_HISTORY = "No search has times at two commits."
CHANGES = (SLOWER, FASTER)
"""The verdicts that mean that a search's time changed at a commit."""

_AT = " @"
"""Text between the variant's name and the commit in the column ``variant`` of the rows from ``by_commit``."""
_SEARCH = (*GRAPH, "variant", "backend", "device")
_COLUMNS = (*_SEARCH, *SHAPE, "commit", "date", "search_ms", "median_ms", "times_previous", "verdict")
_NOTES = (
    f"search ms: {STATISTIC}; median ms: {TYPICAL}. All commits of a graph have equal sources and equally "
    "many repeats.",
    "x previous: the time over the time at the commit in the line above. Verdict: whether the time changed "
    f"by more than {100 * THRESHOLD:g} %, by the test of 'bfsbench compare', from most sources.",
)


def by_commit(rows: pd.DataFrame) -> pd.DataFrame:
    """Appends the commit to the name in the column ``variant``, so that rows of different commits belong to
    different searches. Returns the changed rows. Knobs that are missing in a row get their defaults."""
    from bfsbench.reports.comparison.points import all_knobs

    named = rows[["variant", "knobs"]].drop_duplicates()
    named["all_knobs"] = [all_knobs(variant, text) for variant, text in named.itertuples(index=False)]
    knobs = rows[["variant", "knobs"]].merge(named, how="left")["all_knobs"].to_numpy()
    return rows.assign(variant=rows["variant"] + _AT + rows["commit"], knobs=knobs)


def over_commits(rows: pd.DataFrame, family: Family) -> pd.DataFrame:
    """Returns one row for each search, graph and commit, in the order of the commits. ``rows`` must come from
    ``by_commit``.

    The columns are all columns in GRAPH and SHAPE, ``variant``, ``backend``, ``device``, ``commit``, ``date``
    (of the commit's first row), ``search_ms``, ``median_ms``, ``times_previous`` and ``verdict``. Searches
    without a configuration that was measured at two commits are left out.
    """
    first = rows.groupby("commit")["taken_at"].min()
    found = comparable(_of_several_commits(rows), family)
    parts = found["variant"].str.rsplit(_AT, n=1)
    found = found.assign(variant=parts.str[0], commit=parts.str[1])
    found = found.assign(date=found["commit"].map(first)).sort_values("date", kind="stable")
    setting = [*_SEARCH, *SHAPE]
    found["commits"] = found.groupby(setting, dropna=False)["commit"].transform("nunique")
    found["last_ms"] = found.groupby(setting, dropna=False)["search_ms"].transform("last")
    best = found.sort_values(["commits", "last_ms"], ascending=[False, True], kind="stable")
    best = best[best["commits"] > 1].drop_duplicates([*_SEARCH])[setting]
    found = found.merge(best)
    found["times_previous"] = found["search_ms"] / found.groupby([*_SEARCH])["search_ms"].shift()
    verdicts = _Verdicts(rows)
    for _, history in found.groupby([*_SEARCH], sort=False):
        found.loc[history.index, "verdict"] = [*verdicts.of(history)]
    return found


def _of_several_commits(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of the searches that have times at two or more commits on the same graph. The rows of
    other searches are left out for this reason: later steps keep only the sources and repeats that all rows
    of the graph have, so additional rows could reduce the data of the graph."""
    searches = rows.assign(variant=rows["variant"].str.rsplit(_AT, n=1).str[0]).groupby([*GRAPH, "variant"])
    commits = rows["commit"].where(rows["status"] == "ok").groupby(searches.ngroup()).transform("nunique")
    return rows[commits > 1]


def histories(results: Results) -> list[Table]:
    """Returns the tables of times over commits. A family with rows has one table for warm caches and one for
    cold caches. Emulated kernels are left out."""
    return [_history(kind) for kind in kinds(by_commit(results.rows)) if not kind.emulated]


def _history(kind: Kind) -> Table:
    name, title = f"history{kind.suffix}", f"Times over commits{kind.heading}"
    found = over_commits(kind.rows, kind.family)
    if found.empty:
        return Table(name, title, (), [], (NO_HISTORY,))
    found["date"] = found["date"].str[:DAY]
    frame = found.sort_values([*_SEARCH], kind="stable")[[*_COLUMNS]]
    notes = [*_NOTES, *_methods(kind.rows, found), *_left_out(kind.rows, found)]
    return Table.of(name, title, frame, notes, _drawings(frame))


def _methods(rows: pd.DataFrame, found: pd.DataFrame) -> Iterator[str]:
    """Yields a warning if rows of the shown commits were measured by different methods."""
    shown = rows[rows["commit"].isin(found["commit"])]
    methods = shown.groupby("method", dropna=False)["commit"].unique()
    if len(methods) > 1:
        of = "; ".join(
            f"{method or 'the default'} at {', '.join(sorted(commit[:7] for commit in commits))}"
            for method, commits in methods.items()
        )
        yield f"Warning: the times were taken by different methods: {of}."


def _left_out(rows: pd.DataFrame, found: pd.DataFrame) -> Iterator[str]:
    """Yields one sentence for each reason why searches in ``rows`` are left out, with the names of these
    searches."""
    names = rows["variant"].str.rsplit(_AT, n=1).str[0]
    missing = {*names} - {*found["variant"]}
    several = {*_of_several_commits(rows)["variant"].str.rsplit(_AT, n=1).str[0]}
    for reason, searches in (
        ("no graph has their times at two commits", missing - several),
        ("their grids, blocks, knobs, devices or sources differ between the commits", missing & several),
    ):
        if searches:
            yield f"Left out, because {reason}: {', '.join(sorted(searches))}."


def _drawings(frame: pd.DataFrame) -> Iterator[Table]:
    """Yields one table per graph. Only the first line of a search contains the search's name."""
    several = frame.groupby("backend")["device"].nunique().max() > 1
    names = short_names(frame["graph"])
    for (graph, _), some in frame.groupby([*GRAPH], sort=False):
        shown = some.assign(commit=some["commit"].str[:7])
        shown["variant"] = shown["variant"].where(~shown.duplicated(["variant", "backend", "device"]), "")
        columns = ["variant", *(["device"] if several else []), *_COLUMNS[-6:]]
        yield Table.of("", names[str(graph)], shown[columns])


class _Verdicts:
    """Compares pairs of commits as ``compare`` does, and computes the verdicts. The rows must come from
    ``by_commit``."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self._rows = rows.assign(variant=rows["variant"].str.rsplit(_AT, n=1).str[0])
        self._between = cache(self._compared)

    def of(self, history: pd.DataFrame) -> Iterator[str]:
        """Yields the verdicts that compare each commit in the history of a search with the previous commit.
        The first verdict is empty.

        Each source vertex has a verdict of its own. The verdict of more than half of the source vertices
        becomes the commit's verdict. Without such a majority, the commit's verdict is UNDECIDED.
        """
        import pandas as pd

        axes = ("graph", "variant", "backend", *SHAPE)
        wanted = [str(value) if pd.notna(value) else "" for value in history.iloc[0][[*axes]]]
        yield ""
        for before, after in pairwise(history["commit"]):
            points = self._between(before, after)
            chosen = (points[[*axes]] == wanted).all(axis=1)
            counts = Counter(points.loc[chosen, "verdict"])
            verdict, count = counts.most_common(1)[0] if counts else (UNDECIDED, 0)
            yield verdict if 2 * count > counts.total() else UNDECIDED

    def _compared(self, before: str, after: str) -> pd.DataFrame:
        """Compares the rows of two commits. Returns one row for each configuration that both commits have,
        with the values in AXES as text, and the verdict."""
        import pandas as pd

        from bfsbench.reports.comparison.points import compare, of_frame

        a, b = (of_frame(self._rows[self._rows["commit"] == one], one) for one in (before, after))
        verdicts = [(*point.axes, point.verdict) for point in compare(a, b, THRESHOLD).points]
        return pd.DataFrame(verdicts, columns=[*AXES, "verdict"])
