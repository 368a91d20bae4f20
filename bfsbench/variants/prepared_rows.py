"""Prepares the rows of a graph on the device, for the searches ``adaptive`` and ``many``.

In-neighbours can be reordered so that a search for a parent ends early. Short rows can be stored as records,
which need no offsets.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bfsbench.backends.base import Buffer, Contract
from bfsbench.support.paths import CUDA_SRC
from bfsbench.variants.base import DeviceGraph

LIKELY_ALIGNMENT = 32
"""The array of likely parents follows the rows in one buffer. It begins at a multiple of this number of
elements."""
_LONG_ROW = 1024
"""A block sorts rows of at least this number of arcs. A warp sorts shorter rows."""
_SMALL_BLOCK, _LARGE_BLOCK = 256, 1024


@dataclass(frozen=True)
class LikelyParents:
    """A device array that contains the in-neighbours of each vertex, roughly sorted from high to low
    out-degree. At its end, it repeats the first in-neighbour of each vertex."""

    row_indices: Buffer
    """int32: the E ids of CSC, and then V likely parents, which begin at the next multiple of 32. Each row of
    CSC is sorted by the number of binary digits of the out-degree, largest first. The likely parent of a
    vertex is the first id in its row, or -1 if the row is empty."""
    milliseconds: float
    """Time in ms to allocate and sort the arrays."""


def likely_parents_first(graph: DeviceGraph) -> LikelyParents:
    """Copy a graph's in-neighbours, and sort each row roughly from high to low out-degree. Returns the sorted
    copy on the device.

    Raises DeviceOutOfMemoryError if the device has no room for another E + V words.
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
"""Number of arcs in a record, which stores a short row without offsets."""
LONGEST_ROW = 2 * RECORD
"""Maximum number of arcs in a row that is stored as records."""
_ALIGNMENT = 32
"""The records follow the rows in one buffer. They begin at a multiple of this number of elements."""
_BLOCK = 256


@dataclass(frozen=True)
class ShortRows:
    """The rows of a graph, stored as records. A record has up to four arcs of a vertex.

    The position of a vertex's records follows from the vertex id, so no offsets are needed. Two bits of the
    column indices tell how many records of the vertex a search must read.
    """

    column_indices: Buffer
    """int32: the E ids of CSR, and then the records, which begin at ``first_record``. Bit 31 of an id is set
    if the vertex with this id has two records. Bit 30 is set if a search need not read records of this
    vertex: its row is empty, or its only arc leads back to the vertex in whose row the id stands.

    Each vertex has four entries for its first record. If any row has more than four arcs, four more entries
    per vertex follow. Unused entries are -1.
    """
    first_record: int
    milliseconds: float
    """Time in ms to allocate and make the records."""


def longest_row(graph: DeviceGraph) -> int:
    """Returns the largest out-degree of a graph."""
    return int(np.diff(graph.host_graph.row_offsets).max(initial=0))


def with_records(graph: DeviceGraph) -> ShortRows:
    """Append records to a copy of a graph's column indices. Returns the copy, which is in device memory. A
    record stores up to four arcs of one vertex. Its position in the array is computed from the vertex id.

    Each row must have at most ``LONGEST_ROW`` arcs, offsets must have 32 bits, and the graph must have fewer
    than 2^27 vertices. These limits ensure that an int32 can index the array, and that each id has two unused
    bits, which records need. Raises DeviceOutOfMemoryError if the array does not fit into device memory. The
    array has about E + 4 V words, or E + 8 V if a row has more than four arcs.
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
