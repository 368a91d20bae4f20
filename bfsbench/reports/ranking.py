"""Ranks searches by the ratio of their time to the best time on each graph.

There is one ranking over all graphs, and one over each family of graphs. A ranking sorts by the geometric
mean of the ratios.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bfsbench.reports.changes import CHANGED, changed_knobs, note_on_changes
from bfsbench.reports.rows import (
    GRAPH,
    STATISTIC,
    TYPICAL,
    Kind,
    Results,
    conditions,
    fastest,
    of_one_setting,
    short_names,
    succeeded,
    with_device,
)
from bfsbench.reports.table import Cell, Noted, Table
from bfsbench.variants import with_aliases

if TYPE_CHECKING:
    import pandas as pd

SEARCH = ("variant", "backend", "device")
ALL = "all"
"""The value in the column ``family`` for a ranking over all graphs."""

_COLUMNS = (
    *("graphs", "failed_graphs", "times_best", "times_first", "median_times_first"),
    *("best_percent", "worst_times_best", "worst_graph", "prepare_ms"),
)
_MEAN = "geometric mean"
"""The last column of a matrix."""
_NOTE = (
    f"A time is {STATISTIC}, of equally many repeats of all searches of a graph. "
    "x best is the time divided by the time of the fastest search of the graph, as geometric mean over "
    "graphs."
)
_NOTE_ON_FIRST = (
    "x {first} is the time divided by the time of {first}, as geometric mean over the graphs on which both "
    f"searches have times. x {{first}} typical compares {TYPICAL} instead."
)
_NOTE_ON_GRAPHS = (
    "A graph counts for a search if the search has a time from every source of the other searches. "
    "Graphs with times of only one search, or with an unusual number of sources, are left out."
)
_NOTE_ON_MISSING = (
    "Searches without times on some graphs have a separate table. Their x best is a mean over fewer graphs, "
    "which may be easier."
)
_NOTE_ON_FAILED = "failed is the number of graphs on which the search ran but lacks times from some sources."
_NOTE_ON_PREPARATION = "prepare ms is the median over graphs, and is not part of the ratios."
_NOTE_ON_ABSENT = "These searches ran, but have no time that can be compared: {names}."
_NOTE_ON_FAMILIES = "An empty cell means that the search has no time on some graph of the family."


def ratios(kind: Kind) -> pd.DataFrame:
    """Returns one row for each search (a variant on a device) and graph: its fastest configuration.

    The columns of ``configurations`` are kept. Two columns are added: ``times_best`` (the time divided by the
    best time of the graph) and ``family`` (the graph's family). Graphs with only one search are left out.
    Searches that lack a time from a source of the graph are left out as well; see ``rows.comparable``.
    """
    from bfsbench.graphs.load import kind_of_graph

    best = of_one_setting(fastest(kind.comparable, [*GRAPH, *SEARCH]))
    on_graph = best.groupby(list(GRAPH))["search_ms"]
    least = on_graph.transform("min")
    families = best["graph"].map(kind_of_graph)
    best = best.assign(times_best=best["search_ms"] / least.where(least > 0), family=families)
    return best[on_graph.transform("size") > 1]


def rankings(results: Results) -> list[Table]:
    """Returns the rankings of searches. Each family of problems has a ranking of times with warm caches, and
    a ranking of times with cold caches. Rankings without rows are left out.

    A table has one row for each search and family of graphs. Rows over all graphs, whose family is ALL, come
    first. Searches with times on more graphs come before searches with times on fewer graphs. Emulated
    kernels are not ranked. The figures of a search are:

    - ``times_best``: the geometric mean of its time divided by the best time of the graph;
    - ``times_first``: the geometric mean of its time divided by the time of the first search in the table;
    - ``best_percent``: the percentage of graphs on which it is the fastest;
    - ``worst_times_best``: its largest ratio to the best time of a graph; ``worst_graph`` is this graph;
    - ``failed_graphs``: the number of graphs on which it ran but lacks times.
    """
    measured = [kind for kind in results.kinds if not kind.emulated]
    if not measured:
        return [Table("ranking", "Ranking", (), [], ("Times of emulated kernels are not ranked.",))]
    return [_ranking(kind) for kind in measured]


def _ranking(kind: Kind) -> Table:
    found, tried = ratios(kind), _tried(kind)
    if found.empty:
        return Table(f"ranking{kind.suffix}", f"Ranking{kind.heading}", (), [], (_why_empty(kind),))
    frame = _ranked(found, tried)
    total = len(found[list(GRAPH)].drop_duplicates())
    names = short_names(found["graph"])
    shown = frame.assign(variant=_marked(frame, found))
    first = frame.loc[frame["family"] == ALL, "variant"].iloc[0]
    drawings = [*_overall(shown, names, total, first), *_by_family(frame, found)]
    title = f"Ranking over {total} graphs{kind.heading}" if total > 1 else f"Ranking{kind.heading}"
    notes = _notes(frame, tried, total, first)
    captioned = filter(None, [conditions(found, kind.family), _note_on_marks(found)])
    return Table.of(f"ranking{kind.suffix}", title, frame, notes, drawings, captioned=captioned)


def _marked(frame: pd.DataFrame, found: pd.DataFrame) -> list[str]:
    """Returns the names in the column ``variant`` of ``frame``. If a row in ``found`` shows that this project
    changed a search, the search's name is followed by its aliases and a mark."""
    changed = found[changed_knobs(found) != ""]
    marked = {*changed[[*SEARCH]].itertuples(index=False, name=None)}
    searches = frame[[*SEARCH]].itertuples(index=False, name=None)
    return [with_aliases(search[0]) + CHANGED if search in marked else search[0] for search in searches]


def _note_on_marks(found: pd.DataFrame) -> str:
    """Returns the note on searches that this project changed, or "" if no row of ``found`` is of a changed
    search."""
    note = note_on_changes(found)
    return f"{note} A marked mean contains at least one of these results." if note else ""


def matrices(results: Results) -> list[Table]:
    """Returns matrices with one row per search and one column per graph. Each family of problems has a matrix
    for warm caches and a matrix for cold caches.

    A cell is the search's time divided by the best time of the graph. The last column is the geometric mean
    over the graphs on which the search has a time. In the text layout, a cell without a time says whether the
    search failed.
    """
    return [_matrix(kind) for kind in results.kinds if not kind.emulated]


def _matrix(kind: Kind) -> Table:
    found = ratios(kind)
    if found.empty:
        return Table(f"matrix{kind.suffix}", f"Matrix{kind.heading}", (), [], (_why_empty(kind),))
    names = short_names(found["graph"])
    title = found["graph"].map(names)
    ambiguous = found.groupby("graph")["graph_checksum"].transform("nunique") > 1
    title = title.where(~ambiguous, title + " #" + found["graph_checksum"].str[:8])
    found = found.assign(title=title)
    search = list(SEARCH) if found.groupby("backend")["device"].nunique().max() > 1 else ["variant"]
    wide = found.pivot(index=search, columns="title", values="times_best")
    summary = _summary(found, _tried(kind)).set_index(search)
    means = summary[["times_best"]].set_axis([_MEAN], axis=1)
    wide = means[[]].join(wide[list(dict.fromkeys(title))]).join(means)
    lines = [*_lines_of_matrix(wide, found, kind, summary["graphs"])]
    drawn = Table("", "", (*search, *map(str, wide.columns)), lines, named=True)
    heading, notes = f"Time over the best of the graph{kind.heading}", (_NOTE, _NOTE_ON_GRAPHS)
    captioned = [conditions(found, kind.family), _note_on_marks(found)]
    captioned += _notes_on_cells(lines, summary["graphs"])
    captioned = [note for note in captioned if note]
    return Table.of(f"matrix{kind.suffix}", heading, wide.reset_index(), notes, [drawn], captioned=captioned)


def _lines_of_matrix(
    wide: pd.DataFrame, found: pd.DataFrame, kind: Kind, graphs: pd.Series[int]
) -> Iterator[tuple[Cell, ...]]:
    """Yields the lines of a matrix's text layout. ``wide`` is the matrix of time ratios, with a column of
    means. ``found`` contains the times from which the ratios were computed. ``graphs`` gives, for each
    search, the number of graphs on which it has times.

    A mark beside a number shows that this project changed the search. If the searches have times on different
    numbers of graphs, each mean is followed by its number of graphs. A cell without a time says whether the
    search failed.
    """
    search = [*wide.index.names]
    changed = found[changed_knobs(found) != ""]
    without_time = with_device(kind.rows[kind.rows["status"] != "ok"])
    without_time = without_time.merge(found[[*GRAPH, "title"]].drop_duplicates())
    timed, marked, failed = (
        {*some[[*search, "title"]].itertuples(index=False, name=None)}
        for some in (found, changed, without_time)
    )
    marked |= {(*pair[:-1], _MEAN) for pair in marked}
    count = {name if isinstance(name, tuple) else (name,): size for name, size in graphs.items()}
    for name, (_, line) in zip(count, wide.iterrows(), strict=True):
        cells: list[Cell] = []
        for column, ratio in line.items():
            pair, mark = (*name, column), CHANGED if (*name, column) in marked else ""
            if column == _MEAN and graphs.nunique() > 1:
                mark += f" ({count[name]})"
            if not math.isnan(ratio):
                cells.append(Noted(ratio, mark))
            elif column == _MEAN or pair in timed:  # the best time of a graph is 0
                cells.append(None)
            else:
                cells.append("failed" if pair in failed else "-")
        yield (*map(str, name), *cells)


def _notes_on_cells(lines: Iterable[tuple[Cell, ...]], graphs: pd.Series[int]) -> Iterator[str]:
    """Yields notes that explain special cells of a matrix of ratios, such as ``failed`` and ``-``. ``lines``
    are the rows of the matrix. ``graphs`` gives, for each search, the number of graphs on which it has
    times."""
    if graphs.nunique() > 1:
        yield (
            "The number in brackets after a geometric mean is the number of its graphs. Means over different "
            "graphs are not comparable."
        )
    shown = {cell for line in lines for cell in line if isinstance(cell, str)}
    if "failed" in shown:
        yield "failed: the search ran on the graph, but lacks a time from a source."
    if "-" in shown:
        yield "-: the search was not run on the graph from all its sources."


def _why_empty(kind: Kind) -> str:
    if succeeded(kind.rows).empty:
        return "No point has a time."
    return "No graph has times of two searches, so there is nothing to rank."


def _tried(kind: Kind) -> pd.DataFrame:
    """Returns one row for each pair of a search and a graph in ``kind.rows``. Pairs without a time are
    included."""
    tried = kind.runs[[*GRAPH, *SEARCH]].drop_duplicates()
    return tried[tried["device"] != ""]


def _ranked(found: pd.DataFrame, tried: pd.DataFrame) -> pd.DataFrame:
    """Ranks the searches once over all graphs, and once over each family of graphs. Returns the rows of these
    rankings, each with the best search first.

    ``found`` comes from ``ratios``, and ``tried`` from ``_tried``.
    """
    import pandas as pd

    tried = tried.merge(found[[*GRAPH, "family"]].drop_duplicates())
    first = found.merge(_summary(found, tried).iloc[:1][list(SEARCH)])
    parts = []
    for name, some in ((ALL, found), *found.groupby("family")):
        summary = _summary(some, tried if name == ALL else tried[tried["family"] == name])
        parts.append(summary.merge(_against(first, some), how="left").assign(family=name))
    return pd.concat(parts, ignore_index=True)[["family", *SEARCH, *_COLUMNS]]


def _summary(found: pd.DataFrame, tried: pd.DataFrame) -> pd.DataFrame:
    """Returns one row per search, with statistics over the graphs in ``found``, which comes from ``ratios``.

    Rows are sorted by the number of graphs, largest first, and then by ``times_best``, the mean ratio to the
    best time.
    """
    import numpy as np

    found = found.sort_values("times_best", ascending=False, kind="stable")
    found = found.assign(log=np.log(found["times_best"]), is_best=found["times_best"] == 1)
    frame = found.groupby(list(SEARCH), as_index=False, sort=False).agg(
        graphs=("graph", "size"),
        log=("log", "mean"),
        is_best=("is_best", "mean"),
        worst_times_best=("times_best", "max"),
        worst_graph=("graph", "first"),
        prepare_ms=("prepare_ms", "median"),
    )
    frame["worst_graph"] = frame["worst_graph"].where(frame["worst_times_best"] > 1)
    frame = frame.assign(times_best=np.exp(frame["log"]), best_percent=100 * frame["is_best"])
    frame = frame.sort_values(["graphs", "times_best"], ascending=[False, True], kind="stable")
    runs = tried.groupby(list(SEARCH), as_index=False).size()
    frame = frame.merge(runs, how="left", on=list(SEARCH))
    return frame.assign(failed_graphs=frame["size"] - frame["graphs"])


def _against(first: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Divides the times of each search by the times of a reference search, whose rows are ``first``. Returns
    one row per search with the geometric means of these ratios.

    Graphs on which either search lacks a time are left out. The column ``times_first`` compares fastest
    repeats, and ``median_times_first`` compares median repeats.
    """
    import numpy as np

    both = found.merge(first[[*GRAPH, "search_ms", "median_ms"]], on=list(GRAPH), suffixes=("", "_first"))
    both = both[(both["search_ms"] > 0) & (both["search_ms_first"] > 0)]
    both = both.assign(
        times_first=np.log(both["search_ms"] / both["search_ms_first"]),
        median_times_first=np.log(both["median_ms"] / both["median_ms_first"]),
    )
    means = both.groupby(list(SEARCH))[["times_first", "median_times_first"]].mean()
    return means.apply(np.exp).reset_index()


def _notes(frame: pd.DataFrame, tried: pd.DataFrame, total: int, first: str) -> Iterator[str]:
    overall = frame[frame["family"] == ALL]
    yield _NOTE
    yield _NOTE_ON_GRAPHS
    yield _NOTE_ON_FIRST.format(first=first)
    if (overall["graphs"] < total).any():
        yield _NOTE_ON_MISSING
    if overall["failed_graphs"].any():
        yield _NOTE_ON_FAILED
    if overall["prepare_ms"].notna().any():
        yield _NOTE_ON_PREPARATION
    if absent := sorted({*tried["variant"]} - {*overall["variant"]}):
        yield _NOTE_ON_ABSENT.format(names=", ".join(absent))


def _overall(frame: pd.DataFrame, names: dict[str, str], total: int, first: str) -> Iterator[Table]:
    """Yields the first tables of the text layout, which rank the searches over all graphs, one search per
    line.

    Searches that lack times on some graphs have a table of their own. ``total`` is the number of graphs.
    ``names`` maps the names of graphs to short names. ``first`` is the name of the best search.
    """
    overall = frame[frame["family"] == ALL].astype({"best_percent": "int64"})
    where = ["device"] if overall.groupby("backend")["device"].nunique().max() > 1 else []
    overall = overall.assign(worst_graph=overall["worst_graph"].map(names))
    failed = overall["failed_graphs"].astype("Int64")
    overall["failed_graphs"] = failed.where(failed > 0)
    shown = [name for name in _COLUMNS if overall[name].notna().any()]
    lacking = overall["graphs"] < total
    ratio = f"x {first}"
    headings = {"times_first": ratio, "median_times_first": f"{ratio} typical", "failed_graphs": "failed"}
    overall = overall[["variant", *where, *shown]].rename(columns=headings)
    if not lacking.all():
        whole = overall[~lacking].drop(columns=["graphs", "failed"], errors="ignore")
        yield Table.of("", "All graphs", whole)
    if lacking.any():
        yield Table.of("", "Fewer graphs", overall[lacking])


def _by_family(frame: pd.DataFrame, found: pd.DataFrame) -> Iterator[Table]:
    """Yields a table of the mean ratios to the best times, with one line per search and one column per family
    of graphs. Yields nothing if all graphs belong to one family."""
    some = frame[frame["family"] != ALL]
    if some["family"].nunique() < 2:
        return
    several = frame.groupby("backend")["device"].nunique().max() > 1
    search = ["variant", "device"] if several else ["variant"]
    sizes = found[[*GRAPH, "family"]].drop_duplicates().groupby("family").size()
    whole = some[some["graphs"] == some["family"].map(sizes)]
    if whole.empty:
        return
    timed = whole.dropna(subset=["times_best"])[["family", *search, "times_best"]]
    means = {tuple(place): ratio for *place, ratio in timed.itertuples(index=False, name=None)}
    changed = found.loc[changed_knobs(found) != "", ["family", *search]]
    marked = {*changed.itertuples(index=False, name=None)}
    families = sorted(set(whole["family"]))

    def cell(place: tuple[str, ...]) -> Cell:
        return Noted(means[place], CHANGED if place in marked else "") if place in means else None

    searches = frame.loc[frame["family"] == ALL, search].itertuples(index=False, name=None)
    lines = [(*names, *(cell((family, *names)) for family in families)) for names in searches]
    lacking = len(whole) < len(some) or any(None in line for line in lines)
    columns = (*search, *(f"{family} ({sizes[family]})" for family in families))
    notes = (_NOTE_ON_FAMILIES,) if lacking else ()
    yield Table("", "x best by family of graphs (how many)", columns, lines, notes)
