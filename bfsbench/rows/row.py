"""Write a point and its outcome as a result row."""

from collections.abc import Mapping

from bfsbench.graphs.graph import Graph
from bfsbench.rows.code import code_of
from bfsbench.rows.point import Point
from bfsbench.rows.provenance import host_columns, now
from bfsbench.support.errors import no_formula, printable
from bfsbench.variants import find


def base_row(point: Point, graph: Graph, device: Mapping[str, str]) -> dict[str, str]:
    """Return the columns known before a point is run: its axes, its graph, where it is run and when.

    ``device`` is the device's description. It is left out for host programs.
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
    """Return the name of the source vertex, or "" if vertices have no names.

    Control characters and formulas of spreadsheets are escaped.
    """
    if graph.names is None or point.source is None:
        return ""
    return no_formula(printable(graph.names[point.source]))


def failed_row(
    point: Point, graph: Graph, device: Mapping[str, str], status: str, reason: str
) -> dict[str, str]:
    """Return a row without a time.

    ``reason`` is cut to its first line, in which control characters and formulas of spreadsheets are escaped.
    """
    first = no_formula(printable((reason.splitlines() or [""])[0]))
    return base_row(point, graph, device) | {"status": status, "reason": first}
