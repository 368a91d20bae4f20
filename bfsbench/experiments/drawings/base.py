"""Base classes of drawings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from bfsbench.experiments.outcome import Outcome
from bfsbench.report.plots import NothingToDrawError, Picture, draw
from bfsbench.report.table import Table
from bfsbench.toml_files import Part

_COMMON = frozenset(("title", "graphs", "series"))


class Chart(Part, frozen=True, kw_only=True, tag_field="kind", tag=""):
    """A drawing: its keys in a file, and the tables and pictures made of an outcome. Subclasses have a
    ``tag``."""

    needs_graphs: ClassVar[bool] = False
    """Whether it shows the graphs themselves; they are then loaded even where nothing is measured."""
    shows_times: ClassVar[bool] = False
    """Whether the table of best times holds the same numbers."""

    title: str = ""
    """The experiment's title by default."""
    graphs: list[str] = msgspec.field(default_factory=list)
    """Labels of graphs; all by default."""
    series: list[str] = msgspec.field(default_factory=list)
    """Labels of sweeps or variants, optionally with knob values: ``virtual_warp W_SZ=4``; all by default."""

    @classmethod
    def kind(cls) -> str:
        """The drawing's ``kind`` in a file; empty for shared base classes."""
        return str(cls.__struct_config__.tag)

    @property
    def compared(self) -> list[str]:
        """Series that the others are compared with."""
        return []

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        """Tables of graphs or declarations, which need no rows."""
        yield from ()

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        """Tables made from rows of one kind, measured or emulated, besides their best times."""
        yield from ()

    def texts(self, outcome: Outcome) -> dict[str, str]:
        """Text drawings, by titles."""
        return {}

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        """Its pictures; none where there are no rows for them. Raises UsageError without matplotlib."""
        yield from ()


class Plot(Chart, frozen=True, kw_only=True, tag=""):
    """A drawing that is a picture of :mod:`bfsbench.report.plots`, of the same name."""

    def options(self) -> dict[str, object]:
        """Its own keys, as arguments of the plot's function."""
        names = (field.name for field in msgspec.structs.fields(self))
        return {name: getattr(self, name) for name in names if name not in _COMMON}

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        if outcome.rows.empty:
            return
        rows, levels = outcome.drawn(self)
        try:
            yield from draw(self.kind(), rows, levels, title=title, **self.options())
        except NothingToDrawError:
            return
