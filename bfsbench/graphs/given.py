"""Finds names by which other processes can load graphs. A graph that exists only in memory is first written
to a file in the cache."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import cast

from bfsbench.graphs.graph import UNNAMED, Graph
from bfsbench.graphs.interop import GraphLike, as_graph, write_matrix
from bfsbench.graphs.load import GraphName, load_parsed, resolve
from bfsbench.support import storage
from bfsbench.support.errors import UsageError
from bfsbench.support.paths import cache_dir


def several(graphs: GraphLike | Sequence[GraphLike]) -> Sequence[GraphLike]:
    """Return the graphs in an argument that may be one graph or several graphs.

    A list, or a tuple of names, paths and Graphs, contains several graphs. Any other argument, such as a
    tuple of arrays, is one graph.
    """
    if isinstance(graphs, list):
        return graphs
    if isinstance(graphs, tuple) and all(isinstance(one, str | os.PathLike | Graph) for one in graphs):
        return graphs
    return [cast(GraphLike, graphs)]


def loadable(given: GraphLike) -> GraphName:
    """Return a name by which another process can load the given graph.

    A graph in memory that no other process can load is first written to the cache.
    """
    if isinstance(given, str | os.PathLike):
        return resolve(os.fspath(given))
    graph = as_graph(given)
    try:
        known = resolve(graph.locator or graph.full_name)
        # The checksum does not cover names. A graph that was loaded has the names of its file.
        if load_parsed(known).checksum == graph.checksum and (graph.locator or graph.names is None):
            return known
    except UsageError:
        pass  # other processes cannot find a graph by this name
    return _kept(graph)


def _kept(graph: Graph) -> GraphName:
    """Write a graph to a file in the cache, unless the file exists. Returns the name by which this file is
    loaded.

    The file stores the arcs, the weights and the names of vertices. It does not store the original ids of
    vertices. A graph without a name of its own is named by its checksum, so that the result rows of two such
    graphs have different names. Raises UsageError if the graph in the written file differs from ``graph``.
    """
    name = f"{UNNAMED}-{graph.checksum[:8]}" if graph.name == UNNAMED else graph.name
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "_", name) or UNNAMED
    contents = sha256(graph.checksum.encode())
    if graph.names is not None:
        contents.update(graph.names.offsets.data)
        contents.update(graph.names.text.data)
    path = cache_dir() / "given" / contents.hexdigest()[:20] / f"{plain}.npz"
    orientation = "directed" if graph.direction == "directed" else "both_ways"
    weights = "ignore" if graph.weights is None else "read"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with storage.replacing(path) as file:
            write_matrix(file, graph)
    request = resolve(f"{path}:orientation={orientation}:weights={weights}:{graph.direction}")
    if load_parsed(request).checksum != graph.checksum:
        path.unlink()
        raise UsageError(
            f"{graph.full_name} cannot be passed to other processes: "
            "write it to a file, and give the file's name"
        )
    return request
