"""Text formats of published graphs: what their headers say, and what the lines after them hold.

SNAP edge list; DIMACS9 (``.gr`` of the 9th DIMACS Implementation Challenge); METIS (its manual, section
4.1.1), also the format of the 10th DIMACS Implementation Challenge; Matrix Market coordinate (NIST).
A header is read here, a few lines of Python; the rest goes to :mod:`bfsbench.graphs.blocks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from bfsbench.errors import InputError, unknown_name
from bfsbench.graphs.archives import Source, open_text
from bfsbench.graphs.blocks import Block, IdTooLargeError, Layout, Parsed, parse_blocks, whole_lines
from bfsbench.graphs.graph import MAX_VERTICES, EdgeList, Ids, Orientation
from bfsbench.graphs.memory import Size, require
from bfsbench.graphs.recipe import IdPolicy, Recipe
from bfsbench.graphs.renumber import OriginalIds, compact

Progress = Callable[[int, int], None]
"""Called with the bytes of the file read so far, and in all."""

INT64_MAX = 2**63 - 1

_COMMENTS_KEPT = 1 << 16
"""Bytes of comments in which the counts that SNAP's files announce are looked for."""


@dataclass(frozen=True)
class Header:
    """What is known of a file before its first edge."""

    layout: Layout
    num_vertices: int | None = None
    num_entries: int | None = None
    """Edge lines, or neighbours listed, that the file must hold."""
    orientation: Orientation = "directed"


class HeaderLines:
    """The first lines of a file, for a format to take what it needs; the rest is parsed after them."""

    def __init__(self, label: str, texts: Iterator[bytes]) -> None:
        """``texts`` are blocks of whole lines."""
        self.label = label
        self.number = 0
        """Of lines taken."""
        self._texts = texts
        self._block = b""
        self._at = 0

    def next(self, expected: str, comment: str = "") -> str:
        """Takes the next line that is not blank and does not start with ``comment``, and strips it."""
        self.skip(comment)
        end = self._block.find(b"\n", self._at)
        if end < 0:
            raise InputError(f"{self.label}: {expected} is missing")
        line = self.peek()
        self._at = end + 1
        self.number += 1
        return line

    def skip(self, comment: str = "") -> str:
        """Takes blank lines and those that start with ``comment``; returns the first of them."""
        first = b""
        other = re.compile(
            rb"^[^\S\n]*+%s\S" % (b"(?!%s)" % re.escape(comment).encode() if comment else b""), re.M
        )
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


def _snap(lines: HeaderLines) -> Header:
    comments = lines.skip("#")
    announced = re.search(r"# *Nodes: *\d+ +Edges: *(\d{1,18})\b", comments)
    # Every line has as many numbers as the first: others are lists of neighbours, and no edges.
    values = max(0, len(lines.peek().split()) - 2)
    surplus = "; every line must have as many as the first, and a list of neighbours is no list of edges"
    layout = Layout(0, MAX_VERTICES - 1, comment="#", min_values=values, max_values=values, surplus=surplus)
    return Header(layout, num_entries=int(announced.group(1)) if announced else None)


def _dimacs9(lines: HeaderLines) -> Header:
    expected = "the line 'p sp VERTICES ARCS'"
    words = lines.next(expected, comment="c").split()
    if len(words) != 4 or words[:2] != ["p", "sp"]:
        raise lines.error(f"'{' '.join(words)[:60]}' is not {expected}")
    vertices, arcs = lines.counts(words[2:], "VERTICES ARCS")
    layout = Layout(1, vertices, shift=True, comment="c", tag="a", min_values=1, max_values=1)
    return Header(layout, vertices, arcs)


def _metis(lines: HeaderLines) -> Header:
    expected = "the header VERTICES EDGES [FORMAT [WEIGHTS]]"
    words = lines.next(expected, comment="%").split()
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
        comment="%",
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


def _matrix_market(lines: HeaderLines) -> Header:
    expected = "'%%MatrixMarket matrix coordinate FIELD SYMMETRY'"
    banner = lines.next(expected).lower().split()
    if len(banner) != 5 or banner[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
        raise lines.error(f"'{' '.join(banner)[:60]}' is not {expected}")
    field, symmetry = banner[3:]
    if field not in _MATRIX_VALUES or symmetry not in _MATRIX_SYMMETRIES:
        known = f"fields {', '.join(_MATRIX_VALUES)}; symmetries {', '.join(_MATRIX_SYMMETRIES)}"
        raise lines.error(f"'{field} {symmetry}' is not known ({known})")
    expected = "the size line ROWS COLUMNS ENTRIES"
    words = lines.next(expected, comment="%").split()
    if len(words) != 3:
        raise lines.error(f"'{' '.join(words)[:60]}' is not {expected}")
    rows, columns, entries = lines.counts(words, expected)
    if rows != columns:
        raise lines.error(f"a matrix of {rows:,} x {columns:,} is no graph: only square ones are")
    values = _MATRIX_VALUES[field]
    layout = Layout(1, rows, shift=True, comment="%", min_values=values, max_values=values)
    return Header(layout, rows, entries, _MATRIX_SYMMETRIES[symmetry])


@dataclass(frozen=True)
class Format:
    """A text format: the file suffixes that tell it, what it makes of ids, and how to read its header."""

    suffixes: tuple[str, ...]
    ids: IdPolicy
    read_header: Callable[[HeaderLines], Header]


FORMATS: dict[str, Format] = {
    "snap": Format((), "compact", _snap),
    "dimacs9": Format((".gr",), "keep", _dimacs9),
    "metis": Format((".graph", ".metis"), "keep", _metis),
    "mtx": Format((".mtx",), "keep", _matrix_market),
}
_SUFFIXES = tuple(suffix for form in FORMATS.values() for suffix in form.suffixes)


def sniff_format(path: Path) -> str:
    """The format of a file, packed or not, from its content and its name.

    Raises InputError when the file cannot be read or neither tells.
    """
    with open_text(path, _SUFFIXES) as source:
        return _sniff(source, HeaderLines(source.label, whole_lines(source, source.label)))


def _sniff(source: Source, lines: HeaderLines) -> str:
    lines.skip()
    first = lines.peek()
    if first.lower().startswith("%%matrixmarket"):
        return "mtx"
    suffix = PurePosixPath(source.name).suffix.lower()
    for name, form in FORMATS.items():
        if suffix in form.suffixes:
            return name
    if re.match(r"[#\d]", first):
        return "snap"
    lines.skip("c")
    if re.match(r"p\s+sp\s", lines.peek()):
        return "dimacs9"
    if not first:
        raise InputError(f"{source.label}: the file is empty")
    known = ", ".join(FORMATS)
    raise InputError(
        f"{source.label}: unknown format; say which of {known} it is, as in {source.path}:format=snap"
    )


def read_header(path: Path, format_name: str | None = None) -> Header:
    """What a file says before its first edge. Raises InputError, UsageError for an unknown format."""
    name = format_name or sniff_format(path)
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    with open_text(path, _SUFFIXES) as source:
        return FORMATS[name].read_header(HeaderLines(source.label, whole_lines(source, source.label)))


def count_entries(path: Path, format_name: str | None = None) -> tuple[int | None, int]:
    """Vertices, None where the header does not say, and about how many entries the file holds.

    Entries are edges, or neighbours listed; without a header that counts them, their number follows from the
    file's first block. Raises InputError, UsageError for an unknown format.
    """
    name = format_name or sniff_format(path)
    with open_text(path, _SUFFIXES) as source:
        lines = HeaderLines(source.label, whole_lines(source, source.label))
        header = FORMATS[name].read_header(lines)
        if header.num_entries is not None:
            return header.num_vertices, header.num_entries
        texts = lines.rest()
        block = next(texts) or next(texts, b"")
        share = source.position() / max(source.size, 1)
        return header.num_vertices, round(block.count(b"\n") / max(share, 1e-9))


def read_edges(path: Path, recipe: Recipe, progress: Progress | None = None) -> EdgeList:
    """Read a graph file, plain or packed.

    ``recipe.format``, ``ids`` and ``orientation`` concern reading; its other choices are for the conversion.
    ``progress`` is called with the bytes of the file read so far and in all.
    Raises InputError, "file:line: what is wrong" where a line is to blame.
    """
    if recipe.format is not None and recipe.format not in FORMATS:
        raise unknown_name("format", recipe.format, FORMATS)
    try:
        return _read(path, recipe, progress, wide=False)
    except IdTooLargeError:
        if recipe.ids == "keep":
            raise
    return _read(path, recipe, progress, wide=True)


def _read(path: Path, recipe: Recipe, progress: Progress | None, wide: bool) -> EdgeList:
    """One pass over the file. ``wide``: ids of compacted formats may take 63 bits."""
    name = recipe.format or sniff_format(path)
    with open_text(path, _SUFFIXES) as source:
        lines = HeaderLines(source.label, whole_lines(source, source.label))
        header = FORMATS[name].read_header(lines)
        if wide and header.num_vertices is None:
            header = replace(header, layout=replace(header.layout, last_id=INT64_MAX))

        def blocks() -> Iterator[Block]:
            for text in lines.rest():
                position = source.position()
                if progress is not None:
                    progress(position, source.size)
                yield Block(text, position / max(source.size, 1))

        _require_room(source, header)
        parsed = parse_blocks(blocks(), header.layout, source.label, lines.number + 1)
        _check_counts(source.label, header, parsed)
    return _edge_list(source.label, name, header, parsed, recipe)


def _require_room(source: Source, header: Header) -> None:
    """Raises NotEnoughMemoryError where a header asks too much, as far as its file can hold what it says."""
    if header.num_vertices is not None:
        edges = min(header.num_entries or 0, source.size)  # packed files, too, have a byte for an edge
        require(Size(header.num_vertices, edges), source.label)


def _check_counts(label: str, header: Header, parsed: Parsed) -> None:
    found = len(parsed.sources)
    if not found:
        raise InputError(f"{label}: the file holds no edges")
    if header.num_entries is not None and found != header.num_entries:
        raise InputError(
            f"{label}: the header announces {header.num_entries:,} entries, the file holds {found:,}; "
            "fetch it again, or correct the header if the file is whole"
        )
    # A last vertex without neighbours has an empty line, invisible in a file that lacks the last line break.
    rows = header.layout.max_rows
    if header.layout.adjacency and parsed.rows + 1 < rows:
        raise InputError(
            f"{label}: the header announces {rows:,} vertices, the file has lines for {parsed.rows:,}"
        )


def _edge_list(label: str, name: str, header: Header, parsed: Parsed, recipe: Recipe) -> EdgeList:
    sources, targets = parsed.sources, parsed.targets
    shift = header.layout.first_id if header.layout.shift else 0
    original: OriginalIds | None
    if (recipe.ids or FORMATS[name].ids) == "compact":
        sources, targets, original = compact(sources, targets)
        num_vertices = len(original)
        original += shift
        if original[-1] == num_vertices - 1:
            original = None
    else:
        num_vertices = header.num_vertices or int(max(sources.max(), targets.max())) + 1
        held = sources.nbytes + targets.nbytes
        mirrored = (recipe.orientation or header.orientation) == "each_once"
        require(Size(num_vertices, len(sources), mirrored), label, held)
        original = np.arange(shift, shift + num_vertices, dtype=np.int64) if shift else None
    orientation = recipe.orientation or header.orientation
    ends: list[Ids] = [array.astype(np.int32, copy=False) for array in (sources, targets)]
    return EdgeList(ends[0], ends[1], num_vertices, orientation, original, format=name)
