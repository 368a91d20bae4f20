"""Reads graph files: detects the format, parses the header of a text format, and makes a list of edges.

Each text format has a function that turns a file's first lines into a Header. :mod:`bfsbench.graphs.blocks`
parses the rest of the file. :mod:`bfsbench.graphs.tables` uses libraries to read all other files: text that
only pandas can parse, and formats other than text.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath

import numpy as np

from bfsbench.graphs import tables
from bfsbench.graphs.archives import Source, open_text
from bfsbench.graphs.blocks import Block, IdTooLargeError, Layout, Parsed, parse_blocks, whole_lines
from bfsbench.graphs.catalogue import FORMATS_BY_SUFFIX, IdPolicy, Recipe
from bfsbench.graphs.convert import OriginalIds, compact
from bfsbench.graphs.graph import MAX_VERTICES, EdgeList, Orientation, Size, require, require_bytes
from bfsbench.graphs.interop import Columns, edge_list
from bfsbench.graphs.tables import COMMENTS, Dialect, dialect_of, read_table
from bfsbench.support.errors import InputError, UsageError, size_text, unknown_name

Progress = Callable[[int, int], None]
"""A function called with the number of bytes of the file that have been read, and the total number of
bytes."""

INT64_MAX = 2**63 - 1
_COMMENTS_KEPT = 1 << 16
"""Limit in bytes of the comments that are kept. SNAP's files give the numbers of vertices and edges in
comments."""
_COUNT = r"(\d{1,18})"
_LONGEST_EDGE = 1 << 20
"""Limit in bytes of a line in a list of edges."""
_LOOK_AHEAD = 1 << 26
"""Limit in bytes of the text that is searched for a second line."""
_LOOKED_AT = 4 << 20
"""Bytes of text from which the number of edges is estimated."""
_BOMB_BYTES = 64 << 20
_BOMB_RATIO = 200
"""A larger ratio of text to packed bytes is suspicious. Packing shrinks most edge lists to a third or a tenth
of their size, and lists of regular graphs to a fiftieth."""
_MARKUP = re.compile(r"<(?![a-z]+://)[!?a-z]", re.IGNORECASE)
"""The beginning of HTML or XML. An address in angle brackets does not match, because it may be a vertex's
name."""


@dataclass(frozen=True)
class Header:
    """Facts about a graph file that are known before its first edge is read."""

    layout: Layout
    num_vertices: int | None = None
    num_entries: int | None = None
    """Number of edge lines or of listed neighbours that the file must contain."""
    orientation: Orientation = "directed"
    dialect: Dialect | None = None
    """The separator and the columns of an edge list. None for other formats."""
    weights: bool = True
    """True if the numbers after edges can be weights. In a skew-symmetric matrix they cannot."""


class HeaderLines:
    """The first lines of a file. A format's header parser takes the lines of the header from this object. All
    other lines are parsed later."""

    def __init__(self, source: Source, words: bool = False) -> None:
        """Start reading at the first line that is not blank. If ``words``, vertices are words instead of
        numbers. Raises InputError for HTML and XML."""
        self.label = source.label
        self.words = words
        self.number = 0
        """Number of lines taken."""
        self._texts = whole_lines(source)
        self._block = b""
        self._at = 0
        self.skip()
        if _MARKUP.match(self.peek()):
            raise InputError(f"{self.label}: it is a page in HTML or XML, not a graph: fetch it again")

    def next(self, expected: str, *comments: str) -> str:
        """Take the next line that is not blank and does not start with one of ``comments``. Returns the line
        stripped.

        Raises InputError at the end of the file. The message says that ``expected`` is missing.
        """
        self.skip(*comments)
        line = self.peek()
        if not line:
            raise InputError(f"{self.label}: {expected} is missing")
        self._at = self._block.index(b"\n", self._at) + 1
        self.number += 1
        return line

    def match(self, expected: str, pattern: str, *comments: str) -> re.Match[str]:
        """Take the next line, as the method ``next`` does. Join its words by single blanks, and match the
        result against ``pattern``. Returns the match object. Raises InputError if the words do not match."""
        line = " ".join(self.next(expected, *comments).split())
        matched = re.fullmatch(pattern, line, re.ASCII)
        if matched is None:
            raise self.error(f"'{line[:60]}' is not {expected}")
        return matched

    def skip(self, *comments: str) -> str:
        """Skip all blank lines and comments up to the next line of data. Returns the text of the comments.

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
        """Returns the next line without surrounding blanks, but does not consume it. Returns an empty string
        at the end of the file."""
        end = self._block.find(b"\n", self._at)
        return self._block[self._at : max(end, self._at)].strip().decode("ascii", "backslashreplace")

    def look_ahead(self, *comments: str) -> list[str]:
        """Returns the next two lines that are neither blank nor comments, but does not consume them. The list
        is shorter if the file or its next 64 MiB contain fewer than two of these lines. Raises InputError for
        a line that is too long to be an edge."""
        lines: list[bytes] = []
        unsearched = self._at
        while True:
            for match in islice(_line_of_data(comments).finditer(self._block, unsearched), 2 - len(lines)):
                lines.append(self._block[match.start() : self._block.index(b"\n", match.start())])
            if len(lines) == 2 or len(self._block) >= _LOOK_AHEAD:
                break
            more = next(self._texts, None)
            if more is None:
                break
            unsearched = len(self._block) - self._at
            self._block, self._at = self._block[self._at :] + more, 0
        if any(len(line) > _LONGEST_EDGE for line in lines):
            raise InputError(
                f"{self.label}: a line is longer than {size_text(_LONGEST_EDGE)}: it is not an edge"
            )
        return [line.decode("utf-8", "backslashreplace") for line in lines]

    def rest(self) -> Iterator[bytes]:
        """Yield all remaining text of the file, in blocks of whole lines."""
        yield self._block[self._at :]
        yield from self._texts

    def error(self, message: str) -> InputError:
        return InputError(f"{self.label}:{self.number}: {message}")

    def vertices(self, word: str) -> int:
        """Convert ``word``, a number of vertices in the header. Returns the number. Raises InputError if it
        is 0 or exceeds the limit for graphs.
        """
        if not 0 < int(word) <= MAX_VERTICES:
            raise self.error(f"{int(word):,} vertices: a graph has 1 to {MAX_VERTICES:,}")
        return int(word)


def _line_of_data(comments: tuple[str, ...]) -> re.Pattern[bytes]:
    """Returns a regular expression that matches the beginning of a line of data. A line of data is not blank,
    and does not start with one of ``comments``."""
    excluded = "|".join(map(re.escape, comments))
    return re.compile(rb"^[ \t]*+%s[^ \t\n]" % (b"(?!%s)" % excluded.encode() if comments else b""), re.M)


def edge_lines(lines: HeaderLines) -> Header:
    """Returns the header of an edge list with one edge per line: SNAP, KONECT, CSV or TSV. The first lines
    show which separator and which columns the file has. Raises InputError for a malformed header.
    """
    comments = lines.skip(*COMMENTS)
    announced = re.search(r"# *Nodes: *\d+ +Edges: *(\d{1,18})\b", comments)
    konect = re.match(r"%\s*(sym|asym|bip)\b", comments)
    if konect and konect[1] == "bip":
        raise lines.error("both sides of a bipartite KONECT file count from 1: renumber one of them")
    dialect = dialect_of(lines.look_ahead(*COMMENTS), lines.words)
    if dialect.headings:
        line = lines.next("a line of headings", *COMMENTS)
        if dialect.has_number(line):
            raise lines.error(f"'{line[:60]}' is not an edge, and headings of columns contain no numbers")
    layout = Layout(
        *(0, MAX_VERTICES - 1),
        comments="#%/",
        separator=dialect.separator.strip(),
        edge_values=max(0, dialect.width - 2),
        surplus="; every line must have as many as the first, and a list of neighbours is no list of edges",
    )
    return Header(
        layout,
        num_entries=int(announced.group(1)) if announced else None,
        orientation="each_once" if konect and konect[1] == "sym" else "directed",
        dialect=dialect,
    )


def dimacs9(lines: HeaderLines) -> Header:
    """Returns the header of a ``.gr`` file of the 9th DIMACS Implementation Challenge. Raises InputError for
    a malformed header."""
    found = lines.match("the line 'p sp VERTICES ARCS'", rf"p sp {_COUNT} {_COUNT}", "c")
    vertices = lines.vertices(found[1])
    layout = Layout(1, vertices, comments="c", tag="a", edge_values=1)
    return Header(layout, vertices, int(found[2]))


def metis(lines: HeaderLines) -> Header:
    """Returns the header of a METIS file (section 4.1.1 of METIS's manual). The 10th DIMACS Implementation
    Challenge uses this format too. Raises InputError for a malformed header."""
    pattern = rf"{_COUNT} {_COUNT}(?: {_COUNT}(?: {_COUNT})?)?"
    found = lines.match("the header VERTICES EDGES [FORMAT [WEIGHTS]]", pattern, "%")
    vertices = lines.vertices(found[1])
    flags = (found[3] or "0").zfill(3)
    if not re.fullmatch("[01]{3}", flags):
        raise lines.error(f"METIS format '{found[3]}' is not made of up to three digits 0 or 1")
    sizes, vertex_weights, edge_weights = (int(flag) for flag in flags)
    weights = int(found[4] or 1) if vertex_weights else 0
    if weights > 1000:
        raise lines.error(f"{weights} weights per vertex are not plausible")
    layout = Layout(
        *(1, vertices),
        comments="%",
        adjacency=True,
        row_values=sizes + weights,
        entry_values=edge_weights,
        max_rows=vertices,
    )
    return Header(layout, vertices, 2 * int(found[2]), "both_ways")


_MATRIX_VALUES = {"pattern": 0, "integer": 1, "real": 1, "complex": 2}
_MATRIX_SYMMETRIES: dict[str, Orientation] = {
    "general": "directed",
    "symmetric": "each_once",
    "skew-symmetric": "each_once",
    "hermitian": "each_once",
}


def matrix_market(lines: HeaderLines) -> Header:
    """Returns the header of a Matrix Market file in coordinate form (NIST). Raises InputError for a malformed
    header."""
    expected = "'%%MatrixMarket matrix coordinate FIELD SYMMETRY'"
    banner = lines.match(expected, r"(?i:%%MatrixMarket matrix coordinate) (\S+) (\S+)")
    field, symmetry = banner[1].lower(), banner[2].lower()
    if field not in _MATRIX_VALUES or symmetry not in _MATRIX_SYMMETRIES:
        known = f"fields {', '.join(_MATRIX_VALUES)}; symmetries {', '.join(_MATRIX_SYMMETRIES)}"
        raise lines.error(f"'{field} {symmetry}' is not known ({known})")
    size = lines.match("the size line ROWS COLUMNS ENTRIES", rf"{_COUNT} {_COUNT} {_COUNT}", "%")
    rows, columns = lines.vertices(size[1]), int(size[2])
    if rows != columns:
        raise lines.error(f"a matrix of {rows:,} x {columns:,} is not a graph: only square matrices are")
    layout = Layout(1, rows, comments="%", edge_values=_MATRIX_VALUES[field])
    weights = symmetry in ("general", "symmetric") and field != "complex"
    return Header(layout, rows, int(size[3]), _MATRIX_SYMMETRIES[symmetry], weights=weights)


@dataclass(frozen=True)
class Format:
    """A graph file format: how it treats vertex ids, and the function that reads it."""

    ids: IdPolicy
    read_header: Callable[[HeaderLines], Header] | None = None
    """The header parser of a text format."""
    read_table: Callable[[Path], Columns] | None = None
    """The reader of a format that a library reads. Raises UsageError if the library is missing."""
    library: str = ""
    orientation: Callable[[Path], Orientation] = lambda path: "directed"
    """Returns the orientation of the edges in a file that a library reads."""


FORMATS: dict[str, Format] = {
    "snap": Format("compact", edge_lines),
    "dimacs9": Format("keep", dimacs9),
    "metis": Format("keep", metis),
    "mtx": Format("keep", matrix_market),
    "csv": Format("compact", edge_lines),
    "npz": Format("keep", None, tables.read_npz, "SciPy"),
    "npy": Format("compact", None, tables.read_npy, "NumPy"),
    "parquet": Format("compact", None, tables.read_parquet, "PyArrow"),
    "arrow": Format("compact", None, tables.read_arrow, "PyArrow"),
    "graphml": Format("compact", None, tables.read_graphml, "NetworkX", tables.graphml_orientation),
    "gml": Format("compact", None, tables.read_gml, "NetworkX", tables.gml_orientation),
}


def sniff_format(path: Path) -> str:
    """Returns the format of a file, packed or not, from its content and its name. Raises InputError if the
    file cannot be read or the format remains unknown."""
    name = FORMATS_BY_SUFFIX.get(path.suffix.lower())
    if name and FORMATS[name].read_table:
        return name
    with open_text(path) as source:
        lines = HeaderLines(source)
        first = lines.peek()
        if first.lower().startswith("%%matrixmarket"):
            return "mtx"
        name = FORMATS_BY_SUFFIX.get(PurePosixPath(source.name).suffix.lower())
        if name and FORMATS[name].read_header:
            return name
        if not first:
            raise InputError(f"{source.label}: the file is empty")
        if not first.startswith(COMMENTS):
            lines.skip("c")
            if re.match(r"p\s+sp\s", lines.peek()):
                return "dimacs9"
        dialect = dialect_of(lines.look_ahead(*COMMENTS))
        if not dialect.named:
            return "csv" if dialect.separator in (",", ";") else "snap"
        known = ", ".join(FORMATS)
        raise InputError(
            f"{source.label}: unknown format; say which of {known} it is, as in {path}:format=snap"
        )


def format_of(path: Path, name: str | None) -> tuple[str, Format]:
    """Returns the name and the Format of a file. If ``name`` is None, the format is detected. Raises
    UsageError for an unknown name, and InputError if the file cannot be read or recognised."""
    found = name or sniff_format(path)
    if found not in FORMATS:
        raise unknown_name("format", found, FORMATS)
    return found, FORMATS[found]


def first_look(
    path: Path, format_name: str | None = None, ids: IdPolicy | None = None
) -> tuple[Orientation, str]:
    """Returns the orientation of a file's edges, and the name of the library that will read the file.

    The name is empty if this package's own parser will read the file. Only the beginning of the file is read.
    Raises UsageError for an unknown format, and InputError if the file cannot be read or recognised.
    """
    _, form = format_of(path, format_name)
    if form.read_table is not None:
        return form.orientation(path), form.library
    with open_text(path) as source:
        header, _ = _header(form, source, ids == "names")
        return header.orientation, "" if _dialect(header, ids) is None else "pandas"


def count_entries(path: Path, format_name: str | None = None) -> tuple[int | None, int]:
    """Returns the number of vertices of a graph file, and the approximate number of its entries.

    An entry is an edge or a listed neighbour. The number of vertices is None if the header does not state it.
    If the header does not state the number of entries, it is estimated from the file's first block or from
    the file's size. Raises UsageError for an unknown format, and InputError if the file cannot be read or
    recognised.
    """
    _, form = format_of(path, format_name)
    if form.read_table is not None:
        return None, path.stat().st_size // tables.BYTES_AN_EDGE
    with open_text(path) as source:
        header, lines = _header(form, source)
        if header.num_entries is not None:
            return header.num_vertices, header.num_entries
        texts = lines.rest()
        block = next(texts) or next(texts, b"")
        share = source.position() / max(source.size, 1)
        return header.num_vertices, round(block.count(b"\n") / max(share, 1e-9))


def read_edges(path: Path, recipe: Recipe, progress: Progress | None = None) -> EdgeList:
    """Read a graph file, plain or packed. Returns its edges.

    The function uses the fields ``format``, ``ids``, ``weights`` and ``orientation`` of ``recipe``.
    ``progress`` is called with the number of bytes of the file that have been read, and the total number of
    bytes. Raises UsageError for an unknown format, for a missing library, and if names are asked for in a
    format whose vertices are numbers. Raises InputError if the file is wrong. If a line is wrong, the message
    is "file:line: what is wrong". Raises NotEnoughMemoryError for a graph that is too large.
    """
    name, form = format_of(path, recipe.format)
    recipe = replace(recipe, format=name)
    if recipe.ids == "names" and name in ("dimacs9", "metis", "mtx", "npz"):
        raise UsageError(f"{path}: ids=names is for edge lists; vertices of {name} files are numbers")
    if form.read_table is not None:
        edges = edge_list(form.read_table(path), recipe.ids or form.ids, recipe)
        if edges.num_vertices == 0:
            raise InputError(f"{path}: the file holds no vertices")
        return edges
    try:
        return _read_text(path, form, recipe, progress, wide=False)
    except IdTooLargeError:
        if recipe.ids == "keep":
            raise
    return _read_text(path, form, recipe, progress, wide=True)


def _dialect(header: Header, ids: IdPolicy | None) -> Dialect | None:
    """Returns the syntax of an edge list that pandas must read, or None if the native parser can read it."""
    dialect = header.dialect
    if dialect is None or dialect.plain or (dialect.named and ids not in (None, "names")):
        return None  # the native parser names the line of a word that is not an id
    return dialect


def _header(form: Format, source: Source, words: bool = False) -> tuple[Header, HeaderLines]:
    assert form.read_header is not None
    lines = HeaderLines(source, words)
    return form.read_header(lines), lines


def _read_text(path: Path, form: Format, recipe: Recipe, progress: Progress | None, wide: bool) -> EdgeList:
    """Read a text file in one pass. Returns its edges. ``wide`` allows ids of up to 63 bits, which will be
    renumbered."""
    with open_text(path) as source:
        header, lines = _header(form, source, recipe.ids == "names")
        orientation = recipe.orientation or header.orientation

        def blocks() -> Iterator[Block]:
            unpacked = ends = 0
            for text in lines.rest():
                position = source.position()
                _require_likely(source, unpacked := unpacked + len(text), position)
                if unpacked - len(text) < _LOOKED_AT:
                    ends += text.count(b"\n")
                    if unpacked >= _LOOKED_AT and header.num_vertices is None:
                        _require_room_for(ends, source, orientation)
                if progress is not None:
                    progress(position, source.size)
                yield Block(text, position / max(source.size, 1))

        if (dialect := _dialect(header, recipe.ids)) is not None:
            columns = read_table(blocks(), source.label, lines.number + 1, dialect)
            return edge_list(columns, recipe.ids or form.ids, replace(recipe, orientation=orientation))
        if header.num_vertices is not None:
            # A header may announce more edges than the file can hold. Even packed files have a byte per edge.
            require(Size(header.num_vertices, min(header.num_entries or 0, source.size)), source.label)
        layout = _layout(source.label, header, recipe, wide)
        parsed = parse_blocks(blocks(), layout, source.label, lines.number + 1)
        _check_counts(source.label, header, parsed)
    return _parsed_edges(source.label, header, parsed, recipe.ids or form.ids, recipe)


def _require_likely(source: Source, unpacked: int, position: int) -> None:
    """Check that a packed file is not a decompression bomb. Raises InputError if the file unpacks to far more
    data than a graph file contains."""
    if unpacked > _BOMB_BYTES and unpacked > _BOMB_RATIO * position:
        packed, text = size_text(position), size_text(unpacked)
        raise InputError(f"{source.label}: {packed} of it unpack to {text}: unpack it first if it is a graph")


def _require_room_for(lines: int, source: Source, orientation: str) -> None:
    """Check that the edges of the whole file fit into memory. Raises NotEnoughMemoryError if they do not.

    The number of edges is estimated from ``lines``, the number of lines in the part of the file that has been
    read.
    """
    edges = round(lines * source.size / max(source.position(), 1))
    needed = Size(0, edges, mirrored=orientation == "each_once").peak_bytes
    require_bytes(needed, f"{source.label}, by its first blocks: about {edges:,} edges")


def _layout(label: str, header: Header, recipe: Recipe, wide: bool) -> Layout:
    """Returns the syntax of a file's lines, derived from the file's header and the options in ``recipe``.
    Raises InputError if weights should be read and the file has none."""
    layout = header.layout
    if recipe.weights == "read":
        if not header.weights or not (layout.entry_values or layout.edge_values):
            raise InputError(f"{label}: there are no weights to be read")
        layout = replace(layout, weighted=True)
    return replace(layout, last_id=INT64_MAX) if wide and header.num_vertices is None else layout


def _check_counts(label: str, header: Header, parsed: Parsed) -> None:
    """Check the numbers in a file's header against the edges of the file. Raises InputError if a number is
    wrong, or if there are no edges.
    """
    found = len(parsed.sources)
    if not found:
        raise InputError(f"{label}: the file holds no edges")
    if header.num_entries is not None and found != header.num_entries:
        raise InputError(
            f"{label}: the header announces {header.num_entries:,} entries, the file holds {found:,}; "
            "fetch it again, or correct the header if the file is whole"
        )
    # A last vertex without neighbours has an empty line. If the file lacks its last line break, that line
    # cannot be seen.
    rows = header.layout.max_rows
    if header.layout.adjacency and parsed.rows + 1 < rows:
        raise InputError(
            f"{label}: the header announces {rows:,} vertices, the file has lines for {parsed.rows:,}"
        )


def _parsed_edges(label: str, header: Header, parsed: Parsed, ids: IdPolicy, recipe: Recipe) -> EdgeList:
    """Returns the parsed edges as an edge list. If ``ids`` is ``compact``, vertices are renumbered without
    gaps. Raises NotEnoughMemoryError if the graph will not fit into memory."""
    sources, targets = parsed.sources, parsed.targets
    shift = header.layout.first_id
    orientation = recipe.orientation or header.orientation
    original: OriginalIds | None
    if ids == "compact":
        sources, targets, original = compact(sources, targets)
        num_vertices = len(original)
        original += shift
        if original[-1] == num_vertices - 1:
            original = None
    else:
        num_vertices = header.num_vertices or int(max(sources.max(), targets.max())) + 1
        held = sources.nbytes + targets.nbytes
        require(Size(num_vertices, len(sources), orientation == "each_once"), label, held)
        original = np.arange(shift, shift + num_vertices, dtype=np.int64) if shift else None
    return EdgeList(
        sources.astype(np.int32, copy=False),
        targets.astype(np.int32, copy=False),
        *(num_vertices, orientation, original, recipe.format),
        weights=parsed.weights,
        weights_unread=parsed.weighted and recipe.weights is None,
    )
