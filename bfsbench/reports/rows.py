"""Makes result rows comparable: filters them, groups them by configuration, and combines them over
sources."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import TYPE_CHECKING, ClassVar

from bfsbench.programs.families import DEFAULT
from bfsbench.programs.families.base import Family, Figure
from bfsbench.rows.columns import AXES, SAMPLES
from bfsbench.support.errors import UsageError, listed, plural
from bfsbench.variants import find, find_family

if TYPE_CHECKING:
    import pandas as pd

GRAPH = ("graph", "graph_checksum")
"""Columns that identify a graph."""

SETTING = (*GRAPH, "variant", "backend", "device", "host_cpu")
"""Two configurations compete for the best time of a search only if these columns are equal. The column
``host`` may differ."""

SHAPE = ("grid", "block", "knobs")
"""Columns in which the configurations of one search differ. The best configuration is the configuration with
the least time."""

COLD = "_cold"
"""Suffix of the names of tables and pictures of runs with cold caches."""

EMULATED = "_emulated"
"""Suffix of the names of tables and pictures of emulated kernels."""
NEVER_HOW_FAST = " (emulated on the CPU: shows that it works, never how fast it is)"
"""Text at the end of the titles of tables of emulated kernels."""

DAY = len("2026-11-21")
"""Number of characters at the beginning of a time that hold the day."""
STATISTIC = "the median over sources of the fastest repeat"
"""The meaning of ``search_ms`` in rows that are combined over sources: for each source the fastest repeat is
taken, and then the median over all sources. Tables, pictures, pages and texts quote this phrase."""
TYPICAL = "the median over sources of the median repeat"
"""The meaning of ``median_ms`` in rows that are combined over sources: for each source the median of the
repeats is taken, and then the median over all sources."""
SPEED_UP = "the median over sources, of fastest repeats"
"""The meaning of ``speedup`` in rows that are combined over sources: for each source the ratio of the fastest
repeats is taken, and then the median over all sources."""

_SEARCH = [*GRAPH, "source", "host", "host_cpu"]
"""A speed-up compares two rows only if these columns are equal."""

_TIMED = ("search_ms", "search_ms_median", "search_ms_max", "prepare_ms", "compile_ms")


@dataclass(frozen=True)
class Kind:
    """Rows of one family of problems whose times may be shown in one table. Either all rows were measured
    with warm caches, or all with cold caches, or all were emulated."""

    family: Family
    suffix: str
    """Suffix of the names of tables and pictures. It says whether the rows were measured with cold caches,
    are of emulated kernels, or belong to another family than the default family."""
    heading: str
    """Suffix of the titles of tables and pictures: ``suffix`` in words."""
    rows: pd.DataFrame

    also: ClassVar[tuple[str, ...]] = ()
    """Further columns whose values distinguish configurations."""

    @property
    def emulated(self) -> bool:
        """True if the rows are of kernels that the CPU emulated."""
        return self.suffix.endswith(EMULATED)

    @cached_property
    def configurations(self) -> pd.DataFrame:
        """The result of the function ``configurations`` of this module: one row per configuration, combined
        over sources."""
        return _of_most_sources(self._combined, self.also)

    @cached_property
    def launches(self) -> pd.DataFrame:
        """One row for each configuration that has a block size. A configuration is left out if another one of
        the same search has times from more sources."""
        return _of_most_sources(self._combined[self._combined["block"].notna()], self.also)

    @cached_property
    def _combined(self) -> pd.DataFrame:
        return _combined(self.rows, self.family, self.also)

    @cached_property
    def comparable(self) -> pd.DataFrame:
        """The result of the function ``comparable`` of this module: the configurations whose times may be
        compared."""
        cut = _cut(self.rows, self.runs, self.counting)
        if cut is self.rows:
            return _from_all_sources(self.counting, self.configurations)
        return _from_all_sources(self.counting, configurations(cut, self.family, also=self.also))

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The result of the function ``runs`` of this module: the searches, and the sources from which they
        were run."""
        return runs(self.rows)

    @cached_property
    def counting(self) -> pd.DataFrame:
        """The result of the function ``counting_sources`` of this module: the sources whose times are
        compared."""
        return counting_sources(self.runs)

    @cached_property
    def sources(self) -> dict[Hashable, list[int]]:
        """The source vertices of each graph. Each key consists of a graph's name and checksum."""
        return sources_of(self.runs, [*GRAPH])

    def searched(self, graph: str, checksum: str) -> str:
        """Returns the sources from which a graph was searched, in words such as ``64 sources``."""
        names = self._names.get((graph, checksum), {})
        return in_words(self.sources[graph, checksum], self.family, names)

    @cached_property
    def _names(self) -> dict[Hashable, dict[int, str]]:
        """The names of each graph's source vertices. Each key consists of a graph's name and checksum."""
        return names_of_sources(self.rows, [*GRAPH])


@dataclass(frozen=True)
class Results:
    """The result rows from which tables are made."""

    rows: pd.DataFrame
    kinds: Sequence[Kind]
    """The rows, split so that the times of one part may stand in one table. All tables use these parts."""

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Results:
        """Returns a Results object with these rows, and with the groups into which the function ``kinds``
        divides them."""
        return cls(rows, [*kinds(rows)])


def kinds(rows: pd.DataFrame) -> Iterator[Kind]:
    """Splits rows by family, and the rows of each family into three parts: measured with warm caches,
    measured with cold caches, and emulated. Outdated rows are left out (see ``of_latest_code``).

    Yields the parts that are not empty. If there are no rows, it yields one empty part of the default family.
    """
    rows = of_latest_code(rows)
    for name in dict.fromkeys(rows["family"]) if len(rows) else (DEFAULT,):
        family, some = find_family(name), where(rows["family"] == name, rows)
        suffix, of = ("", "") if name == DEFAULT else (f"_{name}", f" ({family.title})")
        methods = [method for method in some["method"].unique() if re.search(r"\bcold\b", method)]
        emulated, cold = some["backend"] == "cpu", some["method"].isin(methods)
        for chosen, mark, heading in (
            (~emulated & ~cold, "", ""),
            (cold & ~emulated, COLD, " (caches flushed before every run)"),
            (emulated, EMULATED, NEVER_HOW_FAST),
        ):
            if chosen.any() or (some.empty and not mark):
                yield Kind(family, suffix + mark, of + heading, where(chosen, some))


def as_read(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows with the column types that ``read_results`` gives them.

    The function is for rows from a sweep, which have counts as Int64 and samples as lists. The counts become
    float64, and the samples become text.
    """
    counts = [name for name in rows if str(rows[name].dtype) == "Int64"]
    if not counts:
        return rows
    lists = [name for name in SAMPLES if name in rows and any(isinstance(one, list) for one in rows[name])]
    texts = {name: [";".join(map(str, samples)) for samples in rows[name]] for name in lists}
    return rows.astype(dict.fromkeys(counts, "float64")).assign(**texts)


def of_latest_code(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows that are not outdated. A row is outdated if a later row of the same configuration has
    another hash of the code.

    Rows without a hash, which come from older files, are kept.
    """
    known = rows["code"].notna() & (rows["code"] != "")
    if not known.any():
        return rows
    point = [*AXES, "graph_checksum", "gpu", "host_cpu", "method"]
    said = compact(rows[[*point, "code", "taken_at"]], point)[known].sort_values("taken_at", kind="stable")
    latest = said.groupby(point, dropna=False, observed=True)["code"].transform("last")
    superseded = said.index[said["code"] != latest]
    return rows.drop(index=superseded) if len(superseded) else rows


def where(condition: pd.Series[bool], rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows that satisfy the condition. If all rows do, it returns ``rows`` itself, because copies
    are expensive."""
    return rows if condition.all() else rows[condition]


def compact(rows: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Returns the rows with the text columns among ``names`` converted to categories. Grouping by categories
    is much faster."""
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
    """Returns the rows of these graphs, variants and backends. An empty list selects all.

    A graph's name may be cut off before its parameters or at any colon, for example to leave out its
    direction. A shortened name selects all graphs whose names begin with it. A variant may be named by an
    alias. Raises UsageError for a name that no row has.
    """
    for column, wanted in (("graph", graphs), ("variant", variants), ("backend", backends)):
        if names := listed(wanted):
            known = set(rows[column])
            chosen = set[str]().union(*(_called(column, name, known) for name in names))
            rows = rows[rows[column].isin(chosen)]
    return rows


def _called(column: str, name: str, known: set[str]) -> set[str]:
    """Returns the values in ``known`` that a user means by ``name``. Raises UsageError if no value
    matches."""
    if column == "variant" and name not in known:
        name = find(name).name
    cut = (f"{name}:", f"{name}(") if column == "graph" else ()
    found = {one for one in known if one == name or one.startswith(cut)}
    if not found:
        raise UsageError(f"no rows of {column} '{name}': there are {', '.join(sorted(known))}")
    return found


def succeeded(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows that have a time, with ``block`` converted to integers, and with an added column
    ``device``."""
    return _with_time(with_device(rows))


def _with_time(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[(rows["status"] == "ok") & rows["search_ms"].notna()]
    return rows.assign(block=rows["block"].astype("Int64"))


def with_device(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows with an added column ``device``: the GPU, or the CPU for host programs."""
    return rows.assign(device=rows["gpu"].where(rows["gpu"] != "", rows["host_cpu"]))


def configurations(
    rows: pd.DataFrame, family: Family | None = None, *, also: Sequence[str] = (), baseline: str = ""
) -> pd.DataFrame:
    """Returns one row per configuration, combined over all its sources.

    A configuration is a combination of values of the columns SETTING (graph, variant, device ...), SHAPE
    (grid, block and knobs) and ``also``. ``rows`` belong to one ``family`` of problems, by default the family
    of the first row.

    The other columns combine one value per source. A column holds the median of these values, unless this
    list says otherwise:

    - ``sources``: the number of sources;
    - ``repeats``: the smallest number of repeats from any source, or 0 if the rows do not have it;
    - ``search_ms``: the fastest sample from a source;
    - ``median_ms``: the median of the samples from a source;
    - ``spread``, ``typical``: slowest / fastest sample, and median / fastest sample from a source;
    - the family's figures, such as rates in edges per second (see ``Figure`` for their combination);
    - ``prepare_ms``: the preparation. It is NaN for older rows, in which the column means something else;
    - ``compile_ms``: the compilation. The largest value of all sources is taken;
    - ``speedup``: the time of ``baseline`` / this time. ``baseline`` is a host program, by default the
      family's. The speed-up is NaN if the two times were measured on different machines.

    If a configuration was measured more than once from a source, its fastest row is used. A configuration is
    left out if it lacks a time from a source of its search, because its median would be over other sources.
    """
    return _of_most_sources(_combined(rows, family, also, baseline), also)


def _of_most_sources(frame: pd.DataFrame, also: Sequence[str] = ()) -> pd.DataFrame:
    """Leaves out a configuration if another configuration of the same search has times from more sources.
    Returns the other rows of ``frame``. Configurations belong to the same search if their values in the
    columns SETTING and ``also`` are equal."""
    most = frame.groupby([*SETTING, *also], dropna=False)["sources"].transform("max")
    return where(frame["sources"] == most, frame)


def _combined(
    rows: pd.DataFrame, family: Family | None, also: Sequence[str] = (), baseline: str = ""
) -> pd.DataFrame:
    """Returns one row per configuration. Unlike ``configurations``, this function also returns configurations
    that were not run from all sources of their search."""
    family = family or find_family(rows["family"].iloc[0] if len(rows) else DEFAULT)
    key = [*SETTING, *SHAPE, *also]
    figures = [figure.name for figure in family.figures]
    taken = dict.fromkeys([*key, *_SEARCH, *_TIMED, *figures, "repeats", "status"])
    rows = with_device(rows).assign(repeats=_repeats(rows)).reindex(columns=[*taken])
    rows = _with_time(_complete(compact(rows, dict.fromkeys([*key, *_SEARCH]))))
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
    return frame.reset_index().astype(dict.fromkeys(texts, object))


def _complete(rows: pd.DataFrame) -> pd.DataFrame:
    """Removes the rows of incomplete configurations, and returns the other rows.

    A configuration is incomplete if it has no time from one of the sources from which it was run.
    """
    failed = rows["status"] != "ok"
    if not failed.any():
        return rows
    points = rows.groupby([*GRAPH, "variant", "backend", *SHAPE], dropna=False, observed=True).ngroup()
    doubtful = points.isin(points[failed])
    runs = [points[doubtful], rows.loc[doubtful, "source"]]
    timed = (~failed)[doubtful].groupby(runs, dropna=False).transform("any")
    return rows[~points.isin(points[doubtful][~timed])]


def equal_repeats(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows, cut to an equal number of repeats for all rows of a graph.

    The row with the fewest repeats sets the number for its graph. Rows with more repeats keep only their
    first repeats. Without this cut, a row with more repeats would tend to have a smaller minimum by chance.
    """
    import pandas as pd

    counts = _repeats(rows)[rows["status"] == "ok"]
    counts = counts[counts > 0]
    least = counts.groupby([rows["graph"], rows["graph_checksum"]]).transform("min")
    more = counts.index[counts > least]
    if more.empty:
        return rows
    cut = rows.loc[more, "search_ms_samples"]
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
    """Returns the number of timed repeats of each row, or 0 if a row has no list of repeats."""
    import pandas as pd

    if "search_ms_samples" not in rows:
        return pd.Series(0, rows.index)
    samples = map(str, rows["search_ms_samples"].astype(object).fillna(""))
    return pd.Series([text.count(";") + 1 if text else 0 for text in samples], rows.index, dtype="int64")


def of_one_setting(best: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of ``best`` that have the usual number of sources, which is the most frequent number
    among the graphs. So a ranking leaves out graphs from a sweep with another number of sources."""
    if best.empty:
        return best
    counts = best.drop_duplicates(list(GRAPH))["sources"].value_counts()
    usual = max(counts.index, key=lambda sources: (counts[sources], sources))
    return where(best["sources"] == usual, best)


def _inverse(figure: Figure) -> str:
    return f"1/{figure.name}"


def _baseline(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """Returns one row for each graph, machine and source, with the best time of the CPU program ``variant``
    as ``baseline_ms``."""
    known = (rows["variant"] == variant) & (rows["backend"] == "host") & (rows["host"] != "")
    grouped = rows[known].groupby(_SEARCH, as_index=False, dropna=False, observed=True)
    return grouped.agg(baseline_ms=("search_ms", "min"))


def fastest(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Returns the row with the shortest time for each combination of values in the columns ``by``. ``frame``
    comes from ``configurations``.

    Only configurations with times from the largest number of sources are considered. Otherwise a
    configuration that failed from some sources could be chosen because it was fast from the other sources.
    """
    ranked = frame.sort_values(["sources", "search_ms"], ascending=[False, True], kind="stable")
    return ranked.drop_duplicates(list(by))


def comparable(
    rows: pd.DataFrame, family: Family | None = None, *, also: Sequence[str] = (), baseline: str = ""
) -> pd.DataFrame:
    """Returns the ``configurations`` whose times may be compared with each other on their graph.

    A median over some sources must not be compared with a median over other sources. So one set of sources is
    chosen for each graph. The candidates are the sets of sources from which the searches were run, with or
    without success. The chosen set allows the most comparisons. Only configurations with times from all its
    sources are returned.

    Rows from other sources are left out. All rows of a graph are cut to equally many repeats (see
    ``equal_repeats``).
    """
    tried = runs(rows)
    counting = counting_sources(tried)
    found = configurations(_cut(rows, tried, counting), family, also=also, baseline=baseline)
    return _from_all_sources(counting, found)


def _cut(rows: pd.DataFrame, runs: pd.DataFrame, counting: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows from the sources in ``counting``. All rows of a graph keep equally many repeats. If
    nothing has to be left out, the result is ``rows`` itself."""
    rows = equal_repeats(rows)
    all_count = len(counting) == len(runs[[*GRAPH, "source"]].drop_duplicates())
    return rows if all_count else rows.merge(counting)


def _from_all_sources(counting: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """``counting`` lists the sources of each graph. Returns the configurations in ``found`` that have times
    from all sources of their graph."""
    wanted = counting.groupby(list(GRAPH), as_index=False).size()
    sizes = found[[*GRAPH]].merge(wanted, how="left").set_axis(found.index)["size"]
    return found[found["sources"] == sizes]


def runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns one row for each combination of search (a variant on a device), graph and source in ``rows``.
    Failed runs are included. The columns of the result are all columns in GRAPH, ``variant``, ``backend``,
    ``device`` and ``source``."""
    return with_device(rows)[[*GRAPH, "variant", "backend", "device", "source"]].drop_duplicates()


def counting_sources(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the sources whose times are compared, with one row per graph and source. ``runs`` come from the
    function ``runs``.

    For each graph, the set of sources is chosen that allows the most comparisons between searches; see
    ``comparable``.
    """
    import pandas as pd

    runs = runs.assign(known=runs["source"].fillna(-1))
    parts = [runs.iloc[:0]]
    for _, some in runs.groupby(list(GRAPH)):
        sets = some.groupby(["variant", "device"])["known"].agg(frozenset)
        counting = max(sets, key=partial(_comparisons, sets))
        parts.append(some[some["known"].isin(counting)])
    return pd.concat(parts)[[*GRAPH, "source"]].drop_duplicates()


def _comparisons(sets: Iterable[Set[float]], sources: Set[float]) -> tuple[int, int]:
    """Returns how many comparisons the set ``sources`` allows, and the number of its elements. ``sets``
    contains one set per search: the sources from which it was run.

    A search can be compared if it was run from all of ``sources``. If n searches can be compared, the number
    of comparisons is (n - 1) times the number of sources.
    """
    searches = sum(sources <= other for other in sets)
    return (searches - 1) * len(sources), len(sources)


def sources_of(rows: pd.DataFrame, by: str | list[str]) -> dict[Hashable, list[int]]:
    """Returns a dictionary that maps each value of the column ``by`` to the source vertices of its rows. If
    ``by`` is a list of columns, the keys are tuples.

    The list of sources is empty if the problem has no sources, as in all-pairs shortest paths.
    """
    groups = rows[[*([by] if isinstance(by, str) else by), "source"]].drop_duplicates().groupby(by)["source"]
    return {key: sorted(map(int, sources.dropna())) for key, sources in groups}


def short_names(graphs: Iterable[str]) -> dict[str, str]:
    """Returns a dictionary that maps each graph's full name to a short name.

    A short name lacks the options after a colon and the parameters in brackets. The options and parameters
    are kept if two graphs would otherwise get the same short name.
    """
    found = {}
    graphs = list(dict.fromkeys(graphs))
    shorter = [
        [graph, graph.partition(":")[0], graph.partition("(")[0].partition(":")[0]] for graph in graphs
    ]
    for names in shorter:
        alone = [name for place, name in enumerate(names) if sum(one[place] == name for one in shorter) == 1]
        found[names[0]] = alone[-1]
    return found


def without_shared_options(graphs: Sequence[str]) -> tuple[dict[str, str], str]:
    """Returns a dictionary that maps the graphs' full names to names without the reading options that all
    graphs share. Also returns the text of these options, such as ``duplicates=drop, symmetrised``.
    """
    options = [graph.split(":")[1:] for graph in graphs]
    shared = [option for option in options[0] if all(option in some for some in options)] if options else []
    short = {
        graph: ":".join([graph.partition(":")[0], *(one for one in some if one not in shared)])
        for graph, some in zip(graphs, options, strict=True)
    }
    return short, ", ".join(shared)


def measured_on(found: pd.DataFrame) -> str:
    """Returns a phrase that names the devices of the rows, such as ``Measured on NVIDIA H200``."""
    return f"Measured on {' and '.join(dict.fromkeys(map(str, found['device'])))}"


def conditions(found: pd.DataFrame, family: Family) -> str:
    """Returns sentences about the measurement of the times in ``found``. They name the devices, the number of
    sources, and the reading options, such as ``symmetrised``, that all graphs share. All rows of ``found``
    must have the same number of sources."""
    said = measured_on(found)
    sources = int(found["sources"].iloc[0])
    if family.from_sources:
        said += f", from {plural(sources, 'source')} of each graph"
    _, shared = without_shared_options([*dict.fromkeys(found["graph"])])
    return f"{said}. Options with which all graphs were read: {shared}." if shared else f"{said}."


def names_of_sources(rows: pd.DataFrame, by: str | list[str]) -> dict[Hashable, dict[int, str]]:
    """Returns the names of source vertices for each value of the columns ``by``.

    Names of vertices come from the graphs' files. Graphs whose vertices have no names are left out.
    """
    if "source_id" not in rows:
        return {}
    named = rows[rows["source_id"].notna() & (rows["source_id"] != "")]
    groups = named.groupby(by, observed=True)[["source", "source_id"]]
    return {
        key: dict(zip(some["source"].astype(int), some["source_id"], strict=True)) for key, some in groups
    }


def in_words(sources: Sequence[int], family: Family, names: Mapping[int, str]) -> str:
    """Returns the sources in words, such as ``source 7`` or ``64 sources``.

    If there are no sources, it returns ``family.one``, the family's name for one run, such as ``all pairs``.
    """
    if not sources:
        return family.one
    if family.draws_sources:  # the rows then have the number of sources instead of a source
        return f"{' or '.join(map(str, sources))} sources"
    if len(sources) > 1:
        return f"{len(sources)} sources"
    return f"source {called(sources[0], names)}"


def called(source: int, names: Mapping[int, str]) -> str:
    """Returns a source vertex as text: its name and number, as in ``ann (0)``, or only the number if the
    vertex has no name."""
    return f"{names[source]} ({source})" if source in names else str(source)
