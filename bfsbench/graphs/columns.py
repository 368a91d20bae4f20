"""Converts the columns of a table to an edge list. Vertices may be numbers or names, and edges may have
weights."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.catalogue import WEIGHT_POLICIES, IdPolicy, WeightPolicy
from bfsbench.graphs.convert import compact
from bfsbench.graphs.graph import MAX_VERTICES, EdgeList, Ids, Orientation, VertexNames
from bfsbench.graphs.memory import Size, require
from bfsbench.support.errors import InputError, UsageError

Column = npt.NDArray[np.generic]
"""One value per edge: integers or text."""


@dataclass(frozen=True)
class Columns:
    """Edges as columns. Each column has one value per edge. ``label`` names the table in messages."""

    label: str
    sources: Column
    targets: Column
    weights: Column | None = None
    orientation: Orientation = "directed"
    num_vertices: int | None = None
    """The number of vertices, if every number below it is a vertex. Otherwise None."""
    vertices: Column | None = None
    """All vertices, if they are listed. Some of them may have no edges."""
    reader: str = ""
    """The library that read the columns. Empty for this package's parser."""


def edge_list(columns: Columns, ids: IdPolicy, weights: WeightPolicy | None = None) -> EdgeList:
    """Convert columns to an edge list. ``ids`` and ``weights`` are options, as in :class:`Recipe`.

    Integers are ids. Text is names, which are numbered in ascending order. Raises InputError for columns of
    different lengths or other types, and for ids that are negative or too large. Raises InputError also for
    weights that should be read but are not 32-bit integers.
    """
    label = columns.label
    if len(columns.sources) != len(columns.targets):
        lengths = f"{len(columns.sources):,} sources and {len(columns.targets):,} targets"
        raise InputError(f"{label}: {lengths} are no pairs")
    original: npt.NDArray[np.int64] | None = None
    names: VertexNames | None = None
    if _is_text(columns.sources) or _is_text(columns.targets) or ids == "names":
        sources, targets, names = _named(columns)
        num_vertices = len(names)
    else:
        sources, targets, original, num_vertices = _numbered(columns, ids)
    read, unread = read_weights(label, columns.weights, len(sources), weights)
    return EdgeList(
        *(sources, targets, num_vertices, columns.orientation, original),
        weights=read,
        weights_unread=unread,
        names=names,
        reader=columns.reader,
    )


def read_weights(
    label: str, column: Column | None, edges: int, policy: WeightPolicy | None
) -> tuple[npt.NDArray[np.int32] | None, bool]:
    """Returns the weights, int32[E] or None, and whether the column has weights other than 1 that were not
    read.

    Weights are read only if ``policy`` is ``"read"``. Raises UsageError for an unknown policy. Raises
    InputError for a column that is missing, has another length, or has values other than 32-bit integers.
    """
    if policy not in WEIGHT_POLICIES:
        raise UsageError(f"weights={policy!r}: it is one of {', '.join(map(repr, WEIGHT_POLICIES))}")
    if column is None:
        if policy == "read":
            raise InputError(f"{label}: there are no weights to be read")
        return None, False
    if len(column) != edges:
        raise InputError(f"{label}: {len(column):,} weights and {edges:,} edges do not go together")
    if policy == "ignore":
        return None, False
    numbers = _as_numbers(column)
    if policy is None:
        return None, numbers is None or bool((numbers != 1).any())
    if numbers is None:
        number = next(i for i in range(edges) if _as_numbers(column[i : i + 1]) is None)
        raise InputError(f"{label}: edge {number + 1:,}: weight '{str(column[number])[:40]}' is no number")
    with np.errstate(invalid="ignore"):
        whole = numbers.astype(np.int32)
    wrong = np.flatnonzero(whole != numbers)
    if len(wrong):
        raise InputError(f"{label}: weight {numbers[wrong[0]]} is not a whole number of 32 bits")
    return whole, False


def _as_numbers(column: Column) -> npt.NDArray[np.number] | None:
    if column.dtype.kind in "iuf":
        return column  # type: ignore[return-value]
    if column.dtype.kind == "b":
        return column.astype(np.int32)
    try:
        return column.astype(np.float64)
    except (ValueError, TypeError):
        return None


def _is_text(column: Column) -> bool:
    return column.dtype.kind in "OUST"


def _named(columns: Columns) -> tuple[Ids, Ids, VertexNames]:
    import pandas as pd

    listed = [columns.sources, columns.targets]
    if columns.vertices is not None:
        listed.append(columns.vertices)
    ends = pd.concat([pd.Series(end).astype(str) for end in listed])
    middle = len(columns.sources)
    empty = np.flatnonzero((ends == "").to_numpy()[: 2 * middle])
    if len(empty):
        raise InputError(f"{columns.label}: edge {empty[0] % middle + 1:,} lacks the name of a vertex")
    codes, unique = pd.factorize(ends, sort=True)
    numbers = codes.astype(np.int32)
    return numbers[:middle].copy(), numbers[middle : 2 * middle].copy(), VertexNames.of(unique.tolist())


def _numbered(columns: Columns, policy: IdPolicy) -> tuple[Ids, Ids, npt.NDArray[np.int64] | None, int]:
    sources, targets = (_whole_ids(columns.label, end) for end in (columns.sources, columns.targets))
    if columns.vertices is not None:
        every = np.unique(_whole_ids(columns.label, columns.vertices))
        plain = not len(every) or every[-1] == len(every) - 1
        places = [np.searchsorted(every, end).astype(np.int32) for end in (sources, targets)]
        return places[0], places[1], None if plain else every, len(every)
    if policy == "compact":
        narrow_sources, narrow_targets, original = compact(sources, targets)
        plain = not len(original) or original[-1] == len(original) - 1
        return narrow_sources, narrow_targets, None if plain else original, len(original)
    largest = max((int(end.max(initial=-1)) for end in (sources, targets)), default=-1)
    if largest >= MAX_VERTICES:
        raise InputError(f"{columns.label}: vertex id {largest} is above {MAX_VERTICES - 1}")
    num_vertices = largest + 1 if columns.num_vertices is None else columns.num_vertices
    if largest >= num_vertices:
        raise InputError(f"{columns.label}: vertex id {largest} is above {num_vertices - 1}")
    require(Size(num_vertices, len(sources)), columns.label)
    return sources.astype(np.int32), targets.astype(np.int32), None, num_vertices


def _whole_ids(label: str, column: Column) -> npt.NDArray[np.int64]:
    if column.dtype.kind not in "iu" and len(column):
        raise InputError(f"{label}: vertices are {column.dtype}, not integers or text")
    if column.dtype.kind == "u" and len(column) and int(column.max()) > 2**63 - 1:
        raise InputError(f"{label}: vertex id {column.max()} is above {2**63 - 1}")
    ids = column.astype(np.int64)
    if len(ids) and ids.min() < 0:
        raise InputError(f"{label}: vertex id {ids.min()} is negative")
    return ids
