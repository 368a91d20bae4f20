"""Reads the numbers that the papers print, for comparison with measured numbers."""

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
"""A number with its printed digits, such as ``5.20``, or the text that a paper prints instead, such as
``out-of-time``."""


class Printed(TomlTable, frozen=True, kw_only=True):
    """One table of numbers that a paper prints."""

    paper: str
    place: str
    """The number of the table or figure in the paper."""
    machine: str
    """The device and the host on which the paper's numbers were measured, as far as the paper names them."""
    quantity: Quantity
    """The kind of the printed values. For ``time`` the columns are searches and ratios of searches
    (``cpu_queue / luo``). For ``statistics`` the columns are names of statistics
    (:func:`bfsbench.graphs.statistics.describe`). For ``text`` the columns hold words. For ``counts`` the
    rows are names of counters."""
    unit: Literal["ms", "us", ""] = ""
    columns: list[str]
    headings: tuple[str, ...] = ()
    """The column headings that the paper prints, by default the names in ``columns``."""
    scale: dict[str, int] = msgspec.field(default_factory=dict)
    """For each column, the unit in which the paper prints the column's numbers, such as 1000000 for
    millions."""
    rows: dict[str, list[Value]]
    """The printed values, by the graph's label or by another key of the table's rows."""
    note: str = ""

    def value(self, row: str, column: str) -> Value | None:
        """Returns the printed value in a row and a column, or None if the table has no row of that name."""
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
        """Returns a table that shows the paper's numbers beside the measured numbers.

        ``columns`` and ``facts`` are used for machine-readable output such as CSV: ``columns`` names its
        columns, and ``facts`` contains its rows. ``drawing`` is the layout of the table for human readers.
        ``here`` is a remark on the measured numbers.
        """
        notes = [f"Paper | here{here}; the paper's numbers are of {self.source}."]
        notes += [self.note] if self.note else []
        title = f"{self.paper}, {self.place}, and here"
        return Table(name, title, columns, facts, tuple(notes), (drawing,))

    @property
    def labels(self) -> tuple[str, ...]:
        """The headings of the table's columns."""
        return self.headings or tuple(self.columns)

    @property
    def source(self) -> str:
        """A line that names the paper, the table and the machine."""
        return f"{self.paper}, {self.place}" + (f" ({self.machine})" if self.machine else "")


def number(value: Value | None) -> float | None:
    """Returns the number that a paper prints, or None if the paper prints text or nothing in its place."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def printed_tables(experiment: Experiment, quantity: Quantity | None = None) -> list[Printed]:
    """Returns the tables of a paper that an experiment's file lists under ``printed``. If ``quantity`` is
    given, returns only the tables of this quantity.

    Raises InputError if a table is missing or malformed.
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
    """Returns the content of one file of a paper's printed numbers. Raises InputError for mistakes in the
    file. The message names the file and the faulty key or row."""
    printed = converted(path, read_toml(path, parse_float=str), Printed)
    for name, values in printed.rows.items():
        if len(values) != len(printed.columns):
            raise InputError(
                f"{path}: row '{name}' has {len(values)} values for {len(printed.columns)} columns"
            )
    if printed.headings and len(printed.headings) != len(printed.columns):
        raise InputError(f"{path}: `headings` and `columns` differ in number")
    return printed
