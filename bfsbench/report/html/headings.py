"""Headings of a page's columns, in words."""

from __future__ import annotations

from bfsbench.report.formats import header

_WORDS = {
    "search_ms": "time (ms)",
    "search_ms_median": "median time (ms)",
    "search_ms_max": "slowest time (ms)",
    "search_ms_samples": "all times (ms)",
    "median_ms": "median time (ms)",
    "preprocess_ms": "preprocessing (ms)",
    "wall_ms": "time on the host's clock (ms)",
    "reset_ms": "reset (ms)",
    "spread": "slowest / fastest",
    "speedup": "times as fast as one CPU core",
    "times_best": "times the best of the graph",
    "num_vertices": "vertices",
    "num_edges": "arcs",
    "grid": "grid (blocks)",
    "block": "block (threads)",
    "mteps": "million arcs a second",
    "mteps_q1": "million arcs a second, first quartile",
    "mteps_median": "million arcs a second, median",
    "mteps_q3": "million arcs a second, third quartile",
    "mteps_graph500": "million arcs a second, as Graph500 counts",
    "gops": "billion operations a second",
    "backend": "runs on",
    "taken_at": "taken at",
    "edges_traversed": "arcs traversed",
    "edges_inspected": "arcs inspected",
    "graph_checksum": "checksum of the graph",
    "energy_j": "energy (J)",
    "power_w": "power (W)",
}


def heading(column: str) -> str:
    """A column's name in words, with its unit."""
    return _WORDS.get(column) or header(column)
