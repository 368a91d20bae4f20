"""The entries of this package search right, as far as what they need is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfsbench.bench.machine_state import Machine
from bfsbench.bench.measure import time_runs
from bfsbench.bench.sampling import Sampling
from bfsbench.entries.declaration import read
from bfsbench.entries.find import SHIPPED, declarations_in
from bfsbench.entries.variant import variant_of
from bfsbench.families.bfs import Search
from bfsbench.graphs.load import load

GRAPH = "uniform(n=300,m=700,directed=1)"
"""With loops, arcs that are there twice, and vertices without arcs."""


@pytest.mark.parametrize("file", declarations_in(SHIPPED), ids=lambda file: file.stem)
def test_searches(file: Path) -> None:
    entry = read(file)
    assert entry is not None
    if reason := variant_of(entry).missing():
        assert "is not installed: run" in reason or "are not installed: run" in reason
        pytest.skip(reason)
    graph = load(GRAPH)
    for source in (0, 150, 299):
        variant = variant_of(entry)(graph, {})
        timing = time_runs(variant, Search(graph, source).run(variant), Sampling.of(2), Machine(None))
        assert min(timing.search_ms) > 0
