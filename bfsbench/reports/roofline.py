"""Compares searches with the ceilings (measured limits) of their device, as in the roofline model (Williams,
Waterman and Patterson, 2009).

Each of three ceilings gives a lower bound on the time of a search:

- latency: Every level is a chain of three dependent loads: an offset, a neighbour, and the neighbour's level.
  A level ends with a launch and a read-back, with a barrier of all blocks, or with a barrier inside one block
  or cluster. The last kind of barrier is taken as free.
- random access: Every edge that is read needs the state of its other end, at a random address.
- bandwidth: The algorithm has to move a number of bytes.

The share of the ceiling is the largest of the three bounds divided by the measured time. The bounds refer to
the algorithm's own work, so an algorithm that does needless work may come close to 100 %.

Edges are counted level by level if there is a level profile of the search (``run --profile``). Otherwise
their number is modelled from the result row. As the variant declares in ``edge_reads``, it is the number of
edges of the reached vertices, or of all edges in every level. If the number cannot be modelled either, it is
left empty.

Bytes are computed from edges, vertices and levels with the numbers that the variant declares as its
``traffic``. Only the bytes that the algorithm uses count, not the whole sectors that the memory system moves.
Caches are ignored. So the share says how far a search is from its limit, not where its bytes came from. A
graph whose numbering keeps neighbours together can take less time than random accesses.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bfsbench.backends import GPU_BACKENDS
from bfsbench.reports.rows import succeeded
from bfsbench.reports.table import Table
from bfsbench.support.errors import InputError, plural
from bfsbench.variants import all_variants

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.rows.ceilings import Ceilings
    from bfsbench.variants.base import KernelVariant

BOUNDS = ("latency", "random", "bandwidth")
COUNTED, MODELLED = "counted", "modelled"

_SEARCH = ["graph", "source", "variant", "backend", "knobs", "gpu"]
"""A level profile describes a result row if these columns agree. Grid and block may differ, because they do
not change the work."""
_CHAIN = 3
"""Number of dependent loads in each level: an offset, a neighbour, and the neighbour's level."""
_WORD = 4
_LARGE = 1 << 40
"""A size in bytes that is larger than any measured working set. It selects the ceiling of the largest working
set."""

COLUMNS = (
    *("graph", "source", "variant", "search_ms", "edges", "edges_from", "levels", "bytes"),
    *("gedges_s", "gb_s", "latency_ms", "random_ms", "bandwidth_ms", "bound", "share"),
)
_WHOLE = ("source", "levels")
_TEXT = ("graph", "variant", "edges_from", "bound")
Row = Mapping[Hashable, Any]
_DTYPES = {name: "int64" if name in _WHOLE else "float64" for name in COLUMNS if name not in _TEXT}


@dataclass(frozen=True)
class Work:
    """The work of one search over all its levels: numbers of edges, launches and barriers."""

    edges: float | None
    """Number of adjacency entries read, or None if it is unknown."""
    edges_from: str
    """The way in which ``edges`` was determined: COUNTED or MODELLED. Empty if the number of edges is
    unknown."""
    launched_levels: int
    """Number of levels at whose end the host has to launch a kernel and to read a result from the device."""
    barrier_levels: int
    """Number of levels that end with a barrier between blocks."""
    block_levels: int
    """Number of levels that end with a barrier inside a block or a cluster of blocks."""

    @property
    def levels(self) -> int:
        return self.launched_levels + self.barrier_levels + self.block_levels


def counted_work(variant: type[KernelVariant], levels: pd.DataFrame) -> Work:
    """Returns the work of one search, counted from its level profile with one row per level."""
    edges = levels["edges_inspected"]
    kernels = levels["kernel"]
    in_block = int(kernels.isin(variant.block_layers).sum())
    in_launch = int(kernels.isin(variant.layers).sum())
    empty = levels["frontier_size"] == 0  # this is the round that detects the end of the search
    known = bool((edges.notna() | empty).all())
    return Work(
        float(edges.sum()) if known else None,
        COUNTED if known else "",
        len(levels) - in_launch,
        in_launch - in_block,
        in_block,
    )


def modelled_work(variant: type[KernelVariant], row: Row) -> Work:
    """Returns the work of one search, estimated from its result row.

    A variant may have several ways to run a level, such as in one block or in all blocks. The estimate
    assumes that every level runs in the cheapest of these ways.
    """
    num_levels = int(row["depth"]) + 1
    reads = set(variant.edge_reads.values())
    edges = None
    if not reads:
        edges = row["edges_traversed"]
    elif reads == {"all"}:
        edges = row["num_edges"] * num_levels
    launched = 0 if variant.layers else num_levels
    in_block = num_levels if variant.block_layers else 0
    return Work(
        edges, MODELLED if edges is not None else "", launched, num_levels - launched - in_block, in_block
    )


def bytes_moved(variant: type[KernelVariant], work: Work, row: Row) -> float | None:
    """Returns the number of bytes that a search moves, or None if the number of edges is unknown.

    ``variant.traffic`` declares the bytes that the search moves for each vertex and edge. Initialising the
    levels adds 4 bytes per vertex.
    """
    if work.edges is None:
        return None
    traffic, num_vertices = variant.traffic, row["num_vertices"]
    return float(
        _WORD * num_vertices
        + traffic.per_scan * num_vertices * work.levels
        + traffic.per_vertex * row["reached"]
        + traffic.per_edge * work.edges
        + traffic.per_frontier_edge * row["edges_traversed"]
    )


def floors(variant: type[KernelVariant], work: Work, row: Row, ceilings: Ceilings) -> dict[str, float | None]:
    """Returns a lower bound on the time in ms for each of BOUNDS (latency, random access, bandwidth). The
    bound is None if it depends on the number of edges and that number is unknown."""
    loads_us = _CHAIN * ceilings.at("dependent_loads", _LARGE) / 1e3
    latency_us = work.launched_levels * ceilings.at("launch_and_read") + work.levels * loads_us
    latency_us += work.barrier_levels * ceilings.at("barrier")
    moved = bytes_moved(variant, work, row)
    if work.edges is None or moved is None:
        return {"latency": latency_us / 1e3, "random": None, "bandwidth": None}
    num_vertices = row["num_vertices"]
    accesses = row["edges_traversed"] if variant.traffic.per_frontier_edge else work.edges
    graph_bytes = _WORD * (len(variant.layout) * (num_vertices + row["num_edges"]) + num_vertices)
    return {
        "latency": latency_us / 1e3,
        "random": accesses / ceilings.at("random_reads", int(_WORD * num_vertices)) / 1e6,
        "bandwidth": moved / ceilings.at("copy", int(graph_bytes)) / 1e6,
    }


def held_against(rows: pd.DataFrame, levels: pd.DataFrame, ceilings: Ceilings) -> pd.DataFrame:
    """Compares searches with the ceilings (measured limits) of their device. Returns one row for each
    combination of graph, source and variant. The row describes the fastest search of this combination.

    ``rows`` are result rows from ``read_results``, and ``levels`` are level profiles from ``read_levels``.
    Only rows of kernels on a real device are used. Raises InputError if rows were measured on another device
    than the ceilings.

    The columns are:

    - ``graph``, ``source``, ``variant`` and ``search_ms``;
    - ``edges``: the edges read. ``edges_from`` is COUNTED, MODELLED or empty;
    - ``levels``, ``bytes``, ``gedges_s`` and ``gb_s``;
    - ``NAME_ms``: a lower bound for each NAME in BOUNDS;
    - ``bound``: the name of the largest lower bound;
    - ``share``: the largest lower bound / ``search_ms``.

    If the number of edges is unknown, numbers that depend on it are NaN, and ``bound`` is empty.
    """
    import pandas as pd

    from bfsbench.variants.base import KernelVariant

    timed = succeeded(rows)
    timed = timed[timed["backend"].isin(GPU_BACKENDS)]
    others = sorted(set(timed["gpu"]) - {ceilings.gpu})
    if others:
        raise InputError(
            f"the ceilings are those of {ceilings.gpu}, but rows were taken on {', '.join(others)}"
        )
    key = ["graph", "graph_checksum", "source", "variant"]
    best = timed.sort_values("search_ms", kind="stable").drop_duplicates(key)
    known = all_variants()
    profiles = _profiles(levels)
    found = []
    for row in best.to_dict("records"):
        variant = known.get(str(row["variant"]))
        if variant is not None and issubclass(variant, KernelVariant):
            profile = profiles.get(tuple(row[name] for name in _SEARCH))
            work = modelled_work(variant, row) if profile is None else counted_work(variant, profile)
            found.append(_line(variant, work, row, ceilings))
    return pd.DataFrame(found, columns=list(COLUMNS)).astype(_DTYPES)


def _profiles(levels: pd.DataFrame) -> dict[tuple[object, ...], pd.DataFrame]:
    """Returns a dictionary with one level profile per search. A key consists of the search's values in the
    columns ``_SEARCH``.

    If a search was profiled with several grids and blocks, its first profile is used.
    """
    found: dict[tuple[object, ...], pd.DataFrame] = {}
    for key, profile in levels.groupby([*_SEARCH, "grid", "block"], sort=False):
        found.setdefault(tuple(key)[: len(_SEARCH)], profile)
    return found


def _line(variant: type[KernelVariant], work: Work, row: Row, ceilings: Ceilings) -> dict[str, object]:
    least = floors(variant, work, row, ceilings)
    moved, time_ms = bytes_moved(variant, work, row), row["search_ms"]
    line: dict[str, object] = {name: row[name] for name in ("graph", "source", "variant", "search_ms")}
    line |= {"edges": work.edges, "edges_from": work.edges_from, "levels": work.levels, "bytes": moved}
    line |= {f"{name}_ms": milliseconds for name, milliseconds in least.items()}
    if work.edges is None or moved is None:
        return line | {"bound": ""}
    bound, floor_ms = max(((name, ms or 0.0) for name, ms in least.items()), key=lambda pair: pair[1])
    rates = {"gedges_s": work.edges / time_ms / 1e6, "gb_s": moved / time_ms / 1e6}
    return line | rates | {"bound": bound, "share": floor_ms / time_ms}


def roofline(rows: pd.DataFrame, levels: pd.DataFrame, ceilings: Ceilings) -> Table:
    """Returns a table that compares the time of each search with the lower bounds that follow from the
    ceilings (measured limits) of its device. ``held_against`` documents the columns.

    The text layout has one table per graph and source, with the highest share of a ceiling first.
    """
    frame = held_against(rows, levels, ceilings)
    frame = frame.sort_values(["graph", "source", "share"], ascending=[True, True, False], kind="stable")
    title = f"Shares of the ceilings of {ceilings.gpu}"
    return Table.of("roofline", title, frame, _notes(rows, frame), _drawings(frame))


def _notes(rows: pd.DataFrame, frame: pd.DataFrame) -> Iterator[str]:
    if frame.empty:
        yield "No kernel has a time that was measured on a GPU."
        return
    yield (
        "Latency, random, bandwidth ms: lower bounds of the time, from the launches or barriers of all "
        "levels, from one access to memory for each edge read, and from moving all bytes. bound: the largest "
        "of the three. share %: this bound in per cent of the measured time. The bounds refer to the "
        "variant's own work, which may be needless."
    )
    yield "Edges are counted by level profiles, or modelled from the row; bytes are modelled from them."
    unknown = sorted(set(frame["variant"][frame["edges"].isna()]))
    if unknown:
        told = ", ".join(unknown)
        yield f"The number of edges of {told} is unknown. A level profile ('run --profile') may count them."
    left_out = int((~rows["backend"].isin(GPU_BACKENDS)).sum())
    if left_out:
        yield f"Not compared with a GPU's ceilings: {plural(left_out, 'row')} of programs on the CPU."


def _drawings(frame: pd.DataFrame) -> Iterator[Table]:
    shown = frame.assign(medges=frame["edges"] / 1e6, share_percent=frame["share"] * 100)
    columns = [
        *("variant", "search_ms", "levels", "medges", "edges_from", "gedges_s", "gb_s"),
        *(*(f"{name}_ms" for name in BOUNDS), "bound", "share_percent"),
    ]
    for (graph, source), group in shown.groupby(["graph", "source"], sort=False):
        yield Table.of("", f"{graph}, source {source}", group[columns])
