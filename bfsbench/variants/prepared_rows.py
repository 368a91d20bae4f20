"""Rows that ``adaptive`` has the device prepare: in-neighbours in a better order, and short rows as records.

In-neighbours are ordered so that a search for a parent ends early. Records need no offsets.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bfsbench.backends.base import Buffer, Contract
from bfsbench.support.paths import CUDA_SRC
from bfsbench.variants.base import DeviceGraph

LIKELY_ALIGNMENT = 32
"""Alignment of the likely parents, which follow the rows."""
_LONG_ROW = 1024
"""Number of arcs from which a row is ordered by a block instead of a warp."""
_SMALL_BLOCK, _LARGE_BLOCK = 256, 1024


@dataclass(frozen=True)
class LikelyParents:
    """In-neighbours on the device in order of falling out-degree, and the first of each vertex."""

    row_indices: Buffer
    """int32: CSC's E ids, each row by the number of binary digits of its vertices' out-degrees, the longest
    first; then, from a multiple of 32 on, the V likely parents: for each vertex the first of its row, or the
    vertex itself where that is empty."""
    milliseconds: float
    """Time of allocating and ordering, in ms."""


def likely_parents_first(graph: DeviceGraph) -> LikelyParents:
    """Order the in-neighbours of a graph, whose own arrays stay as they are.

    Raises DeviceOutOfMemoryError where E + V further words do not fit.
    """
    device, host_graph = graph.device, graph.host_graph
    offsets, num_vertices = host_graph.column_offsets, host_graph.num_vertices
    macros = {"WIDE_OFFSETS": int(offsets.itemsize == 8), "LONG_ROW": _LONG_ROW}
    contract = Contract(Path(__file__).name, {"offset_t": offsets.dtype})
    module = device.module(CUDA_SRC / "adaptive" / "likely_parents.cu", macros, contract=contract)
    order_rows, order_long_rows = module.kernel("order_rows"), module.kernel("order_long_rows")
    device.synchronize()

    started = time.perf_counter()
    first_of = -(-int(offsets[-1]) // LIKELY_ALIGNMENT) * LIKELY_ALIGNMENT
    ordered = device.empty(first_of + num_vertices, np.int32)
    long_rows = device.empty(1 + host_graph.num_edges // _LONG_ROW, np.int32)
    long_rows.fill(0, count=1)
    for kernel, block in ((order_rows, _SMALL_BLOCK), (order_long_rows, _LARGE_BLOCK)):
        launch = kernel.bind(
            row_offsets=graph.row_offsets,
            **graph.csc,
            num_vertices=num_vertices,
            ordered=ordered,
            first_of=first_of,
            long_rows=long_rows,
            block=block,
        )
        launch(kernel.resident_blocks(block))
    device.synchronize()
    return LikelyParents(ordered, (time.perf_counter() - started) * 1e3)


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
