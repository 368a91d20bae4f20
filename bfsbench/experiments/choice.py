"""Which graphs an experiment is carried out on: the papers' own, shrunk ones, or stand-ins; the latter two
are marked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bfsbench.errors import UsageError
from bfsbench.graphs import files
from bfsbench.graphs.load import Request, resolve
from bfsbench.graphs.marks import Marks, split_marks

if TYPE_CHECKING:
    from bfsbench.experiments.declaration import Experiment, GraphUse


@dataclass(frozen=True, eq=False)
class Choice:
    """A graph of the experiment, and the graph that is searched for it."""

    use: GraphUse
    request: Request

    @property
    def full_name(self) -> str:
        """Its name in rows, marks included."""
        return self.request.full_name


def choose(
    uses: Iterable[GraphUse], scale: float = 1.0, stand_ins: bool = False
) -> tuple[list[Choice], list[str]]:
    """The graph to search for each graph of the experiment, and the names of missing ones without a stand-in.

    ``scale`` below 1 shrinks all of them to about that share of their vertices. Raises UsageError for an
    unknown graph or stand-in.
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
    """Raises UsageError with the command that fetches the missing graphs."""
    if not missing:
        return
    which = f"{len(missing)} graphs are" if len(missing) > 1 else "a graph is"
    instead = "nor a stand-in for them" if stand_ins else "--stand-ins searches similar graphs instead"
    raise UsageError(f"{which} not here: run 'bfsbench fetch {' '.join(missing)}' ({instead})")


def is_here(request: Request) -> bool:
    """Whether the graph is available without fetching anything."""
    if request.dataset is None or not request.needs_file:
        return True
    return files.held(request.dataset) is not None


def _stand_in(use: GraphUse, missing: Request) -> Request:
    """The first available stand-in, marked; the missing graph itself if there is none."""
    for text in use.stand_ins:
        request = resolve(text)
        if is_here(request) and missing.dataset is not None:
            plain, marks = split_marks(request.locator.removesuffix(f":{request.direction}"))
            return _named(plain, Marks(marks.shrink, missing.dataset.name), request)
    return missing


def _marked(request: Request, scale: float) -> Request:
    """The shrunk graph; unchanged where its generator cannot shrink it."""
    if scale >= 1:
        return request
    plain, marks = split_marks(request.locator.removesuffix(f":{request.direction}"))
    shrunk = _named(plain, Marks(marks.shrink * scale, marks.stands_for), request)
    return request if request.spec is not None and shrunk.spec == request.spec else shrunk


def _named(plain: str, marks: Marks, request: Request) -> Request:
    return resolve(f"{plain}{marks.suffix}:{request.direction}")


def title_of(experiment: Experiment, full_name: str) -> str:
    """The title of a row's graph: the paper's name, and the actual graph where it differs."""
    plain, marks = split_marks(full_name.rpartition(":")[0])
    direction = full_name.rpartition(":")[2]
    use = _use_of(experiment, f"{plain}:{direction}", marks.stands_for)
    remarks = [f"stand-in {plain.partition('(')[0]}"] if marks.stands_for else []
    remarks += [f"shrunk to {marks.shrink:g}"] if marks.shrink < 1 else []
    title = use.title if use else marks.stands_for or full_name
    return f"{title} ({', '.join(remarks)})" if remarks else title


def use_of(experiment: Experiment, full_name: str) -> GraphUse | None:
    """The graph of the experiment that a row's graph is, or replaces."""
    name, _, direction = full_name.rpartition(":")
    plain, marks = split_marks(name)
    return _use_of(experiment, f"{plain}:{direction}", marks.stands_for)


def _use_of(experiment: Experiment, full_name: str, stands_for: str) -> GraphUse | None:
    for use in experiment.graphs:
        request = resolve(use.name)
        plain, _ = split_marks(request.locator.removesuffix(f":{request.direction}"))
        if stands_for:
            if request.dataset is not None and request.dataset.name == stands_for:
                return use
        elif f"{plain}:{request.direction}" == full_name:
            return use
    return None
