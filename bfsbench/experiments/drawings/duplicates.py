"""Duplicates in frontiers."""

from __future__ import annotations

from collections.abc import Iterator

from bfsbench.experiments.drawings.base import Plot
from bfsbench.experiments.outcome import Outcome
from bfsbench.families.bfs.profile import parse_counters
from bfsbench.report.table import Cell, Table


class Duplicates(Plot, frozen=True, kw_only=True, tag="duplicates"):
    """Entries of the frontier a level, duplicates included, against distinct vertices."""

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        yield _duplicate_table(outcome, self)


def _duplicate_table(outcome: Outcome, drawing: Duplicates) -> Table:
    """Entries of every frontier, duplicates included, by level and series; beside the distinct vertices.

    What a level's kernels queue is the next level's frontier.
    """
    series = outcome.series_of(drawing)
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs_of(drawing):
        queued: dict[int, dict[str, int]] = {}
        distinct: dict[int, int] = {}
        for one in series:
            for _, row in outcome.levels_of(one, name).iterrows():
                level = int(row["level"])
                distinct[level] = int(row["frontier_size"])
                queued.setdefault(level + 1, {})[one.title] = parse_counters(str(row["counts"])).get(
                    "entries", 0
                )
        for level in sorted(distinct):
            sizes = (1 if level == 0 else queued.get(level, {}).get(one.title) for one in series)
            lines.append((outcome.title(name), level, distinct[level], *sizes))
    columns = ("graph", "level", "sequential", *(one.title for one in series))
    title = f"Frontier sizes with duplicates{outcome.heading}"
    return Table("duplicates", title, columns, lines)
