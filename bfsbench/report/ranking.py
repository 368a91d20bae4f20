"""How far each search is from the best of every graph: over all graphs, and over each family of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.report.rows import EMULATED, Kind, fastest, kinds, short_names
from bfsbench.report.table import Table

if TYPE_CHECKING:
    import pandas as pd

GRAPH = ("graph", "graph_checksum")
SEARCH = ("variant", "backend", "device")
ALL = "all"
"""Stands for every family of graphs."""

_COLUMNS = ("graphs", "times_best", "best_percent", "worst_times_best", "worst_graph", "preprocess_ms")
_NOTE = "x best: the time over that of the fastest search of the same graph, as geometric mean over graphs."
_NOTE_ON_GRAPHS = "A graph counts for a search that has a time from all sources it was searched from."
_NOTE_ON_MISSING = "Searches that lack graphs stand last: their means are over fewer, perhaps easier ones."
_NOTE_ON_PREPROCESSING = "preprocess ms: the median over graphs, once a graph; not part of the ratios."


def ratios(kind: Kind) -> pd.DataFrame:
    """The best configuration of each search on each graph, with the columns of ``configurations`` and
    ``times_best``, its time over the best of that graph, and ``family``, that of the graph.

    A search is a variant on a device. Those with times from fewer sources than others on the graph are left
    out, as their medians are of something else.
    """
    from bfsbench.graphs.kinds import family_of_graph

    best = fastest(kind.configurations(), [*GRAPH, *SEARCH])
    most = best.groupby(list(GRAPH))["sources"].transform("max")
    best = best[best["sources"] == most]
    least = best.groupby(list(GRAPH))["search_ms"].transform("min")
    families = best["graph"].map(family_of_graph)
    return best.assign(times_best=best["search_ms"] / least.where(least > 0), family=families)


def rankings(rows: pd.DataFrame) -> list[Table]:
    """One table of warm times and one of cold ones for each family of variants, as far as there are rows.

    A row for each search and family of graphs, ALL first. ``times_best`` is the geometric mean of the ratios,
    ``best_percent`` the share of the graphs on which the search is the fastest, ``worst_times_best`` its
    largest ratio, on ``worst_graph``. Emulated kernels are not ranked.
    """
    measured = [kind for kind in kinds(rows) if not kind.suffix.endswith(EMULATED)]
    if not measured:
        return [Table("ranking", "Ranking", (), [], ("Times of emulated kernels are not ranked.",))]
    return [_ranking(kind) for kind in measured]


def _ranking(kind: Kind) -> Table:
    found = ratios(kind)
    if found.empty:
        return Table(f"ranking{kind.suffix}", f"Ranking{kind.heading}", (), [], ("No point has a time.",))
    frame = _ranked(found)
    drawings = [_overall(frame, short_names(found["graph"])), *_by_family(frame)]
    count = len(found[list(GRAPH)].drop_duplicates())
    title = f"Ranking over {count} graphs{kind.heading}" if count > 1 else f"Ranking{kind.heading}"
    return Table.of(f"ranking{kind.suffix}", title, frame, _notes(frame), drawings)


def _ranked(found: pd.DataFrame) -> pd.DataFrame:
    """The rows of the table: of each family of graphs the searches, the best first."""
    import pandas as pd

    parts = [_summary(found).assign(family=ALL)]
    parts += [_summary(some).assign(family=name) for name, some in found.groupby("family")]
    return pd.concat(parts, ignore_index=True)[["family", *SEARCH, *_COLUMNS]]


def _summary(found: pd.DataFrame) -> pd.DataFrame:
    """A row a search, those on most graphs first, then by their mean ratio."""
    import numpy as np

    found = found.sort_values("times_best", ascending=False, kind="stable")
    found = found.assign(log=np.log(found["times_best"]), is_best=found["times_best"] == 1)
    frame = found.groupby(list(SEARCH), as_index=False, sort=False).agg(
        graphs=("graph", "size"),
        log=("log", "mean"),
        is_best=("is_best", "mean"),
        worst_times_best=("times_best", "max"),
        worst_graph=("graph", "first"),
        preprocess_ms=("preprocess_ms", "median"),
    )
    frame["worst_graph"] = frame["worst_graph"].where(frame["worst_times_best"] > 1)
    frame = frame.assign(times_best=np.exp(frame["log"]), best_percent=100 * frame["is_best"])
    return frame.sort_values(["graphs", "times_best"], ascending=[False, True], kind="stable")


def _notes(frame: pd.DataFrame) -> Iterator[str]:
    overall = frame[frame["family"] == ALL]
    yield _NOTE
    yield _NOTE_ON_GRAPHS
    if overall["graphs"].nunique() > 1:
        yield _NOTE_ON_MISSING
    if overall["preprocess_ms"].notna().any():
        yield _NOTE_ON_PREPROCESSING


def _overall(frame: pd.DataFrame, names: dict[str, str]) -> Table:
    """What people read first: one line a search, over all graphs, which go by short ``names``."""
    overall = frame[frame["family"] == ALL].astype({"best_percent": "int64"})
    where = ["device"] if overall.groupby("backend")["device"].nunique().max() > 1 else []
    few = ["graphs"] if overall["graphs"].nunique() > 1 else []
    overall = overall.assign(worst_graph=overall["worst_graph"].map(names))
    shown = [name for name in _COLUMNS[1:] if overall[name].notna().any()]
    return Table.of("", "All graphs", overall[["variant", *where, *few, *shown]])


def _by_family(frame: pd.DataFrame) -> Iterator[Table]:
    """The mean ratios, a column for each family of graphs, where there are several."""
    some = frame[frame["family"] != ALL]
    if some["family"].nunique() < 2:
        return
    several = frame.groupby("backend")["device"].nunique().max() > 1
    search = ["variant", "device"] if several else ["variant"]
    overall = frame.loc[frame["family"] == ALL, search]
    sizes = some.groupby("family")["graphs"].max()
    table = some.pivot_table(index=search, columns="family", values="times_best", sort=False)
    table = overall.merge(table.reset_index(), on=search)
    names = {name: f"{name} ({size})" for name, size in sizes.items()}
    yield Table.of("", "x best by family of graphs (how many)", table.rename(columns=names))
