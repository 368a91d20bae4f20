"""Tables of commands: data with names for programs, and layouts for people."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

Cell = str | int | float | None
"""None is a missing value: an empty cell, a JSON null."""


@dataclass(frozen=True)
class Table:
    """One table; :mod:`bfsbench.report.formats` turns it into text.

    ``rows`` hold one cell per column. Where one long table suits programs but is hard to read, ``drawings``
    hold the same data in tables for people (None: the table serves both).
    """

    name: str
    """Key of the table in JSON."""
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    notes: tuple[str, ...] = ()
    drawings: tuple[Table, ...] | None = None
    legend: tuple[str, ...] = ()
    """Notes on what the drawings show, for people who read those."""
    heat: bool = False
    """Whether the numbers right of the first column are times, shaded by their ratio to the smallest."""

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        frame: pd.DataFrame,
        notes: Iterable[str] = (),
        drawings: Iterable[Table] | None = None,
        heat: bool = False,
        legend: Iterable[str] = (),
    ) -> Table:
        """A table with the columns and rows of a frame; NaN and infinity become None."""
        finite = frame.replace([math.inf, -math.inf], math.nan).astype(object)
        cells = finite.where(finite.notna(), None)
        rows = list(cells.itertuples(index=False, name=None))
        drawn = None if drawings is None else tuple(drawings)
        columns = tuple(map(str, frame.columns))
        return cls(name, title, columns, rows, tuple(notes), drawn, tuple(legend), heat)

    def columns_of(self, *columns: str) -> Table:
        """The same rows with these columns only, untitled, for ``drawings``."""
        places = [self.columns.index(column) for column in columns]
        return Table("", "", columns, [tuple(row[place] for place in places) for row in self.rows])

    def frame(self) -> pd.DataFrame:
        """The same as a pandas table, for a notebook."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.columns))
