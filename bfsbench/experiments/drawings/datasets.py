"""The graphs' statistics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from bfsbench.experiments.drawings.base import Chart
from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed, Value, number, printed_tables
from bfsbench.graphs.marks import UNMARKED, split_marks
from bfsbench.report.table import Cell, Table

_STATISTICS = (
    *("vertices", "arcs", "degree_mean", "degree_std", "degree_median", "degree_max"),
    *("diameter_at_least", "components", "largest_component", "isolated"),
)


class Datasets(Chart, frozen=True, kw_only=True, tag="datasets"):
    """The graphs' statistics beside the printed ones."""

    needs_graphs: ClassVar[bool] = True

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        yield from (_beside(outcome, one) for one in printed_tables(outcome.experiment, "statistics"))
        yield _statistics(outcome)


def _statistics(outcome: Outcome) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        figures = (outcome.loaded[name].statistics[column] for column in _STATISTICS)
        lines.append((outcome.title(name), name, *figures))
    notes = ["The diameter is a lower bound: the largest distance that double sweeps met."]
    return Table("statistics", "Statistics", ("graph", "searched", *_STATISTICS), lines, tuple(notes))


def _beside(outcome: Outcome, printed: Printed) -> Table:
    """Paper | here, ours with as many digits as are printed, and where these differ."""
    headings = printed.headings or tuple(printed.columns)
    facts: list[tuple[Cell, ...]] = []
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        title, differing = outcome.title(name), []
        line: list[Cell] = [title]
        for column, heading in zip(printed.columns, headings, strict=True):
            theirs = printed.value(outcome.uses[name].title, column)
            ours = outcome.loaded[name].statistics[column] / printed.scale.get(column, 1)
            facts.append((title, heading, theirs, ours))
            line.append(f"{'' if theirs is None else theirs} | {_as_printed(ours, theirs)}")
            if number(theirs) is not None and _as_printed(ours, theirs) != str(theirs):
                differing.append(heading)
        another = split_marks(name.rpartition(":")[0])[1] != UNMARKED
        lines.append((*line, "another graph" if another else ", ".join(differing) or "nothing"))
    drawing = Table("", "", ("graph", *headings, "differs"), lines)
    notes = [f"Paper | here, rounded as printed; the paper's numbers are of {printed.source}."]
    notes += [printed.note] if printed.note else []
    title = f"{printed.paper}, {printed.place}, and here"
    return Table(
        "statistics_beside", title, ("graph", "what", "paper", "here"), facts, tuple(notes), (drawing,)
    )


def _as_printed(ours: float, theirs: Value | None) -> str:
    """Our number with the digits of the printed one."""
    digits = len(str(theirs).partition(".")[2]) if number(theirs) is not None else 3
    return f"{ours:.{digits}f}"
