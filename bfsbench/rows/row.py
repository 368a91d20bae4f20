"""How a point and its outcome are written as a result row."""

from collections.abc import Mapping

from bfsbench.graphs.graph import Graph
from bfsbench.rows.code import code_of
from bfsbench.rows.point import Point
from bfsbench.rows.provenance import host_columns, now
from bfsbench.support.errors import no_formula, printable
from bfsbench.variants import find


def base_row(point: Point, graph: Graph, device: Mapping[str, str]) -> dict[str, str]:
    """The columns known before a point is run: its axes, its graph, where it is run and when.

    ``device`` is the device's description, left out for host programs.
    """
    return {
        **point.axes(),
        "family": find(point.variant).family,
        **({} if point.backend == "host" else device),
        **host_columns(),
        "code": code_of(point),
        "taken_at": now(),
        "num_vertices": str(graph.num_vertices),
        "num_edges": str(graph.num_edges),
        "source_id": _source_id(point, graph),
        "graph_checksum": graph.checksum,
        "source_checksum": graph.source_checksum,
    }


def _source_id(point: Point, graph: Graph) -> str:
    """The name of the source, as a cell that no terminal and no spreadsheet takes for more; empty where
    vertices have none."""
    if graph.names is None or point.source is None:
        return ""
    return no_formula(printable(graph.names[point.source]))


def failed_row(
    point: Point, graph: Graph, device: Mapping[str, str], status: str, reason: str
) -> dict[str, str]:
    """A row without a time; ``reason`` is cut to its first line, and escaped for terminals and
    spreadsheets."""
    first = no_formula(printable((reason.splitlines() or [""])[0]))
    return base_row(point, graph, device) | {"status": status, "reason": first}
