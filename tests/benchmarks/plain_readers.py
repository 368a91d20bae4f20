"""Slow readers of all formats, written after their descriptions, for comparison with the fast readers."""

import csv
import io
import re
from collections.abc import Callable
from xml.etree import ElementTree

import networkx
import numpy as np
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse

from bfsbench.graphs.tables import Dialect, dialect_of

Pairs = list[tuple[int, int]]
NamedPairs = list[tuple[str, str]]

LARGEST = 2**31 - 1
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?")


class RefusedError(Exception):
    """The text does not follow its format."""


def lines_of(text: bytes) -> list[list[bytes]]:
    """Returns the words of every line. Lines end in LF, CR LF or CR, and words in blanks and tabs."""
    return [re.split(rb"[ \t]+", line.strip(b" \t")) for line in re.split(rb"\r\n|\r|\n", text)]


def require(condition: bool, reason: str) -> None:
    if not condition:
        raise RefusedError(reason)


def whole(word: bytes, least: int, most: int) -> int:
    require(re.fullmatch(rb"[0-9]+", word) is not None, f"{word!r} is no number")
    require(len(word.lstrip(b"0")) < 20, f"{word!r} is too large")
    require(least <= int(word) <= most, f"{word!r} is out of range")
    return int(word)


def numbers(words: list[bytes]) -> None:
    for word in words:
        require(NUMBER.fullmatch(word) is not None, f"{word!r} is no number")


def content(lines: list[list[bytes]], comment: bytes) -> list[list[bytes]]:
    """Returns the lines that are neither blank nor comments."""
    return [words for words in lines if words != [b""] and not words[0].startswith(comment)]


def header(lines: list[list[bytes]], comment: bytes) -> tuple[list[str], list[list[bytes]]]:
    """Returns the words of the first line with content, and the lines after it."""
    for number, words in enumerate(lines):
        if words != [b""] and not (comment and words[0].startswith(comment)):
            return b" ".join(words).decode("ascii", "backslashreplace").split(), lines[number + 1 :]
    raise RefusedError("there is no header")


def counts(words: list[str]) -> list[int]:
    require(all(re.fullmatch("[0-9]{1,18}", word) for word in words), f"{words} are no counts")
    found = [int(word) for word in words]
    require(0 < found[0] <= LARGEST, "vertices are out of range")
    return found


def read_edge_lines(text: bytes) -> Pairs | NamedPairs:
    """Returns the edges of a text with one edge per line. The package finds its dialect."""
    lines = re.split(rb"\r\n|\r|\n", text)
    rows = [
        line
        for line in lines
        if line.strip(b" \t") and not line.lstrip(b" \t").startswith((b"#", b"%", b"//"))
    ]
    require(bool(rows), "there are no edges")
    dialect = dialect_of([row.decode("utf-8", "backslashreplace") for row in rows[:2]])
    leading = lines[: lines.index(rows[0])]
    konect = re.match(rb"\s*%\s*bip\b", b"\n".join(leading))
    require(konect is None, "a bipartite file of KONECT")
    if dialect.headings:
        headings = rows.pop(0).decode("utf-8", "backslashreplace")
        require(not dialect.has_number(headings), "headings of columns contain no numbers")
    require(bool(rows), "there are no edges")
    if not dialect.plain:
        return _words(rows, dialect)
    between = rb"[ \t]*%s[ \t]*|[ \t]+" % re.escape(dialect.separator).encode()
    edges: Pairs = []
    for row in rows:
        words = re.split(between if dialect.separator.strip() else rb"[ \t]+", row.strip(b" \t"))
        require(len(words) == dialect.width and len(words) >= 2, f"{words} has not as many as the first")
        edges.append((whole(words[0], 0, 2**63 - 1), whole(words[1], 0, 2**63 - 1)))
        numbers(words[2:])
    said = re.search(rb"# *Nodes: *\d+ +Edges: *(\d{1,18})\b", b"\n".join(leading))
    require(said is None or int(said[1]) == len(edges), "the header announces another number")
    return edges


def _words(rows: list[bytes], dialect: Dialect) -> Pairs | NamedPairs:
    """Returns the edges of lines of words, which Python's csv module splits."""
    try:
        texts = [row.decode().strip(" " if dialect.separator else " \t") for row in rows]
    except UnicodeDecodeError as error:
        raise RefusedError("the text is not UTF-8") from error
    require(not any(text.count('"') % 2 for text in texts), "a quotation mark is not closed")
    require(not any("\ufeff" in text for text in texts), "a byte order mark in the middle")
    if dialect.separator:
        table = list(csv.reader(texts, delimiter=dialect.separator, skipinitialspace=True))
    else:
        table = list(csv.reader([re.sub(r"[ \t]+", " ", text) for text in texts], delimiter=" "))
    edges: NamedPairs = []
    for words in table:
        require(len(words) == len(table[0]), f"{words} has not as many as the first")
        require(max(dialect.source, dialect.target) < len(words), f"{words} is too short")
        pair = (words[dialect.source].strip(" \t"), words[dialect.target].strip(" \t"))
        require(all(pair), f"{words} lacks a vertex")
        edges.append(pair)
    if dialect.named:
        return edges
    return [(whole(u.encode(), 0, 2**63 - 1), whole(v.encode(), 0, 2**63 - 1)) for u, v in edges]


def read_npy(content: bytes) -> Pairs:
    array = np.load(io.BytesIO(content), allow_pickle=False)
    require(array.ndim == 2 and array.shape[1] in (2, 3) and array.dtype.kind in "iu", "no pairs")
    return [(int(row[0]), int(row[1])) for row in array]


def read_npz(content: bytes) -> Pairs:
    entries = scipy.sparse.load_npz(io.BytesIO(content)).tocoo()
    require(entries.shape[0] == entries.shape[1], "not square")
    return list(zip(entries.row.tolist(), entries.col.tolist(), strict=True))


def read_parquet(content: bytes) -> Pairs:
    table = pyarrow.parquet.read_table(io.BytesIO(content))
    return list(zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True))


def read_graphml(content: bytes) -> NamedPairs:
    edges = ElementTree.fromstring(content).iter("{http://graphml.graphdrawing.org/xmlns}edge")
    found: NamedPairs = []
    seen = set()
    for edge in edges:
        pair = (edge.get("source", ""), edge.get("target", ""))
        require(all(pair), "an edge lacks a vertex")
        number = edge.get("id")
        if number is None or (pair, number) not in seen:  # two of one id are one edge
            found.append(pair)
        seen.add((pair, number))
    return found


def read_dimacs9(text: bytes) -> Pairs:
    words, rest = header(lines_of(text), b"c")
    require(len(words) == 4 and words[:2] == ["p", "sp"], "the header is wrong")
    vertices, arcs = counts(words[2:])
    edges: Pairs = []
    for row in content(rest, b"c"):
        require(row[0] == b"a" and len(row) == 4, f"{row} is no arc")
        edges.append((whole(row[1], 1, vertices), whole(row[2], 1, vertices)))
        numbers(row[3:])
    require(0 < len(edges) == arcs, "the header announces another number")
    return edges


def read_mtx(text: bytes) -> Pairs:
    words, rest = header(lines_of(text), b"")
    banner = [word.lower() for word in words]
    require(len(banner) == 5 and banner[:3] == ["%%matrixmarket", "matrix", "coordinate"], "no banner")
    fields = {"pattern": 0, "integer": 1, "real": 1, "complex": 2}
    require(banner[3] in fields, "the field is unknown")
    require(banner[4] in {"general", "symmetric", "skew-symmetric", "hermitian"}, "no such symmetry")
    size, rest = header(rest, b"%")
    require(len(size) == 3, "the sizes are wrong")
    rows, columns, entries = counts(size)
    require(rows == columns, "the matrix is not square")
    edges: Pairs = []
    for row in content(rest, b"%"):
        require(len(row) == 2 + fields[banner[3]], f"{row} is no entry")
        edges.append((whole(row[0], 1, rows), whole(row[1], 1, rows)))
        numbers(row[2:])
    require(0 < len(edges) == entries, "the header announces another number")
    return edges


def read_metis(text: bytes) -> Pairs:
    words, rest = header(lines_of(text), b"%")
    require(2 <= len(words) <= 4, "the header is wrong")
    vertices, edges_said, *more = counts(words)
    flags = words[2].zfill(3) if len(words) > 2 else "000"
    require(re.fullmatch("[01]{3}", flags) is not None, "the format is wrong")
    weights = (more[1] if len(more) > 1 else 1) if flags[1] == "1" else 0
    require(weights <= 1000, "too many weights")
    before, after = int(flags[0]) + weights, int(flags[2])
    edges: Pairs = []
    lines = [row for row in rest if not row[0].startswith(b"%")]
    if lines and lines[-1] == [b""]:
        lines.pop()  # behind the last line break
    for vertex, row in enumerate(lines, 1):
        if row == [b""]:
            continue
        require(vertex <= vertices, "there is a vertex too many")
        require(len(row) >= before, f"{row} is too short")
        numbers(row[:before])
        places = row[before :: 1 + after]
        require((len(row) - before) % (1 + after) == 0, f"{row} is incomplete")
        edges += [(vertex, whole(word, 1, vertices)) for word in places]
        for place, word in enumerate(row[before:]):
            if place % (1 + after):
                numbers([word])
    require(len(lines) + 1 >= vertices, "lines are missing")
    require(0 < len(edges) == 2 * edges_said, "the header announces another number")
    return edges


def read_arrow(content: bytes) -> Pairs:
    table = pyarrow.feather.read_table(io.BytesIO(content))
    return list(zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True))


def read_gml(content: bytes) -> NamedPairs:
    """Returns the edges that NetworkX reads. GML is its format in all but name."""
    graph = networkx.parse_gml(content.decode("ascii").splitlines())
    return [(str(u), str(v)) for u, v in graph.edges()]


READERS: dict[str, Callable[[bytes], Pairs | NamedPairs]] = {
    "snap": read_edge_lines,
    "csv": read_edge_lines,
    "npy": read_npy,
    "npz": read_npz,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "graphml": read_graphml,
    "gml": read_gml,
    "dimacs9": read_dimacs9,
    "mtx": read_mtx,
    "metis": read_metis,
}
