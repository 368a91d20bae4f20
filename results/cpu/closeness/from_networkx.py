"""NetworkX's search, which is written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.entries.folder import GraphArrays


def networkx(graph: GraphArrays) -> Callable[[int, npt.NDArray[np.int32]], Any]:
    """Returns a search by ``single_source_shortest_path_length``, which gives a dict of distances."""
    from networkx import DiGraph, single_source_shortest_path_length

    made = DiGraph()
    made.add_nodes_from(range(graph.num_vertices))
    made.add_edges_from(zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True))

    def search(source: int, answer: npt.NDArray[np.int32]) -> Any:
        found = single_source_shortest_path_length(made, source)

        def levels() -> npt.NDArray[np.int32]:
            answer.fill(-1)
            answer[list(found)] = list(found.values())
            return answer

        return levels

    return search
