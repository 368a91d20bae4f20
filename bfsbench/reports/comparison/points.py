"""Compares two sets of result rows, called sides, and computes the verdict on each point.

A point is one measured configuration: graph, source, variant, backend, grid, block and knobs. Only points
that both sides have are compared. A side consists of rows that have one thing in common: a file, a folder, a
git revision of a file, a commit, or a search.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import statistics
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, SupportsFloat

from bfsbench.reports.comparison import (
    FASTER as FASTER,
    SAME as SAME,
    SLOWER as SLOWER,
    UNDECIDED as UNDECIDED,
)
from bfsbench.reports.comparison.evidence import (
    FALSE_RATE,
    MOST_NOISE,
    MOST_NOISE_ON_HOST,
    Evidence,
    LogRatio,
    compare_samples,
    detected,
    enough_evidence,
    p_value,
    run_to_run_noise,
    runs_that_tell,
)
from bfsbench.rows.columns import AXES, COUNTS, NUMERIC
from bfsbench.rows.point import knob_values
from bfsbench.rows.results import NOT_BY_TO_CSV, axes_of, parse_rows, read_rows, result_files
from bfsbench.support.errors import InputError, UsageError, plural
from bfsbench.variants import all_variants

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str]


@dataclass(frozen=True)
class Side:
    """One of the two sets of result rows that are compared, with a name for messages."""

    name: str
    rows: list[Row]


def read_side(operand: str) -> Side:
    """Reads the rows of one side of a comparison. Returns the rows of ``FILE``, of all result files in
    ``FOLDER``, or of ``FILE@REVISION``, which is the file at that revision in git.

    Raises InputError if the rows cannot be read, or if a cell has a malformed number or knob. Raises
    UsageError if git cannot be run.
    """
    name, at, revision = operand.rpartition("@")
    if at and name and revision and not Path(operand).exists():
        return Side(operand, _checked(operand, _rows_in_git(operand, Path(name), revision)))
    files = result_files(Path(operand))
    return Side(operand, [row for file in files for row in _checked(str(file), read_rows(file))])


def of_frame(rows: pd.DataFrame, name: str) -> Side:
    """Returns the rows of a data frame as one side of a comparison. Cells become text as in result files.

    The frame comes from a sweep or from ``read_results``. Raises UsageError if columns of result rows are
    missing. Raises InputError if a cell has a malformed number or knob.
    """
    missing = [column for column in AXES if column not in rows]
    if missing:
        raise UsageError(f"side {name} has no result rows: it lacks {', '.join(missing)}")
    records = rows.to_dict("records")
    texts = [{str(column): _text(value) for column, value in row.items()} for row in records]
    return Side(name, _checked(f"side {name}", texts))


def _checked(name: str, rows: list[Row]) -> list[Row]:
    """Returns the rows unchanged. Raises InputError if a cell has a malformed number or knob."""
    for column in NUMERIC:
        for text in {row.get(column, "") for row in rows}:
            try:
                float(text or 0)
            except ValueError:
                raise InputError(f"{name}: column {column} is not numeric: '{text}'") from None
    try:
        for text in {row["knobs"] for row in rows}:
            knob_values(text)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return rows


def _text(value: object) -> str:
    """Returns a cell as the text that a result file would contain: whole numbers have no decimal point, and
    semicolons separate samples."""
    if isinstance(value, list):
        return ";".join(map(str, value))
    if isinstance(value, str):
        return value
    # pandas.NA cannot be converted to a number.
    number = float(value) if isinstance(value, SupportsFloat) else math.nan
    if math.isnan(number):
        return ""
    return str(int(number)) if number.is_integer() else str(number)


def of_commits(side: Side, first: str, second: str) -> tuple[Side, Side]:
    """Returns two sides: the rows of ``side`` taken at the commit ``first``, and the rows taken at the commit
    ``second``.

    Raises UsageError if a commit is unknown or ambiguous.
    """
    found = (_commit_called(commit, side) for commit in (first, second))
    a, b = (Side(name, [row for row in side.rows if row["commit"] == name]) for name in found)
    return a, b


def _commit_called(wanted: str, side: Side) -> str:
    """Returns the commit in a side's rows that equals ``wanted`` or begins with it. Raises UsageError if no
    commit or several commits match.
    """
    counts = Counter(row["commit"] for row in side.rows)
    if wanted in counts:
        return wanted
    found = [commit for commit in counts if commit.startswith(wanted) and wanted]
    if len(found) == 1:
        return found[0]
    among = found or list(counts)
    told = ", ".join(f"{commit or 'none'} ({counts[commit]} rows)" for commit in among)
    problem = "is ambiguous" if found else "has no rows"
    raise UsageError(f"commit '{wanted}' {problem} in {side.name}: there are {told}")


SEARCHED = "searched"
"""Column with the variant's name, in rows whose column ``variant`` has the names of two searches."""


def of_searches(side: Side, first: str, second: str) -> tuple[Side, Side]:
    """Returns two sides: the rows of the search ``first``, and the rows of the search ``second``. A search is
    a variant. On each graph, a side contains only one configuration of the search: the configuration with
    times from the most sources. If there are several, the side contains the fastest (geometric mean of
    ``search_ms``).

    The columns in which two searches always differ are made equal, so that rows of one graph and one source
    form a pair. The added column ``SEARCHED`` names the variant. Raises UsageError if a search has no times.
    """
    aliases = {alias: variant.name for variant in all_variants().values() for alias in variant.aliases}
    names = aliases | {row["variant"]: row["variant"] for row in side.rows}
    sides = []
    for name in (names.get(first, first), names.get(second, second)):
        graphs: dict[str, dict[tuple[str, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
        for row in side.rows:
            if row["variant"] == name and row["status"] == "ok" and row["backend"] != EMULATED:
                shape = (row["backend"], row["grid"], row["block"], row["knobs"])
                graphs[row["graph"]][shape].append(row)
        if not graphs:
            if any(row["variant"] == name and row["status"] == "ok" for row in side.rows):
                why = "has only emulated times, which are not compared ('bfsbench explain' compares counters)"
                raise UsageError(f"search '{name}' {why}: {side.name}")
            raise UsageError(f"search '{name}' has no times in {side.name}")
        sides.append([row for shapes in graphs.values() for row in min(shapes.values(), key=_slowness)])
    backends = {row["backend"] for rows in sides for row in rows}
    backend = backends.pop() if len(backends) == 1 else "host"
    equal = {"variant": f"{second} / {first}", "backend": backend, "grid": "", "block": "", "knobs": ""}
    a, b = ([{**row, **equal, SEARCHED: row["variant"]} for row in rows] for rows in sides)
    return Side(f"{first} in {side.name}", a), Side(f"{second} in {side.name}", b)


def _slowness(rows: list[Row]) -> tuple[int, float]:
    """Returns a sort key for configurations. Configurations with the most sources come first. Among
    configurations with equally many sources, the fastest comes first."""
    times = [float(row["search_ms"]) for row in rows]
    return -len({row["source"] for row in rows}), statistics.geometric_mean(times)


def _rows_in_git(operand: str, path: Path, revision: str) -> list[Row]:
    """Returns the rows of a file at a revision of the git repository that its folder belongs to.

    Raises InputError if git has no such file or revision. Raises UsageError if git cannot be run.
    """
    if not path.parent.is_dir():
        raise InputError(f"cannot read {operand}: there is no folder {path.parent}")
    command = ["git", "-C", str(path.parent), "show", "--end-of-options", f"{revision}:./{path.name}"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise UsageError(f"cannot read {operand}: git cannot be run ({error.strerror})") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise InputError(f"cannot read {operand}: {said[0].removeprefix('fatal: ')}")
    text = io.StringIO(done.stdout.decode("utf-8-sig", errors="replace"), newline="")
    return parse_rows(text, operand)


EMULATED = "cpu"
"""The backend whose times are not compared."""

MACHINE = "machine differs"
"""The verdict on a configuration for which both sides measured identical code, but times that clearly
differ."""
LOST, GAINED, FAILED = "lost", "gained", "failed"
"""Verdicts on configurations without a time: B has no time (lost), A has no time (gained), or neither has one
(failed)."""
VERDICTS = (SLOWER, LOST, FASTER, GAINED, MACHINE, SAME, UNDECIDED, FAILED)
WORSE = (SLOWER, LOST)

_SHORT = 12
_MOST_LISTED = 4

Facts = Callable[[Row], Mapping[str, str]]


@dataclass(frozen=True)
class Compared:
    """A configuration that both sides measured, with its verdict. Its times are the fastest repeat of each
    side, in ms."""

    axes: tuple[str, ...]
    """The values of the columns AXES, which identify the configuration."""
    verdict: str
    a_ms: float | None
    b_ms: float | None
    ratio: LogRatio | None
    """The ratio of B's times to A's times. None if a side has no times."""
    repeats_needed: int | None = None
    """For the verdict "undecided": the total number of repeats per side that is likely to lead to another
    verdict. None for other verdicts, or if too many repeats would be needed."""
    runs_needed: int | None = None
    """The number of runs over which ``repeats_needed`` are spread, including the runs taken so far."""

    @property
    def line(self) -> tuple[str | float | None, ...]:
        """The values of the columns RESULTS. A value is None if it is unknown."""
        ratio = self.ratio or LogRatio(math.nan, math.nan, math.nan)
        logs = (ratio.middle, ratio.low, ratio.high)
        factors = (math.exp(log) if math.isfinite(log) else None for log in logs)
        return (self.a_ms, self.b_ms, *factors, self.repeats_needed, self.runs_needed)


RESULTS = ("a_ms", "b_ms", "ratio", "ratio_low", "ratio_high", "repeats_needed", "runs_needed")
"""The columns with the times of a configuration, in tables of a comparison."""


@dataclass(frozen=True)
class _Pair:
    """A configuration that both sides measured. ``first`` and ``second`` are the repeats in ms on side A and
    side B."""

    axes: tuple[str, ...]
    first: list[float]
    second: list[float]
    evidence: Evidence | None
    """The evidence that the repeats give for a verdict. None if a side has no times."""
    same_code: bool

    @property
    def backend(self) -> str:
        return self.axes[AXES.index("backend")]


@dataclass(frozen=True)
class Comparison:
    """The result of comparing the result rows ``b`` with the result rows ``a``."""

    a: Side
    b: Side
    threshold: float
    points: list[Compared]
    only_a: list[tuple[str, ...]]
    """The configurations that only side A measured, each as its values of the columns AXES."""
    only_b: list[tuple[str, ...]]
    """The configurations that only side B measured, each as its values of the columns AXES."""
    differences: list[str]
    """One line for each difference between the sides that makes their times incomparable, such as another
    GPU."""
    warnings: list[str]
    """One line for each difference between the sides that may explain other times, such as another driver."""
    num_emulated: int
    """Number of rows of emulated kernels. The comparison leaves them out."""
    noise: dict[str, float]
    """The run-to-run noise by backend: the standard deviation of the logarithm of the ratio of two runs of
    unchanged code. The value 0.03 stands for about 3 %."""
    detects: dict[str, dict[int, float]]
    """The smallest changes that the test detects, by backend; see
    :func:`bfsbench.reports.comparison.evidence.detected`."""
    num_same_code: int
    """Number of configurations for which both sides measured identical code."""

    def __repr__(self) -> str:
        verdicts = Counter(point.verdict for point in self.points)
        counted = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
        also = [f"{plural(self.num_emulated, 'emulated row')} left out"] if self.num_emulated else []
        also += [plural(len(self.differences), "difference")] if self.differences else []
        also += [plural(len(self.warnings), "warning")] if self.warnings else []
        more = f" ({', '.join(also)})" if also else ""
        return f"<Comparison of {self.a.name} and {self.b.name}: {counted}{more}; frame() lists them>"

    def frame(self) -> pd.DataFrame:
        """Returns a data frame with one row for each configuration that both sides measured.

        The columns are all columns in AXES, ``verdict``, and all columns in RESULTS. The columns in AXES have
        the same types as in result rows, so that the frame can be merged with them. The columns ``a_ms`` and
        ``b_ms`` are the fastest repeats of the two sides. ``ratio`` is the ratio of B's repeats to A's
        repeats. ``ratio_low`` and ``ratio_high`` are the ends of its 95 % confidence interval. For an
        undecided configuration, ``repeats_needed`` repeats in ``runs_needed`` runs per side are likely to
        decide it.
        """
        import pandas as pd

        lines = [(*one.axes, one.verdict, *one.line) for one in self.points]
        frame = pd.DataFrame(lines, columns=[*AXES, "verdict", *RESULTS])
        counts = [name for name in AXES if name in COUNTS]
        for name in counts:
            frame[name] = pd.to_numeric(frame[name].replace("", None))
        counts += ["repeats_needed", "runs_needed"]
        return frame.astype(dict.fromkeys(RESULTS, "float64") | dict.fromkeys(counts, "Int64"))

    def count(self, verdict: str) -> int:
        return sum(point.verdict == verdict for point in self.points)

    @property
    def is_worse(self) -> bool:
        """True if any configuration became slower, or has a time on side A but not on side B."""
        return any(point.verdict in WORSE for point in self.points)


def compare(a: Side, b: Side, threshold: float) -> Comparison:
    """Compares the result rows of two sides for every configuration that both measured. Returns the verdicts.

    ``threshold`` is the relative difference up to which times count as equal, such as 0.05 for 5 %. Raises
    InputError if a sample is not a time.
    """
    rows_a, rows_b = (_by_point(side) for side in (a, b))
    common = [axes for axes in rows_a if axes in rows_b]
    rows = [(rows_a[axes], rows_b[axes]) for axes in common]
    pairs = [_pair(axes, a, b, *both) for axes, both in zip(common, rows, strict=True)]
    noise = {
        name: run_to_run_noise(_evidence(pairs, name), MOST_NOISE_ON_HOST if name == "host" else MOST_NOISE)
        for name in dict.fromkeys(pair.backend for pair in pairs)
    }
    p_values = [p_value(pair.evidence, noise[pair.backend], threshold) for pair in pairs if pair.evidence]
    enough = enough_evidence(p_values)
    return Comparison(
        a,
        b,
        threshold,
        [_compared(pair, noise, threshold, enough, len(p_values)) for pair in pairs],
        [axes for axes in rows_a if axes not in rows_b],
        [axes for axes in rows_b if axes not in rows_a],
        _differences(rows, _method),
        [
            *_differences(rows, _circumstances),
            *(f"{line}: {_UNEQUAL}" for line in _differences(rows, _repeats)),
            *_other_knobs(rows_a, rows_b),
        ],
        sum(row["backend"] == EMULATED for side in (a, b) for row in side.rows),
        noise,
        {name: detected(_evidence(pairs, name), share, threshold) for name, share in noise.items()},
        sum(_is_same_code(*both) for both in rows),
    )


def _by_point(side: Side) -> dict[tuple[str, ...], list[Row]]:
    """Returns a dictionary that maps each configuration (its values in the columns AXES) to its rows. Rows of
    emulated kernels are left out.

    If the rows of a configuration come from several versions of the code, only the rows of the latest version
    are returned.
    """
    points: dict[tuple[str, ...], list[Row]] = {}
    for row in side.rows:
        if row["backend"] != EMULATED:
            axes = axes_of({**row, "knobs": all_knobs(row["variant"], row["knobs"])})
            points.setdefault(axes, []).append(row)
    return {axes: _of_latest_code(rows) for axes, rows in points.items()}


@cache
def all_knobs(variant: str, text: str) -> str:
    """Returns the text of the column ``knobs``, with default values for missing knobs.

    A variant may have more knobs now than when the row was measured. An empty string and the text of an
    unknown variant are returned unchanged.
    """
    declared = all_variants().get(variant)
    given = knob_values(text)
    if declared is None or not given:
        return text
    known = {knob.name: str(given.pop(knob.name, knob.default)) for knob in declared.knobs}
    return " ".join(f"{name}={value}" for name, value in {**known, **given}.items())


def _of_latest_code(rows: list[Row]) -> list[Row]:
    """Returns the rows that have the same hash of the code as the latest row. Rows without a hash, from older
    files, are kept."""
    latest = max((row for row in rows if row["code"]), key=lambda row: row["taken_at"], default={"code": ""})
    return [row for row in rows if row["code"] in ("", latest["code"])]


def _is_same_code(first: list[Row], second: list[Row]) -> bool:
    """Returns whether all rows of two lists measured identical code. The rows' hashes of the code are
    compared. For a row without a hash, its commit is compared instead. If this commit is unknown or had
    uncommitted changes, the result is False.
    """
    codes = {row["code"] or _clean_commit(row) for row in (*first, *second)}
    return len(codes) == 1 and "" not in codes


def _clean_commit(row: Row) -> str:
    """Returns the commit that a row names. Returns an empty string if the row names no commit, or if the code
    had uncommitted changes."""
    return row["commit"] if re.fullmatch("[0-9a-f]{12,40}", row["commit"]) else ""


def _pair(axes: tuple[str, ...], a: Side, b: Side, rows_a: list[Row], rows_b: list[Row]) -> _Pair:
    runs_a, runs_b = _samples(a, rows_a), _samples(b, rows_b)
    first, second = list(itertools.chain(*runs_a)), list(itertools.chain(*runs_b))
    if not first or not second:
        return _Pair(axes, first, second, None, False)
    runs, scatter = (len(runs_a), len(runs_b)), _scatter(runs_a) + _scatter(runs_b)
    evidence = Evidence(compare_samples(first, second), runs, scatter)
    return _Pair(axes, first, second, evidence, _is_same_code(rows_a, rows_b))


def _scatter(runs: Sequence[Sequence[float]]) -> float:
    """Returns the sum of squared deviations of runs from their mean. The value of a run is the logarithm of
    its median time."""
    medians = [math.log(statistics.median(samples)) for samples in runs]
    return len(medians) * statistics.pvariance(medians)


def _evidence(pairs: Sequence[_Pair], backend: str) -> list[Evidence]:
    """Returns the evidence of each configuration that ran on ``backend`` and has times on both sides."""
    return [pair.evidence for pair in pairs if pair.evidence and pair.backend == backend]


def _compared(
    pair: _Pair, noises: Mapping[str, float], threshold: float, enough: float, num_points: int
) -> Compared:
    """Returns one configuration's verdict, times and ratio.

    ``enough`` is the largest p-value that suffices for a verdict of slower or faster. ``num_points`` is the
    number of configurations with times on both sides. ``noises`` gives the run-to-run noise of each backend.
    """
    first, second, evidence, noise = pair.first, pair.second, pair.evidence, noises[pair.backend]
    times = min(first, default=None), min(second, default=None)
    if evidence is None:
        return Compared(pair.axes, LOST if first else GAINED if second else FAILED, *times, None)
    certain = p_value(evidence, noise, threshold) <= enough
    verdict = _verdict(evidence.ratio, threshold, certain)
    if verdict in (SLOWER, FASTER) and pair.same_code:
        verdict = MACHINE
    repeats = runs = None
    if verdict == UNDECIDED:
        runs = runs_that_tell(evidence, noise, threshold, max(enough, FALSE_RATE / num_points))
        per_run = max(len(first) / evidence.runs[0], len(second) / evidence.runs[1])
        repeats = runs and math.ceil(runs * per_run)
    return Compared(pair.axes, verdict, *times, evidence.ratio, repeats, runs)


def _verdict(ratio: LogRatio, threshold: float, certain: bool) -> str:
    """Returns SLOWER, FASTER, SAME or UNDECIDED for a ratio B / A with its confidence interval.

    The interval is compared with 1 + ``threshold`` and with its inverse. ``certain`` says whether there is
    enough evidence for SLOWER or FASTER.
    """
    most = math.log1p(threshold)
    if certain and ratio.low > most:
        return SLOWER
    if certain and ratio.high < -most:
        return FASTER
    return SAME if -most <= ratio.low and ratio.high <= most else UNDECIDED


def _samples(side: Side, rows: Iterable[Row]) -> list[list[float]]:
    """Returns the timed repeats in ms of each successful row, one list per row. Raises InputError if a repeat
    is not a positive number."""
    return [
        [_sample(side, row, text) for text in row["search_ms_samples"].split(";")]
        for row in rows
        if row["status"] == "ok"
    ]


def _sample(side: Side, row: Row, text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    point = " ".join(filter(None, axes_of(row)))
    hint = NOT_BY_TO_CSV if text.startswith("[") else ""
    raise InputError(f"{side.name}: '{text}' is no time in ms, in the samples of {point}{hint}")


def _method(row: Row) -> dict[str, str]:
    """Returns the properties of a row that must be equal on both sides before their times are compared. A row
    without a time has no such properties."""
    if row["status"] != "ok":
        return {}
    device = ("host_cpu",) if row["backend"] == "host" else ("gpu", "compute_capability")
    return {name: row[name] for name in ("schema", "graph_checksum", "method", *device)}


_UNEQUAL = (
    "verdicts and ratios are fair, because they use the ranks of all repeats; "
    "the fastest repeats (a_ms, b_ms) favour the side with more repeats"
)


def _repeats(row: Row) -> dict[str, str]:
    """Returns the number of repeats of a row with times."""
    return {"repeats": str(row["search_ms_samples"].count(";") + 1)} if row["status"] == "ok" else {}


def _circumstances(row: Row) -> dict[str, str]:
    """Returns the properties of a row, such as the driver, that need not be equal on both sides for a
    comparison. A difference in these properties may explain a difference of times."""
    # For host programs, the CPU must be equal on both sides, so ``_method`` returns it.
    host_cpu = () if row["backend"] == "host" else ("host_cpu",)
    return {name: row[name] for name in ("driver", "cuda", *host_cpu, "python", "throttle")}


def _differences(pairs: Sequence[tuple[list[Row], list[Row]]], facts: Facts) -> list[str]:
    """Returns one line for each property, such as ``driver``, that differs between the rows of a
    configuration.

    Each element of ``pairs`` contains the rows of one configuration from the two sides. ``facts`` returns the
    properties of a row. A line says in how many configurations the rows differ in the property, and lists the
    property's values.
    """
    differing = defaultdict[str, list[set[str]]](list)
    for pair in pairs:
        found = defaultdict[str, set[str]](set)
        for row in itertools.chain(*pair):
            for name, value in facts(row).items():
                found[name].add(value)
        for name, values in found.items():
            if len(values) > 1:
                differing[name].append(values)
    return [
        f"{name} differs at {len(sets)} of {len(pairs)} points ({_listed(name, set().union(*sets))})"
        for name, sets in differing.items()
    ]


def _other_knobs(rows_a: Collection[tuple[str, ...]], rows_b: Collection[tuple[str, ...]]) -> Iterator[str]:
    """Yields one line for each variant whose configurations on the two sides differ only in their knobs, for
    example because a knob's default has changed. Such configurations are not compared. The arguments contain
    the configurations of side A and side B, as values of AXES."""
    variant, knobs = AXES.index("variant"), AXES.index("knobs")
    sides: list[dict[tuple[str, ...], set[str]]] = [defaultdict(set), defaultdict(set)]
    for side, rows, others in zip(sides, (rows_a, rows_b), ({*rows_b}, {*rows_a}), strict=True):
        for axes in rows:
            if axes not in others:
                side[axes[:knobs] + axes[knobs + 1 :]].add(axes[knobs])
    found: dict[str, list[tuple[set[str], set[str]]]] = defaultdict(list)
    for shape in sides[0].keys() & sides[1].keys():
        found[shape[variant]].append((sides[0][shape], sides[1][shape]))
    for name, pairs in sorted(found.items()):
        a, b = (_values_of_knobs(set().union(*(pair[side] for pair in pairs))) for side in (0, 1))
        differing = sorted(knob for knob in a.keys() | b.keys() if a.get(knob) != b.get(knob))
        texts = (f"{knob} is {_told(a, knob)} in A and {_told(b, knob)} in B" for knob in differing)
        yield f"{plural(len(pairs), 'point')} of {name} without a partner, because {', '.join(texts)}"


def _values_of_knobs(texts: Iterable[str]) -> dict[str, set[str]]:
    """Returns all values that each knob has in ``texts``, which are cells of the column ``knobs``."""
    found: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        for knob, value in knob_values(text).items():
            found[knob].add(value)
    return found


def _told(values: Mapping[str, set[str]], knob: str) -> str:
    return ", ".join(sorted(values.get(knob, ()))) or "absent"


def _listed(name: str, values: Iterable[str]) -> str:
    """Returns the values of the property ``name`` as text, separated by commas.

    At most ``_MOST_LISTED`` values are listed. Checksums are shortened.
    """
    length = _SHORT if name.endswith("checksum") else None
    ordered = sorted(values, key=lambda value: (int(value) if value.isdigit() else 0, value))
    shown = [value[:length] or "none" for value in ordered]
    return ", ".join(shown[:_MOST_LISTED]) + (", ..." if len(shown) > _MOST_LISTED else "")
