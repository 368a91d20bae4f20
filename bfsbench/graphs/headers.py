"""Parses the headers of text formats. Each format has a function that turns a file's first lines into a
Header. :mod:`bfsbench.graphs.blocks` parses the rest of the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from bfsbench.graphs.blocks import Layout
from bfsbench.graphs.delimited import COMMENTS, Dialect, dialect_of
from bfsbench.graphs.graph import MAX_VERTICES, Orientation
from bfsbench.support.errors import InputError, size_text

_COMMENTS_KEPT = 1 << 16
"""Limit in bytes of the comments that are searched for the counts in SNAP's files."""
_LONGEST_EDGE = 1 << 20
"""Limit in bytes of a line in a list of edges."""
_LOOK_AHEAD = 1 << 26
"""Limit in bytes of the text that is searched for a second line."""


@dataclass(frozen=True)
class Header:
    """Facts about a graph file that are known before its first edge is read."""

    layout: Layout
    num_vertices: int | None = None
    num_entries: int | None = None
    """Number of edge lines, or of listed neighbours, that the file must hold."""
    orientation: Orientation = "directed"
    dialect: Dialect | None = None
    """The separator and the columns of an edge list. None for other formats."""
    weights: bool = True
    """True if the numbers after edges can be weights. In a skew-symmetric matrix they cannot."""


class HeaderLines:
    """The first lines of a file. A format's header function takes the lines it needs, and the rest is parsed
    later."""

    def __init__(self, label: str, texts: Iterator[bytes], words: bool = False) -> None:
        """Start at the first line. ``texts`` yields blocks of whole lines. ``words`` says that vertices are
        words."""
        self.label = label
        self.words = words
        self.number = 0
        """Number of lines taken."""
        self._texts = texts
        self._block = b""
        self._at = 0

    def next(self, expected: str, *comments: str) -> str:
        """Take the next line that is not blank and does not start with one of ``comments``. Returns the line
        stripped.

        Raises InputError at the end of the file. The message says that ``expected`` is missing.
        """
        self.skip(*comments)
        end = self._block.find(b"\n", self._at)
        if end < 0:
            raise InputError(f"{self.label}: {expected} is missing")
        line = self.peek()
        self._at = end + 1
        self.number += 1
        return line

    def skip(self, *comments: str) -> str:
        """Take all blank lines and comments up to the next line of data. Returns the text of the comments.

        A comment is a line that starts with one of ``comments``. At most 64 KiB of the text are kept.
        """
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
        """Returns the next line stripped, without taking it. The text is empty at the end of the file."""
        end = self._block.find(b"\n", self._at)
        return self._block[self._at : max(end, self._at)].strip().decode("ascii", "backslashreplace")

    def look_ahead(self, *comments: str) -> list[str]:
        """Returns the next two lines that are neither blank nor comments, without taking them.

        Near the end of the file, the list has fewer lines. Raises InputError for a line that is too long to
        be an edge.
        """
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
        """Yield the blocks of whole lines that have not been taken."""
        yield self._block[self._at :]
        yield from self._texts

    def error(self, message: str) -> InputError:
        return InputError(f"{self.label}:{self.number}: {message}")

    def counts(self, words: list[str], expected: str) -> list[int]:
        """Returns the words as non-negative integers. The first must be a valid number of vertices. Otherwise
        raises an InputError that mentions ``expected``."""
        if not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words):
            raise self.error(f"'{' '.join(words)[:60]}' is not {expected}")
        numbers = [int(word) for word in words]
        if not 0 < numbers[0] <= MAX_VERTICES:
            raise self.error(f"{numbers[0]:,} vertices: a graph has 1 to {MAX_VERTICES:,}")
        return numbers


def _line_of_data(comments: tuple[str, ...]) -> re.Pattern[bytes]:
    """Returns a regular expression that matches the beginning of a line that is neither blank nor a comment.
    A comment is a line that starts with one of ``comments``."""
    excluded = "|".join(map(re.escape, comments))
    return re.compile(rb"^[ \t]*+%s[^ \t\n]" % (b"(?!%s)" % excluded.encode() if comments else b""), re.M)


def edge_lines(lines: HeaderLines) -> Header:
    """Parse the header of an edge list with one edge per line: SNAP, KONECT, CSV or TSV. The separator and
    the columns are found from the first lines. Raises InputError."""
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
    # Every line must have as many numbers as the first line. A list of neighbours does not.
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
    """Parse the header of a ``.gr`` file of the 9th DIMACS Implementation Challenge. Raises InputError."""
    expected = "the line 'p sp VERTICES ARCS'"
    words = lines.next(expected, "c").split()
    if len(words) != 4 or words[:2] != ["p", "sp"]:
        raise lines.error(f"'{' '.join(words)[:60]}' is not {expected}")
    vertices, arcs = lines.counts(words[2:], "VERTICES ARCS")
    layout = Layout(1, vertices, shift=True, comments="c", tag="a", min_values=1, max_values=1)
    return Header(layout, vertices, arcs)


def metis(lines: HeaderLines) -> Header:
    """Parse the header of a METIS file (its manual, section 4.1.1). Raises InputError. The 10th DIMACS
    Implementation Challenge uses this format too."""
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
    """Parse the header of a Matrix Market file in coordinate form (NIST). Raises InputError."""
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
