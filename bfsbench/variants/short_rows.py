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


def with_records(graph: DeviceGraph) -> ShortRows:
    """Add records to the column indices of a graph whose rows have at most ``LONGEST_ROW`` arcs, with offsets
    of 32 bits and fewer than 2^27 vertices, so that ids leave two bits and places in the array fit an int32.

    Raises DeviceOutOfMemoryError where E + 8 V words do not fit.
    """
    device, host_graph = graph.device, graph.host_graph
    num_vertices, longest = host_graph.num_vertices, graph.once(longest_row)
    first, records = -(-host_graph.num_edges // _ALIGNMENT) * _ALIGNMENT, 1 + (longest > RECORD)
    macros = {"WIDE_OFFSETS": 0, "RECORD": RECORD, "RECORDS": records}
    contract = Contract(Path(__file__).name, {"offset_t": host_graph.row_offsets.dtype})
    module = device.module(CUDA_SRC / "adaptive" / "short_rows.cu", macros, contract=contract)
    kernel = module.kernel("make_records")
    device.synchronize()

    started = time.perf_counter()
    entries = device.empty(first + records * RECORD * num_vertices, np.int32)
    launch = kernel.bind(
        **graph.csr, num_vertices=num_vertices, entries=entries, first_record=first, block=_BLOCK
    )
    launch(kernel.resident_blocks(_BLOCK))
    device.synchronize()
    return ShortRows(entries, first, (time.perf_counter() - started) * 1e3)
