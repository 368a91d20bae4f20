"""Rows of few arcs as records, which need no offsets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bfsbench.backends.base import Buffer, Contract
from bfsbench.paths import CUDA_SRC
from bfsbench.variants.base import DeviceGraph

RECORD = 4
"""Arcs of a record."""
LONGEST_ROW = 2 * RECORD
"""Most arcs of a row that has records."""
MOST_VERTICES = (1 << 30) - 1
"""As column indices have two bits besides the id."""
_ALIGNMENT = 32
"""Alignment of the records, which follow the rows."""
_BLOCK = 256


@dataclass(frozen=True)
class ShortRows:
    """Column indices on the device that tell how many records a row has, and the records."""

    column_indices: Buffer
    """int32: CSR's E ids, each with bit 31 set if the vertex has two records, and bit 30 if it needs none,
    because its row is empty or leads back and nowhere else; from ``first_record`` on four such entries for
    each vertex, and then four more if any row has more than four arcs; -1 where a row has fewer."""
    first_record: int
    milliseconds: float
    """Time of allocating and making them, in ms."""


def longest_row(graph: DeviceGraph) -> int:
    """The largest out-degree."""
    return int(np.diff(graph.host_graph.row_offsets).max(initial=0))


def entries_with_records(num_vertices: int, num_edges: int, longest: int) -> tuple[int, int]:
    """Where the records begin, and the length of the array."""
    first = -(-num_edges // _ALIGNMENT) * _ALIGNMENT
    return first, first + (2 if longest > RECORD else 1) * RECORD * num_vertices


def with_records(graph: DeviceGraph) -> ShortRows:
    """Add records to the column indices of a graph whose rows have at most ``LONGEST_ROW`` arcs.

    Raises DeviceOutOfMemoryError where E + 8 V words do not fit.
    """
    device, host_graph = graph.device, graph.host_graph
    num_vertices, longest = host_graph.num_vertices, graph.once(longest_row)
    first, length = entries_with_records(num_vertices, host_graph.num_edges, longest)
    offsets = host_graph.row_offsets
    macros = {"WIDE_OFFSETS": int(offsets.itemsize == 8), "RECORDS": 1 + (longest > RECORD)}
    contract = Contract(Path(__file__).name, {"offset_t": offsets.dtype})
    module = device.module(CUDA_SRC / "adaptive" / "short_rows.cu", macros, contract=contract)
    kernel = module.kernel("make_records")
    device.synchronize()

    started = time.perf_counter()
    entries = device.empty(length, np.int32)
    launch = kernel.bind(
        **graph.csr, num_vertices=num_vertices, entries=entries, first_record=first, block=_BLOCK
    )
    launch(kernel.resident_blocks(_BLOCK))
    device.synchronize()
    return ShortRows(entries, first, (time.perf_counter() - started) * 1e3)
