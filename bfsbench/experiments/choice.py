"""Chooses the graphs that an experiment is carried out on: the paper's own graphs, shrunk graphs, or
stand-ins.

Names of shrunk graphs and stand-ins are marked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bfsbench.graphs import files
from bfsbench.graphs.load import GraphName, kind_of_graph, resolve
from bfsbench.graphs.marks import UNMARKED, Marks, split_marks
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    from bfsbench.experiments.declaration import Experiment, GraphUse


@dataclass(frozen=True, eq=False)
class Choice:
    """A graph of the experiment, and the graph that is searched for it."""

    use: GraphUse
    request: GraphName

    @property
    def full_name(self) -> str:
        """The name in rows of the graph that is searched, marks included."""
        return self.request.full_name


def choose(
    uses: Iterable[GraphUse], scale: float = 1.0, stand_ins: bool = False
) -> tuple[list[Choice], list[str]]:
    """Returns the graph to search for each graph of the experiment, and the names of missing graphs without a
    stand-in.

    A ``scale`` below 1 shrinks all graphs to about that share of their vertices. ``stand_ins`` allows
    stand-ins for missing graphs. Raises UsageError for an unknown graph or stand-in.
    """
    chosen, missing = [], []
    for use in uses:
        request = resolve(use.name)
        if not is_here(request) and stand_ins:
            request = _stand_in(use, request)
        if is_here(request):
            chosen.append(Choice(use, _marked(request, scale)))
        else:
            missing.append(request.dataset.name if request.dataset else request.name)
    return chosen, missing


def require_all(missing: list[str], stand_ins: bool) -> None:
    """Raises UsageError if graphs are missing. The message has the command that fetches them."""
    if not missing:
        return
    which = f"{len(missing)} graphs are" if len(missing) > 1 else "a graph is"
    instead = "nor a stand-in for them" if stand_ins else "--stand-ins searches similar graphs instead"
    raise UsageError(f"{which} not here: run 'bfsbench fetch {' '.join(missing)}' ({instead})")


def is_here(request: GraphName) -> bool:
    """Returns whether the graph is available without fetching anything."""
    if request.dataset is None or not request.needs_file:
        return True
    return files.held(request.dataset) is not None


def _stand_in(use: GraphUse, missing: GraphName) -> GraphName:
    """Returns the first available stand-in, marked as one. Returns the missing graph itself if there is
    none."""
    for text in use.stand_ins:
        request = resolve(text)
        if is_here(request) and missing.dataset is not None:
            return replace(request, marks=Marks(request.marks.shrink, missing.dataset.name))
    return missing


def _marked(request: GraphName, scale: float) -> GraphName:
    """Returns the graph shrunk to a share of its vertices and marked. It is unchanged if its generator cannot
    shrink it."""
    if scale >= 1:
        return request
    share = float(f"{request.marks.shrink * scale:g}")  # rounded as in the graph's name
    shrunk = replace(request, marks=Marks(share, request.marks.stands_for))
    return request if request.spec is not None and shrunk.spec == request.spec else shrunk


def title_of(experiment: Experiment, full_name: str) -> str:
    """Returns the title of a row's graph: the paper's name for it, and the actual graph if that differs."""
    plain, marks = split_marks(full_name.rpartition(":")[0])
    direction = full_name.rpartition(":")[2]
    use = _use_of(experiment, f"{plain}:{direction}", marks.stands_for)
    remarks = [f"stand-in {plain.partition('(')[0]}"] if marks.stands_for else []
    remarks += [f"shrunk to {marks.shrink:g}"] if marks.shrink < 1 else []
    title = use.title if use else marks.stands_for or full_name
    return f"{title} ({', '.join(remarks)})" if remarks else title


_MOST_TIMES = 2
"""A stand-in that counts has at most this many times the vertices of the original, and at least this part of
them."""


def unlike(full_name: str, num_vertices: int) -> str:
    """Returns why rows of a stand-in do not count in verdicts: its class or its size differs from the
    original's.

    The text is empty for a stand-in that counts, and for a graph that is not a stand-in.
    """
    plain, marks = split_marks(full_name.rpartition(":")[0])
    original = resolve(marks.stands_for).dataset if marks.stands_for else None
    if original is None:
        return ""
    if (kind := kind_of_graph(plain)) != original.kind:
        return f"the class of the stand-in is {kind}, that of {original.name} is {original.kind}"
    there = original.num_vertices or num_vertices
    if max(there, num_vertices) > _MOST_TIMES * min(there, num_vertices):
        return f"the stand-in has {num_vertices:,} vertices, {original.name} has {there:,}"
    return ""


def use_of(experiment: Experiment, full_name: str) -> GraphUse | None:
    """Returns the graph of the experiment that a row's graph equals or stands in for. Returns None if there
    is none."""
    name, _, direction = full_name.rpartition(":")
    plain, marks = split_marks(name)
    return _use_of(experiment, f"{plain}:{direction}", marks.stands_for)


def _use_of(experiment: Experiment, full_name: str, stands_for: str) -> GraphUse | None:
    for use in experiment.graphs:
        request = resolve(use.name)
        if stands_for:
            if request.dataset is not None and request.dataset.name == stands_for:
                return use
        elif replace(request, marks=UNMARKED).locator == full_name:
            return use
    return None
