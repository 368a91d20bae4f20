"""Rows of result files made comparable: filtered, grouped by configuration, combined over sources."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import TYPE_CHECKING

from bfsbench.programs.families import DEFAULT
from bfsbench.programs.families.base import Family, Figure
from bfsbench.rows.columns import AXES
from bfsbench.support.errors import UsageError
from bfsbench.variants import find, find_family

if TYPE_CHECKING:
    import pandas as pd

GRAPH = ("graph", "graph_checksum")
"""Columns that tell graphs apart."""

SETTING = (*GRAPH, "variant", "backend", "device", "host_cpu")
"""Columns that must agree before two times are compared to choose a configuration; hosts may differ."""

SHAPE = ("grid", "block", "knobs")
"""What is chosen."""

COLD = "_cold"
"""Suffix of the names of tables and pictures with cold caches."""

EMULATED = "_emulated"
"""Suffix of the names of tables and pictures of emulated kernels."""

STATISTIC = "the median over sources of the fastest repeat"
"""What ``search_ms`` is wherever it is combined over sources: tables, pictures, pages and texts say so."""
TYPICAL = "the median over sources of the median repeat"
"""What ``median_ms`` is."""
SPEED_UP = "the median over sources, of fastest repeats"
"""What ``speedup`` is."""

_SEARCH = [*GRAPH, "source", "host", "host_cpu"]
"""Columns that must agree before a speed-up is computed."""

_TIMED = ("search_ms", "search_ms_median", "search_ms_max", "prepare_ms", "compile_ms")


@dataclass(frozen=True)
class Kind:
    """Rows whose times may stand in one table."""

    family: Family
    suffix: str
    heading: str
    rows: pd.DataFrame

    def configurations(self) -> pd.DataFrame:
        """See ``configurations``."""
        return configurations(self.rows, self.family)

    @cached_property
    def sources(self) -> dict[Hashable, list[int]]:
        """See ``sources_of``."""
        return sources_of(self.rows)

    def searched(self, graph: str, checksum: str) -> str:
        """From which sources a graph was searched, in words."""
        names = self._names.get((graph, checksum), {})
        return in_words(self.sources[graph, checksum], self.family, names)

    @cached_property
    def _names(self) -> dict[Hashable, dict[int, str]]:
        """See ``names_of_sources``, by graph and checksum."""
        return names_of_sources(self.rows, [*GRAPH])


def kinds(rows: pd.DataFrame) -> Iterator[Kind]:
    """The kinds that occur, by family: measured rows (``cuda``, ``host``) with warm caches, with cold caches,
    and rows of emulated kernels."""
    rows = of_latest_code(rows)
    for name in dict.fromkeys(rows["family"]) if len(rows) else (DEFAULT,):
        family, some = find_family(name), _where(rows["family"] == name, rows)
        suffix, of = ("", "") if name == DEFAULT else (f"_{name}", f" ({family.title})")
        emulated, cold = some["backend"] == "cpu", some["method"].str.contains(r"\bcold\b")
        if some.empty or not (emulated | cold).all():
            yield Kind(family, suffix, of, _where(~emulated & ~cold, some))
        if (cold & ~emulated).any():
            heading = "caches flushed before every run"
            yield Kind(family, f"{suffix}{COLD}", f"{of} ({heading})", some[cold & ~emulated])
        if emulated.any():
            heading = "emulated on the CPU: shows that it works, never how fast it is"
            yield Kind(family, f"{suffix}{EMULATED}", f"{of} ({heading})", some[emulated])


def as_read(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows as ``read_results`` gives them, also those that a sweep returned, whose counts are Int64."""
    counts = [name for name in rows if str(rows[name].dtype) == "Int64"]
    return rows.astype(dict.fromkeys(counts, "float64")) if counts else rows


def of_latest_code(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those of a point whose code another row of the point has superseded.

    Rows of older files do not say which code they measured; they stay.
    """
    known = rows["code"].notna() & (rows["code"] != "")
    if not known.any():
        return rows
    point = [*AXES, "graph_checksum", "gpu", "host_cpu", "method"]
    said = compact(rows[[*point, "code", "taken_at"]], point)[known].sort_values("taken_at", kind="stable")
    latest = said.groupby(point, dropna=False, observed=True)["code"].transform("last")
    superseded = said.index[said["code"] != latest]
    return rows.drop(index=superseded) if len(superseded) else rows


def _where(condition: pd.Series[bool], rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that satisfy the mask; the same frame if all do, since copies are expensive."""
    return rows if condition.all() else rows[condition]


def compact(rows: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The rows with text in these columns as categories, which are grouped much faster."""
    import pandas as pd

    made = {}
    for name in names:
        if not pd.api.types.is_numeric_dtype(rows[name]):
            codes, found = pd.factorize(rows[name])
            made[name] = pd.Categorical.from_codes(codes, pd.Index(found, dtype=object))
    return rows.assign(**made)


def select(
    rows: pd.DataFrame, graphs: Iterable[str] = (), variants: Iterable[str] = (), backends: Iterable[str] = ()
) -> pd.DataFrame:
    """The rows of these graphs, variants and backends; an empty list means all.

    A graph's name without its direction, or without all that stands behind it, stands for every such graph,
    and a variant may go by an alias. Raises UsageError for a name that no row has.
    """
    have = set(rows["graph"])
    wanted = [_graphs_called(name, have) for name in graphs]
    if wanted:
        rows = rows[rows["graph"].isin(set().union(*wanted))]
    for column, names in (("variant", variants), ("backend", backends)):
        known = set(rows[column])
        chosen = {_called(column, name, known) for name in names}
        if chosen:
            rows = rows[rows[column].isin(chosen)]
    return rows


def _graphs_called(name: str, known: set[str]) -> set[str]:
    found = {graph for graph in known if graph == name or graph.startswith(f"{name}:")}
    if not found:
        raise UsageError(f"no rows of graph '{name}': there are {_listed(known)}")
    return found


def _called(column: str, name: str, known: set[str]) -> str:
    if name not in known and column == "variant":
        name = find(name).name
    if name not in known:
        raise UsageError(f"no rows of {column} '{name}': there are {_listed(known)}")
    return name


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def succeeded(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that have a time, ``block`` as integers, with ``device``."""
    rows = with_device(rows[(rows["status"] == "ok") & rows["search_ms"].notna()])
    return rows.assign(block=rows["block"].astype("Int64"))


def with_device(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with ``device``: the GPU, or the CPU of host programs."""
    return rows.assign(device=rows["gpu"].where(rows["gpu"] != "", rows["host_cpu"]))


def configurations(
    rows: pd.DataFrame, family: Family | None = None, *, also: Sequence[str] = (), baseline: str = ""
) -> pd.DataFrame:
    """One row per SETTING, SHAPE and columns ``also``: one configuration, combined over all its sources.

    ``rows`` are of one ``family``, by default that of the first.
    Columns beside those: ``sources`` (how many), ``repeats`` (the least from a source; 0 where rows do not
    say), ``search_ms`` (median over sources of the minima over samples), ``median_ms`` (median over sources
    of the medians), ``spread`` and ``typical`` (medians over sources of slowest / fastest and of median /
    fastest sample), the figures of the family, ``prepare_ms`` (median over sources; NaN in older rows, whose
    preparation was defined otherwise), ``compile_ms`` and ``speedup`` (median over sources of the time of
    ``baseline``, a host program, the family's by default, / this time; NaN unless both were taken on one
    machine). For a point that was measured more than once, its fastest row is taken. A configuration that
    lacks a source of its search on the graph is left out: a median over the rest would be one over other
    sources.
    """
    family = family or find_family(rows["family"].iloc[0] if len(rows) else DEFAULT)
    key = [*SETTING, *SHAPE, *also]
    figures = [figure.name for figure in family.figures]
    taken = dict.fromkeys([*key, *_SEARCH, *_TIMED, *figures, "repeats"])
    rows = rows.assign(repeats=_repeats(rows))
    rows = compact(succeeded(_complete(rows))[[*taken]], dict.fromkeys([*key, *_SEARCH]))
    rows = rows.sort_values("search_ms", kind="stable").drop_duplicates([*key, "source"])
    rows = rows.merge(_baseline(rows, baseline or family.baseline), how="left", on=_SEARCH)
    rows = rows.assign(
        spread=rows["search_ms_max"] / rows["search_ms"],
        typical=rows["search_ms_median"] / rows["search_ms"],
        speedup=rows["baseline_ms"] / rows["search_ms"],
        prepare_ms=rows["prepare_ms"].where(rows["compile_ms"].notna()),
        **{_inverse(figure): 1 / rows[figure.name] for figure in family.figures if figure.harmonic},
    )
    grouped = rows.groupby(key, sort=False, dropna=False, observed=True)
    frame = grouped.agg(
        sources=("source", "size"),
        repeats=("repeats", "min"),
        search_ms=("search_ms", "median"),
        median_ms=("search_ms_median", "median"),
        spread=("spread", "median"),
        typical=("typical", "median"),
        prepare_ms=("prepare_ms", "median"),
        compile_ms=("compile_ms", "max"),
        speedup=("speedup", "median"),
    )
    for figure in family.figures:
        found = grouped[figure.name]
        frame[figure.name] = 1 / grouped[_inverse(figure)].mean() if figure.harmonic else found.median()
        if figure.quartiles:
            for part, share in (("q1", 0.25), ("median", 0.5), ("q3", 0.75)):
                frame[f"{figure.name}_{part}"] = found.quantile(share)
    texts = [name for name in key if rows[name].dtype == "category"]
    frame = frame.reset_index().astype(dict.fromkeys(texts, object))
    most = frame.groupby([*SETTING, *also], dropna=False)["sources"].transform("max")
    return _where(frame["sources"] == most, frame)


def _complete(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those of configurations that have no time from some source that they were run from."""
    failed = rows["status"] != "ok"
    if not failed.any():
        return rows
    point = [*GRAPH, "variant", "backend", *SHAPE]
    timed = rows.loc[~failed, [*point, "source"]].drop_duplicates().assign(timed=True)
    lost = rows.loc[failed, [*point, "source"]].merge(timed, how="left", on=[*point, "source"])
    lost = lost.loc[lost["timed"].isna(), point].drop_duplicates().assign(lost=True)
    return rows[rows[point].merge(lost, how="left", on=point)["lost"].isna().to_numpy()]


def equal_repeats(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with as many repeats as that row of their graph which has the fewest: the first ones count.
    The fastest of more repeats would be a smaller number of the same distribution."""
    import pandas as pd

    if "search_ms_samples" not in rows:
        return rows
    samples = rows["search_ms_samples"].astype(object).fillna("").astype(str)
    samples = samples[(rows["status"] == "ok") & (samples != "")]
    counts = _repeats(rows)[samples.index]
    least = counts.groupby([rows["graph"], rows["graph_checksum"]]).transform("min")
    cut = samples[counts > least]
    if cut.empty:
        return rows
    kept = [text.split(";")[: least[place]] for text, place in zip(cut, cut.index, strict=True)]
    times = [sorted(map(float, texts)) for texts in kept]
    changed = pd.DataFrame(
        {
            "search_ms": [some[0] for some in times],
            "search_ms_median": [median(some) for some in times],
            "search_ms_max": [some[-1] for some in times],
            "search_ms_samples": [";".join(texts) for texts in kept],
        },
        index=cut.index,
    )
    rows = rows.copy()
    for name in changed:
        rows.loc[cut.index, name] = changed[name]
    return rows


def _repeats(rows: pd.DataFrame) -> pd.Series[int]:
    """How many repeats each row has; 0 where it does not say."""
    import pandas as pd

    if "search_ms_samples" not in rows:
        return pd.Series(0, rows.index)
    samples = rows["search_ms_samples"].astype(object).fillna("").astype(str)
    return (samples.str.count(";") + 1).where(samples != "", 0).astype("int64")


def of_one_setting(best: pd.DataFrame) -> pd.DataFrame:
    """The best configurations of the graphs that were searched from equally many sources, the number that
    most graphs have: graphs of another sweep do not enter a ranking."""
    if best.empty:
        return best
    counts = best.drop_duplicates(list(GRAPH))["sources"].value_counts()
    usual = max(counts.index, key=lambda sources: (counts[sources], sources))
    return _where(best["sources"] == usual, best)


def _inverse(figure: Figure) -> str:
    return f"1/{figure.name}"


def _baseline(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """``baseline_ms`` by graph, machine and source: the best time of that CPU program there."""
    known = (rows["variant"] == variant) & (rows["backend"] == "host") & (rows["host"] != "")
    grouped = rows[known].groupby(_SEARCH, as_index=False, dropna=False, observed=True)
    return grouped.agg(baseline_ms=("search_ms", "min"))


def fastest(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The best of the configurations that agree in the columns ``by``.

    Only those with the most sources compete: one that failed from some sources must not win by the rest.
    """
    ranked = frame.sort_values(["sources", "search_ms"], ascending=[False, True], kind="stable")
    return ranked.drop_duplicates(list(by))


def comparable(
    rows: pd.DataFrame, family: Family | None = None, *, also: Sequence[str] = (), baseline: str = ""
) -> pd.DataFrame:
    """The ``configurations`` that have a time from every source that counts on their graph.

    A median over sources must not be held against one over others, nor may a search that failed from some
    win by the rest. So one set of sources counts on a graph: of those that searches were run from, with or
    without success, the one that allows most comparisons. Rows from other sources are left out, and all
    have equally many repeats (``equal_repeats``).
    """
    rows = equal_repeats(rows)
    counting = counting_sources(rows)
    found = configurations(rows.merge(counting), family, also=also, baseline=baseline)
    wanted = counting.groupby(list(GRAPH), as_index=False).size()
    return found[found["sources"] == found[[*GRAPH]].merge(wanted, how="left")["size"]]


def counting_sources(rows: pd.DataFrame) -> pd.DataFrame:
    """The graphs with the sources that count there (see ``comparable``)."""
    import pandas as pd

    runs = with_device(rows)[[*GRAPH, "variant", "device", "source"]].drop_duplicates()
    runs = runs.assign(known=runs["source"].fillna(-1))
    parts = [runs.iloc[:0]]
    for _, some in runs.groupby(list(GRAPH)):
        sets = some.groupby(["variant", "device"])["known"].agg(frozenset)
        counting = max(sets, key=partial(_comparisons, sets))
        parts.append(some[some["known"].isin(counting)])
    return pd.concat(parts)[[*GRAPH, "source"]].drop_duplicates()


def _comparisons(sets: Iterable[Set[float]], sources: Set[float]) -> tuple[int, int]:
    """From these sources: how many searches beside one, times sources; among equals, more sources."""
    searches = sum(sources <= other for other in sets)
    return (searches - 1) * len(sources), len(sources)


def sources_of(rows: pd.DataFrame) -> dict[Hashable, list[int]]:
    """The vertices from which each graph (name, checksum) was searched; none of a family without sources."""
    searched = rows[[*GRAPH, "source"]].drop_duplicates()
    groups = searched.groupby(list(GRAPH))["source"]
    return {key: sorted(map(int, sources.dropna().unique())) for key, sources in groups}


def short_names(graphs: Iterable[str]) -> dict[str, str]:
    """Names of graphs without options and parameters, as far as that still tells them apart."""
    found = {}
    graphs = list(dict.fromkeys(graphs))
    shorter = [
        [graph, graph.partition(":")[0], graph.partition("(")[0].partition(":")[0]] for graph in graphs
    ]
    for names in shorter:
        alone = [name for place, name in enumerate(names) if sum(one[place] == name for one in shorter) == 1]
        found[names[0]] = alone[-1]
    return found


def names_of_sources(rows: pd.DataFrame, by: str | list[str]) -> dict[Hashable, dict[int, str]]:
    """For each value of ``by`` the names that graphs' files give to sources, where their vertices have
    names."""
    if "source_id" not in rows:
        return {}
    named = rows[rows["source_id"].notna() & (rows["source_id"] != "")]
    groups = named.groupby(by, observed=True)[["source", "source_id"]]
    return {
        key: dict(zip(some["source"].astype(int), some["source_id"], strict=True)) for key, some in groups
    }


def in_words(sources: Sequence[int], family: Family, names: Mapping[int, str]) -> str:
    """``source 7`` or ``64 sources``; what one run is where there are none, such as ``all pairs``."""
    if not sources:
        return family.one
    if len(sources) > 1:
        return f"{len(sources)} sources"
    return f"source {called(sources[0], names)}"


def called(source: int, names: Mapping[int, str]) -> str:
    """A source by its name, if it has one, with its number behind: ``ann (0)``, ``7``."""
    return f"{names[source]} ({source})" if source in names else str(source)
