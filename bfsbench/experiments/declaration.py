"""The content of an experiment file: graphs, sweeps, drawings, and the paper's claims."""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from bfsbench.errors import InputError
from bfsbench.experiments.drawings import KINDS
from bfsbench.experiments.drawings.base import Chart
from bfsbench.families import DEFAULT
from bfsbench.toml_files import Factor, Part, converted, read_toml
from bfsbench.variants import all_families
from bfsbench.variants.base import PRESETS

if TYPE_CHECKING:
    Drawing = Chart
else:
    Drawing = reduce(or_, KINDS)
    """One kind of drawing, chosen by the file; its keys are checked for that kind."""


class GraphUse(Part, frozen=True, kw_only=True):
    """A graph of the experiment."""

    name: str
    """The graph, as in ``run --dataset``."""
    label: str = ""
    """The paper's name for it; by default ``name``."""
    stand_ins: list[str] = msgspec.field(default_factory=list)
    """Graphs of the same class to search where this one is missing and ``--stand-ins`` is given; the first
    available one is taken."""
    x: float | None = None
    """Its place on the horizontal axis of a curve whose ``x`` is ``given``."""

    @property
    def title(self) -> str:
        return self.label or self.name


class Sweep(Part, frozen=True, kw_only=True):
    """The axes of a sweep, as in the options of ``run``."""

    variants: list[str]
    """Names or aliases; ``all`` for every one."""
    graphs: list[str] = msgspec.field(default_factory=list)
    """Labels of graphs; all of the experiment's by default."""
    grid: str = "auto"
    block: str = "auto"
    knobs: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    preset: str = PRESETS[0]
    tune: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Points per variant and graph for tuning block and knobs, one axis at a time; 0: every combination is
    measured. ``grid``, ``block`` and ``knobs`` are the values to choose from."""
    label: str = ""
    """Names the series of these rows in drawings, claims and printed tables; it has one variant then."""


Relation = Literal["faster", "slower", "fewer", "more"]


class Claim(Part, frozen=True, kw_only=True):
    """A statement of the paper: on every graph named, ``series`` is faster (or slower) than each of
    ``versus``, by a factor of at least ``by`` and, where given, at most ``at_most``. Counters of level
    profiles are ``fewer`` or ``more``."""

    text: str
    """The claim in words."""
    series: str
    versus: list[str]
    """Series; ``others`` stands for every other kernel of the experiment, or where ``series`` has knobs for
    the same variant with other values of these."""
    relation: Relation = "faster"
    quantity: str = "time"
    """``time``, or a counter (``bfsbench list counters``), summed over the levels."""
    graphs: list[str] = msgspec.field(default_factory=list)
    by: Factor = 1.0
    at_most: Factor | None = None


class Experiment(Part, frozen=True, kw_only=True):
    """One table or figure of a paper, or one of the user's own."""

    file: str
    """The path it was read from; not a key of the file."""
    title: str
    paper: str
    figure: str = ""
    note: str = ""
    """Notes for readers: choices made here, questions the paper leaves open."""
    family: str = DEFAULT
    graphs: list[GraphUse]
    source: str = ""
    """Source vertices as ``run --source`` takes them, or ``recommended``: the one that the graph's paper
    searches from; by default ``sources`` are chosen by ``seed``."""
    sources: Annotated[int, msgspec.Meta(ge=1)] = 1
    seed: int = 0
    profile: bool = False
    """Whether level profiles are taken as well."""
    sweeps: list[Sweep] = msgspec.field(default_factory=list)
    drawings: list[Drawing] = msgspec.field(default_factory=list)
    printed: list[str] = msgspec.field(default_factory=list)
    """Tables of printed numbers: names, without ``.toml``, of files in a folder ``papers`` or beside this."""
    claims: list[Claim] = msgspec.field(default_factory=list)

    @property
    def name(self) -> str:
        """The file's name without ``.toml``."""
        return Path(self.file).stem

    @property
    def needs_graphs(self) -> bool:
        """Whether a drawing shows the graphs themselves."""
        return any(drawing.needs_graphs for drawing in self.drawings)

    def graph(self, label: str) -> GraphUse:
        """The graph of that label or name."""
        return next(use for use in self.graphs if label in (use.title, use.name))


def read_experiment(path: Path) -> Experiment:
    """The experiment of one file. Raises InputError naming the file and the key at fault."""
    table = read_toml(path)
    for key in ("name", "file"):
        if key in table:
            raise InputError(f"{path}: unknown key `{key}`: an experiment is called as its file")
    experiment = converted(path, {**table, "file": str(path)}, Experiment)
    _check(path, experiment)
    return experiment


def _check(path: Path, experiment: Experiment) -> None:
    """Checks beyond types: the family exists, labels that are used exist and are unique."""
    families = all_families()
    if experiment.family not in families:
        there = ", ".join(families)
        raise InputError(f"{path}: `family` '{experiment.family}' is not one of {there}")
    labels = [use.title for use in experiment.graphs]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise InputError(f"{path}: two graphs are called '{twice}': give one of them another 'label'")
    known = {*labels, *(use.name for use in experiment.graphs)}
    parts: list[tuple[str, list[str]]] = [
        *(("sweeps", sweep.graphs) for sweep in experiment.sweeps),
        *(("drawings", drawing.graphs) for drawing in experiment.drawings),
        *(("claims", claim.graphs) for claim in experiment.claims),
    ]
    for part, used in parts:
        if strange := next((label for label in used if label not in known), None):
            raise InputError(f"{path}: `{part}` names graph '{strange}', which is not in `graphs`")
    for claim in experiment.claims:
        if (claim.relation in ("faster", "slower")) != (claim.quantity == "time"):
            raise InputError(f"{path}: `claims`: {claim.quantity} cannot be '{claim.relation}'")
    for sweep in experiment.sweeps:
        if sweep.label and len(sweep.variants) != 1:
            raise InputError(f"{path}: sweep '{sweep.label}' has a label and not one variant")
        if sweep.preset not in PRESETS:
            raise InputError(f"{path}: preset '{sweep.preset}' is not one of {', '.join(PRESETS)}")
