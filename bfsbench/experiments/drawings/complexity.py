"""The complexities that searches declare."""

from __future__ import annotations

from collections.abc import Iterator

from bfsbench.experiments.drawings.base import Chart
from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed, printed_tables
from bfsbench.report.table import Cell, Table
from bfsbench.variants import all_variants
from bfsbench.variants.base import Variant

_DECLARED = ("work", "space", "parallel_unit", "synchronisation", "frontier", "layout")


class Complexity(Chart, frozen=True, kw_only=True, tag="complexity"):
    """Declarations of the variants side by side; ``series`` says which."""

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        printed = printed_tables(outcome.experiment, "text")
        yield _complexity_table(outcome.experiment.family, printed)


def _complexity_table(family: str, printed: list[Printed]) -> Table:
    """The declarations of every variant of a family, with the paper's statement where there is one."""
    lines: list[tuple[Cell, ...]] = []
    for variant in (variant for variant in all_variants().values() if variant.family == family):
        lines.append((variant.name, *(_with_printed(variant, column, printed) for column in _DECLARED)))
    notes = [f"Here; [in brackets] as in {table.source}." for table in printed]
    notes.append("Space in words of 4 bytes, the graph included; D is the depth of the search.")
    return Table("complexity", "Declared complexity", ("variant", *_DECLARED), lines, tuple(notes))


def _with_printed(variant: type[Variant], column: str, printed: list[Printed]) -> str:
    declared = getattr(variant, column)
    ours = ", ".join(declared) if isinstance(declared, tuple) else str(declared)
    return " ".join(filter(None, (ours, _printed_text(variant.name, column, printed))))


def _printed_text(variant: str, column: str, printed: list[Printed]) -> str:
    found = (table.value(variant, column) for table in printed if column in table.columns)
    return "".join(f"[{text}]" for text in found if text is not None)
