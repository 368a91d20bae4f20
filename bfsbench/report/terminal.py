"""Cells in columns of a terminal: wrapped, and put below each other in parts, until they fit its width."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence

import click

WIDTH = 100
"""Columns that text may take in a file or a pipe."""
LEAST_WIDTH = 40
"""Columns of a terminal below which nothing is made to fit."""

_GAP = 2
_BREAK = re.compile(r"(?<=[,:\s])(?![\d\s])")
"""Where a name may be broken that is too long for its column: ``lattice(rows=60,`` ``columns=60):``."""

Splitter = Callable[[str], list[str]]


def width_of(is_terminal: bool) -> int:
    """Columns of the terminal, or WIDTH for anything else."""
    if not is_terminal:
        return WIDTH
    return max(LEAST_WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


def filled(text: str, width: int = WIDTH) -> str:
    """A paragraph broken at spaces."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def in_columns(
    lines: Sequence[Sequence[str]], sides: Sequence[str], width: int = WIDTH, *, wrap: bool = True
) -> str:
    """Lines of cells, the first of them the head, in columns two spaces apart.

    ``sides`` says of each column ``left`` or ``right``. Where that is wider than ``width``, the longest cells
    are wrapped (unless ``wrap`` is False) at spaces and then after commas and colons. Where it is still
    too wide, columns go below the others, beside the first column once more.
    """
    widths = _widths(lines)
    if wrap:
        for split in (str.split, _BREAK.split):
            widths = _fitted(_widths(lines), _least(lines, split), width)
            if _total(widths) <= width:
                break
        lines = [
            [_wrapped(cell, room, split) for cell, room in zip(line, widths, strict=True)] for line in lines
        ]
        widths = _widths(lines)
    return "\n\n".join(_ruled(lines, sides, widths, places) for places in _parts(widths, width))


def _ruled(
    lines: Sequence[Sequence[str]], sides: Sequence[str], widths: Sequence[int], places: Sequence[int]
) -> str:
    """Some of the columns, with a rule under the head."""
    from tabulate import tabulate

    head, *body = [[line[place] for place in places] for line in lines]
    rule = ["-" * widths[place] for place in places]
    aligned = [sides[place] for place in places]
    return tabulate([head, rule, *body], tablefmt="plain", disable_numparse=True, colalign=aligned)


def _parts(widths: Sequence[int], width: int) -> list[list[int]]:
    """The columns of each part: the first, and as many others as there is room for, at least one."""
    parts: list[list[int]] = [[0]]
    for place in range(1, len(widths)):
        wanted = _total([widths[one] for one in (*parts[-1], place)])
        if wanted > width and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(place)
    return parts


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _widths(lines: Iterable[Iterable[str]]) -> list[int]:
    return [
        max(len(part) for cell in column for part in (click.unstyle(cell).split("\n") or [""]))
        for column in zip(*lines, strict=True)
    ]


def _least(lines: Sequence[Sequence[str]], split: Splitter) -> list[int]:
    """How narrow each column can be: as its longest piece that is not broken."""
    return _widths(
        [[max(map(str.strip, split(cell)), key=len, default="") for cell in line] for line in lines]
    )


def _fitted(widths: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """The widths, the largest reduced until all fit, none below its least."""
    fitted = list(widths)
    while _total(fitted) > width:
        pliable = [place for place, room in enumerate(fitted) if room > least[place]]
        if not pliable:
            break
        fitted[max(pliable, key=lambda place: fitted[place])] -= 1
    return fitted


def _wrapped(cell: str, width: int, split: Splitter) -> str:
    """The cell in lines of this width, as far as its pieces allow."""
    if split is str.split:
        return filled(cell, width)
    lines = [""]
    for piece in split(cell):
        if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return "\n".join(line.rstrip() for line in lines)
