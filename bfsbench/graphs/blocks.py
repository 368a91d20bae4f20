"""Parses text in blocks of whole lines. Native code parses on all cores while further blocks are read and
unpacked."""

import ctypes
import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.archives import Source
from bfsbench.graphs.graph import MAX_VERTICES, Size, require
from bfsbench.support.errors import InputError, size_text
from bfsbench.support.toolchain import library

BLOCK_BYTES = 4 << 20
"""Size in bytes of a block of text. The text and the ids of a block are small enough to stay in the cache of
a core."""

LONGEST_LINE = 256 << 20
"""Limit in bytes of a line. Only a vertex with more than about twenty million neighbours needs a longer
line."""

_Integer = TypeVar("_Integer", bound=np.signedinteger)
IdArray = npt.NDArray[np.int32 | np.int64]
NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Layout:
    """The syntax of the lines that follow the header in a graph file."""

    first_id: int
    """The smallest id in the file. Parsed ids are stored less ``first_id``."""
    last_id: int
    comments: str = "#"
    """A line that starts with one of these characters is skipped. The character ``/`` stands for ``//``."""
    separator: str = ""
    """The separator between the words of an edge's line, besides blanks."""
    tag: str = ""
    """The letter that starts every edge's line."""
    edge_values: int = 0
    """Number of values after the two ids of an edge's line."""
    surplus: str = ""
    """Text that ends the message about a line with too many values."""
    adjacency: bool = False
    """True if line i lists the neighbours of vertex i, instead of one edge per line."""
    row_values: int = 0
    """Number of values before the first neighbour."""
    entry_values: int = 0
    """Number of values after each neighbour."""
    weighted: bool = False
    """True if the first number after an edge or a neighbour is read as its weight."""
    max_rows: int = NO_LIMIT
    """The largest number of lines that may list neighbours."""

    @property
    def dtype(self) -> type[np.int32] | type[np.int64]:
        return np.int32 if self.last_id <= MAX_VERTICES else np.int64


class _Layout(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("first_id", "last_id", "max_rows")),
        *((name, ctypes.c_int32) for name in ("shift", "min_values", "max_values")),
        *((name, ctypes.c_int32) for name in ("row_values", "entry_values", "weighted")),
        ("comments", ctypes.c_char * 4),
        ("tag", ctypes.c_char),
        ("separator", ctypes.c_char),
    )


class _Outcome(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("edges", "lines", "rows", "last_row", "offset")),
        *((name, ctypes.c_int32) for name in ("error", "weights")),
    )


_ABOVE_LAST = 4
_MESSAGES = (
    "",
    "'{word}' is not a vertex id",
    "vertex id {word} is negative",
    "vertex id {word} is below {first}, the smallest allowed",
    "vertex id {word} is above {last}, the largest allowed",
    "the line is incomplete",
    "'{word}' is not a number",
    "'{word}' is one value too many{surplus}",
    "the line starts with '{word}' instead of '{tag}'",
    "the header announces {rows} vertices, this line is one more",
    "weight {word} is not a whole number of 32 bits",
)
"""Messages by error code of parse.cpp."""


class IdTooLargeError(InputError):
    """Raised when an id is above ``Layout.last_id``."""


@dataclass(frozen=True)
class Block:
    """A piece of text that consists of whole lines, each ended by a line break. ``share`` is the share of the
    file that has been read so far, from 0 to 1."""

    text: bytes
    share: float


@dataclass(frozen=True)
class Parsed:
    """Edges in file order, from one block of text or from all blocks. If each line of the file lists the
    neighbours of one vertex, ``rows`` is the number of these lines.
    """

    sources: IdArray
    targets: IdArray
    rows: int
    weights: npt.NDArray[np.int32] | None = None
    """None unless the layout reads weights."""
    weighted: bool = False
    """True if the first number after at least one edge or neighbour is not written as ``1``."""


@cache
def _native() -> ctypes.CDLL:
    native = library("parse")
    layout, outcome = ctypes.POINTER(_Layout), ctypes.POINTER(_Outcome)
    narrow, wide = (np.ctypeslib.ndpointer(dtype, ndim=1, flags="C") for dtype in (np.int32, np.int64))
    for name, ids in (
        ("parse_edges_int32", narrow),
        ("parse_edges_int64", wide),
        ("parse_adjacency", narrow),
    ):
        function = getattr(native, name)
        function.argtypes = [ctypes.c_char_p, ctypes.c_int64, layout, ids, ids, narrow, outcome]
        function.restype = None
    return native


def whole_lines(source: Source, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield blocks of whole lines. Each block has about ``size`` bytes, or consists of a single longer line.

    Every line that is yielded ends in a line feed, whether the file has LF, CR LF or CR. Raises InputError
    for a line of more than LONGEST_LINE bytes.
    """
    parts: list[bytes] = []
    for chunk in _with_line_feeds(source, size):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join((*parts, memoryview(chunk)[:cut]))
            parts = []
        if cut < len(chunk):
            parts.append(chunk[cut:])
            if sum(map(len, parts)) > LONGEST_LINE:
                raise InputError(
                    f"{source.label}: a line is longer than {size_text(LONGEST_LINE)}; is this a graph?"
                )
    if parts:
        yield b"".join((*parts, b"\n"))


def _with_line_feeds(source: Source, size: int) -> Iterator[bytes]:
    """Yield chunks of about ``size`` bytes from the file. Every CR LF and every CR becomes a line feed."""
    held = b""  # a CR ends this chunk, and its line feed may begin the next chunk
    while chunk := source.read(size):
        chunk = held + chunk
        held = b"\r" if chunk.endswith(b"\r") else b""
        if b"\r" in chunk:
            chunk = chunk.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield chunk
    if held:
        yield b"\n"


def parse_blocks(blocks: Iterator[Block], layout: Layout, label: str, first_line: int) -> Parsed:
    """Parse the blocks that follow a header. Returns all their edges.

    ``first_line`` is the line number in the file at which the blocks begin. The arrays are int32, or int64 if
    the layout allows larger ids. Raises InputError with the message "label:line: what is wrong". Raises
    NotEnoughMemoryError if the edges will not fit into memory.
    """
    cores = len(os.sched_getaffinity(0))
    merger = _Merger(layout, label, first_line)
    waiting: deque[tuple[Block, Future[tuple[Parsed, _Outcome]]]] = deque()
    with ThreadPoolExecutor(cores) as pool:
        for block in blocks:
            waiting.append((block, pool.submit(_parse, block.text, layout)))
            if len(waiting) > cores + 1:
                merger.add(*waiting.popleft())
        while waiting:
            merger.add(*waiting.popleft())
    return merger.merged()


def _parse(text: bytes, layout: Layout) -> tuple[Parsed, _Outcome]:
    # The shortest line of an edge is "0 1\n", the shortest mention of a neighbour "1 ".
    room = len(text) // (2 if layout.adjacency else 4) + 1
    sources, targets = np.empty(room, layout.dtype), np.empty(room, layout.dtype)
    weights = np.empty(room if layout.weighted else 0, np.int32)
    name = "parse_adjacency" if layout.adjacency else f"parse_edges_{layout.dtype.__name__}"
    function = getattr(_native(), name)
    copied = ("first_id", "last_id", "max_rows", "row_values", "entry_values", "weighted")
    values = {name: getattr(layout, name) for name in copied}
    values |= {name: getattr(layout, name).encode() or b"\0" for name in ("comments", "tag", "separator")}
    syntax = _Layout(shift=True, min_values=layout.edge_values, max_values=layout.edge_values, **values)
    outcome = _Outcome()
    function(text, len(text), syntax, sources, targets, weights, outcome)
    found = slice(outcome.edges)
    read = weights[found] if layout.weighted else None
    return Parsed(sources[found], targets[found], outcome.rows, read, outcome.weights != 0), outcome


class _Merger:
    """Joins the parsed edges of blocks in file order.

    It estimates the total number of edges from the share of the file that has been read, and allocates arrays
    of this size. Arrays that are too large cost nothing, because the system allocates only memory pages that
    are written. If the estimate was too low, the edges are copied to larger arrays. So the text need not be
    read a second time to count the edges.
    """

    def __init__(self, layout: Layout, label: str, first_line: int) -> None:
        self.layout = layout
        self.label = label
        self.line = first_line
        self.rows = 0
        self.count = 0
        self.sources: IdArray = np.empty(0, layout.dtype)
        self.targets: IdArray = np.empty(0, layout.dtype)
        self.weights: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self.weighted = False

    def add(self, block: Block, future: Future[tuple[Parsed, _Outcome]]) -> None:
        """Wait for the parsed edges of the next block, and append them to the edges of earlier blocks. Raises
        InputError for a malformed line, and NotEnoughMemoryError if the edges will not fit into memory.
        """
        parsed, outcome = future.result()
        if self.rows + outcome.last_row > self.layout.max_rows and not outcome.error:
            # The block was parsed before the number of earlier rows was known. Parse it again with this
            # number, so that the error names the right line.
            limited = replace(self.layout, max_rows=self.layout.max_rows - self.rows)
            _, outcome = _parse(block.text, limited)
        if outcome.error:
            raise self._error(block, outcome)
        end = self.count + len(parsed.sources)
        if end > len(self.sources):
            estimate = 1.01 * end / max(block.share, 1 / 8)
            room = max(int(estimate), end + len(self.sources) // 4)
            held = (self.sources.itemsize + self.targets.itemsize) * self.count
            require(Size(0, end if block.share < 1 / 8 else int(estimate)), self.label, held)
            self.sources = _grown(self.sources, self.count, room)
            self.targets = _grown(self.targets, self.count, room)
            if self.layout.weighted:
                self.weights = _grown(self.weights, self.count, room)
        if end > self.count:  # blank lines after the last vertex could raise self.rows above int32
            np.add(parsed.sources, self.rows, out=self.sources[self.count : end])
        self.targets[self.count : end] = parsed.targets
        if parsed.weights is not None:
            self.weights[self.count : end] = parsed.weights
        self.weighted |= parsed.weighted
        self.count = end
        self.rows += parsed.rows
        self.line += outcome.lines

    def merged(self) -> Parsed:
        found = slice(self.count)
        weights = self.weights[found] if self.layout.weighted else None
        return Parsed(self.sources[found], self.targets[found], self.rows, weights, self.weighted)

    def _error(self, block: Block, outcome: _Outcome) -> InputError:
        text = block.text[outcome.offset : outcome.offset + 40]
        words = re.split(rb"[\s%s]" % re.escape(self.layout.separator).encode(), text, maxsplit=1)
        message = _MESSAGES[outcome.error].format(
            word=words[0].decode("ascii", "backslashreplace"),
            first=self.layout.first_id,
            last=self.layout.last_id,
            tag=self.layout.tag,
            rows=self.layout.max_rows,
            surplus=self.layout.surplus,
        )
        kind = IdTooLargeError if outcome.error == _ABOVE_LAST else InputError
        return kind(f"{self.label}:{self.line + outcome.lines - 1}: {message}")


def _grown(array: npt.NDArray[_Integer], used: int, room: int) -> npt.NDArray[_Integer]:
    larger = np.empty(room, array.dtype)
    larger[:used] = array[:used]
    return larger
