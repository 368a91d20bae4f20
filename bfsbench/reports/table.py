"""Defines the tables that commands print. A table contains machine-readable data, and may also contain
human-readable layouts of the data.

Tables are written as text, Markdown, LaTeX, CSV or JSON. In text, long cells are wrapped. If a table is too
wide, its last columns are printed below its first columns.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.support.errors import UsageError, no_formula, printable
from bfsbench.variants import look, with_aliases

if TYPE_CHECKING:
    import pandas as pd

Cell = str | int | float | None
"""The value of a cell. None is a missing value: an empty cell in text, and null in JSON."""


class Noted(float):
    """A number that is followed by a remark, such as ``†`` or `` (3)``, in human-readable tables."""

    def __new__(cls, value: float, remark: str) -> Noted:
        made = super().__new__(cls, value)
        made.remark = remark
        return made

    def __reduce__(self) -> tuple[type[Noted], tuple[float, str]]:
        """Returns what pickle and copy need to make this number again: the class and the arguments."""
        return Noted, (float(self), self.remark)

    remark: str


@dataclass(frozen=True)
class Table:
    """One table of data. :func:`render` turns it into text.

    ``rows`` hold one cell per column. If these rows are hard to read, ``drawings`` contains the data as
    human-readable tables, which are printed instead. If ``drawings`` is None, ``rows`` are printed.
    """

    name: str
    """The table's key in JSON."""
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    notes: tuple[str, ...] = ()
    drawings: tuple[Table, ...] | None = None
    legend: tuple[str, ...] = ()
    """Notes that explain ``drawings``, the layouts for people."""
    captioned: tuple[str, ...] = ()
    """Those of ``notes`` and ``legend`` that LaTeX captions repeat. Captions also repeat each note that says
    which statistic a time is."""
    named: bool = False
    """True if the columns are called after graphs or searches. Such headings are printed unchanged."""
    heat: bool = False
    """True for a heat map: the numbers right of the first column are times, which are shaded by their ratio
    to the smallest time."""

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        frame: pd.DataFrame,
        notes: Iterable[str] = (),
        drawings: Iterable[Table] | None = None,
        legend: Iterable[str] = (),
        captioned: Iterable[str] = (),
    ) -> Table:
        """Returns a table with the columns and rows of a data frame. NaN and infinity become None.

        ``captioned`` contains notes for LaTeX captions. They are shown before ``notes``.
        """
        captioned = tuple(captioned)
        finite = frame.replace([math.inf, -math.inf], math.nan).astype(object)
        rows = [*finite.where(finite.notna(), None).itertuples(index=False, name=None)]
        drawn = None if drawings is None else tuple(drawings)
        notes, columns = (*captioned, *notes), tuple(map(str, frame.columns))
        return cls(name, title, columns, rows, notes, drawn, tuple(legend), captioned)

    @property
    def headings(self) -> list[str]:
        """The human-readable headings of the columns."""
        return [*self.columns] if self.named else [*map(header, self.columns)]

    @property
    def drawn(self) -> tuple[Table, ...]:
        """The human-readable tables: ``drawings`` or, if ``drawings`` is None, this table without its title
        and notes."""
        return (replace(self, title="", notes=(), legend=()),) if self.drawings is None else self.drawings

    def columns_of(self, *columns: str) -> Table:
        """Returns a table with only these columns and without a title, for example for ``drawings``."""
        places = [self.columns.index(column) for column in columns]
        return Table("", "", columns, [tuple(row[place] for place in places) for row in self.rows])

    def frame(self) -> pd.DataFrame:
        """Returns the table's columns and rows as a pandas data frame, for a notebook."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.columns))


WIDTH = 100
"""Width of text in characters, if the output is a file or a pipe."""
LEAST_WIDTH = 40
"""Minimum width of text in characters. If a terminal is narrower, its lines wrap."""

GAP = 2
BREAK = re.compile(r"(?<=[,:\s])(?![\d\s])")
"""Matches the places where a line may be broken in a name that is too long for its column: after a comma, a
colon or a space. An example is ``lattice(rows=60,`` ``columns=60):``."""

Splitter = Callable[[str], list[str]]


def width_of(is_terminal: bool) -> int:
    """Returns the width for text, in characters: the terminal's width, or WIDTH if the output is not a
    terminal."""
    if not is_terminal:
        return WIDTH
    return max(LEAST_WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


def filled(text: str, width: int = WIDTH) -> str:
    """Returns a paragraph broken at spaces into lines of at most ``width`` characters. Longer words are not
    broken."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def in_columns(
    lines: Sequence[Sequence[str]], sides: Sequence[str], width: int = WIDTH, *, wrap: bool = True
) -> str:
    """Returns lines of cells as text, in columns that are two spaces apart. The first line holds the
    headings, under which a rule is drawn.

    ``sides`` is ``left`` or ``right`` for each column. If the text is wider than ``width``, the longest cells
    are wrapped at spaces, then after commas and colons. If ``wrap`` is false, no cells are wrapped. If the
    text is still too wide, the last columns follow below the others, beside a copy of the first column.
    """
    from tabulate import tabulate

    widths = letters_of(lines)
    if wrap:
        for split in (str.split, BREAK.split):
            widths = _fitted(letters_of(lines), _least(lines, split), width)
            if _total(widths) <= width:
                break
        lines = [
            [broken(cell, room, split) for cell, room in zip(line, widths, strict=True)] for line in lines
        ]
        widths = letters_of(lines)
    head, *body = lines
    ruled = [head, ["-" * room for room in widths], *body]
    parts = []
    for places in parts_of(widths, width):
        cells = [[line[place] for place in places] for line in ruled]
        aligned = [sides[place] for place in places]
        parts.append(tabulate(cells, tablefmt="plain", disable_numparse=True, colalign=aligned))
    return "\n\n".join(parts)


def parts_of(widths: Sequence[float], width: float, gap: float = GAP) -> list[list[int]]:
    """Splits columns into parts that fit into the width of the output. Returns the indices of the columns of
    each part.

    Each part begins with the first column, and has at least one other column. ``gap`` is the distance between
    two columns.
    """
    parts: list[list[int]] = [[0]]
    for place in range(1, len(widths)):
        columns = (*parts[-1], place)
        wanted = sum(widths[one] for one in columns) + gap * (len(columns) - 1)
        if wanted > width and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(place)
    return parts


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def letters_of(lines: Iterable[Iterable[str]]) -> list[int]:
    return [
        max(len(part) for cell in column for part in (click.unstyle(cell).split("\n") or [""]))
        for column in zip(*lines, strict=True)
    ]


def _least(lines: Sequence[Sequence[str]], split: Splitter) -> list[int]:
    """Returns the minimum width of each column. It is the length of the longest piece into which ``split``
    breaks the column's cells."""
    return letters_of(
        [[max(map(str.strip, split(cell)), key=len, default="") for cell in line] for line in lines]
    )


def _fitted(widths: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Reduces the widest columns until all columns fit into ``width``, or until no column can be reduced
    further. Returns the widths.

    ``least`` gives the smallest width of each column.
    """
    fitted = list(widths)
    while _total(fitted) > width:
        pliable = [place for place, room in enumerate(fitted) if room > least[place]]
        if not pliable:
            break
        fitted[max(pliable, key=lambda place: fitted[place])] -= 1
    return fitted


def broken(cell: str, width: int, split: Splitter) -> str:
    """Returns the cell broken into lines of at most ``width`` characters. Pieces that ``split`` does not
    break may be longer."""
    if split is str.split:
        return filled(cell, width)
    lines = [""]
    for piece in split(cell):
        if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return "\n".join(line.rstrip() for line in lines)


LATEX_INCHES = 7.0
"""Width of the text on a page with two columns, and the usual greatest width of LaTeX tables."""
FORMATS = ("text", "markdown", "latex", "csv", "json")
SUFFIXES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}
"""Maps the suffix of a file's name to its format in FORMATS."""

_HEADERS = {
    "gpu": "GPU",
    "cuda": "CUDA",
    "host_cpu": "host CPU",
    "sm_clock_min_mhz": "SM clock min MHz",
    "sm_clock_max_mhz": "SM clock max MHz",
    "memory_clock_min_mhz": "memory clock min MHz",
    "memory_clock_max_mhz": "memory clock max MHz",
    "num_vertices": "V",
    "num_edges": "E",
    "speedup": "x sequential",
    "h200_ms": "NVIDIA H200 ms",
    "times_best": "x best",
    "times_previous": "x previous",
    "worst_times_best": "worst",
    "best_percent": "best on %",
    "medges": "M edges",
    "gedges_s": "G edges/s",
    "gb_s": "GB/s",
    "share_percent": "share %",
    "sectors_a_request": "sectors/request",
    "distinct_kib": "distinct KiB",
}
"""Headings of columns that differ from the column's name with spaces. Families define further headings."""

_SHADES = ((1.0, "*", "green"), (1.25, "·", "green"), (2.0, "░", "cyan"), (4.0, "▒", "yellow"))
_DARKEST = ("▓", "red")
HEAT_LEGEND = "Marks: * best, · up to 1.25, ░ up to 2, ▒ up to 4, ▓ more than 4 times the best."


def format_of(path: Path) -> str | None:
    """Returns the format in FORMATS for the suffix of a file's name, or None for an unknown suffix."""
    return SUFFIXES.get(path.suffix.lower())


def render(
    tables: Sequence[Table],
    style: str,
    *,
    colour: bool = False,
    narrow: str = "",
    width: int = WIDTH,
    inches: float = LATEX_INCHES,
) -> str:
    """Returns all tables as one text in one of FORMATS, ending with a newline.

    Text is at most ``width`` characters wide, if this is possible. LaTeX tables are at most ``inches`` wide,
    for example the width of the page on which they will be printed. ``colour`` adds terminal colours to heat
    maps. Raises UsageError if several tables are to become CSV, because CSV text holds only one table. The
    message suggests the option ``narrow``, which selects one table.
    """
    if style != "json":
        tables = [_printable(table) for table in tables]
    if style == "csv":
        if len(tables) != 1:
            names = ", ".join(table.name for table in tables)
            raise UsageError(f"csv holds one table, not {len(tables)} ({names}): add {narrow}, or use json")
        return _csv(tables[0])
    if style == "json":
        found = {
            table.name: {
                "title": table.title,
                "notes": table.notes,
                "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
            }
            for table in tables
        }
        return json.dumps(found, indent=2, allow_nan=False) + "\n"
    if style == "markdown":
        return "\n".join(_markdown(table) for table in tables)
    if style == "latex":
        from bfsbench.reports.latex import latex

        return "\n".join(latex(tables, inches))
    return "\n".join(_text(table, colour, width) for table in tables)


def _printable(table: Table) -> Table:
    """Returns the table with control characters escaped."""
    return replace(
        table,
        title=printable(table.title),
        notes=tuple(map(printable, table.notes)),
        legend=tuple(map(printable, table.legend)),
        captioned=tuple(map(printable, table.captioned)),
        columns=tuple(map(printable, table.columns)),
        rows=_printable_rows(table.rows),
        drawings=None if table.drawings is None else tuple(map(_printable, table.drawings)),
    )


def _printable_rows(rows: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    texts = {cell for row in rows for cell in row if isinstance(cell, str)}
    if all(map(str.isprintable, texts)):
        return rows
    return [tuple(printable(cell) if isinstance(cell, str) else cell for cell in row) for row in rows]


def header(column: str) -> str:
    """Returns the human-readable heading of a column. If there is a unit, it comes last. A name that contains
    characters other than lower-case letters, digits and underscores is returned unchanged."""
    known = _HEADERS.get(column) or _headings().get(column)
    return known or (column.replace("_", " ") if re.fullmatch("[a-z0-9_]*", column) else column)


@cache
def _headings() -> dict[str, str]:
    """Returns the headings of the columns that families of problems define, such as rates and sums over the
    levels of a run."""
    families = look().families.values()
    figures = (figure for family in families for figure in family.figures)
    totals = {column.name: column.total for family in families for column in family.profile if column.total}
    return totals | {name: heading for figure in figures for name, heading in figure.headings.items()}


def _csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(
        [no_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows
    )
    return text.getvalue()


def _markdown(table: Table) -> str:
    from tabulate import tabulate

    parts = [f"## {table.title}\n"]
    parts += [f"{_escaped(note)}\n" for note in (*table.notes, *table.legend)]
    for drawn in table.drawn:
        parts += [f"### {drawn.title}\n"] if drawn.title else []
        parts += [f"{_escaped(note)}\n" for note in drawn.notes]
        if drawn.rows:
            cells = [[_escaped(cell) for cell in line] for line in cells_of(drawn)]
            heads = [*map(_escaped, drawn.headings)]
            grid = tabulate(cells, heads, tablefmt="pipe", disable_numparse=True, colalign=sides_of(drawn))
            parts.append(grid + "\n")
    return "\n".join(parts)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _text(table: Table, colour: bool, width: int) -> str:
    parts = [
        f"{filled(table.title, width)}\n{'=' * min(width, len(table.title))}\n",
        *_lines(table.notes, width),
        *_lines(table.legend, width),
    ]
    for drawn in table.drawn:
        body = [*_lines(drawn.notes, width), *([_columns(drawn, colour, width) + "\n"] if drawn.rows else [])]
        parts += ["\n", *([f"{filled(drawn.title, width)}\n"] if drawn.title else []), *body] if body else []
    return "".join(parts)


def _lines(notes: Iterable[str], width: int) -> list[str]:
    return [f"{filled(note, width)}\n" for note in notes]


def _columns(table: Table, colour: bool, width: int) -> str:
    """Returns the cells as text in columns, under a line of headings with a rule below. Cells of a heat map
    are not wrapped."""
    lines = [table.headings, *cells_of(table, colour)]
    return in_columns(lines, sides_of(table), width, wrap=not table.heat)


def sides_of(table: Table) -> list[str]:
    columns = zip(*table.rows, strict=True)
    sides = [
        "right" if any(isinstance(cell, int | float) for cell in column) else "left" for column in columns
    ]
    return [sides[0], *("right" for _ in sides[1:])] if table.heat else sides


def cells_of(table: Table, colour: bool = False) -> list[list[str]]:
    """Returns every cell of the table as text.

    All fractions in a column have equally many digits. In a heat map, all fractions of the whole table have
    equally many digits.
    """
    if not table.heat:
        of_columns = [_digits(column) for column in zip(*table.rows, strict=True)]
        lines = [[*map(_cell, row, of_columns)] for row in table.rows]
        if "variant" in table.columns:
            place = table.columns.index("variant")
            for line in lines:
                line[place] = with_aliases(line[place])
        return lines
    times = [cell for row in table.rows for cell in row[1:]]
    digits = _digits(times)
    best = min((cell for cell in times if isinstance(cell, float)), default=0.0)
    return [
        [_cell(row[0], 0), *(_shaded(cell, digits, best, colour) for cell in row[1:])] for row in table.rows
    ]


def _digits(cells: Iterable[Cell]) -> int:
    """Returns the number of digits after the point for a column of numbers.

    The smallest number gets three significant digits, or two if the largest number would otherwise have more
    than five significant digits. The result is between 1 and 6.
    """
    sizes = [abs(cell) for cell in cells if isinstance(cell, float) and cell] or [1.0]
    least, most = (2 - math.floor(math.log10(size)) for size in (min(sizes), max(sizes)))
    return min(max(min(least, max(least - 1, most + 2)), 1), 6)


def _cell(cell: Cell, digits: int) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, float):
        return f"{cell:,.{digits}f}{cell.remark if isinstance(cell, Noted) else ''}"
    return f"{cell:,}" if cell >= 10_000 else str(cell)


def _shaded(cell: Cell, digits: int, best: float, colour: bool) -> str:
    """Returns a time of a heat map as text, with a mark for its ratio to the best time."""
    text = _cell(cell, digits)
    if not isinstance(cell, float):
        return text
    found = ((mark, shade) for ratio, mark, shade in _SHADES if cell <= ratio * best)
    mark, shade = next(found, _DARKEST)
    return click.style(f"{text} {mark}", fg=shade) if colour else f"{text} {mark}"
