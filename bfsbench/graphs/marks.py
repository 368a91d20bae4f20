"""Parses the marks in a graph's name, which are suffixes such as ``:shrink=0.1``.

- The mark ``shrink`` is the share of vertices that a shrunk graph keeps.
- The mark ``offsets=int64`` asks for 64-bit offsets.
- The mark ``stands_for`` is the name of a missing graph that this graph replaces.

Marks are part of the name, so that every result row, table and picture shows them:
``soc-Slashdot0902:shrink=0.1:stands_for=soc-Slashdot0811:directed``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bfsbench.support.errors import UsageError

MARKS = ("shrink", "offsets", "stands_for")
_MARK = re.compile(rf":({'|'.join(MARKS)})=([\w.+-]*)$", re.ASCII)


_KEPT = re.compile(r".*/given/[0-9a-f]{20}/(.+)\.npz(?::\w+=\w+)*")


def given_name(locator: str) -> str:
    """Returns ``locator``, the text that loads a graph again. For a graph given in memory, returns the name
    that the user gave the graph, instead of its path in the cache.
    """
    return _KEPT.sub(r"\1", locator)


@dataclass(frozen=True)
class Marks:
    """The values of the marks in a graph's name. A mark is a suffix such as ``:shrink=0.1``."""

    shrink: float = 1.0
    """The approximate share of the vertices that a shrunk graph keeps. It is 1 for a whole graph."""
    offsets: str = ""
    """``int64`` if the graph has 64-bit offsets although it has few arcs. Otherwise empty."""
    stands_for: str = ""
    """The name of the missing graph that this graph replaces. Empty if it replaces none."""

    @property
    def suffix(self) -> str:
        """Returns the marks as text to append to a graph's name, such as ``:shrink=0.1``. The text is empty
        if there are no marks."""
        shrink = f":shrink={self.shrink:g}" if self.shrink < 1 else ""
        offsets = f":offsets={self.offsets}" if self.offsets else ""
        return shrink + offsets + (f":stands_for={self.stands_for}" if self.stands_for else "")


UNMARKED = Marks()


def split_marks(name: str) -> tuple[str, Marks]:
    """Split a name such as ``wave:shrink=0.1`` into the name ``wave`` and the Marks ``shrink=0.1``.

    A suffix for the direction of edges, such as ``:directed``, must have been removed from ``name`` before.

    Raises UsageError for a mark with a wrong value, as ``marks_of`` does.
    """
    found: dict[str, str] = {}
    while match := _MARK.search(name):
        found[match[1]] = match[2]
        name = name[: match.start()]
    return name, marks_of(found)


def marks_of(found: Mapping[str, str]) -> Marks:
    """Convert the texts in ``found``, whose keys are names of marks, to Marks. A missing key gives the
    default.

    Raises UsageError if ``shrink`` is not a number above 0 and at most 1, if ``offsets`` is not ``int64``, or
    if ``stands_for`` is empty.
    """
    if found.get("offsets", "int64") != "int64":
        raise UsageError(f"option offsets: '{found['offsets']}' is not int64")
    stands_for = found.get("stands_for", "")
    if "stands_for" in found and not stands_for:
        raise UsageError("option stands_for: the name of a graph is missing")
    return Marks(_share(found.get("shrink", "1")), found.get("offsets", ""), stands_for)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise UsageError(f"option shrink: '{text}' is not a share such as 0.05, above 0 and up to 1")
    return share
