"""Vertices in the order of their out-degrees."""

from __future__ import annotations

import numpy as np

from bfsbench.graphs.graph import Ids, Offsets


def by_out_degree(row_offsets: Offsets) -> Ids:
    """All vertices, int32[V], from the highest out-degree to the lowest; equal ones in ascending order."""
    return np.argsort(-np.diff(row_offsets), kind="stable").astype(np.int32)


def inverse(order: Ids) -> Ids:
    """The place of every vertex in ``order``, int32[V]."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places


def renumbered(row_offsets: Offsets, column_indices: Ids, order: Ids) -> tuple[Offsets, Ids]:
    """CSR arrays of the same graph in which vertex ``order[i]`` is renumbered to i, with the same types.
    Within a row the neighbours keep the order of their old ids. Takes, beside the result, two arrays of E
    offsets.
    """
    degrees = np.diff(row_offsets)[order]
    offsets = np.zeros_like(row_offsets)
    np.cumsum(degrees, out=offsets[1:])
    edges = np.repeat(row_offsets[order] - offsets[:-1], degrees)
    edges += np.arange(len(column_indices), dtype=offsets.dtype)
    return offsets, inverse(order)[column_indices[edges]]
