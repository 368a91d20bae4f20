"""Words for people."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 point``, ``12 points``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
