"""What all drawings have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.toml_files import Part
from bfsbench.report.plots import NothingToDrawError, Picture, draw
from bfsbench.report.table import Table

_COMMON = frozenset(("title", "graphs", "series"))


class Chart(Part, frozen=True, kw_only=True, tag_field="kind", tag=""):
    """A drawing: what a file says of it, and what is made of the outcome. Subclasses have a ``tag``."""

    needs_graphs: ClassVar[bool] = False
    """Whether it shows the graphs themselves, so that they are loaded even where nothing is measured."""
    shows_times: ClassVar[bool] = False
    """Whether the table of best times says what it shows."""

    title: str = ""
    """The experiment's title by default."""
    graphs: list[str] = msgspec.field(default_factory=list)
    """Labels; all by default."""
    series: list[str] = msgspec.field(default_factory=list)
    """Labels of sweeps or variants, which knobs may narrow: ``virtual_warp W_SZ=4``; all by default."""

    @classmethod
    def kind(cls) -> str:
        """The value of ``kind`` that stands for the drawing in a file; empty for what several share."""
        return str(cls.__struct_config__.tag)

    @property
    def compared(self) -> list[str]:
        """Series that the others are shown in relation to."""
        return []

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        """What it says of graphs or declarations, whatever was measured."""
        yield from ()

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        """What it says of rows of one kind, measured or emulated, beside their best times."""
        yield from ()

    def texts(self, outcome: Outcome) -> dict[str, str]:
        """Drawings made of characters, by titles."""
        return {}

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        """Its pictures; none where there are no rows for them. Raises UsageError without matplotlib."""
        yield from ()


class Plot(Chart, frozen=True, kw_only=True, tag=""):
    """A drawing that is a picture of :mod:`bfsbench.report.plots`, of the same name."""

    def options(self) -> dict[str, object]:
        """What it says beside what all drawings have in common, as the plot's function takes it."""
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
