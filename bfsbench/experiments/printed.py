"""Reads the numbers that the papers print, for comparison with measured ones."""

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
"""A number with its printed digits (``5.20``), or the text that is printed instead of a number:
``out-of-time``."""


class Printed(TomlTable, frozen=True, kw_only=True):
    """One table of printed numbers from a paper."""

    paper: str
    place: str
    """The number of the table or figure in the paper."""
    machine: str
    """The device and the host that the numbers were taken on, as far as the paper names them."""
    quantity: Quantity
    """What the columns mean. For ``time`` they are series and ratios of series (``cpu_queue / luo``). For
    ``statistics`` they are names of statistics (:func:`bfsbench.graphs.statistics.describe`). For ``text``
    they hold words, and for ``counts`` the rows are names of counters."""
    unit: Literal["ms", "us", ""] = ""
    columns: list[str]
    headings: tuple[str, ...] = ()
    """The paper's headings of the columns, by default the columns' names."""
    scale: dict[str, int] = msgspec.field(default_factory=dict)
    """The factor of a column's printed numbers, such as 1000000."""
    rows: dict[str, list[Value]]
    """The printed values, by the graph's label or by another key of the table's rows."""
    note: str = ""

    def value(self, row: str, column: str) -> Value | None:
        """Returns the printed value in a row and a column. Returns None if the table has no row of that
        name."""
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
        """Returns a table of the paper's numbers beside the measured ones.

        ``facts`` are the rows of the table, and ``drawing`` is its layout for people. ``here`` is a remark on
        the measured numbers.
        """
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
        """The paper, the table and the machine in one line."""
        return f"{self.paper}, {self.place}" + (f" ({self.machine})" if self.machine else "")


def number(value: Value | None) -> float | None:
    """Returns the printed number. Returns None if text or nothing is printed instead."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def printed_tables(experiment: Experiment, quantity: Quantity | None = None) -> list[Printed]:
    """Returns the printed tables that an experiment names, or only the tables of one quantity.

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
    """Reads one file of printed numbers. Raises InputError, with the file and the key or row at fault."""
    printed = converted(path, read_toml(path, parse_float=str), Printed)
    for name, values in printed.rows.items():
        if len(values) != len(printed.columns):
            raise InputError(
                f"{path}: row '{name}' has {len(values)} values for {len(printed.columns)} columns"
            )
    if printed.headings and len(printed.headings) != len(printed.columns):
        raise InputError(f"{path}: `headings` are not as many as `columns`")
    return printed
