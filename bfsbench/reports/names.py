"""Replaces names of searches and graphs in tables and pictures by the names that a paper uses, such as
``Merrill et al.`` for ``merrill``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from bfsbench.reports.rows import short_names
from bfsbench.reports.table import Cell, Table
from bfsbench.support.errors import UsageError
from bfsbench.variants import with_aliases

if TYPE_CHECKING:
    from matplotlib.axis import Axis

    from bfsbench.reports.plots import Picture


@dataclass(frozen=True)
class Names:
    """The texts to replace, each with its new text. Calling ``Names`` with a text returns the text with all
    names replaced."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, graphs: Collection[str], variants: Collection[str], wanted: Mapping[str, str]) -> Names:
        """Returns the names to replace. ``wanted`` maps names of searches or graphs to new names.

        A graph may be named without its parameters and reading options. If only one graph has this name, the
        new name also stands for its parameters and options. Raises UsageError for a name that is neither in
        ``graphs`` nor in ``variants``.
        """
        short = short_names(graphs)
        texts: dict[str, str] = {}
        for old, new in wanted.items():
            found = [one for one in short if one == old or one.startswith((f"{old}:", f"{old}("))]
            if old in variants:
                texts |= dict.fromkeys((with_aliases(old), old), new)
            elif len(found) == 1:
                texts |= dict.fromkeys((found[0], found[0].partition(":")[0], short[found[0]]), new)
            elif found:
                texts[old] = new
            else:
                known = ", ".join([*sorted(variants), *sorted(set(short.values()))])
                raise UsageError(f"no search or graph '{old}' to rename: there are {known}")
        return cls(texts)

    def __call__(self, text: str) -> str:
        if not self.texts:
            return text
        pattern, new = self._replacement
        return pattern.sub(lambda found: new[(found.lastindex or 1) - 1], text)

    @cached_property
    def _replacement(self) -> tuple[re.Pattern[str], list[str]]:
        """A pattern with one group for each name, and the new names in the order of the groups."""
        # A picture may break a long name after a comma or a colon.
        known = {re.sub("([,:])", r"\1\n?", re.escape(old)): new for old, new in self.texts.items()}
        longest_first = sorted(known, key=len, reverse=True)
        parts = "|".join(f"({old})" for old in longest_first)
        pattern = re.compile(rf"(?<![\w./-])(?:{parts})(?![\w-]|\.\w)")
        return pattern, [known[old] for old in longest_first]

    def in_table(self, table: Table) -> Table:
        """Returns the table with all names replaced in its texts."""

        def cell(value: Cell) -> Cell:
            return self(value) if isinstance(value, str) else value

        notes, legend, captioned = (
            tuple(map(self, texts)) for texts in (table.notes, table.legend, table.captioned)
        )
        return replace(
            table,
            title=self(table.title),
            columns=tuple(self.texts.get(column, column) for column in table.columns),
            rows=[tuple(map(cell, row)) for row in table.rows],
            notes=notes,
            legend=legend,
            captioned=captioned,
            drawings=None if table.drawings is None else tuple(map(self.in_table, table.drawings)),
        )

    def in_picture(self, picture: Picture) -> Picture:
        """Replaces all names in the texts of a picture. Returns the picture with its new title and
        caption."""
        from matplotlib.text import Text

        if not self.texts:
            return picture
        axes = [axis for panel in picture.figure.axes for axis in (panel.xaxis, panel.yaxis)]
        ticks = [(axis, self._ticks(axis)) for axis in axes]
        for text in picture.figure.findobj(Text):
            assert isinstance(text, Text)
            text.set_text(self(text.get_text()))
        for axis, labels in ticks:
            if labels:
                axis.set_ticks(axis.get_ticklocs(), labels)
        return replace(picture, title=self(picture.title), caption=self(picture.caption))

    def _ticks(self, axis: Axis) -> list[str]:
        """Returns the new labels of an axis, or an empty list if they have no name to replace."""
        old = [label.get_text() for label in axis.get_ticklabels()]
        new = [*map(self, old)]
        return new if new != old else []
