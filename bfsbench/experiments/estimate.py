"""How long a sweep will take, estimated from earlier rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from bfsbench.backends import GPU_BACKENDS
from bfsbench.bench.point import Point, row_name
from bfsbench.bench.results import LEVELS_SUFFIX, read_rows
from bfsbench.errors import InputError
from bfsbench.graphs.marks import Marks, split_marks

UNKNOWN_S = {**dict.fromkeys(GPU_BACKENDS, 0.5), "host": 0.5, "cpu": 2.0}
"""Seconds assumed for a point of each backend without earlier rows."""

RULE = ", ".join(f"{seconds:g} s on {backend}" for backend, seconds in UNKNOWN_S.items())


class Experience:
    """Times of points by graph, variant and backend, from the result files in a folder and its subfolders."""

    def __init__(self, folder: Path) -> None:
        self._seconds: dict[tuple[str, str, str], list[float]] = {}
        for path in sorted(folder.rglob("*.csv")):
            if not path.name.endswith(LEVELS_SUFFIX):
                self._learn(path)

    def _learn(self, path: Path) -> None:
        try:
            rows = read_rows(path)
        except InputError:
            return  # another kind of file, or of another schema: skip it
        for row in rows:
            if row["status"] == "ok":
                samples = [float(sample) for sample in row["wall_ms_samples"].split(";")]
                spent_ms = float(row["prepare_ms"]) + samples[0] + sum(samples) * 2
                key = (_itself(row["graph"]), row["variant"], row["backend"])
                self._seconds.setdefault(key, []).append(spent_ms / 1e3)

    def seconds(self, points: Sequence[Point]) -> tuple[float, int]:
        """The expected time of the points, and how many of them were estimated by RULE."""
        known = [self._known(point) for point in points]
        guessed = [point.backend for point, seconds in zip(points, known, strict=True) if seconds is None]
        return _total(known) + sum(UNKNOWN_S[backend] for backend in guessed), len(guessed)

    def _known(self, point: Point) -> float | None:
        taken = self._seconds.get((_itself(point.graph), point.variant, point.backend))
        return median(taken) if taken else None


def _itself(full_name: str) -> str:
    """The graph's name without a stand-in's mark."""
    name, _, direction = row_name(full_name).rpartition(":")
    plain, marks = split_marks(name)
    return f"{plain}{Marks(marks.shrink).suffix}:{direction}"


def _total(seconds: Iterable[float | None]) -> float:
    return sum(value for value in seconds if value is not None)
