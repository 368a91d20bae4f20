"""Tables of level profiles: kernels, duplicates and counters."""

from __future__ import annotations

from bfsbench.bench.profile import parse_counts
from bfsbench.experiments.declaration import Duplicates, Profile
from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed
from bfsbench.experiments.series import series_called
from bfsbench.report.table import Cell, Table


def level_table(outcome: Outcome, drawing: Profile) -> Table:
    """How many levels each kernel or layer ran, and what they cost."""
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs_of(drawing):
        for series in outcome.series_of(drawing):
            for kernel, group in outcome.levels_of(series, name).groupby("kernel", sort=False):
                largest, total = group["frontier_size"].max(), group["time_us"].sum()
                facts = (outcome.title(name), series.title, str(kernel), len(group))
                lines.append((*facts, int(largest), float(total)))
    columns = ("graph", "series", "kernel", "levels", "largest_frontier", "time_us")
    return Table("levels", f"Levels by kernel{outcome.heading}", columns, lines)


def duplicate_table(outcome: Outcome, drawing: Duplicates) -> Table:
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
                queued.setdefault(level + 1, {})[one.title] = parse_counts(str(row["counts"])).get(
                    "entries", 0
                )
        for level in sorted(distinct):
            sizes = (1 if level == 0 else queued.get(level, {}).get(one.title) for one in series)
            lines.append((outcome.title(name), level, distinct[level], *sizes))
    columns = ("graph", "level", "sequential", *(one.title for one in series))
    title = f"Frontier sizes with duplicates{outcome.heading}"
    return Table("duplicates", title, columns, lines)


def counts_beside(outcome: Outcome, printed: list[Printed]) -> list[Table]:
    """For each table of counts that the paper prints: counter by series, printed | ours, a line a graph."""
    return [_counts(outcome, table) for table in printed]


def _counts(outcome: Outcome, printed: Printed) -> Table:
    headings = printed.headings or tuple(printed.columns)
    series = [series_called(outcome.experiment, column) for column in printed.columns]
    facts: list[tuple[Cell, ...]] = []
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        counted = [outcome.counted(one, name) for one in series]
        for counter in printed.rows:
            line: list[Cell] = [outcome.title(name), counter]
            for column, heading, found in zip(printed.columns, headings, counted, strict=True):
                theirs, ours = printed.value(counter, column), None if found is None else found[counter]
                facts.append((outcome.title(name), counter, heading, theirs, ours))
                line.append(f"{theirs:,} | {'' if ours is None else f'{ours:,}'}")
            lines.append(tuple(line))
    notes = [f"Paper | here{outcome.heading}; the paper's numbers are of {printed.source}."]
    notes += [printed.note] if printed.note else []
    drawing = Table("", "", ("graph", "counter", *headings), lines)
    title = f"{printed.paper}, {printed.place}, and here{outcome.heading}"
    columns = ("graph", "counter", "what", "paper", "here")
    return Table("counts", title, columns, facts, tuple(notes), (drawing,))
