"""A program's own clock compared with the host's, on a graph whose searches take milliseconds on any device.

Each search has an untimed part: the host's time less the program's. It is the same for a search that reaches
nothing as for one that reaches most of the graph, because both send a line and write an answer. So if the
second search has a much longer untimed part, then the program's clock does not show how long it searches.
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

GRAPH = "lattice(rows=4096,columns=64,keep=0.7)"
"""It has 262,144 vertices, some of them isolated, and 5,000 levels, each of which costs a GPU a barrier."""
ROUNDS = 9
"""Pairs of searches before a clock is called wrong. One pair is enough for a right clock, unless a program
had to wait for a core."""
_SHARE, _SLACK_MS = 0.25, 2.0
"""How much longer the untimed part of the long search may be: this share of that search, plus this."""


@cache
def untimed_ms(variant: type[EntryVariant]) -> float | None:
    """Compare the clocks, once per process.

    Returns the untimed part in ms for each vertex and arc of GRAPH, or None if the program cannot search it.
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
        pairs = [(_times(program, short), _times(program, long))]
        while _contradicts(pairs) and len(pairs) < ROUNDS:
            pairs.append((_times(program, short), _times(program, long)))
    except (DeviceError, WrongResultError):
        return None
    if _contradicts(pairs):
        (_, _), (said, wall) = pairs[-1]
        raise WrongResultError(
            f"its clock contradicts the host's: it says that a search of {GRAPH} took {said:g} ms; "
            f"the host's clock saw {wall:.3f} ms, of which {_untimed(pairs, 0):.3f} ms go without a search"
        )
    return max(_untimed(pairs, 0), _untimed(pairs, 1)) / (graph.num_vertices + graph.num_edges)


def _times(program: EntryVariant, search: Problem) -> tuple[float, float]:
    """Search, and check the answer. Returns the time by the program's clock and by the host's. Raises
    DeviceError, WrongResultError."""
    run = search.run(program)
    run.poison()
    run.solve()
    run.check()
    if math.isnan(program.last_times[0]):
        raise WrongResultError("it printed no time")
    return program.last_times


def _untimed(pairs: list[tuple[tuple[float, float], tuple[float, float]]], place: int) -> float:
    return statistics.median(pair[place][1] - pair[place][0] for pair in pairs)


def _contradicts(pairs: list[tuple[tuple[float, float], tuple[float, float]]]) -> bool:
    wall = statistics.median(long[1] for _, long in pairs)
    return _untimed(pairs, 1) - _untimed(pairs, 0) > _SHARE * wall + _SLACK_MS
