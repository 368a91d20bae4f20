"""Headers of text formats: each format is a function from a file's first lines to a Header. The rest of a
file is parsed by :mod:`bfsbench.graphs.blocks`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from bfsbench.graphs.blocks import Layout
from bfsbench.graphs.delimited import COMMENTS, Dialect, dialect_of
from bfsbench.graphs.graph import MAX_VERTICES, Orientation
from bfsbench.support.errors import InputError, size_text

_COMMENTS_KEPT = 1 << 16
"""Most bytes of comments searched for the counts in SNAP's files."""
_LONGEST_EDGE = 1 << 20
"""Bytes of a line in a list of edges."""
_LOOK_AHEAD = 1 << 26
"""Most bytes searched for a second line."""


@dataclass(frozen=True)
class Header:
    """Facts about a file known before its first edge."""

    layout: Layout
    num_vertices: int | None = None
    num_entries: int | None = None
    """Edge lines, or neighbours listed, that the file must hold."""
    orientation: Orientation = "directed"
    dialect: Dialect | None = None
    """The dialect of an edge list."""
    weights: bool = True
    """Whether the numbers behind edges can be weights: those of a skew-symmetric matrix cannot be."""


class HeaderLines:
    """The first lines of a file, for a format to take what it needs; the rest is parsed after them."""

    def __init__(self, label: str, texts: Iterator[bytes], words: bool = False) -> None:
        """``texts`` are blocks of whole lines; ``words``: vertices are known to be words."""
        self.label = label
        self.words = words
        self.number = 0
        """Of lines taken."""
        self._texts = texts
        self._block = b""
        self._at = 0

    def next(self, expected: str, *comments: str) -> str:
        """Takes the next line that is neither blank nor starts with one of ``comments``, and strips it."""
        self.skip(*comments)
        end = self._block.find(b"\n", self._at)
        if end < 0:
            raise InputError(f"{self.label}: {expected} is missing")
        line = self.peek()
        self._at = end + 1
        self.number += 1
        return line

    def skip(self, *comments: str) -> str:
        """Takes blank lines and those that start with one of ``comments``; returns the first of them."""
        first = b""
        other = _line_of_data(comments)
        while True:
            found = other.search(self._block, self._at)
            end = found.start() if found else len(self._block)
            first += self._block[self._at : min(end, self._at + _COMMENTS_KEPT - len(first))]
            self.number += self._block.count(b"\n", self._at, end)
            self._at = end
            block = None if found else next(self._texts, None)
            if block is None:
                return first.decode("ascii", "backslashreplace")
            self._block, self._at = block, 0

    def peek(self) -> str:
        """The next line, which stays, stripped; empty at the end of the file."""
        end = self._block.find(b"\n", self._at)
        return self._block[self._at : max(end, self._at)].strip().decode("ascii", "backslashreplace")

    def look_ahead(self, *comments: str) -> list[str]:
        """The next two lines that are neither blank nor comments, which stay; fewer at the end."""
        other, found, unsearched = _line_of_data(comments), list[int](), self._at
        while True:
            matches = other.finditer(self._block, unsearched)
            found += [match.start() for match in islice(matches, 2 - len(found))]
            ends = [self._block.find(b"\n", place) for place in found]
            more = next(self._texts, None) if len(found) < 2 and len(self._block) < _LOOK_AHEAD else None
            if more is None:
                lines = [self._block[begin:end] for begin, end in zip(found, ends, strict=True)]
                if any(len(line) > _LONGEST_EDGE for line in lines):
                    what = f"a line is longer than {size_text(_LONGEST_EDGE)}: it is no edge"
                    raise InputError(f"{self.label}: {what}")
                return [line.decode("utf-8", "backslashreplace") for line in lines]
            found = [place - self._at for place in found]
            unsearched = len(self._block) - self._at
            self._block, self._at = self._block[self._at :] + more, 0

    def rest(self) -> Iterator[bytes]:
        """The blocks of whole lines that have not been taken."""
        yield self._block[self._at :]
        yield from self._texts

    def error(self, message: str) -> InputError:
        return InputError(f"{self.label}:{self.number}: {message}")

    def counts(self, words: list[str], expected: str) -> list[int]:
        """The words as non-negative counts, the first of them a number of vertices."""
        if not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words):
            raise self.error(f"'{' '.join(words)[:60]}' is not {expected}")
        numbers = [int(word) for word in words]
        if not 0 < numbers[0] <= MAX_VERTICES:
            raise self.error(f"{numbers[0]:,} vertices: a graph has 1 to {MAX_VERTICES:,}")
        return numbers


def _line_of_data(comments: tuple[str, ...]) -> re.Pattern[bytes]:
    """Matches where a line begins that is neither blank nor starts with one of ``comments``."""
    excluded = "|".join(map(re.escape, comments))
    return re.compile(rb"^[ \t]*+%s[^ \t\n]" % (b"(?!%s)" % excluded.encode() if comments else b""), re.M)


def edge_lines(lines: HeaderLines) -> Header:
    """An edge a line: SNAP's and KONECT's files, CSV and TSV, in any dialect; see :mod:`delimited`."""
    comments = lines.skip(*COMMENTS)
    announced = re.search(r"# *Nodes: *\d+ +Edges: *(\d{1,18})\b", comments)
    konect = re.match(r"%\s*(sym|asym|bip)\b", comments)
    if konect and konect[1] == "bip":
        raise lines.error("both sides of a bipartite KONECT file count from 1: renumber one of them")
    dialect = dialect_of(lines.look_ahead(*COMMENTS), lines.words)
    if dialect.headings:
        line = lines.next("a line of headings", *COMMENTS)
        if dialect.has_number(line):
            raise lines.error(f"'{line[:60]}' is no edge, and headings of columns contain no numbers")
    # Every line must have as many numbers as the first: lists of neighbours are no edges.
    values = max(0, dialect.width - 2)
    layout = Layout(
        *(0, MAX_VERTICES - 1),
        comments="#%/",
        separator=dialect.separator.strip(),
        min_values=values,
        max_values=values,
        surplus="; every line must have as many as the first, and a list of neighbours is no list of edges",
    )
    return Header(
        layout,
        num_entries=int(announced.group(1)) if announced else None,
        orientation="each_once" if konect and konect[1] == "sym" else "directed",
        dialect=dialect,
    )


def dimacs9(lines: HeaderLines) -> Header:
    """``.gr`` of the 9th DIMACS Implementation Challenge."""
    expected = "the line 'p sp VERTICES ARCS'"
    words = lines.next(expected, "c").split()
    if len(words) != 4 or words[:2] != ["p", "sp"]:
        raise lines.error(f"'{' '.join(words)[:60]}' is not {expected}")
    vertices, arcs = lines.counts(words[2:], "VERTICES ARCS")
    layout = Layout(1, vertices, shift=True, comments="c", tag="a", min_values=1, max_values=1)
    return Header(layout, vertices, arcs)


def metis(lines: HeaderLines) -> Header:
    """METIS (its manual, section 4.1.1), also the format of the 10th DIMACS Implementation Challenge."""
    expected = "the header VERTICES EDGES [FORMAT [WEIGHTS]]"
    words = lines.next(expected, "%").split()
    if not 2 <= len(words) <= 4:
        raise lines.error(f"'{' '.join(words)[:60]}' is not {expected}")
    vertices, edges, *rest = lines.counts(words, expected)
    flags = words[2].zfill(3) if len(words) > 2 else "000"
    if not re.fullmatch("[01]{3}", flags):
        raise lines.error(f"METIS format '{words[2]}' is not made of up to three digits 0 or 1")
    sizes, vertex_weights, edge_weights = (int(flag) for flag in flags)
    weights = (rest[1] if len(rest) > 1 else 1) if vertex_weights else 0
    if weights > 1000:
        raise lines.error(f"{weights} weights a vertex are not plausible")
    layout = Layout(
        *(1, vertices),
        shift=True,
        comments="%",
        adjacency=True,
        row_values=sizes + weights,
        entry_values=edge_weights,
        max_rows=vertices,
    )
    return Header(layout, vertices, 2 * edges, "both_ways")


_MATRIX_VALUES = {"pattern": 0, "integer": 1, "real": 1, "complex": 2}
_MATRIX_SYMMETRIES: dict[str, Orientation] = {
    "general": "directed",
    "symmetric": "each_once",
    "skew-symmetric": "each_once",
    "hermitian": "each_once",
}


def matrix_market(lines: HeaderLines) -> Header:
    """Matrix Market coordinate (NIST)."""
    expected = "'%%MatrixMarket matrix coordinate FIELD SYMMETRY'"
    banner = lines.next(expected).lower().split()
    if len(banner) != 5 or banner[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
        raise lines.error(f"'{' '.join(banner)[:60]}' is not {expected}")
    field, symmetry = banner[3:]
    if field not in _MATRIX_VALUES or symmetry not in _MATRIX_SYMMETRIES:
        known = f"fields {', '.join(_MATRIX_VALUES)}; symmetries {', '.join(_MATRIX_SYMMETRIES)}"
        raise lines.error(f"'{field} {symmetry}' is not known ({known})")
    expected = "the size line ROWS COLUMNS ENTRIES"
    words = lines.next(expected, "%").split()
    if len(words) != 3:
        raise lines.error(f"'{' '.join(words)[:60]}' is not {expected}")
    rows, columns, entries = lines.counts(words, expected)
    if rows != columns:
        raise lines.error(f"a matrix of {rows:,} x {columns:,} is no graph: only square ones are")
    values = _MATRIX_VALUES[field]
    layout = Layout(1, rows, shift=True, comments="%", min_values=values, max_values=values)
    weights = symmetry in ("general", "symmetric") and field != "complex"
    return Header(layout, rows, entries, _MATRIX_SYMMETRIES[symmetry], weights=weights)
