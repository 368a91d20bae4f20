"""Reads graph formats through libraries: SciPy, NumPy, Arrow and NetworkX."""

from __future__ import annotations

import importlib
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from bfsbench.graphs.delimited import columns_of
from bfsbench.graphs.graph import Orientation
from bfsbench.graphs.interop import Column, Columns, Links, matrix_columns, networkx_columns
from bfsbench.graphs.memory import require_bytes
from bfsbench.support.errors import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow

BYTES_AN_EDGE = 8
"""Approximate bytes per edge in a file that a library reads, for memory estimates."""


@dataclass(frozen=True)
class Table:
    """A graph format that a library reads as columns of edges."""

    read: Callable[[Path], Columns]
    """Reads the file. Raises InputError, and UsageError if the library is missing."""
    library: str
    orientation: Callable[[Path], Orientation] = lambda path: "directed"
    """Returns the orientation of the edges from the beginning of the file. Raises InputError."""


@contextmanager
def _reading(path: Path, library: str) -> Iterator[None]:
    """Turn a library's exceptions in the body of a ``with`` statement into InputErrors of one line.
    ``library`` names the library in the message. Libraries raise exceptions of many classes for malformed
    files."""
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


def _read_npz(path: Path) -> Columns:
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
        return matrix_columns(matrix, str(path), "directed", f"SciPy {scipy.__version__}")


def _read_npy(path: Path) -> Columns:
    with _reading(path, "NumPy"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{path}: it is an archive of arrays, not one array: format=npz reads such files")
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise InputError(
            f"{path}: an array of shape {array.shape} is no list of pairs: it must be (edges, 2 or 3)"
        )
    return replace(Columns(str(path), *array.T), reader=f"NumPy {np.__version__}")


def _read_parquet(path: Path) -> Columns:
    pyarrow = _imported(path, "pyarrow.parquet", "tables")
    with _reading(path, "PyArrow"):
        packed = pyarrow.parquet.read_metadata(path)
        require_bytes(8 * packed.num_rows * packed.num_columns, f"{path}: its {packed.num_rows:,} rows")
        return _arrow_columns(path, pyarrow.parquet.read_table(path))


def _read_arrow(path: Path) -> Columns:
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


def _read_graphml(path: Path) -> Columns:
    _graphml_orientation(path)  # NetworkX takes any value but "directed" as undirected
    # By default NetworkX drops parallel edges without ids, because their numbers collide with edge ids.
    return _from_networkx(path, lambda nx: nx.read_graphml(path, _node_id, str, force_multigraph=True))


def _node_id(text: str | None) -> str:
    if text is None:
        raise ValueError("a node or an edge lacks an id")
    return text


def _read_gml(path: Path) -> Columns:
    return _from_networkx(path, lambda networkx: networkx.read_gml(path))


def _from_networkx(path: Path, read: Callable[..., Links]) -> Columns:
    networkx = _imported(path, "networkx", "networkx")
    with _reading(path, "NetworkX"):
        return networkx_columns(read(networkx), str(path), reader=f"NetworkX {networkx.__version__}")


def _graphml_orientation(path: Path) -> Orientation:
    with _reading(path, "Python"):
        for _, element in ElementTree.iterparse(path, events=("start",)):
            default = element.get("edgedefault")
            if element.tag.rpartition("}")[2] == "graph" and default in ("directed", "undirected"):
                return "directed" if default == "directed" else "each_once"
    raise InputError(f"{path}: no element 'graph' says by 'edgedefault' whether edges are directed")


def _gml_orientation(path: Path) -> Orientation:
    with _reading(path, "Python"), path.open("rb") as file:
        return "directed" if re.search(rb"\bdirected\s+1\b", file.read(1 << 16)) else "each_once"


def _imported(path: Path, module: str, extra: str) -> Any:
    """Import a module of a library. Returns the library. Raises UsageError if it is not installed; ``extra``
    names the extra of this package that installs it."""
    library = module.partition(".")[0]
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{path} is read by {library}, which is not installed: run 'pip install bfsbench[{extra}]'"
        ) from error
    return sys.modules[library]


NPZ = Table(_read_npz, "SciPy")
NPY = Table(_read_npy, "NumPy")
PARQUET = Table(_read_parquet, "PyArrow")
ARROW = Table(_read_arrow, "PyArrow")
GRAPHML = Table(_read_graphml, "NetworkX", _graphml_orientation)
GML = Table(_read_gml, "NetworkX", _gml_orientation)
