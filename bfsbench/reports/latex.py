"""Writes tables as LaTeX. Tables that are too wide or too long for a page are split into parts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from bfsbench.reports.changes import CHANGED
from bfsbench.reports.rows import SPEED_UP, STATISTIC, TYPICAL
from bfsbench.reports.table import (
    BREAK,
    GAP,
    HEAT_LEGEND,
    Table,
    broken,
    cells_of,
    letters_of,
    parts_of,
    sides_of,
)

_LATEX_HEAD = (
    "% In the preamble: \\usepackage{{booktabs}}\n"
    "% The tables are at most {inches:.3g} in wide. 'bfsbench report --width' sets another width.\n"
)
_POINTS_AN_INCH = 72.27
_COLUMN_INCHES, _TWO_COLUMNS_INCHES = 3.3, 4.0
"""Width of a column of a page with two columns. If tables may be at most ``_TWO_COLUMNS_INCHES`` wide, their
width is the width of a column."""
_TEXT_INCHES = 4.7
"""Width of the text in LaTeX's class article. Tables that are wider at the usual font size get small
letters."""


class _Size(NamedTuple):
    """A font size of LaTeX's article class, and the distance between two columns of a table at this size."""

    commands: tuple[str, ...]
    em: float
    """The font size in points, with which the widths in ``_EMS`` are multiplied."""
    gap: float
    """Distance in points between two columns."""


_USUAL = _Size((), 10.0, 12.0)
_SMALL = _Size(("\\scriptsize", "\\setlength{\\tabcolsep}{3pt}"), 8.0, 6.0)
"""The font has 7 points, but its letters are about 1.14 times as wide as scaled letters of 10 points."""
_EMS = {
    **dict.fromkeys("ijl.,:;!'|[]", 0.28),
    **dict.fromkeys("frstI()-_", 0.4),
    **dict.fromkeys("aceg0123456789", 0.5),
    **dict.fromkeys("mwABCDEFGHKLMNOPQRTUVWXYZ#%@+=<>&", 0.84),
}
_EM = 0.56
"""Width of the letters that are not in ``_EMS``. The widths are those of Computer Modern, relative to the
font size, with similar letters taken together."""
_LETTER_POINTS = 4.2
"""Usual width of a letter at ``\\scriptsize``."""
_LATEX_LINES = 40
"""Number of lines at ``\\scriptsize`` that fit on a page under a long caption."""
_LATEX_FLOATS = 15
"""Number of floating tables after which a page ends. LaTeX refuses more than 52 tables that wait for a
page."""
_HEADING_BREAK = re.compile(r"(?:(?<=[-,:\s])|(?<=[a-z\d]_))(?![\d\s])|(?<=\w\()")
"""Matches the places where the heading of a column may be broken in a LaTeX table with small letters."""


def _points(cell: str, size: _Size) -> float:
    """Returns the width of a cell in LaTeX in points. The cell may have several lines."""
    return max(size.em * sum(_EMS.get(letter, _EM) for letter in line) for line in cell.split("\n"))


def latex(tables: Iterable[Table], inches: float) -> Iterator[str]:
    """Yields the LaTeX text of tables that are at most ``inches`` wide, if this is possible."""
    yield _LATEX_HEAD.format(inches=inches)
    for table in tables:
        yield from _latex(table, inches)


def _balanced_parts(widths: Sequence[float], width: float) -> list[list[int]]:
    """Splits columns into as few parts as ``parts_of`` does, but with parts of similar width. ``parts_of``
    fills each part as far as possible, so its last part may be narrow."""
    parts = parts_of(widths, width, 0)
    for narrower in range(int(width), 0, -1):
        tried = parts_of(widths, narrower, 0)
        if len(tried) > len(parts):
            break
        parts = tried
    return parts


def _latex(table: Table, inches: float) -> Iterable[str]:
    """Yields the LaTeX text of a table: the notes as comments, and then one floating table for each table in
    ``drawn``.

    A table has the label ``tab:NAME``. LaTeX does not print comments, so the caption repeats some notes.
    These are the notes in ``captioned``, and the notes that explain the times, for example as the minimum of
    the samples. A table that does not fit on a page becomes several floating tables, with the labels
    ``tab:NAME``, ``tab:NAME-2`` and so on. No table is wider than ``inches``, if this is possible.
    """
    notes = [note for note in (*table.notes, *table.legend) if note != HEAT_LEGEND]
    statistics = (STATISTIC, TYPICAL, SPEED_UP)
    printed = [
        note
        for note in notes
        if note in table.captioned or any(statistic in note for statistic in statistics)
    ]
    floats = itertools.count(1)
    yield "".join(f"% {for_latex(line)}\n" for line in (table.title, *notes))
    for drawn in table.drawn:
        if not drawn.rows:
            continue
        title = ": ".join(filter(None, (table.title, drawn.title)))
        label = re.sub(r"[^a-z0-9]+", "-", f"{table.name} {drawn.title}".lower()).strip("-")
        parts = list(_latex_parts(drawn, inches))
        for number, part in enumerate(parts, 1):
            name = title if len(parts) == 1 else f"{title} (part {number} of {len(parts)})"
            caption = " ".join([f"{name}.", *printed]) if printed and number == 1 else name
            mark = label if number == 1 else f"{label}-{number}"
            # A long name of a graph may be broken after a comma or a colon.
            breakable = re.sub(r"(?<=[,:])(?=\S)", r"\\allowbreak{}", for_latex(caption))
            above = f"\\caption{{{breakable}}}\n\\label{{tab:{mark}}}"
            # In a document of two columns, table* is as wide as the page. Otherwise it is a usual table.
            float_ = "table*" if part.is_wide else "table"
            lines = [f"\\begin{{{float_}}}", "\\centering", above, part.text, f"\\end{{{float_}}}\n"]
            yield "\n".join(lines)
            if next(floats) % _LATEX_FLOATS == 0:
                yield "\\clearpage\n"


class _Tabular(NamedTuple):
    """A table in LaTeX. ``is_wide`` is true if the table is wider than one column of a page with two
    columns."""

    text: str
    is_wide: bool


def _latex_parts(table: Table, inches: float) -> Iterator[_Tabular]:
    """Splits a table into tables that fit on a page. Yields them as LaTeX's ``tabular``.

    A table that is too wide or too long is set in a smaller font, and its long cells are broken into lines.
    If it is still too wide, its columns are distributed over several tables, which repeat the first column.
    If it has too many rows, its rows are distributed too.
    """
    cells, heads = cells_of(replace(table, heat=False)), table.headings
    sides = [side[0] for side in sides_of(table)]
    room = inches * _POINTS_AN_INCH

    def widths(size: _Size) -> list[float]:
        return [max(_points(cell, size) for cell in column) for column in zip(heads, *cells, strict=True)]

    size, usual = _USUAL, sum(widths(_USUAL)) + _USUAL.gap * len(heads)
    if len(cells) > _LATEX_LINES // 2 or usual > min(inches, _TEXT_INCHES) * _POINTS_AN_INCH:
        size = _SMALL
        letters = int(room / _LETTER_POINTS)
        first, *rest = letters_of(cells)
        rooms = [min(first, letters // 2)]
        rooms += [min(width, letters - rooms[0] - GAP) for width in rest]
        cells = [[broken(*each, BREAK.split) for each in zip(line, rooms, strict=True)] for line in cells]
        heads = [broken(*each, _HEADING_BREAK.split) for each in zip(heads, rooms, strict=True)]
    wide = [width + size.gap for width in widths(size)]
    column = inches if inches <= _TWO_COLUMNS_INCHES else _COLUMN_INCHES
    groups = _balanced_parts(wide, room)
    for rows in _pages_of(cells):
        for places in groups:
            head = _latex_line(_stacked(heads[place], sides[place]) for place in places)
            body = [_latex_line(_stacked(line[place], sides[place]) for place in places) for line in rows]
            columns = "".join(sides[place] for place in places)
            ruled = ["\\toprule", head, "\\midrule", *body, "\\bottomrule"]
            lines = [*size.commands, f"\\begin{{tabular}}{{{columns}}}", *ruled, "\\end{tabular}"]
            is_wide = sum(wide[place] for place in places) > column * _POINTS_AN_INCH
            yield _Tabular("\n".join(lines), is_wide)


def _pages_of(cells: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    """Splits the rows of a LaTeX table into parts of at most ``_LATEX_LINES`` lines, if this is possible."""
    page: list[list[str]] = []
    height = 0
    for row in cells:
        lines = max(cell.count("\n") + 1 for cell in row)
        if page and height + lines > _LATEX_LINES:
            yield page
            page, height = [], 0
        page.append(row)
        height += lines
    if page:
        yield page


def _stacked(cell: str, side: str) -> str:
    """Returns a cell in LaTeX. Several lines are stacked, and aligned at ``side``, which is l or r."""
    lines = cell.split("\n")
    stack = " \\\\ ".join(map(for_latex, lines))
    return stack if len(lines) == 1 else f"\\shortstack[{side}]{{{stack}}}"


def _latex_line(texts: Iterable[str]) -> str:
    return f"{' & '.join(texts)} \\\\"


def for_latex(text: str) -> str:
    """Returns the text with LaTeX's special characters escaped. The result is valid also at the beginning of
    a table's line.
    """
    from tabulate import LATEX_ESCAPE_RULES

    commands = {**LATEX_ESCAPE_RULES, CHANGED: "$^\\dagger$"}
    escaped = "".join(commands.get(one, one) for one in text)
    # After the end of a line, LaTeX would take "[" or "*" for an option.
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped
