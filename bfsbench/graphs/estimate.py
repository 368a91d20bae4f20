"""Estimates how much memory opening a graph takes. At most the beginning of the graph's file is read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bfsbench.graphs import files, load
from bfsbench.graphs.formats import count_entries
from bfsbench.graphs.load import GraphName
from bfsbench.graphs.memory import Size
from bfsbench.support.errors import size_text
from bfsbench.support.machine import available_memory

_EDGES_A_VERTEX = 4
"""Edges per vertex assumed for a file that does not give its number of vertices. Most graphs have more."""


def peak_memory(request: GraphName) -> int | None:
    """Returns an estimate of the peak memory in bytes of opening a graph.

    A graph in the cache takes the size of its arrays, which are mapped. Any other graph is generated or read,
    and then converted. Returns None for a graph that is not fetched and whose size is not in the catalogue.
    Memory of searches and devices is not included. Raises InputError for a file that cannot be read.
    """
    found = files.held(request.dataset) if request.dataset else None
    folder = load.stored(request, found)
    if folder is not None:
        return sum(file.stat().st_size for file in folder.iterdir())
    if request.drawn is not None:
        return _drawn(*request.drawn, _mirrored(request))
    path = found.path if found else request.path
    if path is not None:
        return _read(path, request)
    assert request.dataset is not None
    vertices, edges = request.dataset.counts(None)
    if vertices is None or edges is None:
        return None
    return Size(vertices, edges, _mirrored(request)).peak_bytes


def known_vertices(request: GraphName) -> int | None:
    """Returns the number of vertices of a graph that is not open yet, or None if it is unknown.

    It is known for generated graphs, for datasets whose catalogue entry has it, and for files whose header
    has it. Raises InputError for a file that cannot be read.
    """
    if "ids" in request.overrides:
        return None  # a policy of ids may leave out vertices without arcs
    if request.drawn is not None:
        from bfsbench.graphs.generators import GENERATORS

        name, parameters = request.drawn
        return GENERATORS[name].counts(parameters)[0]
    if request.path is not None:
        return count_entries(request.path, request.overrides.get("format"))[0]
    assert request.dataset is not None
    return request.dataset.num_vertices


def memory_lines(requests: Sequence[GraphName]) -> list[str]:
    """Returns one line per graph with its peak memory. A line warns if this is more than the available
    memory."""
    available = available_memory()
    lines = []
    for request in requests:
        peak = peak_memory(request)
        if peak is None:
            lines.append(f"{request.full_name}: its size is known once it has been fetched")
            continue
        room = "" if available is None or peak <= available else f", but {size_text(available)} are available"
        lines.append(f"{request.full_name}: about {size_text(peak)}{room}")
    return lines


def _drawn(name: str, parameters: Mapping[str, Any], mirrored: bool) -> int:
    from bfsbench.graphs.generators import GENERATORS

    generator = GENERATORS[name]
    weighted = "max_weight" in generator.complete(parameters)
    return Size(*generator.counts(parameters), weighted=weighted, mirrored=mirrored).peak_bytes


def _read(path: Path, request: GraphName) -> int:
    vertices, entries = count_entries(path, request.overrides.get("format"))
    # An adjacency list has both arcs of every edge. Then nothing is mirrored, and this estimate is too high.
    return Size(vertices or entries // _EDGES_A_VERTEX, entries, _mirrored(request)).peak_bytes


def _mirrored(request: GraphName) -> bool:
    return request.direction == "symmetrised"
