"""Tables that need no search: the graphs' statistics and the variants' declarations."""

from __future__ import annotations

from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed, Value, number
from bfsbench.graphs.marks import UNMARKED, split_marks
from bfsbench.report.table import Cell, Table
from bfsbench.variants import all_variants
from bfsbench.variants.base import Variant

_STATISTICS = (
    *("vertices", "arcs", "degree_mean", "degree_std", "degree_median", "degree_max"),
    *("diameter_at_least", "components", "largest_component", "isolated"),
)
_DECLARED = ("work", "space", "parallel_unit", "synchronisation", "frontier", "layout")


def dataset_tables(outcome: Outcome, printed: list[Printed]) -> list[Table]:
    """Statistics of the graphs, and one table a printed one with both side by side."""
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        figures = (outcome.loaded[name].statistics[column] for column in _STATISTICS)
        lines.append((outcome.title(name), name, *figures))
    notes = ["The diameter is a lower bound: the largest distance that double sweeps met."]
    columns = ("graph", "searched", *_STATISTICS)
    return [
        *(_statistics_beside(outcome, table) for table in printed),
        Table("statistics", "Statistics", columns, lines, tuple(notes)),
    ]


def _statistics_beside(outcome: Outcome, printed: Printed) -> Table:
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


def complexity_table(family: str, printed: list[Printed]) -> Table:
    """What every variant of a family declares, the paper's words behind where it has some."""
    lines: list[tuple[Cell, ...]] = []
    for variant in (variant for variant in all_variants().values() if variant.family == family):
        lines.append((variant.name, *(_with_printed(variant, column, printed) for column in _DECLARED)))
    notes = [f"Here; [in brackets] as in {table.source}." for table in printed]
    notes.append("Space in words of 4 bytes, the graph included; D is the depth of the search.")
    return Table("complexity", "What the searches declare", ("variant", *_DECLARED), lines, tuple(notes))


def _with_printed(variant: type[Variant], column: str, printed: list[Printed]) -> str:
    declared = getattr(variant, column)
    ours = ", ".join(declared) if isinstance(declared, tuple) else str(declared)
    return " ".join(filter(None, (ours, _printed_text(variant.name, column, printed))))


def _printed_text(variant: str, column: str, printed: list[Printed]) -> str:
    found = (table.value(variant, column) for table in printed if column in table.columns)
    return "".join(f"[{text}]" for text in found if text is not None)
