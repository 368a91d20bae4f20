"""Points that two sides have in common, whether they may be compared, and what comes of it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bfsbench.bench.results import axes_of
from bfsbench.compare.interval import LogRatio, compare_samples
from bfsbench.compare.sides import Row, Side
from bfsbench.errors import InputError

EMULATED = "cpu"
"""The backend whose times mean nothing."""

SLOWER, FASTER, SAME, UNDECIDED = "slower", "faster", "same", "undecided"
LOST, GAINED, FAILED = "lost", "gained", "failed"
"""Of points that have no time on side B, on side A, on either."""
VERDICTS = (SLOWER, LOST, FASTER, GAINED, SAME, UNDECIDED, FAILED)
WORSE = (SLOWER, LOST)

_SHORT = 12
_MOST_LISTED = 4

Facts = Callable[[Row], Mapping[str, str]]


@dataclass(frozen=True)
class Compared:
    """A point that both sides have; times in ms, the fastest repeat of each side."""

    axes: tuple[str, ...]
    """Values of AXES."""
    verdict: str
    a_ms: float | None
    b_ms: float | None
    ratio: LogRatio | None
    """Of B's times to A's; None where a side has none."""


@dataclass(frozen=True)
class Comparison:
    """What came of comparing side ``b`` with side ``a``."""

    a: Side
    b: Side
    threshold: float
    points: list[Compared]
    only_a: list[tuple[str, ...]]
    """Axes of the points that side B lacks."""
    only_b: list[tuple[str, ...]]
    differences: list[str]
    """What makes points incomparable, a line each."""
    warnings: list[str]
    """What else is not the same on both sides."""
    num_emulated: int
    """Rows left out because their times mean nothing."""

    def count(self, verdict: str) -> int:
        return sum(point.verdict == verdict for point in self.points)

    @property
    def is_worse(self) -> bool:
        """Whether a point got slower or lost its time."""
        return any(point.verdict in WORSE for point in self.points)


def compare(a: Side, b: Side, threshold: float) -> Comparison:
    """Compare every point of side B with the same of side A.

    ``threshold`` is the relative difference up to which times count as the same: 0.05 for 5 %.
    Raises InputError for samples that are no times.
    """
    rows_a, rows_b = (_by_point(side) for side in (a, b))
    common = [axes for axes in rows_a if axes in rows_b]
    pairs = [(rows_a[axes], rows_b[axes]) for axes in common]
    return Comparison(
        a,
        b,
        threshold,
        [_compared(axes, a, b, *pair, threshold) for axes, pair in zip(common, pairs, strict=True)],
        [axes for axes in rows_a if axes not in rows_b],
        [axes for axes in rows_b if axes not in rows_a],
        _differences(pairs, _method),
        _differences(pairs, _circumstances),
        sum(row["backend"] == EMULATED for side in (a, b) for row in side.rows),
    )


def _by_point(side: Side) -> dict[tuple[str, ...], list[Row]]:
    """The rows of each point that was not emulated."""
    points: dict[tuple[str, ...], list[Row]] = {}
    for row in side.rows:
        if row["backend"] != EMULATED:
            points.setdefault(axes_of(row), []).append(row)
    return points


def _compared(
    axes: tuple[str, ...], a: Side, b: Side, rows_a: list[Row], rows_b: list[Row], threshold: float
) -> Compared:
    first, second = _samples(a, rows_a), _samples(b, rows_b)
    a_ms, b_ms = min(first, default=None), min(second, default=None)
    if first and second:
        ratio = compare_samples(first, second)
        return Compared(axes, _verdict(ratio, threshold), a_ms, b_ms, ratio)
    return Compared(axes, LOST if first else GAINED if second else FAILED, a_ms, b_ms, None)


def _verdict(ratio: LogRatio, threshold: float) -> str:
    """By the rule of this package's docstring, in logarithms: 1 / (1 + t) is -log1p(t) there."""
    most = math.log1p(threshold)
    if ratio.low > most:
        return SLOWER
    if ratio.high < -most:
        return FASTER
    return SAME if -most <= ratio.low and ratio.high <= most else UNDECIDED


def _samples(side: Side, rows: Iterable[Row]) -> list[float]:
    """All timed repeats of a point, in ms. Raises InputError for one that is no time."""
    found = []
    for row in rows:
        if row["status"] != "ok":
            continue
        for text in row["search_ms_samples"].split(";"):
            sample = _number(text)
            if not 0 < sample < math.inf:
                point = " ".join(filter(None, axes_of(row)))
                raise InputError(f"{side.name}: '{text}' is no time in ms, in the samples of {point}")
            found.append(sample)
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _method(row: Row) -> dict[str, str]:
    """What has to agree before times of one point are compared."""
    device = ("host_cpu",) if row["backend"] == "host" else ("gpu", "compute_capability")
    facts = {name: row[name] for name in ("schema", "graph_checksum", *device)}
    if row["status"] == "ok":
        facts["repeats"] = str(row["search_ms_samples"].count(";") + 1)
    return facts


def _circumstances(row: Row) -> dict[str, str]:
    """What may be the very thing that is compared, and explains a difference if it is not."""
    names = ("driver", "cuda", "host_cpu", "python", "throttle")
    return {name: row[name] for name in names if name not in _method(row)}


def _differences(pairs: Sequence[tuple[list[Row], list[Row]]], facts: Facts) -> list[str]:
    """A line for each fact that is not the same in all rows of a point: at how many points, which values."""
    counts: Counter[str] = Counter()
    values: dict[str, set[str]] = {}
    for pair in pairs:
        found: dict[str, set[str]] = {}
        for row in itertools.chain(*pair):
            for name, value in facts(row).items():
                found.setdefault(name, set()).add(value)
        for name, different in found.items():
            if len(different) > 1:
                counts[name] += 1
                values.setdefault(name, set()).update(different)
    return [
        f"{name} differs at {count} of {len(pairs)} points ({_listed(name, values[name])})"
        for name, count in counts.items()
    ]


def _listed(name: str, values: Iterable[str]) -> str:
    """The values in words, a few if there are many; of checksums as much as tells them apart."""
    length = _SHORT if name.endswith("checksum") else None
    shown = sorted(value[:length] or "none" for value in values)
    return ", ".join(shown[:_MOST_LISTED]) + (", ..." if len(shown) > _MOST_LISTED else "")
