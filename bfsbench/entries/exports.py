"""Graphs in the formats of programs with their own readers; written once per graph, untimed.

``mtx``: Matrix Market, pattern, general: a line for every arc, vertices from 1. ``el``: a line for every
arc, vertices from 0. ``sg``: the serialised graph of GAP: a byte for directed, arcs stored and vertices in 64
bits, then offsets in 64 bits and neighbours in 32, of the transposed graph as well where it is directed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from bfsbench import storage

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph

_ARCS_AT_A_TIME = 1 << 20


def write(graph: Graph, path: Path) -> None:
    """Write a graph in the format of the file's suffix. Raises OSError."""
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
