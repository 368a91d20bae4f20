"""Detects the formats of graph files and reads the files."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from bfsbench.graphs import headers, tables
from bfsbench.graphs.archives import Source, open_text
from bfsbench.graphs.blocks import Block, IdTooLargeError, Layout, Parsed, parse_blocks, whole_lines
from bfsbench.graphs.catalogue import IdPolicy, Recipe
from bfsbench.graphs.columns import edge_list
from bfsbench.graphs.convert import OriginalIds, compact
from bfsbench.graphs.delimited import COMMENTS, Dialect, dialect_of, read_table
from bfsbench.graphs.graph import EdgeList, Ids, Orientation
from bfsbench.graphs.headers import Header, HeaderLines
from bfsbench.graphs.memory import Size, require, require_bytes
from bfsbench.support.errors import InputError, UsageError, size_text, unknown_name

Progress = Callable[[int, int], None]
"""A function called with the bytes of the file read so far, and in all."""

INT64_MAX = 2**63 - 1
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
class Format:
    """A graph format: its file suffixes, its treatment of ids, and its reader."""

    suffixes: tuple[str, ...]
    ids: IdPolicy
    read_header: Callable[[HeaderLines], Header] | None = None
    """The header parser of a text format."""
    table: tables.Table | None = None
    """The reader of a format that a library reads."""


FORMATS: dict[str, Format] = {
    "snap": Format((".edges", ".edgelist", ".el", ".ncol"), "compact", headers.edge_lines),
    "dimacs9": Format((".gr",), "keep", headers.dimacs9),
    "metis": Format((".graph", ".metis"), "keep", headers.metis),
    "mtx": Format((".mtx",), "keep", headers.matrix_market),
    "csv": Format((".csv", ".tsv"), "compact", headers.edge_lines),
    "npz": Format((".npz",), "keep", table=tables.NPZ),
    "npy": Format((".npy",), "compact", table=tables.NPY),
    "parquet": Format((".parquet", ".pq"), "compact", table=tables.PARQUET),
    "arrow": Format((".arrow", ".feather"), "compact", table=tables.ARROW),
    "graphml": Format((".graphml",), "compact", table=tables.GRAPHML),
    "gml": Format((".gml",), "compact", table=tables.GML),
}
SUFFIXES = tuple(suffix for form in FORMATS.values() for suffix in form.suffixes)


def sniff_format(path: Path) -> str:
    """Returns the format of a file, packed or not, from its content and its name. Raises InputError if the
    file cannot be read or the format remains unknown."""
    suffix = path.suffix.lower()
    for name, form in FORMATS.items():
        if form.table is not None and suffix in form.suffixes:
            return name
    with open_text(path, SUFFIXES) as source:
        return _sniff(source, _lines(source))


def _lines(source: Source, words: bool = False) -> HeaderLines:
    """Returns the lines of a file from the first line that is not blank. Raises InputError for HTML and
    XML."""
    lines = HeaderLines(source.label, whole_lines(source, source.label), words)
    lines.skip()
    if _MARKUP.match(lines.peek()):
        raise InputError(f"{source.label}: it is a page in HTML or XML, not a graph: fetch it again")
    return lines


def _sniff(source: Source, lines: HeaderLines) -> str:
    first = lines.peek()
    if first.lower().startswith("%%matrixmarket"):
        return "mtx"
    suffix = PurePosixPath(source.name).suffix.lower()
    for name, form in FORMATS.items():
        if form.table is None and suffix in form.suffixes:
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
        f"{source.label}: unknown format; say which of {known} it is, as in {source.path}:format=snap"
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

    The name is empty if this package's parser reads it. Only the beginning of the file is read. Raises
    UsageError, InputError.
    """
    _, form = format_of(path, format_name)
    if form.table is not None:
        return form.table.orientation(path), form.table.library
    with open_text(path, SUFFIXES) as source:
        header, _ = _header(form, source, ids == "names")
        return header.orientation, "" if _dialect(header, ids) is None else "pandas"


def count_entries(path: Path, format_name: str | None = None) -> tuple[int | None, int]:
    """Returns the number of vertices, or None if the header does not have it, and the approximate number of
    entries.

    Entries are edges, or listed neighbours. If no header counts them, the number is estimated from the file's
    first block or from its size. Raises InputError, and UsageError for an unknown format.
    """
    _, form = format_of(path, format_name)
    if form.table is not None:
        return None, path.stat().st_size // tables.BYTES_AN_EDGE
    with open_text(path, SUFFIXES) as source:
        header, lines = _header(form, source)
        if header.num_entries is not None:
            return header.num_vertices, header.num_entries
        texts = lines.rest()
        block = next(texts) or next(texts, b"")
        share = source.position() / max(source.size, 1)
        return header.num_vertices, round(block.count(b"\n") / max(share, 1e-9))


def read_edges(path: Path, recipe: Recipe, progress: Progress | None = None) -> EdgeList:
    """Read a graph file, plain or packed. Returns its edges.

    From ``recipe``, reading uses ``format``, ``ids``, ``weights`` and ``orientation``. The conversion uses
    the other fields. ``progress`` is called with the bytes of the file read so far and in all. Raises
    UsageError for an unknown format. Raises InputError with the message "file:line: what is wrong" if a line
    is wrong.
    """
    name, form = format_of(path, recipe.format)
    if recipe.ids == "names" and name in ("dimacs9", "metis", "mtx", "npz"):
        raise UsageError(f"{path}: ids=names is for edge lists; vertices of {name} files are numbers")
    if form.table is not None:
        columns = form.table.read(path)
        columns = replace(columns, orientation=recipe.orientation or columns.orientation)
        edges = edge_list(columns, recipe.ids or form.ids, recipe.weights)
        if edges.num_vertices == 0:
            raise InputError(f"{path}: the file holds no vertices")
        return replace(edges, format=name)
    try:
        return _read_text(path, name, recipe, progress, wide=False)
    except IdTooLargeError:
        if recipe.ids == "keep":
            raise
    return _read_text(path, name, recipe, progress, wide=True)


def _dialect(header: Header, ids: IdPolicy | None) -> Dialect | None:
    """Returns how an edge list is written if pandas must read it, or None if the native parser can read
    it."""
    dialect = header.dialect
    if dialect is None or dialect.plain or (dialect.named and ids not in (None, "names")):
        return None  # the native parser reports the line without a number
    return dialect


def _header(form: Format, source: Source, words: bool = False) -> tuple[Header, HeaderLines]:
    assert form.read_header is not None
    lines = _lines(source, words)
    return form.read_header(lines), lines


def _read_text(path: Path, name: str, recipe: Recipe, progress: Progress | None, wide: bool) -> EdgeList:
    """Read a text file in one pass. Returns its edges. ``wide`` allows ids of up to 63 bits that will be
    renumbered."""
    with open_text(path, SUFFIXES) as source:
        header, lines = _header(FORMATS[name], source, recipe.ids == "names")

        def blocks() -> Iterator[Block]:
            unpacked = ends = 0
            for text in lines.rest():
                position = source.position()
                _require_likely(source, unpacked := unpacked + len(text), position)
                if unpacked - len(text) < _LOOKED_AT:
                    ends += text.count(b"\n")
                    if unpacked >= _LOOKED_AT and header.num_vertices is None:
                        _require_room_for(ends, source, recipe.orientation or header.orientation)
                if progress is not None:
                    progress(position, source.size)
                yield Block(text, position / max(source.size, 1))

        if (dialect := _dialect(header, recipe.ids)) is not None:
            columns = read_table(blocks(), source.label, lines.number + 1, dialect)
            columns = replace(columns, orientation=recipe.orientation or header.orientation)
            return replace(edge_list(columns, recipe.ids or FORMATS[name].ids, recipe.weights), format=name)
        _require_room(source, header)
        layout = _layout(source.label, header, recipe, wide)
        parsed = parse_blocks(blocks(), layout, source.label, lines.number + 1)
        _check_counts(source.label, header, parsed)
    return _edge_list(source.label, name, header, parsed, recipe)


def _require_likely(source: Source, unpacked: int, position: int) -> None:
    """Check that a packed file is not a decompression bomb. Raises InputError if it unpacks to far more than
    a graph would."""
    if unpacked > _BOMB_BYTES and unpacked > _BOMB_RATIO * position:
        packed, text = size_text(position), size_text(unpacked)
        raise InputError(f"{source.label}: {packed} of it unpack to {text}: unpack it first if it is a graph")


def _require_room_for(lines: int, source: Source, orientation: str) -> None:
    """Check that the edges of the whole file fit into memory. Raises NotEnoughMemoryError if not.

    The number of edges is estimated from the beginning of the file, where ``lines`` lines have been counted.
    """
    edges = round(lines * source.size / max(source.position(), 1))
    needed = Size(0, edges, mirrored=orientation == "each_once").peak_bytes
    require_bytes(needed, f"{source.label}, by its first blocks: about {edges:,} edges")


def _layout(label: str, header: Header, recipe: Recipe, wide: bool) -> Layout:
    """Returns the syntax of a file's lines, from its header and the options in ``recipe``. Raises InputError
    if weights should be read and the file has none."""
    layout = header.layout
    if recipe.weights == "read":
        if not header.weights or not (layout.entry_values or layout.max_values):
            raise InputError(f"{label}: there are no weights to be read")
        layout = replace(layout, weighted=True)
    return replace(layout, last_id=INT64_MAX) if wide and header.num_vertices is None else layout


def _require_room(source: Source, header: Header) -> None:
    """Check that the graph that a header announces fits into memory. Raises NotEnoughMemoryError if not.

    A header may announce more edges than a file of this size can hold. The lower number is then used.
    """
    if header.num_vertices is not None:
        edges = min(header.num_entries or 0, source.size)  # even packed files have a byte per edge
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
    # A last vertex without neighbours has an empty line. If the file lacks its last line break, that line
    # cannot be seen.
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
    return EdgeList(
        *(ends[0], ends[1], num_vertices, orientation, original),
        format=name,
        weights=parsed.weights,
        weights_unread=parsed.weighted and recipe.weights is None,
    )
