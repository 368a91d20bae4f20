"""Makes three kinds of tables: the searched graphs, the runs that gave no time, and the origins of rows
(where and when they were measured).

The module also makes the notes below tables. Some notes warn about comparing rows, or name the version of the
code that was measured. Other notes explain the times of other authors' programs. They say which clock was
used, what a time includes, and how long the preparation took.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bfsbench.backends import GPU_BACKENDS
from bfsbench.entries.variant import WRONG_CLOCK
from bfsbench.reports.rows import DAY, GRAPH, Results, compact, of_latest_code
from bfsbench.reports.table import Cell, Table, header
from bfsbench.support.errors import InputError, plural, printable
from bfsbench.variants import find_family

if TYPE_CHECKING:
    import pandas as pd

_LICENCE = re.compile(r" \(([^()]+)\)$")
"""Matches the licence at the end of the column ``program``."""
_REFUSED_TIMES = (
    *("it keeps answers", WRONG_CLOCK, "it says a search took"),
    "it wrote its answer after it had replied",
)
"""Beginnings of the column ``reason`` if the time of an entry cannot be true
(:mod:`bfsbench.entries.variant`)."""
_CLOCKS = {
    "events": "device events",
    "theirs": "the program's own clock",
    "ours": "the host's clock",
}


def with_footnotes(tables: Iterable[Table], rows: pd.DataFrame) -> list[Table]:
    """Adds notes about programs of other authors (entries) to the tables, and returns the tables. A table
    gets a note for each entry that it names in a cell or in a column's name. ``rows`` are the result rows
    from which the tables were made."""
    footnotes = _footnotes(rows)
    noted = []
    for table in tables:
        shown = (note for variant, notes in footnotes.items() if _names(table, variant) for note in notes)
        noted.append(replace(table, notes=(*table.notes, *shown)))
    return noted


def _names(table: Table, text: str) -> bool:
    return text in table.columns or any(text in row for row in table.rows)


def footnotes_of(rows: pd.DataFrame) -> list[str]:
    """Returns notes about each entry (a program of other authors) that has a time in ``rows``. A note says
    what the time covers. If bfsbench refused times of the entry, a warning precedes the note.
    Numbers in ``rows`` may be text."""
    return [note for notes in _footnotes(rows).values() for note in notes]


def _footnotes(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Returns a dictionary that maps the name of each entry (a program of other authors) to its notes. Only
    entries with a time in ``rows`` have notes."""
    if "program" not in rows:
        return {}
    entries = rows[(rows["program"].fillna("") != "") & (rows["status"] == "ok")]
    return {
        str(variant): [*_doubts(rows[rows["variant"] == variant]), _footnote(str(variant), some)]
        for variant, some in entries.groupby("variant")
    }


def _doubts(rows: pd.DataFrame) -> Iterator[str]:
    """Yields a warning if bfsbench refused times in some of the rows. All rows belong to one entry, which may
    report wrong times on other graphs, too. Wrong answers cause no warning, because bfsbench checks every
    answer."""
    wrong = rows[rows["status"] == "wrong"]
    refused = wrong[wrong["reason"].fillna("").str.startswith(_REFUSED_TIMES)]
    if len(refused):
        first, graphs = refused.iloc[0], plural(rows["graph"].nunique(), "graph")
        yield (
            f"Warning: the times of {first['variant']} are doubtful. bfsbench refused its times on "
            f"{refused['graph'].nunique()} of {graphs}, such as {first['graph']}: {first['reason']}."
        )


def _footnote(variant: str, rows: pd.DataFrame) -> str:
    import pandas as pd

    programs = "; ".join(sorted({_LICENCE.sub(_licensed, text) for text in rows["program"]}))
    clocks = " or ".join(sorted({_CLOCKS.get(clock, clock) for clock in rows["clock"]}))
    covered = " or ".join(sorted(map(_covered, set(rows["covers"]))))
    columns = ["prepare_ms", "compile_ms", "host_mib", "device_mib"]
    numbers = rows[columns].apply(pd.to_numeric, errors="coerce")
    # Rows without compile_ms are older. Their prepare_ms means another time.
    prepared_ms = numbers["prepare_ms"].where(numbers["compile_ms"].notna())
    span = " to ".join(dict.fromkeys(map(_rounded, (prepared_ms.min(), prepared_ms.max()))))
    places = {"on the host": numbers["host_mib"].max(), "on the GPU": numbers["device_mib"].max()}
    # An unknown size is NaN, for which this condition is false.
    memory = [f"up to {_rounded(mib)} MiB {where}" for where, mib in places.items() if mib >= 0]
    preparation = f"took {span} ms" if prepared_ms.notna().any() else "was not measured"
    facts = [
        f"{variant} is a program by other authors ({programs})",
        f"The times of {variant} come from {clocks}, and include {covered}",
        f"The preparation of {variant} {preparation}",
        *([f"{variant} used {' and '.join(memory)}"] if memory else []),
    ]
    return f"{'. '.join(facts)}."


def _licensed(licence: re.Match[str]) -> str:
    return ", without a stated licence" if licence[1] == "none stated" else f", licence {licence[1]}"


def _rounded(number: float) -> str:
    return f"{number:,.3g}" if number < 100 else f"{number:,.0f}"


def _covered(covers: str) -> str:
    """Returns a phrase that says what the time of an entry (a program of other authors) includes.

    ``covers`` is text such as ``initialisation=yes transfers=no``.
    """
    parts = dict(part.split("=", 1) for part in covers.split() if "=" in part)
    yes, no = ([name for name, said in parts.items() if said == wanted] for wanted in ("yes", "no"))
    if not yes:
        return f"only the search{f', without {_enumerated(no)}' if no else ''}"
    return " and ".join(yes) + (f", but not {' or '.join(no)}" if no else "")


def _enumerated(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_ORIGIN = (
    *("backend", "gpu", "compute_capability", "driver", "cuda", "host", "host_cpu"),
    *("python", "version", "commit", "schema"),
)
_ORIGINS_ACROSS = 3
"""Number of columns with origins in one table of the text layout."""
_NOT_THROTTLED = ("", "none")


def origins(results: Results) -> list[Table]:
    """Returns a table with one line per origin, which is a combination of device, host, software versions and
    commit. A line contains the number of result rows, the clock rates, and the times of the first and last
    measurement."""
    rows = results.rows
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
    """Returns at most ``_ORIGINS_ACROSS`` rows of ``table``, from row ``start`` on, transposed. Each origin
    becomes a column, and each property of the origins, such as the host, becomes a row. Properties that none
    of these origins has are left out.
    """
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


_WARNED = ("graph", "variant", "gpu", "host", "host_cpu", "commit", "throttle", "warnings")
"""Columns of result rows that the function ``warnings`` reads."""


def warnings(rows: pd.DataFrame) -> list[str]:
    """Returns warnings about the times in ``rows``, for example that they were measured on different devices.
    Rows of emulated kernels are ignored."""
    measured = rows[rows["backend"] != "cpu"]
    rows = measured[[*_WARNED]]
    found = _about_other_code(measured)
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


def _about_other_code(rows: pd.DataFrame) -> list[str]:
    """Returns a list with one line, which says how many rows the tables leave out because a later row of the
    same configuration was measured with changed code. The list is empty if no row is left out for this
    reason."""
    dropped = rows[~rows.index.isin(of_latest_code(rows).index)]
    if dropped.empty:
        return []
    return [
        f"{len(dropped)} of {len(rows)} rows are left out, because later rows of the same configurations "
        f"have other code: rows of {_listed(set(dropped['variant']))}"
    ]


def _about_samples(rows: pd.DataFrame) -> list[str]:
    """Returns one line for each kind of warning in the column ``warnings``. A line gives the number of rows
    with this kind of warning, and the text of the first warning.
    """
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
    """Returns a number for each row: the number of its origin (device, host, software and commit) in the
    table that ``origins`` makes. The first origin has the number 1."""
    found = compact(rows[list(_ORIGIN)], _ORIGIN).groupby(list(_ORIGIN), sort=False, observed=True)
    return found.ngroup() + 1


_SHORT = 12
"""Number of characters of a checksum that the table of graphs shows."""


def graph_counts(results: Results) -> list[Table]:
    """Returns a table with the numbers of vertices and arcs, the average degree and the checksum of every
    graph.

    If two files use one name for different graphs, there are two rows.
    """
    rows = results.rows
    known = rows.loc[rows["num_vertices"].notna(), [*GRAPH, "num_vertices", "num_edges"]]
    frame = known.drop_duplicates([*GRAPH]).sort_values([*GRAPH])
    shown = frame[["graph"]].assign(
        num_vertices=frame["num_vertices"].astype("int64"),
        arcs=frame["num_edges"].astype("int64"),
        average_degree=frame["num_edges"] / frame["num_vertices"],
        checksum=frame["graph_checksum"].str[:_SHORT],
    )
    notes = ["Arcs as stored: an undirected edge counts twice."]
    ambiguous = sorted(set(frame["graph"][frame["graph"].duplicated()]))
    notes += [f"Warning: {name} stands for different graphs; their checksums differ." for name in ambiguous]
    return [Table.of("datasets", "Datasets", shown, notes)]


def failed_points(results: Results) -> list[Table]:
    """Returns a table that counts the rows without a time by graph, variant, backend, status and reason. The
    most frequent combinations come first. The column ``of`` counts all rows of the variant and backend on the
    graph, so that a reader sees whether a search failed from every source."""
    rows = results.rows
    failed = rows[rows["status"] != "ok"]
    by = ["status", "graph", "variant", "backend", "reason"]
    groups = failed.groupby(by, as_index=False).size().rename(columns={"size": "points"})
    groups = groups.sort_values(["points", *by], ascending=[False, *(True for _ in by)])
    groups["of"] = groups.merge(rows.groupby(_PLACE).size().rename("of"), on=_PLACE)["of"].to_numpy()
    told = f"{len(failed)} of {len(rows)} points have no time."
    notes = [told if len(failed) else f"All {len(rows)} points have a time."]
    if len(failed):
        notes.append("of: all points of the variant on the graph.")
    frame = groups[["points", "of", "status", "graph", "variant", "backend", "reason"]]
    return [Table.of("failures", "Failures", frame, notes)]


_FACTS = (
    *("variant", "backend", "grid", "block", "knobs", "graph", "source", "method", "code", "commit"),
    *("taken_at", "gpu", "host_cpu", "file", "family"),
)
_SEARCH = ["variant", "backend", "knobs"]
_PLACE = ["variant", "backend", "graph"]
_MOST_NAMED = 4
"""Maximum number of searches, or of files, that a note names. If there are more, the note gives only their
number."""
_COMMIT = 7


def files_of(frames: Sequence[pd.DataFrame]) -> list[str]:
    """Returns the result files that the rows of one table come from."""
    return [*dict.fromkeys(file for frame in frames if "file" in frame for file in frame["file"].unique())]


def facts_of(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Returns the columns ``_FACTS`` of the result rows in ``frames``, and a column ``device``, which names a
    GPU or a CPU. Equal rows are returned once. One table is made from all ``frames``.

    ``commit`` is cut to the first 7 characters of the commit, and ``taken_at`` to the day.
    """
    import pandas as pd

    known = [frame[[*_FACTS]] for frame in frames if set(_FACTS) <= set(frame)]
    rows = pd.concat(known) if known else pd.DataFrame(columns=[*_FACTS], dtype=str)
    rows = rows.assign(
        commit=rows["commit"].str[:_COMMIT],
        taken_at=rows["taken_at"].str[:DAY],
        device=rows["gpu"].where(rows["backend"].isin(GPU_BACKENDS), rows["host_cpu"]),
    )
    return rows.drop_duplicates()


_DIFFERENCES = ("sources", "settings", "method", "code")
"""Respects in which rows of one search on one graph may differ between two tables. A setting is the grid, the
block and the knob values."""


def other_rows(here: pd.DataFrame, earlier: Iterable[pd.DataFrame]) -> str:
    """Returns a note if this table and an earlier table show the same search on the same graph, but from
    different result rows. Otherwise returns an empty string. ``here`` contains the rows of this table, and
    ``earlier`` contains the rows of each earlier table.

    For each file of the earlier tables, the note says how its rows differ, such as "from 8 sources
    (1 in this table)". If there are more than ``_MOST_NAMED`` files, the note gives only their number and the
    properties that differ.
    """
    found: dict[str, dict[str, tuple[set[int], set[int]]]] = {}
    rows_here = _rows_of_places(here)
    for table in earlier:
        rows_there = _rows_of_places(table)
        for place in rows_here.keys() & rows_there.keys():
            ours = rows_here[place]
            for file, some in rows_there[place].groupby("file"):
                differs = found.setdefault(str(file), {}) if {*ours["file"]} != {file} else {}
                for name, theirs, own in _differences(some, ours):
                    counts = differs.setdefault(name, (set(), set()))
                    counts[0].add(theirs)
                    counts[1].add(own)
    if not found:
        return ""
    sentences = [" Earlier tables on this page have different times for some searches of this table."]
    if len(found) > _MOST_NAMED:
        names = [name for name in _DIFFERENCES if any(name in differs for differs in found.values())]
        respects = f", whose rows differ from the rows of this table in {_enumerated(names)}" if names else ""
        return f"{sentences[0]} The earlier tables use {len(found)} other files{respects}."
    for file, differs in sorted(found.items()):
        phrases = [_respect(name, *differs[name]) for name in _DIFFERENCES if name in differs]
        how = _enumerated(phrases) if phrases else "in another run"
        sentences.append(f"The rows of `{file.split('/')[-1]}` were measured {how}.")
    return " ".join(sentences)


def _differences(there: pd.DataFrame, here: pd.DataFrame) -> Iterable[tuple[str, int, int]]:
    """Compares two groups of rows, ``there`` and ``here``, of one search on one graph. Yields each property
    in which the groups differ: sources, settings, method or code. Also yields two counts, one for ``there``
    and one for ``here``, such as their numbers of sources."""
    draws = find_family(here["family"].iloc[0]).draws_sources
    columns = {"sources": ["source"], "settings": ["grid", "block", "knobs"], "method": ["method"]}
    for name, shape in (columns | {"code": ["code"]}).items():
        theirs, own = ({*rows[shape].astype(str).itertuples(index=False)} for rows in (there, here))
        if theirs != own and name == "sources" and draws:
            yield name, int(there["source"].max()), int(here["source"].max())
        elif theirs != own:
            yield name, len(theirs), len(own)


_RESPECTS = {
    "sources": "from other sources",
    "settings": "with other settings",
    "method": "by another method",
    "code": "with another version of the code",
}


def _respect(name: str, there: set[int], here: set[int]) -> str:
    """Returns a phrase that says how other rows differ from the rows of a table in the property ``name``,
    such as ``from 8 sources (1 in this table)``.

    ``there`` holds the counts of sources (or settings) of the other rows, and ``here`` the counts of the
    table's rows. The phrase gives the largest count of each set. If the two counts are equal, or if the
    property is the method or the code, the phrase has no counts, as in ``from other sources``.
    """
    if name in ("method", "code") or max(there) == max(here):
        return _RESPECTS[name]
    preposition, _, _ = _RESPECTS[name].partition(" ")
    most = "up to " if len(there) > 1 else ""
    plural = name if max(there) > 1 else name.removesuffix("s")
    of_here = f"{'up to ' if len(here) > 1 else ''}{max(here):,}"
    return f"{preposition} {most}{max(there):,} {plural} ({of_here} in this table)"


def _rows_of_places(rows: pd.DataFrame) -> dict[Hashable, pd.DataFrame]:
    """Returns a dictionary that maps each combination of variant, backend and graph to its rows."""
    return dict([*rows.groupby(_PLACE)])


def outdated(rows: pd.DataFrame, current: Callable[[str, str, str], set[str]]) -> str:
    """Returns a sentence that names the searches whose code has changed since these rows were measured.
    Returns "" if no code has changed.

    ``current`` returns the possible hashes of the present code for a variant, a backend and knobs. It returns
    an empty set if the code is unknown. A row without a hash counts as changed.
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
    return f" The code of {which} has changed since the rows of this table were measured."


def _named(names: Sequence[str]) -> str:
    return _enumerated(names) if len(names) <= _MOST_NAMED else f"{len(names)} searches"


def line_of(rows: pd.DataFrame, reason: str | None) -> str:
    """Returns a line with the files, commits and days of the rows in one table, or "" if there are no rows.

    ``rows`` comes from ``facts_of``. If the rows of a search come from different versions of its code, the
    line ends with ``reason``, which explains why the versions differ. Raises InputError if ``reason`` is
    needed but is None.
    """
    if rows.empty:
        return ""
    mixed = _mixed(rows)
    if mixed and reason is None:
        named = "; ".join(f"{names} ({parts})" for names, parts in mixed)
        raise InputError(
            f"a table compares rows of different code: {named}; "
            'if this is meant, say {{ mixed("why") }} above the table'
        )
    files = []
    for file in dict.fromkeys(map(str, rows["file"])):
        some = rows[rows["file"] == file]
        plural = "s" if some["commit"].nunique() > 1 else ""
        origin = f"commit{plural} {_joined(some['commit'])}, {_joined(some['taken_at'])}"
        files.append(f"`{file.split('/')[-1]}` ({origin}, {_joined(some['device'])})")
    return f"The rows of this table are from {_enumerated(files)}.{f' {reason}' if mixed else ''}"


_ORIGINS = ["file", "commit", "taken_at"]


def origins_of(rows: pd.DataFrame) -> str:
    """Returns a Markdown table with the origins of rows. An origin is a file, a commit and the day of the
    measurement. The table also lists the devices.

    Returns "" if each file has only one origin. ``rows`` comes from ``facts_of``. If all searches on a graph
    have the same origin, the graph shares a line with other graphs of this origin. If the searches on a graph
    have several origins, there is one line per origin, which names the searches with this origin. The line
    with the most searches says "the others" instead of their names, unless one of these searches is also
    named in another line.
    """
    if len(rows[_ORIGINS].drop_duplicates()) == rows["file"].nunique():
        return ""
    found: dict[tuple[str, ...], list[pd.DataFrame]] = {}
    for _, on_graph in rows.groupby("graph", sort=False):
        parts = [(origin, some) for origin, some in on_graph.groupby(_ORIGINS, sort=False)]
        parts.sort(key=lambda part: part[1]["variant"].nunique())
        named = set[str]()
        for place, (origin, some) in enumerate(parts, 1):
            searches = set(some["variant"])
            last = place == len(parts) and not named & searches
            names = (
                ("the others" if named else "all") if last else ", ".join(f"`{x}`" for x in sorted(searches))
            )
            named |= searches
            found.setdefault((*map(str, origin), names), []).append(some)
    lines = []
    for (file, commit, day, names), frames in sorted(found.items()):
        graphs = ", ".join(str(some["graph"].iloc[0]).split(":")[0] for some in frames)
        devices = _joined(device for some in frames for device in some["device"])
        lines.append(f"| {graphs} | {names} | `{file.split('/')[-1]}` | {commit} | {day} | {devices} |\n")
    return (
        f"\n| graphs | searches | file | commit | day | device |\n|---|---|---|---|---|---|\n{''.join(lines)}"
    )


def _mixed(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Finds the searches whose rows have equal knob values but come from different versions of the code.
    Returns pairs of texts: the names of one or more searches, and the commits from which the rows of these
    searches come.

    Rows have the same version if their hashes of the code are equal. For rows without a hash, the commits are
    compared.
    """
    said = rows.assign(code=rows["code"].where(rows["code"] != "", rows["commit"]))
    found: dict[str, dict[str, None]] = {}
    for (variant, *_), some in said.groupby(_SEARCH, sort=False, dropna=False):
        if some["code"].nunique() > 1:
            parts = [f"{commit} on {_graphs(of)}" for commit, of in some.groupby("commit", sort=False)]
            found.setdefault(", ".join(parts), {})[f"`{variant}`"] = None
    return [(_named([*names]), parts) for parts, names in found.items()]


def _graphs(rows: pd.DataFrame) -> str:
    graphs = [name.split(":")[0] for name in dict.fromkeys(rows["graph"])]
    return graphs[0] if len(graphs) == 1 else f"{len(graphs)} graphs"


def _joined(values: Iterable[str]) -> str:
    return " and ".join(sorted({value or "unknown" for value in values}))
