"""Compares the clock of an entry's program with the host's clock. The graph is chosen so that searches take
milliseconds on any device.

Each search has an untimed part: the host's time minus the program's time. It should not depend on the search,
because every search sends a line and writes an answer. So one search starts from a vertex that reaches
nothing, and another reaches most of the graph. If the second one has a much longer untimed part, the
program's clock does not show how long it searches.
"""

from __future__ import annotations

import math
import statistics
from functools import cache
from typing import TYPE_CHECKING

from bfsbench.programs.families import DEFAULT, families_here
from bfsbench.support.errors import DeviceError, WrongResultError

if TYPE_CHECKING:
    from bfsbench.entries.variant import EntryVariant
    from bfsbench.programs.families.base import Problem

Pair = tuple[tuple[float, float], tuple[float, float]]
"""The times in ms of a short search and of a long search. Each has the time by the program's clock and the
time by the host's clock."""

GRAPH = "lattice(rows=4096,columns=128,keep=0.7)"
"""The graph has 524,288 vertices, of which some are isolated. It has 5,000 levels, and each level costs a GPU
a barrier."""
FEWEST_ROUNDS, MOST_ROUNDS = 3, 9
"""Number of pairs of searches before a clock is called right, and before it is called wrong."""
_SHARE, _SLACK_MS = 0.25, 2.0
"""Limit to how much longer the untimed part of the long search may be: ``_SHARE`` of this search, plus
``_SLACK_MS``."""


@cache
def untimed_ms(variant: type[EntryVariant]) -> float | None:
    """Compare the program's clock with the host's clock on a fixed graph, once per process.

    Returns the untimed part in ms per vertex and arc of the graph, or None if the program cannot search it.
    Raises WrongResultError if the program's clock contradicts the host's.
    """
    from bfsbench.graphs.load import load

    graph = load(GRAPH)
    program = variant(graph, {})
    family, degrees = families_here()[DEFAULT], graph.row_offsets[1:] - graph.row_offsets[:-1]
    short, long = (family.problem(graph, int(place)) for place in (degrees.argmin(), degrees.argmax()))
    try:
        program.prepare()
        for search in (short, long):  # the first search of a program may load its kernels
            _times(program, search)
        pairs: list[Pair] = []
        while len(pairs) < FEWEST_ROUNDS or (_contradicts(pairs) and len(pairs) < MOST_ROUNDS):
            pairs.append((_times(program, short), _times(program, long)))
    except (DeviceError, WrongResultError):
        return None
    if _contradicts(pairs):
        (said, wall), between = pairs[-1][1], min(_untimed(pairs, 0))
        raise WrongResultError(
            f"its clock contradicts the host's: it says that a search of {GRAPH} took {said:g} ms; "
            f"the host's clock saw {wall:.3f} ms, of which {between:.3f} ms go without a search"
        )
    untimed = max(statistics.median(_untimed(pairs, place)) for place in (0, 1))
    return untimed / (graph.num_vertices + graph.num_edges)


def _times(program: EntryVariant, search: Problem) -> tuple[float, float]:
    """Run one search and check its answer. Returns its time in ms by the program's clock and by the host's
    clock. Raises DeviceError or WrongResultError if the search fails."""
    run = search.run(program)
    run.poison()
    run.solve()
    run.check()
    if math.isnan(program.last_times[0]):
        raise WrongResultError("it printed no time")
    return program.last_times


def _untimed(pairs: list[Pair], place: int) -> list[float]:
    """Returns the untimed parts in ms of the short searches (``place`` 0) or of the long searches (1)."""
    return [pair[place][1] - pair[place][0] for pair in pairs]


def _contradicts(pairs: list[Pair]) -> bool:
    """Returns whether the least untimed part of the long searches is too long. A program that waits for a
    core has a longer untimed part, so the minimum shows what the program itself leaves out."""
    wall = min(long[1] for _, long in pairs)
    return min(_untimed(pairs, 1)) - min(_untimed(pairs, 0)) > _SHARE * wall + _SLACK_MS
