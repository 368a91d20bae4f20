"""Numbers as the papers print them, for comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from bfsbench.reports.table import Cell, Table
from bfsbench.support.errors import InputError
from bfsbench.support.toml_files import TomlTable, converted, read_toml

if TYPE_CHECKING:
    from bfsbench.experiments.declaration import Experiment

Quantity = Literal["time", "statistics", "text", "counts"]
Value = int | str
"""A number with its printed digits (``5.20``), or the text in its place: ``out-of-time``."""


class Printed(TomlTable, frozen=True, kw_only=True):
    """One table of a paper."""

    paper: str
    place: str
    """Table or figure."""
    machine: str
    """Device and host that the numbers were taken on, as far as the paper gives them."""
    quantity: Quantity
    """Meanings of the columns: series and ratios of series (``cpu_queue / luo``); names of statistics
    (:func:`bfsbench.graphs.statistics.describe`); words; or names of counters."""
    unit: Literal["ms", "us", ""] = ""
    columns: list[str]
    headings: tuple[str, ...] = ()
    """The paper's headings; by default the columns' names."""
    scale: dict[str, int] = msgspec.field(default_factory=dict)
    """By column: the factor of a printed number, such as 1000000."""
    rows: dict[str, list[Value]]
    """Printed values by the graph's label, or by another key of the table's rows."""
    note: str = ""

    def value(self, row: str, column: str) -> Value | None:
        """The printed value; None where the table has no such row."""
        values = self.rows.get(row)
        return None if values is None else values[self.columns.index(column)]

    def beside(
        self,
        name: str,
        columns: tuple[str, ...],
        facts: list[tuple[Cell, ...]],
        drawing: Table,
        here: str = "",
    ) -> Table:
        """A table of the paper's numbers and ours; ``here`` is said of ours."""
        notes = [f"Paper | here{here}; the paper's numbers are of {self.source}."]
        notes += [self.note] if self.note else []
        title = f"{self.paper}, {self.place}, and here"
        return Table(name, title, columns, facts, tuple(notes), (drawing,))

    @property
    def labels(self) -> tuple[str, ...]:
        """The headings of the columns."""
        return self.headings or tuple(self.columns)

    @property
    def source(self) -> str:
        """Paper, table and machine in a line."""
        return f"{self.paper}, {self.place}" + (f" ({self.machine})" if self.machine else "")


def number(value: Value | None) -> float | None:
    """The printed number; None where there is text, or nothing."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def printed_tables(experiment: Experiment, quantity: Quantity | None = None) -> list[Printed]:
    """The tables that an experiment names, or those of one quantity. Raises InputError, also for a missing
    one.
    """
    folder = Path(experiment.file).parent
    tables = []
    for name in experiment.printed:
        places = [folder / "papers" / f"{name}.toml", folder / f"{name}.toml"]
        found = next((place for place in places if place.exists()), None)
        if found is None:
            raise InputError(f"{experiment.file}: `printed` names '{name}': there is no {places[1]}")
        tables.append(read_printed(found))
    return [table for table in tables if quantity in (None, table.quantity)]


def read_printed(path: Path) -> Printed:
    """One file of printed numbers. Raises InputError naming the file and the key or row at fault."""
    printed = converted(path, read_toml(path, parse_float=str), Printed)
    for name, values in printed.rows.items():
        if len(values) != len(printed.columns):
            raise InputError(
                f"{path}: row '{name}' has {len(values)} values for {len(printed.columns)} columns"
            )
    if printed.headings and len(printed.headings) != len(printed.columns):
        raise InputError(f"{path}: `headings` are not as many as `columns`")
    return printed
