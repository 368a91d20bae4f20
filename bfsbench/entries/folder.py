"""Writes a graph into a folder for the programs of entries, and reads their answers.

The folder has one file per array of the graph. The files are copies, so that programs cannot change the graph
in the cache through them. The file ``arrays.txt`` has one line per number or array:

    num_vertices 75888
    num_edges 811480
    directed 0
    row_offsets row_offsets.npy int32 75889 128
    column_indices column_indices.npy int32 811480 128
    column_offsets ...
    row_indices ...

The line of an array has its name, its file, its type, its length, and the byte at which its elements begin.
Elements are little-endian. If every arc is stored in both directions, ``column_offsets`` and ``row_indices``
name the files of ``row_offsets`` and ``column_indices``.

Programs that read graphs themselves get the graph in another format. Each format is written once per graph,
outside of timed parts.

- ``mtx`` is a Matrix Market file with the header words ``pattern`` and ``general``. It has one line per arc,
  and vertices count from 1.
- ``el`` has one line per arc, and vertices count from 0.
- ``sg`` is the serialised graph of GAP. One byte says whether the graph is directed. The numbers of arcs and
  vertices follow, in 64 bits each. The offsets follow in 64 bits, and the neighbours in 32 bits. For a
  directed graph, offsets and neighbours of the transposed graph follow.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from bfsbench.programs import POISON
from bfsbench.support import storage
from bfsbench.support.errors import WrongResultError
from bfsbench.support.paths import cache_dir

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph

_ARCS_AT_A_TIME = 1 << 20


def write_export(graph: Graph, path: Path) -> None:
    """Write a graph to a file. The suffix of the path selects the format: mtx, el or sg. Raises OSError if
    the file cannot be written."""
    with storage.replacing(path) as file:
        if path.suffix == ".sg":
            _write_serialised(graph, file)
            return
        if path.suffix == ".mtx":
            file.write(b"%%MatrixMarket matrix coordinate pattern general\n")
            file.write(f"{graph.num_vertices} {graph.num_vertices} {graph.num_edges}\n".encode())
        first_vertex = 1 if path.suffix == ".mtx" else 0
        for start in range(0, graph.num_edges, _ARCS_AT_A_TIME):
            part = slice(start, start + _ARCS_AT_A_TIME)
            pairs = np.stack([graph.edge_sources[part], graph.column_indices[part]], axis=1)
            np.savetxt(file, pairs + first_vertex, fmt="%d")


def _write_serialised(graph: Graph, file: BinaryIO) -> None:
    directed = graph.direction == "directed"
    file.write(np.array([directed], np.uint8).tobytes())
    file.write(np.array([graph.num_edges, graph.num_vertices], "<i8").tobytes())
    matrices = [(graph.row_offsets, graph.column_indices)]
    if directed:
        matrices.append((graph.column_offsets, graph.row_indices))
    for offsets, neighbours in matrices:
        file.write(offsets.astype("<i8").tobytes())
        file.write(np.ascontiguousarray(neighbours, "<i4").tobytes())


INDEX = "arrays.txt"
ARRAYS = ("row_offsets", "column_indices", "column_offsets", "row_indices")


class GraphFolder:
    """A temporary folder with the files of one graph. All entries that search this graph share it. The folder
    is removed when this object is deleted."""

    def __init__(self, graph: Graph) -> None:
        runs = cache_dir() / "entries" / "runs"
        runs.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(runs)
        self.path = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}@{platform.node()}-", dir=runs))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        self._graph = weakref.ref(graph)
        self._num_vertices = graph.num_vertices
        lines = [
            f"num_vertices {graph.num_vertices}",
            f"num_edges {graph.num_edges}",
            f"directed {int(graph.direction == 'directed')}",
        ]
        files: dict[int, Path] = {}
        for name in ARRAYS:
            array: npt.NDArray[Any] = getattr(graph, name)
            if id(array) not in files:
                files[id(array)] = self.path / f"{name}.npy"
                np.save(files[id(array)], array)
            file = files[id(array)]
            first_byte = file.stat().st_size - array.nbytes
            lines.append(f"{name} {file.name} {array.dtype.name} {len(array)} {first_byte}")
        (self.path / INDEX).write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._digests = {file: storage.digest(file) for file in self.path.iterdir()}

    def export(self, name: str) -> Path:
        """Returns the path of the graph in the format mtx, sg or el. The first call writes the file."""
        path = self.path / f"graph.{name}"
        graph = self._graph()
        if not path.exists() and graph is not None:
            write_export(graph, path)
            self._digests[path] = storage.digest(path)
        return path

    def written(self) -> list[str]:
        """Returns the names of the graph's files whose content has changed since bfsbench wrote them. Such a
        file shows that the program wrote into its graph."""
        return [file.name for file, digest in self._digests.items() if not _has(file, digest)]

    def new_answer(self, entry: str) -> Answer:
        """Make a new folder for the answers of an entry. Returns an object that reads and overwrites the
        answer file in this folder."""
        folder = Path(tempfile.mkdtemp(prefix=f"{entry}-", dir=self.path))
        return Answer(folder / "answer.i32", self._num_vertices)


class Answer:
    """The file into which an entry writes its answers. bfsbench overwrites the file before each search, and
    checks it after each search."""

    def __init__(self, path: Path, num_vertices: int) -> None:
        self.path = path
        self._num_vertices = num_vertices
        self._digest = ""
        """Digest of the file when ``read`` first read the current answer. It is empty if the answer has not
        been read."""

    def require_unchanged(self) -> None:
        """Raise WrongResultError if the file has changed since ``read`` first read the current answer."""
        if self._digest and not _has(self.path, self._digest):
            raise WrongResultError("it wrote its answer after it had replied")

    def poison(self) -> None:
        """Overwrite the answer with a value that no search writes."""
        self._overwrite(np.full(self._num_vertices, POISON, "<i4"))
        self._digest = ""

    def restore(self, values: npt.NDArray[np.int32]) -> None:
        """Write back an answer, int32[V], that ``read`` has returned."""
        self._overwrite(values.astype("<i4", copy=False))
        self._digest = storage.digest(self.path)

    def _overwrite(self, values: npt.NDArray[np.int32]) -> None:
        """Overwrite the file in place. It is not replaced, because the program may have mapped it into
        memory."""
        with self.path.open("r+b" if self.path.exists() else "w+b") as file:
            values.tofile(file)
            file.truncate(4 * self._num_vertices)

    def read(self) -> npt.NDArray[np.int32]:
        """Returns the answer of the last search, int32[V]. Raises WrongResultError if the file has a wrong
        size, or if the program has not written all values."""
        num_vertices = self._num_vertices
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != 4 * num_vertices:
            beyond = "wrote beyond its answer: " if size > 4 * num_vertices else ""
            raise WrongResultError(f"it {beyond}left {size:,} bytes, not {4 * num_vertices:,}")
        found = np.fromfile(self.path, "<i4").astype(np.int32, copy=False)
        if unwritten := int(np.count_nonzero(found == POISON)):
            raise WrongResultError(f"it left {unwritten:,} of {num_vertices:,} answers unwritten")
        self._digest = self._digest or storage.digest(self.path)
        return found


def _has(file: Path, digest: str) -> bool:
    """Returns whether a file can be read and has the given digest."""
    try:
        return storage.digest(file) == digest
    except OSError:
        return False


def _remove_abandoned(runs: Path) -> None:
    """Remove the folders of processes that ran on this host and have ended. Folders of other hosts stay,
    because hosts may share the cache."""
    for folder in runs.iterdir():
        owner, _, where = folder.name.partition("@")
        is_ours = where.startswith(f"{platform.node()}-") and owner.isdigit()
        if is_ours and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class GraphArrays:
    """A graph as it is passed to an entry in Python. Its arrays are read-only NumPy arrays, or CuPy arrays,
    to which the entry must not write.

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
        """The tail of each arc, int32[E], in the order of ``column_indices``. The array is computed when it
        is first used."""
        degrees = np.diff(self.row_offsets)
        return np.repeat(np.arange(self.num_vertices, dtype=np.int32), degrees)


def read(folder: Path) -> GraphArrays:
    """Read the graph in a folder that bfsbench has written. Returns the graph with memory-mapped arrays."""
    facts: dict[str, Any] = {}
    for line in (folder / INDEX).read_text(encoding="utf-8").splitlines():
        name, said, *rest = line.split()
        facts[name] = np.asarray(np.load(folder / said, mmap_mode="r")) if rest else int(said)
    return GraphArrays(**facts | {"directed": bool(facts["directed"])})
