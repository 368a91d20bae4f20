"""Counters of searches, beside the numbers that the papers print."""

from __future__ import annotations

from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed
from bfsbench.experiments.series import series_called
from bfsbench.report.table import Cell, Table


def counters_beside(outcome: Outcome, printed: list[Printed]) -> list[Table]:
    """For each table of counts that the paper prints: counter by series, printed | ours, a line a graph."""
    return [_table(outcome, table) for table in printed]


def _table(outcome: Outcome, printed: Printed) -> Table:
    headings = printed.headings or tuple(printed.columns)
    series = [series_called(outcome.experiment, column) for column in printed.columns]
    facts: list[tuple[Cell, ...]] = []
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        sums = [outcome.counter_sums(one, name) for one in series]
        for counter in printed.rows:
            line: list[Cell] = [outcome.title(name), counter]
            for column, heading, found in zip(printed.columns, headings, sums, strict=True):
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
