"""Annotated listings for a terminal: one below the other, or two side by side where it is wide enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import click

from bfsbench.explain.counters import Counters
from bfsbench.explain.listing import HOT, WARM, LineCost, Listing, listings

_HEADS = ("cost", "warps", "lanes", "sectors", "/req", "confl", "meet")
_WIDTHS = (4, 7, 5, 7, 5, 6, 6)
LEGEND = (
    "cost: share of all sectors, passes through shared memory and barriers; warps: executions by a warp; "
    "lanes: that take part in one; sectors: of 32 bytes of global memory; /req: in an execution; confl: bank "
    "conflicts; meet: lanes of atomics that meet others of their warp on a word."
)
_LEAST_SOURCE = 40


def listing_lines(counted: Counters, level: int | None, width: int) -> Iterator[str]:
    """The listing of one search, ``width`` columns wide at most, with terminal colours."""
    for listing in listings(counted, level):
        yield from _file(listing, width)


def beside(counted: Sequence[Counters], level: int | None, width: int) -> Iterator[str]:
    """The listings of several searches: side by side if each gets a readable width, else in turn."""
    each = (width - 3 * (len(counted) - 1)) // len(counted)
    if each < _numbers_width() + _LEAST_SOURCE:
        for of in counted:
            yield ""
            yield click.style(of.title, bold=True)
            yield from listing_lines(of, level, width)
        return
    columns = [[click.style(of.title, bold=True), *listing_lines(of, level, each)] for of in counted]
    for row in zip_longest(*columns, fillvalue=""):
        yield " | ".join(cell + " " * (each - len(click.unstyle(cell))) for cell in row).rstrip()


def _numbers_width() -> int:
    return sum(_WIDTHS) + len(_WIDTHS) + 6


def _file(listing: Listing, width: int) -> Iterator[str]:
    heads = " ".join(f"{head:>{size}}" for head, size in zip(_HEADS, _WIDTHS, strict=True))
    yield ""
    yield f"{heads}  {listing.file}"
    for place, part in enumerate(listing.parts):
        if place:
            yield " " * (_numbers_width() - 6) + "  ..."
        for line in part:
            numbers = _numbers(line.cost) if line.cost else " " * (sum(_WIDTHS) + len(_WIDTHS) - 1)
            text = f"{numbers} {line.number:>5} {line.text}"[:width].rstrip()
            yield _coloured(text, line.cost)


def _numbers(cost: LineCost) -> str:
    cells = (
        f"{cost.share:.0%}",
        _short(cost.executions),
        f"{cost.lanes:.1f}",
        _short(cost.sectors),
        f"{cost.sectors_a_request:.1f}" if cost.sectors else "",
        _short(cost.conflicts) if cost.conflicts else "",
        _short(cost.collisions) if cost.collisions else "",
    )
    return " ".join(f"{cell:>{size}}" for cell, size in zip(cells, _WIDTHS, strict=True))


def _short(number: int) -> str:
    """A number in at most six characters."""
    for unit, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= 100 * factor:
            return f"{number / factor:.0f}{unit}"
        if number >= 10 * factor:
            return f"{number / factor:.1f}{unit}"
    return str(number)


def _coloured(text: str, cost: LineCost | None) -> str:
    if cost is None:
        return click.style(text, dim=True)
    return click.style(text, fg="red" if cost.share >= HOT else "yellow" if cost.share >= WARM else None)
