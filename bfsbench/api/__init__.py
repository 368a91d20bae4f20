"""The public functions, re-exported by the package itself."""

from __future__ import annotations

from bfsbench.api.results import check, read_results
from bfsbench.api.running import (
    AllPairsResult,
    SearchResult,
    Solution,
    all_pairs,
    generate,
    list_variants,
    search,
    solve,
)
from bfsbench.api.sweeping import sweep
from bfsbench.compare.asked import compare
from bfsbench.families.apsp.next_hops import path_between
from bfsbench.families.bfs.parents import path
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.report.asked import report

__all__ = [
    "AllPairsResult",
    "Graph",
    "SearchResult",
    "Solution",
    "all_pairs",
    "check",
    "compare",
    "generate",
    "list_variants",
    "load",
    "path",
    "path_between",
    "read_results",
    "report",
    "search",
    "solve",
    "sweep",
]
