"""Reads tables of edges through libraries: text through pandas, and other files through SciPy, NumPy, Arrow
and NetworkX. The separator and the columns of a text file are derived from its first lines."""

from __future__ import annotations

import csv
import importlib
import io
import re
import sys
import zipfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from bfsbench.graphs.blocks import Block
from bfsbench.graphs.graph import Orientation, require_bytes
from bfsbench.graphs.interop import Column, Columns, Links, matrix_columns, names_in, networkx_columns
from bfsbench.support.errors import InputError, UsageError, plural

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

COMMENTS = ("#", "%", "//")
_COMMENT_BYTES = tuple(mark.encode() for mark in COMMENTS)

_ENDS = (
    *(("source", "target"), ("src", "dst"), ("src", "dest"), ("from", "to"), ("fromnodeid", "tonodeid")),
    *(("u", "v"), ("tail", "head"), ("node1", "node2"), ("id1", "id2"), ("numericid1", "numericid2")),
    *(("start", "end"), ("i", "j"), ("fromid", "toid"), ("fromnode", "tonode"), ("sourceid", "targetid")),
)
"""Pairs of headings of the source and target columns, in lower case and without punctuation."""
_WEIGHTS = ("weight", "weights", "w", "length", "distance", "dist", "cost")
_TIMES_THE_TEXT = 21
"""Ratio of the memory that reading a table takes to the size of the table's text, measured on a million edges
of names. The memory includes the text."""
_LARGEST = str(2**63 - 1)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """The syntax of an edge list: its separator, its columns, and whether vertices are numbers or words."""

    separator: str
    """A tab, comma or semicolon that separates words besides blanks. Empty if only blanks separate them."""
    headings: bool
    """True if the first line has the columns' names."""
    source: int
    target: int
    weight: int | None
    """Positions of the source, target and weight columns, counted from 0."""
    width: int
    """Number of words in a line."""
    named: bool
    """True if vertices are words instead of numbers."""
    plain: bool
    """True if the first lines have two ids and then only numbers, without quotation marks. The native parser
    can then read the file."""

    def has_number(self, line: str) -> bool:
        """Returns whether any word of the line is a number."""
        return any(_NUMBER.fullmatch(word) for word in _words(line, self.separator))


def dialect_of(lines: Sequence[str], words: bool = False) -> Dialect:
    """Returns the syntax of an edge list, derived from its first two lines that are not comments.

    If vertices are words (``words``), the first line counts as headings only if it names known columns.
    """
    first, second = [*lines, "", ""][:2]
    separator = next((mark for mark in "\t,;" if mark in first), "")
    if separator == "\t" and any(all(map(_is_id, _words(line, "")[:2])) for line in (first, second) if line):
        separator = ""  # an empty separator stands for any whitespace
    head, data = _words(first, separator), _words(second, separator)
    headings = _are_headings(head, [] if words else data)
    shown = data if headings else head
    source, target, weight = columns_of(head if headings else (), len(shown))
    vertices = [shown[place] if place < len(shown) else "" for place in (source, target)]
    named = words or (bool(shown) and not all(_is_id(word) for word in vertices))
    numbers = all(_NUMBER.fullmatch(word) for word in shown[2:])
    quoted = '"' in (second if headings else first)
    plain = (source, target) == (0, 1) and weight in (None, 2) and numbers and not named and not quoted
    return Dialect(separator, headings, source, target, weight, len(shown), named, plain)


def columns_of(headings: Sequence[str], width: int) -> tuple[int, int, int | None]:
    """Returns the positions of the source, target and weight columns, found by their headings.

    If no headings are known, columns 0 and 1 are the ends of edges, and the next column is the weight. The
    weight's position is None if there is no third column.
    """
    known = _simplified(headings)
    source, target = next(
        ((known.index(a), known.index(b)) for a, b in _ENDS if a in known and b in known), (0, 1)
    )
    weight = next((known.index(word) for word in _WEIGHTS if word in known), None)
    if weight is None:
        weight = next((place for place in range(2, width) if place not in (source, target)), None)
    return source, target, weight


def _simplified(headings: Sequence[str]) -> list[str]:
    """Returns headings in lower case and without punctuation."""
    return [re.sub(r"[\W_]", "", heading.lower()) for heading in headings]


def read_table(blocks: Iterable[Block], label: str, first_line: int, dialect: Dialect) -> Columns:
    """Parse the lines after a header with pandas. Returns the edges as Columns. ``first_line`` is the number
    of the first line, for messages. Raises InputError for a malformed file, and NotEnoughMemoryError if the
    table would not fit into memory."""
    import pandas as pd

    text = b"".join(_checked_lines(blocks, label, first_line, dialect))
    try:
        frame = pd.read_csv(
            io.BytesIO(text),
            sep=dialect.separator or r"\s+",
            header=None,
            dtype=str,
            keep_default_na=False,
            na_filter=False,
            skipinitialspace=True,
        )
    except pd.errors.EmptyDataError as error:
        raise InputError(f"{label}: the file holds no edges") from error
    except (pd.errors.ParserError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"{label}: pandas cannot read it: {' '.join(str(error).split())}") from error
    if max(dialect.source, dialect.target) >= frame.shape[1]:
        raise InputError(f"{label}: a line has {frame.shape[1]} words, no two vertices")
    sources, targets = (_column(frame[place], dialect, label) for place in (dialect.source, dialect.target))
    weight = dialect.weight
    weights = frame[weight].to_numpy(object) if weight is not None and weight < frame.shape[1] else None
    return Columns(label, sources, targets, weights, reader=f"pandas {pd.__version__}")


def _column(series: pd.Series[str], dialect: Dialect, label: str) -> Column:
    """Returns the ends of edges as int64 ids, or as text if vertices are words. Raises InputError for a word
    that is not an id."""
    words = series.str.strip(" \t")
    if dialect.named:
        return words.to_numpy(object)
    digits = words.str.lstrip("0")
    length = digits.str.len()
    large = (length > len(_LARGEST)) | ((length == len(_LARGEST)) & (digits > _LARGEST))
    wrong = np.flatnonzero((large | ~words.str.fullmatch(r"[0-9]+")).to_numpy(bool))
    if len(wrong):
        raise InputError(f"{label}: edge {wrong[0] + 1:,}: '{words[wrong[0]][:40]}' is not a vertex id")
    return words.astype(np.int64).to_numpy()


def _checked_lines(blocks: Iterable[Block], label: str, first_line: int, dialect: Dialect) -> Iterator[bytes]:
    """Yield blocks of whole lines without comments and blank lines.

    Raises InputError for a line that is malformed, is not UTF-8, or has more or fewer words than the first
    line. Raises NotEnoughMemoryError if the table would not fit into memory.
    """
    number, taken = first_line, 0
    for block in blocks:
        whole = (taken + len(block.text)) / max(block.share, 1 / 8)
        require_bytes(int(_TIMES_THE_TEXT * whole - taken), f"{label}: names of vertices")
        taken += len(block.text)
        kept = []
        for line in block.text.split(b"\n")[:-1]:
            bare = line.strip(b" \t")
            if bare and not bare.startswith(_COMMENT_BYTES):
                try:
                    width = len(_words(line.decode(), dialect.separator))
                except UnicodeDecodeError as error:
                    raise InputError(f"{label}:{number}: the line is not UTF-8") from error
                if BOM_UTF8 in line:  # pandas drops it from the first line only
                    raise InputError(f"{label}:{number}: a byte order mark in the middle of the text")
                if line.count(b'"') % 2:
                    raise InputError(f"{label}:{number}: a quotation mark is not closed")
                if width != dialect.width:
                    raise InputError(
                        f"{label}:{number}: the line has {plural(width, 'word')}, the first {dialect.width}"
                    )
                kept.append(line)
            number += 1
        yield b"".join(line + b"\n" for line in kept)


def _words(line: str, separator: str) -> list[str]:
    if not line.strip():
        return []
    if not separator:
        words = re.split(r"[ \t]+", line.strip(" \t"))
        if '"' not in line:
            return words
        line, separator = " ".join(words), " "
    words = line.split(separator)
    if '"' in line:
        with suppress(csv.Error):  # the csv module refuses words of more than 128 KiB
            words = next(csv.reader([line.strip(" ")], delimiter=separator, skipinitialspace=True), [])
    return [word.strip() for word in words]


def _are_headings(first: Sequence[str], second: Sequence[str]) -> bool:
    """Returns whether the words of the first line are headings, given the words of the second line."""
    if all(map(_is_id, first[:2])):
        return False
    known = _simplified(first)
    named = any(a in known and b in known for a, b in _ENDS)
    return named or (len(second) >= 2 and all(map(_is_id, second[:2])))


def _is_id(word: str) -> bool:
    return re.fullmatch(r"[0-9]+", word) is not None


BYTES_AN_EDGE = 8
"""Approximate bytes per edge in a file that a library reads, for memory estimates."""


@contextmanager
def _reading(path: Path, library: str) -> Iterator[None]:
    """Turn any exception in the body of a ``with`` statement, except UsageError, into an InputError with a
    one-line message. ``library`` names the library in the message."""
    try:
        yield
    except UsageError:
        raise
    except MemoryError as error:
        raise InputError(f"{path}: not enough memory for what the file says it holds") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or ' '.join(str(error).split())}") from error
    except Exception as error:
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path}: {library} cannot read it: {what}") from error


def read_npz(path: Path) -> Columns:
    """Returns the edges of a SciPy sparse matrix in an ``.npz`` file, as columns. The vertices
    have names if ``interop.write_matrix`` wrote the file for a graph with names. Raises InputError for a
    malformed file, and NotEnoughMemoryError for a file that is too large.
    """
    import scipy
    import scipy.sparse

    with _reading(path, "SciPy"):
        with zipfile.ZipFile(path) as archive:
            require_bytes(sum(info.file_size for info in archive.infolist()), f"{path}: its arrays")
        matrix = scipy.sparse.load_npz(path)
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        # A file of diagonals may be much smaller than the entries that it stands for.
        require_bytes(16 * int(matrix.nnz), f"{path}: its entries")
        columns = matrix_columns(matrix, str(path), "directed", f"SciPy {scipy.__version__}")
        with np.load(path, allow_pickle=False) as arrays:
            return replace(columns, names=names_in(arrays, int(matrix.shape[0])))


def read_npy(path: Path) -> Columns:
    """Returns the edges in a NumPy array file (``.npy``), as columns. Raises InputError for a malformed file,
    and for an array whose shape is not (edges, 2 or 3)."""
    with _reading(path, "NumPy"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{path}: it is an archive of arrays, not one array: format=npz reads such files")
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise InputError(
            f"{path}: an array of shape {array.shape} is not a list of pairs: it must be (edges, 2 or 3)"
        )
    return replace(Columns(str(path), *array.T), reader=f"NumPy {np.__version__}")


def read_parquet(path: Path) -> Columns:
    """Returns the edges in a Parquet file, as columns. Raises UsageError if PyArrow is not installed,
    InputError for a malformed file, and NotEnoughMemoryError for a file that is too large."""
    pyarrow = _imported(path, "pyarrow.parquet", "tables")
    with _reading(path, "PyArrow"):
        packed = pyarrow.parquet.read_metadata(path)
        require_bytes(8 * packed.num_rows * packed.num_columns, f"{path}: its {packed.num_rows:,} rows")
        return _arrow_columns(path, pyarrow.parquet.read_table(path))


def read_arrow(path: Path) -> Columns:
    """Returns the edges in an Arrow or Feather file, as columns. Raises UsageError if PyArrow is not
    installed, and InputError for a malformed file."""
    pyarrow = _imported(path, "pyarrow.feather", "tables")
    with _reading(path, "PyArrow"):
        return _arrow_columns(path, pyarrow.feather.read_table(path))


def _arrow_columns(path: Path, table: pyarrow.Table) -> Columns:
    import pyarrow

    if table.num_columns < 2:
        raise InputError(f"{path}: a table of {table.num_columns} columns has no sources and targets")
    source, target, weight = columns_of(table.column_names, table.num_columns)
    table.validate(full=True)

    def column(place: int) -> Column:
        values = table.column(place)
        if values.null_count:
            raise InputError(
                f"{path}: column {table.column_names[place]} has {values.null_count:,} empty values"
            )
        return np.asarray(values.to_numpy(zero_copy_only=False))

    weights = None if weight is None else column(weight)
    return Columns(
        *(str(path), column(source), column(target), weights), reader=f"PyArrow {pyarrow.__version__}"
    )


def read_graphml(path: Path) -> Columns:
    """Returns the edges of a GraphML file, as columns. Raises UsageError if NetworkX is not installed, and
    InputError for a malformed file."""
    graphml_orientation(path)  # NetworkX takes any value but "directed" as undirected
    # By default NetworkX drops parallel edges without ids, because their numbers collide with edge ids.
    return _from_networkx(path, lambda nx: nx.read_graphml(path, _node_id, str, force_multigraph=True))


def _node_id(text: str | None) -> str:
    if text is None:
        raise ValueError("a node or an edge lacks an id")
    return text


def read_gml(path: Path) -> Columns:
    """Returns the edges of a GML file, as columns. Raises UsageError if NetworkX is not installed, and
    InputError for a malformed file."""
    return _from_networkx(path, lambda networkx: networkx.read_gml(path))


def _from_networkx(path: Path, read: Callable[..., Links]) -> Columns:
    networkx = _imported(path, "networkx", "networkx")
    with _reading(path, "NetworkX"):
        return networkx_columns(read(networkx), str(path), reader=f"NetworkX {networkx.__version__}")


def graphml_orientation(path: Path) -> Orientation:
    """Returns the Orientation of a GraphML file. Only the beginning of the file is read. Raises InputError
    for a malformed file.
    """
    with _reading(path, "Python"):
        for _, element in ElementTree.iterparse(path, events=("start",)):
            default = element.get("edgedefault")
            if element.tag.rpartition("}")[2] == "graph" and default in ("directed", "undirected"):
                return "directed" if default == "directed" else "each_once"
    raise InputError(f"{path}: no element 'graph' says by 'edgedefault' whether edges are directed")


def gml_orientation(path: Path) -> Orientation:
    """Returns the Orientation of a GML file. Only the beginning of the file is read. Raises InputError if it
    cannot be read.
    """
    with _reading(path, "Python"), path.open("rb") as file:
        return "directed" if re.search(rb"\bdirected\s+1\b", file.read(1 << 16)) else "each_once"


def _imported(path: Path, module: str, extra: str) -> Any:
    """Import ``module``. Returns its top-level package. If the package is not installed, raises UsageError.
    The message names ``extra``, the group of bfsbench's optional dependencies that contains the package."""
    library = module.partition(".")[0]
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{path} is read by {library}, which is not installed: run 'pip install bfsbench[{extra}]'"
        ) from error
    return sys.modules[library]
