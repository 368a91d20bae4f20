"""Writes edges in each text format, packs files in each way, and catches messages that refuse files."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, settings

from bfsbench.graphs.catalogue import DEFAULT, Recipe
from bfsbench.graphs.formats import read_edges
from bfsbench.graphs.graph import EdgeList
from bfsbench.support.errors import UsageError

Edge = tuple[int, int]

EDGES = [(0, 1), (3, 1), (1, 2), (2, 0), (0, 3)]
SHIFTED = [(u + 1, v + 1) for u, v in EDGES]

on_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
"""Hypothesis may use one temporary folder for all examples of a test."""


def snap(edges: list[Edge]) -> str:
    return "# Directed graph\n" + "".join(f"{u}\t{v}\n" for u, v in edges)


def dimacs9(edges: list[Edge], num_vertices: int) -> str:
    arcs = "".join(f"a {u + 1} {v + 1} 7\n" for u, v in edges)
    return f"c a comment\np sp {num_vertices} {len(edges)}\n{arcs}"


def mtx(edges: list[Edge], num_vertices: int, symmetry: str = "general") -> str:
    entries = "".join(f"{u + 1} {v + 1}\n" for u, v in edges)
    size = f"{num_vertices} {num_vertices} {len(edges)}"
    return f"%%MatrixMarket matrix coordinate pattern {symmetry}\n% a comment\n{size}\n{entries}"


def metis(edges: list[Edge], num_vertices: int) -> str:
    """Returns a METIS file of undirected edges without self loops."""
    neighbours: list[list[int]] = [[] for _ in range(num_vertices)]
    for u, v in edges:
        neighbours[u].append(v + 1)
        neighbours[v].append(u + 1)
    rows = "".join(" ".join(map(str, row)) + "\n" for row in neighbours)
    return f"% a comment\n{num_vertices} {len(edges)}\n{rows}"


def tarred(content: bytes, member: str, mode: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        info = tarfile.TarInfo(member)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def zipped(content: bytes, member: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return packed.getvalue()


PACKINGS: dict[str, Callable[[bytes, str], bytes]] = {
    "": lambda content, name: content,
    ".gz": lambda content, name: gzip.compress(content),
    ".bz2": lambda content, name: bz2.compress(content),
    ".xz": lambda content, name: lzma.compress(content),
    ".zip": zipped,
    ".tar": lambda content, name: tarred(content, f"folder/{name}", "w:"),
    ".tar.gz": lambda content, name: tarred(content, f"folder/{name}", "w:gz"),
    ".tgz": lambda content, name: tarred(content, name, "w:gz"),
    ".tar.bz2": lambda content, name: tarred(content, name, "w:bz2"),
    ".tar.xz": lambda content, name: tarred(content, name, "w:xz"),
}


def pairs(edges: EdgeList) -> list[Edge]:
    """Returns the edges with the publisher's ids."""
    ids = np.arange(edges.num_vertices) if edges.original_ids is None else edges.original_ids
    return list(zip(ids[edges.sources].tolist(), ids[edges.targets].tolist(), strict=True))


def matrix(edges: EdgeList) -> scipy.sparse.coo_matrix:
    shape = (edges.num_vertices, edges.num_vertices)
    return scipy.sparse.coo_matrix((np.ones(len(edges.sources)), (edges.sources, edges.targets)), shape)


def complaint(path: Path, recipe: Recipe = DEFAULT) -> str:
    """Returns the message that refuses a file, without the file's folder."""
    with pytest.raises(UsageError) as caught:
        read_edges(path, recipe)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{path.parent}/", "")


def put(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
