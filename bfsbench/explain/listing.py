"""Source files with the counters of their lines beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.errors import InputError
from bfsbench.explain.counters import Counters
from bfsbench.explain.tables import by_line

if TYPE_CHECKING:
    import pandas as pd

CONTEXT = 3
"""Lines shown before and after those that have counters; longer stretches without are left out."""
WARM, HOT = 0.05, 0.2
"""Shares of a search's cost from which a line is coloured."""


@dataclass(frozen=True)
class LineCost:
    """The cost of one source line."""

    executions: int
    lanes: float
    """In an execution."""
    sectors: int
    sectors_a_request: float
    distinct_kib: float
    conflicts: int
    collisions: int
    share: float
    """Share of the search's cost: sectors of global memory, passes through shared memory, and barriers."""


@dataclass(frozen=True)
class ListedLine:
    """A line of a source file; ``cost`` is None where nothing was counted."""

    number: int
    text: str
    cost: LineCost | None


@dataclass(frozen=True)
class Listing:
    """The parts of one file that have counters; between two parts, lines are left out."""

    file: str
    parts: tuple[tuple[ListedLine, ...], ...]

    @property
    def costs(self) -> dict[int, LineCost]:
        """Costs by line number, for the lines that have any."""
        return {line.number: line.cost for part in self.parts for line in part if line.cost}

    @property
    def share(self) -> float:
        """The file's share of the search's cost."""
        return sum(cost.share for cost in self.costs.values())


def listings(counted: Counters, level: int | None = None) -> list[Listing]:
    """Listings of the files that a search executed, the costliest first; for one level, or for all.

    Raises InputError when a source file cannot be read.
    """
    costs = _costs(by_line(counted, level))
    found = [
        Listing(file, tuple(_parts(_text(counted.sources[file]), lines))) for file, lines in costs.items()
    ]
    return sorted(found, key=lambda listing: (-listing.share, listing.file))


def _costs(frame: pd.DataFrame) -> dict[str, dict[int, LineCost]]:
    weights = frame["sectors"] + frame["passes"] + frame["executions"] * (frame["bytes"] == 0)
    total = max(1, int(weights.sum()))
    costs: dict[str, dict[int, LineCost]] = {}
    for row, weight in zip(frame.to_dict("records"), weights, strict=True):
        executions = max(1, int(row["executions"]))
        costs.setdefault(row["file"], {})[int(row["line"])] = LineCost(
            executions=int(row["executions"]),
            lanes=row["lanes"] / executions,
            sectors=int(row["sectors"]),
            sectors_a_request=row["sectors"] / executions,
            distinct_kib=row["distinct_sectors"] / 32,
            conflicts=int(row["conflicts"]),
            collisions=int(row["collisions"]),
            share=float(weight) / total,
        )
    return costs


def _text(path: Path) -> list[str]:
    if not path.exists():
        return []
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _parts(text: list[str], costs: Mapping[int, LineCost]) -> Iterator[tuple[ListedLine, ...]]:
    shown = sorted(
        {n for at in costs for n in range(at - CONTEXT, at + CONTEXT + 1) if 1 <= n <= len(text)} | set(costs)
    )
    part: list[ListedLine] = []
    for number in shown:
        if part and number != part[-1].number + 1:
            yield tuple(part)
            part = []
        line = text[number - 1] if 0 < number <= len(text) else ""
        part.append(ListedLine(number, line.expandtabs(4), costs.get(number)))
    if part:
        yield tuple(part)
