"""Stores converted graphs on disk and maps them into memory.

A graph is a folder of ``.npy`` arrays and ``meta.json``. It is written under a temporary name and then
renamed, so that a folder with its final name is complete. The process that builds it holds a lock in the
temporary folder. If a temporary folder is not locked, its process was killed. Files are not flushed to the
disk. If a power failure truncates a graph, it does not match the digests in meta.json and is built again.
"""

import hashlib
import logging
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.convert import build_graph, edges_listed
from bfsbench.graphs.graph import Direction, EdgeList, Graph, VertexNames
from bfsbench.graphs.statistics import describe
from bfsbench.support import storage
from bfsbench.support.errors import BfsbenchError, InputError
from bfsbench.support.paths import cache_dir

FORMAT_VERSION = 2
"""Version of the folder's layout and of the conversion. Increase it after a change of the layout, and after a
change of the conversion that gives other arrays for a recipe."""

_LOG = logging.getLogger(__name__)

_META = "meta.json"
_LOCK = ".lock"
"""The name of a lock's file. Folders are created, renamed and removed while the lock beside them is held."""
_BUILDING = ".building-"
_SHARED = ("column_offsets", "row_indices")
"""The arrays that a symmetrised graph shares with its CSR form."""
_NAMES = ("name_offsets", "name_text")
"""The arrays of :class:`VertexNames`."""
_ARRAYS = ("row_offsets", "column_indices", "edge_sources", *_SHARED, "original_ids", "weights")
_FACTS = ("name", "source_checksum", "direction", "checksum", "statistics", "weights_unread", "reader")
"""The fields of :class:`Graph` that meta.json has."""


class _Meta(msgspec.Struct, frozen=True):
    """The content of meta.json, which describes the arrays beside it."""

    version: int
    name: str
    recipe: dict[str, str | bool | None]
    source_checksum: str
    direction: Direction
    checksum: str
    digests: dict[str, str]
    """Digests of the arrays' files. See :func:`bfsbench.support.storage.digest`."""
    statistics: dict[str, int | float]
    weights_unread: bool = False
    reader: str = ""


_Wanted = tuple[int, str, dict[str, Any], str]
"""Version, name, recipe and source checksum of a stored graph."""


class _UnusableError(Exception):
    """Raised if a folder does not hold the requested graph. The error's text says why."""


class _OutdatedError(_UnusableError):
    """Raised when a folder is undamaged but holds a graph of another format version or source."""


class _Sealed(msgspec.Struct, frozen=True):
    """The outer structure of meta.json: the description of a graph as JSON text, and the SHA-256 of this
    text."""

    seal: str
    meta: msgspec.Raw


def readable(name: str) -> str:
    """Returns the readable part of the name of a graph's folder."""
    return re.sub(r"[^A-Za-z0-9.=-]+", "_", name)[-60:].strip("_.")


class GraphStore:
    """Stores converted graphs in one folder. A graph is found by its name and the options for reading it.
    Several processes may use the folder at the same time."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = cache_dir() / "graphs" if root is None else root

    def folder(self, name: str, recipe: Recipe) -> Path:
        """Returns the folder of a graph. Its name is readable, and a hash of ``name`` and ``recipe`` makes it
        unique."""
        key = hashlib.sha256(msgspec.json.encode([name, asdict(recipe)])).hexdigest()[:16]
        return self.root / f"{readable(name)}-{key}"

    def open(self, name: str, recipe: Recipe, source_checksum: str, *, check: bool = True) -> Graph | None:
        """Returns the stored graph, with memory-mapped and read-only arrays, or None if there is none.

        The stored graph is removed if it is damaged, has another format version, or was made from another
        input file. The result is then None, and damage is logged. With ``check=False``, damage of the arrays
        is not detected. Use ``check=False`` to list graphs, or if a parent process has checked the arrays.
        """
        folder = self.folder(name, recipe)
        wanted = (FORMAT_VERSION, name, asdict(recipe), source_checksum)
        with suppress(_UnusableError):
            return _load(folder, wanted, check) if folder.exists() else None
        # In a read-only cache, an unusable folder cannot be removed, but it is not used either.
        with suppress(OSError), storage.locked(self.root / _LOCK):
            try:
                # Before the lock was taken, another process may have removed or replaced the folder.
                return _load(folder, wanted, check) if folder.exists() else None
            except _UnusableError as error:
                if not isinstance(error, _OutdatedError):
                    _LOG.warning(
                        "bfsbench: graph %s in the cache is damaged: %s; making it again", name, error
                    )
                shutil.rmtree(folder, ignore_errors=True)
        return None

    def build(
        self,
        name: str,
        recipe: Recipe,
        edges: Callable[[], EdgeList],
        source_checksum: str,
        expect: tuple[int | None, int | None] = (None, None),
    ) -> Graph:
        """Convert and store a graph. Returns the graph with memory-mapped arrays. A graph that was stored
        earlier under this name and recipe is replaced.

        ``expect`` contains the published numbers of vertices and edges. A number that is not published is
        None. Edges are counted in the source, before any are dropped or added. Raises InputError if the
        numbers differ or the conversion fails. Raises NotEnoughMemoryError if the graph does not fit into
        memory. Raises BfsbenchError if the cache cannot be written. No files are left after an error.
        """
        # No variable holds the edge list, so that the conversion can free it half-way.
        graph = build_graph(_as_published(edges(), name, expect), name, recipe)
        graph = replace(graph, source_checksum=source_checksum, statistics=describe(graph))
        wanted = (FORMAT_VERSION, name, asdict(recipe), source_checksum)
        try:
            with self._building() as folder:
                _save(folder, graph, recipe)
                # The graph is mapped before it is renamed, so that another process may replace it safely.
                stored = _load(folder, wanted, check=True)
                with storage.locked(self.root / _LOCK):
                    (folder / _LOCK).unlink()
                    storage.publish(folder, self.folder(name, recipe))
        except _UnusableError as error:
            raise BfsbenchError(f"graph {name} was written to {self.root}, but {error}") from error
        except OSError as error:
            raise BfsbenchError(
                f"cannot store graph {name} in {self.root}: {error.strerror}; {storage.cache_remedy(error)}"
            ) from error
        return stored

    @contextmanager
    def _building(self) -> Iterator[Path]:
        """Yield a new locked folder for a graph. At the end the folder is removed, unless it has been renamed
        to its final name.

        Folders that were left behind by killed processes are removed first.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            with storage.locked(self.root / _LOCK):
                for left in self.root.glob(f"{_BUILDING}*"):
                    with (
                        suppress(BlockingIOError, FileNotFoundError),
                        storage.locked(left / _LOCK, wait=False),
                    ):
                        shutil.rmtree(left, ignore_errors=True)
                name = f"{_BUILDING}{secrets.token_hex(8)}"
                folder = stack.enter_context(storage.unfinished(self.root / name))
                folder.mkdir()
                stack.enter_context(storage.locked(folder / _LOCK))
            yield folder


def _as_published(edges: EdgeList, name: str, expect: tuple[int | None, int | None]) -> EdgeList:
    found = (edges.num_vertices, edges_listed(edges))
    for what, published, count in zip(("vertices", "edges"), expect, found, strict=True):
        if published is not None and published != count:
            raise InputError(
                f"{name}: {published:,} {what} are published, the source has {count:,}; "
                "fetch it again, or correct the catalogue"
            )
    return edges


def _save(folder: Path, graph: Graph, recipe: Recipe) -> None:
    shared = _SHARED if graph.direction == "symmetrised" else ()
    arrays = {name: getattr(graph, name) for name in _ARRAYS if name not in shared}
    if graph.names is not None:
        arrays |= {_NAMES[0]: graph.names.offsets, _NAMES[1]: graph.names.text}
    digests = {
        name: _write(folder / f"{name}.npy", array) for name, array in arrays.items() if array is not None
    }
    facts = {name: getattr(graph, name) for name in _FACTS}
    meta = _Meta(version=FORMAT_VERSION, recipe=asdict(recipe), digests=digests, **facts)
    text = msgspec.json.format(msgspec.json.encode(meta))
    sealed = _Sealed(hashlib.sha256(text).hexdigest(), msgspec.Raw(text))
    (folder / _META).write_bytes(msgspec.json.encode(sealed))


def _write(path: Path, array: npt.NDArray[Any]) -> str:
    """Write an array to a ``.npy`` file. Returns the file's digest. Unlike numpy.save, the function raises
    errors that say why writing failed."""
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)
    return storage.digest(path)


def _load(folder: Path, wanted: _Wanted, check: bool) -> Graph:
    """Returns the graph in a folder, memory-mapped. Raises _UnusableError if the folder holds another graph
    or is damaged.

    With ``check``, every file is read once. If the operating system has cached the files, this takes 2 ms for
    0.8 M arcs and 27 ms for 34 M arcs.
    """
    meta = _read_meta(folder / _META)
    if (meta.version, meta.name, meta.recipe, meta.source_checksum) != wanted:
        raise _OutdatedError("it is of another version or source")
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, digest in meta.digests.items():
        file = folder / f"{name}.npy"
        try:
            if check and storage.digest(file) != digest:
                raise _UnusableError(f"{file.name} is not what was written")
            arrays[name] = np.asarray(np.load(file, mmap_mode="r"))
        except (OSError, ValueError, EOFError) as error:
            raise _UnusableError(f"{file.name} cannot be read") from error
    if meta.direction == "symmetrised":
        arrays |= {"column_offsets": arrays["row_offsets"], "row_indices": arrays["column_indices"]}
    names = VertexNames(*(arrays.pop(part) for part in _NAMES)) if _NAMES[0] in arrays else None
    fields: dict[str, Any] = {**arrays, **{name: getattr(meta, name) for name in _FACTS}}
    return Graph(names=names, **fields)


def _read_meta(path: Path) -> _Meta:
    """Returns the content of meta.json. Raises _UnusableError if the file is damaged or of another
    version."""
    try:
        sealed = msgspec.json.decode(path.read_bytes(), type=_Sealed)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise _UnusableError(f"{path.name} cannot be read") from error
    if hashlib.sha256(sealed.meta).hexdigest() != sealed.seal:
        raise _UnusableError(f"{path.name} is not what was written")
    try:
        return msgspec.json.decode(sealed.meta, type=_Meta)
    except (ValueError, msgspec.MsgspecError) as error:
        raise _OutdatedError(f"{path.name} is of another version") from error
