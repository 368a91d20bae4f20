"""Formatting of text for people."""

from __future__ import annotations


def plural(number: int, noun: str) -> str:
    """``1 point``, ``12 points``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_text(size: int) -> str:
    """Bytes with the largest fitting unit: ``1.5 GiB``, ``12 bytes``."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return plural(size, "byte")


def printable(text: str) -> str:
    """The text with each control character as an escape such as ``\\x1b``, so that no terminal obeys it."""
    if text.isprintable():
        return text
    shown = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return "".join(shown)


def no_formula(text: str) -> str:
    """The text as a cell that spreadsheets do not take for a formula: with ``'`` before it if it looks like
    one."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
