"""Shows a comparison of two sets of result rows as three tables: a summary, all compared configurations, and
the configurations that only one set contains.

The module also compares two files of the emulator's counters, kernel by kernel. Counters repeat exactly, so
no statistics are needed.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from bfsbench.reports.comparison.evidence import CONFIDENCE, FALSE_RATE, MOST_RUNS
from bfsbench.reports.comparison.points import (
    FASTER,
    GAINED,
    LOST,
    MACHINE,
    RESULTS,
    SEARCHED,
    SLOWER,
    UNDECIDED,
    VERDICTS,
    Compared,
    Comparison,
)
from bfsbench.reports.provenance import footnotes_of
from bfsbench.reports.table import Cell, Table
from bfsbench.rows.columns import AXES
from bfsbench.rows.counters import read_counters
from bfsbench.support.errors import UsageError, plural

COMPARED = ("executions", "sectors", "distinct_sectors", "conflicts", "collisions")
"""Counters for which a larger number is worse."""
MORE, LESS, SAME = "more", "less", "same"
_OF = [*AXES, "kernel"]


@dataclass(frozen=True)
class CounterComparison:
    """The result of comparing the counters in file ``b`` with the counters in file ``a``."""

    a: Path
    b: Path
    threshold: float
    frame: pd.DataFrame
    """One row for each counter in COMPARED of each kernel and configuration that both files have. The columns
    are AXES, ``kernel``, ``counter``, ``a``, ``b`` and ``verdict``. Columns ``a`` and ``b`` have the counter
    in each file, summed over levels and source lines."""
    only_a: list[tuple[str, ...]]
    """The kernels that only file ``a`` has, each as its values of the columns AXES and ``kernel``."""
    only_b: list[tuple[str, ...]]
    """The kernels that only file ``b`` has."""

    @property
    def is_worse(self) -> bool:
        """True if a counter has grown by more than the threshold."""
        return bool((self.frame["verdict"] == MORE).any())


def compare_counters(a: Path, b: Path, threshold: float) -> CounterComparison:
    """Compares the emulator's counters in file ``b`` with the counters in file ``a``, for all kernels that
    both files have.

    ``threshold`` is the relative difference up to which two counters count as equal, such as 0.05. Raises
    UsageError if no kernel is in both files, or if their graphs differ. Raises InputError if a file cannot be
    read.
    """
    first, second = read_counters(a), read_counters(b)
    checksums = [of.groupby("graph")["graph_checksum"].agg(set) for of in (first, second)]
    for graph in checksums[0].index.intersection(checksums[1].index):
        if checksums[0][graph] != checksums[1][graph]:
            raise UsageError(f"not comparable: the files are of different graphs called {graph}")
    totals = [of.groupby(_OF)[list(COMPARED)].sum() for of in (first, second)]
    common = totals[0].index.intersection(totals[1].index)
    if common.empty:
        raise UsageError(f"no kernel of the same search or program is both in {a} and in {b}")
    sides = [of.loc[common].rename_axis("counter", axis=1).stack() for of in totals]
    frame = pd.DataFrame({"a": sides[0], "b": sides[1]}).reset_index()
    frame["verdict"] = SAME
    frame.loc[frame["b"] > frame["a"] * (1 + threshold), "verdict"] = MORE
    frame.loc[frame["b"] < frame["a"] * (1 - threshold), "verdict"] = LESS
    only_a, only_b = ([*of.index.difference(common)] for of in totals)
    return CounterComparison(a, b, threshold, frame, only_a, only_b)


def counters_table(found: CounterComparison) -> Table:
    """Returns a table of all compared counters. The text layout shows only the counters that differ."""
    counts = found.frame["verdict"].value_counts()
    notes = (
        f"A: {found.a}. B: {found.b}.",
        f"{len(found.frame)} counters of kernels in both: {counts.get(MORE, 0)} more, {counts.get(LESS, 0)} "
        f"less, {counts.get(SAME, 0)} the same within {100 * found.threshold:g} %.",
        *_only_one_side("A", found.only_a),
        *_only_one_side("B", found.only_b),
    )
    changed = found.frame[found.frame["verdict"] != SAME]
    shown = changed[["graph", "variant", "block", "knobs", "kernel", "counter", "a", "b", "verdict"]]
    return Table.of("counters", "B against A", found.frame, notes, (Table.of("", "", shown),))


def _only_one_side(name: str, kernels: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yields a line with the searches and kernels that only the file ``name`` has."""
    if kernels:
        called = dict.fromkeys(f"{of[_VARIANT]} ({of[-1]}) on {of[_GRAPH]}" for of in kernels)
        yield f"Only in {name}: {plural(len(kernels), 'kernel')}: {', '.join(called)}."


_MOST_SHOWN = 20
"""Maximum number of configurations per verdict in the text layout of the table. Other formats list all
configurations."""
_DATE = len("2026-11-21")
_FEWEST_GRAPHS = 3
_GRAPH, _VARIANT = AXES.index("graph"), AXES.index("variant")


def summary(found: Comparison) -> Table:
    """Returns a table with one line per variant and graph. A line shows the number of configurations with
    each verdict, and the geometric mean of the ratios of B's times to A's times."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    for point in found.points:
        groups.setdefault((point.axes[_GRAPH], point.axes[_VARIANT]), []).append(point)
    rows: list[tuple[Cell, ...]] = []
    for place, points in sorted(groups.items()):
        counts = Counter(point.verdict for point in points)
        numbers = (counts[verdict] for verdict in VERDICTS)
        rows.append((*place, len(points), *numbers, geometric_mean(points)))
    columns = ("graph", "variant", "points", *VERDICTS, "ratio")
    table = Table("summary", "B against A", columns, rows, tuple(_notes(found)))
    present = [verdict for verdict in VERDICTS if found.count(verdict)]
    return replace(table, drawings=(table.columns_of("graph", "variant", "points", *present, "ratio"),))


def geometric_mean(points: Sequence[Compared]) -> float | None:
    """Returns the geometric mean of the ratios of times, side B / side A.

    Only configurations with times on both sides count. Returns None if there are no such configurations.
    """
    ratios = [point.ratio.middle for point in points if point.ratio]
    return math.exp(sum(ratios) / len(ratios)) if ratios else None


def _notes(found: Comparison) -> Iterator[str]:
    told = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS if found.count(verdict))
    for name, side in (("A", found.a), ("B", found.b)):
        commits = sorted({row["commit"] or "unknown" for row in side.rows})
        days = sorted({row["taken_at"][:_DATE] for row in side.rows})
        span = " to ".join(dict.fromkeys((days[0], days[-1])))
        yield f"{name}: {side.name}, commit {', '.join(commits)}, {span}."
    yield f"{plural(len(found.points), 'point')} in both: {told}."
    mean = geometric_mean(found.points)
    if mean is not None:
        yield f"Ratio: times of B / times of A, as geometric mean; over all points {mean:.3f}."
    yield from _over_graphs(found)
    yield (
        f"Slower, faster: by more than {found.threshold * 100:.3g} %, by the spread of the repeats and a "
        f"noise of {_percent(found.noise)} from run to run; of the points called so at most "
        f"{FALSE_RATE * 100:.0f} % are expected to be so by chance. Undecided: the repeats spread too far "
        "for that, or are too few."
    )
    yield from _power(found)
    yield from _advice(found)
    if found.count(MACHINE):
        yield "Machine differs: beyond the threshold, but both sides measured the same code."
    if found.count(LOST) or found.count(GAINED):
        yield "Lost: had a time in A and has none in B; gained: the reverse."
    for name, only in (("A", found.only_a), ("B", found.only_b)):
        if only:
            yield f"Only in {name}: {plural(len(only), 'point')}; see the table 'unmatched'."
    if found.num_same_code:
        yield f"Both sides measured the same code at {found.num_same_code} of {len(found.points)} points."
    if found.num_emulated:
        yield f"No times to compare: {plural(found.num_emulated, 'row')} of emulated kernels (backend cpu)."
    rows = [{**row, "variant": row.get(SEARCHED, row["variant"])} for row in (*found.a.rows, *found.b.rows)]
    yield from footnotes_of(pd.DataFrame(rows))
    yield from (f"Warning: {line}." for line in (*found.differences, *found.warnings))


def _over_graphs(found: Comparison) -> Iterator[str]:
    """Yields a line with the geometric mean of the ratios B / A over all graphs, and with its confidence
    interval. The interval follows from the logarithms of the ratios and Student's t-distribution. Yields
    nothing for fewer than three graphs.
    """
    points: dict[str, list[float]] = {}
    for point in found.points:
        if point.ratio:
            points.setdefault(point.axes[_GRAPH], []).append(point.ratio.middle)
    logs = [statistics.mean(ratios) for ratios in points.values()]
    if len(logs) < _FEWEST_GRAPHS:
        return
    from scipy.stats import t

    half = t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    middle = statistics.mean(logs)
    low, mean, high = (f"{math.exp(log):.3f}" for log in (middle - half, middle, middle + half))
    yield (
        f"Over {len(logs)} graphs: geometric mean {mean} of the graphs' ratios, {CONFIDENCE * 100:.0f} % "
        f"interval {low} to {high}. B takes less time on {sum(log < 0 for log in logs)} graphs, and more "
        f"time on {sum(log > 0 for log in logs)}."
    )


def _percent(noise: Mapping[str, float]) -> str:
    """Returns the run-to-run noise as text, such as ``1.5 %``, or ``1.5 % (cuda), 12 % (host)`` for several
    backends."""
    if len(noise) == 1:
        return f"{next(iter(noise.values())) * 100:.2g} %"
    return ", ".join(f"{share * 100:.2g} % ({backend})" for backend, share in noise.items())


def _power(found: Comparison) -> Iterator[str]:
    """Yields one line per backend with the smallest changes that the statistical test detects."""
    for backend, changes in found.detects.items():
        told = ", ".join(
            f"{float(f'{100 * change:.2g}'):g} % with {runs}"
            for runs, change in changes.items()
            if change < 9
        )
        if told:
            yield (
                f"Power ({backend}): of one changed point, 9 times in 10, this test detects a change of at "
                f"least {told} runs per side."
            )


def _advice(found: Comparison) -> Iterator[str]:
    """Yields lines of advice on configurations whose verdict is "undecided". The lines say how many repeats
    would probably be enough for another verdict."""
    undecided = [point for point in found.points if point.verdict == UNDECIDED]
    needed = sorted((point.repeats_needed, point.runs_needed) for point in undecided if point.repeats_needed)
    if needed:
        half, most = needed[(len(needed) - 1) // 2], needed[-1]
        yield (
            f"Repeats that are likely to decide {plural(len(needed), 'undecided point')}: {half[0]} per "
            f"side, in {half[1]} runs, for half of them, {most[0]} in {most[1]} for all "
            "(repeats_needed, runs_needed in the table 'points'; put the files of a side into one folder)."
        )
    if beyond := len(undecided) - len(needed):
        yield (
            f"More than {MOST_RUNS} runs would be needed for {plural(beyond, 'undecided point')}: the ratio "
            "is too near the threshold."
        )


def points(found: Comparison) -> Table:
    """Returns a table with one line for each configuration that both sides measured. Lines are sorted by
    verdict. Among lines with equal verdicts, the largest change comes first."""
    columns = ("verdict", *AXES, *RESULTS)
    ordered = sorted(found.points, key=_order)
    rows: list[tuple[Cell, ...]] = [(point.verdict, *point.axes, *point.line) for point in ordered]
    changed = [verdict for verdict in (SLOWER, LOST, FASTER, GAINED) if found.count(verdict)]
    notes = (
        f"ms: the fastest repeat of either side; ratio: B's repeats to A's, in the middle and as an interval "
        f"of {CONFIDENCE * 100:.0f} % confidence.",
        *(() if changed else ("No point got slower or faster.",)),
    )
    table = Table("points", "Points that changed", columns, rows, notes)
    return replace(table, drawings=tuple(_drawing(table, verdict) for verdict in changed))


def _order(point: Compared) -> tuple[int, float]:
    """Returns a sort key for compared configurations. They are sorted by verdict, in the order of VERDICTS.
    Among configurations with equal verdicts, the largest change comes first."""
    return VERDICTS.index(point.verdict), -abs(point.ratio.middle) if point.ratio else 0.0


def _drawing(table: Table, verdict: str) -> Table:
    """Returns a table of the configurations whose verdict is ``verdict``. It has no columns for verdict and
    backend, and no empty columns."""
    rows = [row for row in table.rows if row[0] == verdict]
    shown = replace(table, rows=rows[:_MOST_SHOWN])
    filled = [
        name
        for name, cells in zip(table.columns, zip(*rows, strict=True), strict=True)
        if name not in ("verdict", "backend") and any(cell not in (None, "") for cell in cells)
    ]
    more = f", {_MOST_SHOWN} of {len(rows)}" if len(rows) > _MOST_SHOWN else ""
    return replace(shown.columns_of(*filled), title=f"{verdict}{more}")


def unmatched(found: Comparison) -> Table:
    """Returns a table of the configurations that were measured on only one side, A or B. The text layout does
    not list them, but counts them for each variant and graph."""
    sides = (("A", found.only_a), ("B", found.only_b))
    rows: list[tuple[Cell, ...]] = [(side, *axes) for side, only in sides for axes in only]
    counts = Counter((side, axes[_GRAPH], axes[_VARIANT]) for side, only in sides for axes in only)
    counted: list[tuple[Cell, ...]] = [(*key, count) for key, count in sorted(counts.items())]
    drawing = Table("", "", ("only_in", "graph", "variant", "points"), counted)
    notes = () if rows else ("All points are on both sides.",)
    return Table("unmatched", "Points on one side only", ("only_in", *AXES), rows, notes, (drawing,))


TABLES: dict[str, Callable[[Comparison], Table]] = {
    "summary": summary,
    "points": points,
    "unmatched": unmatched,
}
"""Maps the name of each table of a comparison to the function that makes it, in the order in which the tables
are shown."""
