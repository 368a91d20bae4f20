"""A graph in the form that an entry's process reads: a folder of arrays. They are copies, so programs can
write to them.

``arrays.txt`` has one line for each number or array:

    num_vertices 75888
    num_edges 811480
    directed 0
    row_offsets row_offsets.npy int32 75889 128
    column_indices column_indices.npy int32 811480 128
    column_offsets ...
    row_indices ...

The line of an array has its file in the folder, its type, its length, and the byte at which its elements
begin. Elements are little-endian. For a symmetrised graph, ``column_offsets`` and ``row_indices`` name the
files of ``row_offsets`` and ``column_indices``.

Programs with their own readers get the graph in another format. It is written once per graph, and not timed.

- ``mtx`` is Matrix Market, pattern, general: one line per arc, with vertices from 1.
- ``el`` has one line per arc, with vertices from 0.
- ``sg`` is the serialised graph of GAP. One byte says whether the graph is directed. The numbers of arcs and
  vertices follow, in 64 bits each, then the offsets in 64 bits and the neighbours in 32 bits. For a directed
  graph, offsets and neighbours of the transposed graph follow.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from bfsbench.support import storage
from bfsbench.support.paths import cache_dir

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph

_ARCS_AT_A_TIME = 1 << 20


def write_export(graph: Graph, path: Path) -> None:
    """Write a graph in the format that the suffix of the path names. Raises OSError."""
    with storage.replacing(path) as file:
        _WRITERS[path.suffix](graph, file)


def _mtx(graph: Graph, file: BinaryIO) -> None:
    file.write(b"%%MatrixMarket matrix coordinate pattern general\n")
    file.write(f"{graph.num_vertices} {graph.num_vertices} {graph.num_edges}\n".encode())
    _arcs(graph, file, 1)


def _el(graph: Graph, file: BinaryIO) -> None:
    _arcs(graph, file, 0)


def _arcs(graph: Graph, file: BinaryIO, first: int) -> None:
    for start in range(0, graph.num_edges, _ARCS_AT_A_TIME):
        part = slice(start, start + _ARCS_AT_A_TIME)
        pairs = np.stack([graph.edge_sources[part], graph.column_indices[part]], axis=1)
        np.savetxt(file, pairs + first, fmt="%d")


def _sg(graph: Graph, file: BinaryIO) -> None:
    directed = graph.direction == "directed"
    file.write(np.array([directed], np.uint8).tobytes())
    file.write(np.array([graph.num_edges, graph.num_vertices], "<i8").tobytes())
    file.write(graph.row_offsets.astype("<i8").tobytes())
    file.write(np.ascontiguousarray(graph.column_indices, "<i4").tobytes())
    if directed:
        file.write(graph.column_offsets.astype("<i8").tobytes())
        file.write(np.ascontiguousarray(graph.row_indices, "<i4").tobytes())


_WRITERS: dict[str, Callable[[Graph, BinaryIO], None]] = {".mtx": _mtx, ".el": _el, ".sg": _sg}


INDEX = "arrays.txt"
ANSWER = "answer.i32"
ARRAYS = ("row_offsets", "column_indices", "column_offsets", "row_indices")


class GraphFolder:
    """The folder of one graph, for all entries that this process runs. It is removed when it is no longer
    used."""

    def __init__(self, graph: Graph) -> None:
        runs = cache_dir() / "entries" / "runs"
        runs.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(runs)
        self.path = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}@{platform.node()}-", dir=runs))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        self._graph = weakref.ref(graph)
        lines = [f"num_vertices {graph.num_vertices}", f"num_edges {graph.num_edges}"]
        lines.append(f"directed {int(graph.direction == 'directed')}")
        laid: dict[int, str] = {}
        for name in ARRAYS:
            array: npt.NDArray[Any] = getattr(graph, name)
            if id(array) not in laid:
                laid[id(array)] = _lay(array, self.path / f"{name}.npy")
            lines.append(f"{name} {laid[id(array)]}")
        (self.path / INDEX).write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._digests = {file: storage.digest(file) for file in self.path.iterdir()}

    def export(self, name: str) -> Path:
        """Returns the path of the graph in one of the formats mtx, sg and el. The first call writes the
        file."""
        path = self.path / f"graph.{name}"
        graph = self._graph()
        if not path.exists() and graph is not None:
            write_export(graph, path)
            self._digests[path] = storage.digest(path)
        return path

    def written(self) -> list[str]:
        """Returns the names of the files that have changed since bfsbench wrote them."""
        return [file.name for file, digest in self._digests.items() if not _has(file, digest)]

    def new_answer(self, entry: str) -> Path:
        """Returns the path of a new file for the answers of an entry, in a new folder."""
        place = Path(tempfile.mkdtemp(prefix=f"{entry}-", dir=self.path))
        return place / ANSWER


def _lay(array: npt.NDArray[Any], path: Path) -> str:
    """Copy an array into a file of the folder. Returns the rest of the array's line in arrays.txt: file,
    type, length and first byte."""
    np.save(path, array)
    return f"{path.name} {array.dtype.name} {len(array)} {path.stat().st_size - array.nbytes}"


def _has(file: Path, digest: str) -> bool:
    try:
        return storage.digest(file) == digest
    except OSError:
        return False


def _remove_abandoned(runs: Path) -> None:
    """Remove the folders of processes of this host that no longer exist. Other hosts may share the cache, and
    their folders stay."""
    for folder in runs.iterdir():
        owner, _, where = folder.name.partition("@")
        if where.startswith(f"{platform.node()}-") and owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's process is alive
    return True


@dataclass(frozen=True)
class GraphArrays:
    """A graph as an entry in Python gets it. Its arrays are read-only arrays of NumPy or CuPy.

    ``row_offsets`` and ``column_offsets`` are int32 or int64[V+1]. ``column_indices`` and ``row_indices`` are
    int32[E], and ascend within a row. ``directed`` is False if every arc is stored in both directions.
    """

    num_vertices: int
    num_edges: int
    directed: bool
    row_offsets: Any
    column_indices: Any
    column_offsets: Any
    row_indices: Any

    @cached_property
    def edge_sources(self) -> npt.NDArray[np.int32]:
        """The tail of each arc, int32[E], in the order of ``column_indices``. The array is made at the first
        access."""
        degrees = np.diff(self.row_offsets)
        return np.repeat(np.arange(self.num_vertices, dtype=np.int32), degrees)


def read(folder: Path) -> GraphArrays:
    """Read the graph in a folder. Returns it with memory-mapped arrays."""
    facts: dict[str, Any] = {}
    for line in (folder / INDEX).read_text(encoding="utf-8").splitlines():
        name, *said = line.split()
        facts[name] = int(said[0]) if len(said) == 1 else _mapped(folder, *said)
    return GraphArrays(**facts | {"directed": bool(facts["directed"])})


def _mapped(folder: Path, file: str, dtype: str, length: str, start: str) -> npt.NDArray[Any]:
    if int(length) == 0:
        return np.empty(0, dtype)
    mapped = np.memmap(folder / file, dtype, mode="r", offset=int(start), shape=(int(length),))
    return np.asarray(mapped)
