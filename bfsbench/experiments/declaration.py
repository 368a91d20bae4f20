"""The content of an experiment file: graphs, sweeps, drawings, and the paper's claims."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from bfsbench.experiments.drawings import Drawing
from bfsbench.programs.families import DEFAULT
from bfsbench.support.errors import InputError
from bfsbench.support.toml_files import Factor, TomlTable, converted, read_toml
from bfsbench.variants import all_families
from bfsbench.variants.base import PRESETS


class GraphUse(TomlTable, frozen=True, kw_only=True):
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


class Sweep(TomlTable, frozen=True, kw_only=True):
    """The axes of a sweep, as in the options of ``run``."""

    variants: list[str]
    """Names or aliases; ``all`` for every one but entries, ``papers`` for the kernels of papers, ``entries``
    for the programs of others that are installed."""
    graphs: list[str] = msgspec.field(default_factory=list)
    """Labels of graphs; all of the experiment's by default."""
    grid: str = "auto"
    block: str = "auto"
    knobs: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    preset: str = PRESETS[0]
    tune: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Points per variant and graph for tuning block and knobs, one axis at a time; 0: every combination is
    measured. ``grid``, ``block`` and ``knobs`` are the values to choose from."""
    tune_per_knob: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Points per knob for tuning a variant on one source of a graph. The fastest setting is then measured
    from all sources. The authors' form and our change of it are tuned one after the other."""
    label: str = ""
    """Names the series of these rows in drawings, claims and printed tables; it has one variant then."""

    @property
    def tunes(self) -> bool:
        """Whether it looks for the fastest setting."""
        return bool(self.tune or self.tune_per_knob)


Relation = Literal["faster", "slower", "fewer", "more"]


class Claim(TomlTable, frozen=True, kw_only=True):
    """A statement of the paper: on every graph named, ``series`` is faster (or slower) than each of
    ``versus``, by a factor of at least ``by`` and, where given, at most ``at_most``. Counters of level
    profiles are ``fewer`` or ``more``."""

    text: str
    """The claim in words."""
    series: str
    versus: list[str]
    """Series; ``others`` stands for every other kernel of the experiment, or where ``series`` has knobs for
    the same variant with other values of these. For ``papers`` and ``entries`` see ``Sweep.variants``."""
    relation: Relation = "faster"
    quantity: str = "time"
    """``time``, or a counter (``bfsbench list counters``), summed over the levels."""
    graphs: list[str] = msgspec.field(default_factory=list)
    by: Factor = 1.0
    at_most: Factor | None = None
    changed: bool = False
    """Whether ``versus`` includes our changes of the authors' searches (``Knob.changed``)."""


class Experiment(TomlTable, frozen=True, kw_only=True):
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
    all_rows: bool = False
    """Whether a search is as fast as in any result file at hand, of the same graph, source and device: then
    searches are tuned alike, whichever experiment has tuned them."""
    graph_by_graph: bool = False
    """Whether each graph is loaded, measured and released before the next one: first the sweeps that do not
    tune on every graph, then those that do."""
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
