"""Defines the content of an experiment's TOML file: graphs, sweeps, tables and pictures, and the paper's
claims."""

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
    """A graph that an experiment's file names."""

    name: str
    """The graph's name, as in ``run --dataset``."""
    label: str = ""
    """The paper's name for the graph, by default ``name``."""
    stand_ins: list[str] = msgspec.field(default_factory=list)
    """Similar graphs that may replace this graph if it is missing and ``--stand-ins`` is given. The first
    available graph is taken."""
    x: float | None = None
    """The graph's value on the horizontal axis of a curve whose key ``x`` is ``given``."""

    @property
    def title(self) -> str:
        return self.label or self.name


class Sweep(TomlTable, frozen=True, kw_only=True):
    """One sweep of an experiment: the variants, graphs and settings to measure. Most keys mean the same as
    the options of ``bfsbench run``."""

    variants: list[str]
    """Names or aliases of variants. ``all`` stands for all variants except entries, ``papers`` for the
    kernels of papers, and ``entries`` for the installed programs of other authors."""
    graphs: list[str] = msgspec.field(default_factory=list)
    """Labels of graphs, by default all graphs of the experiment."""
    grid: str = "auto"
    block: str = "auto"
    knobs: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    preset: str = PRESETS[0]
    tune: Annotated[int, msgspec.Meta(ge=0)] = 0
    """The largest number of settings to measure for a variant on a graph. Each setting is measured from all
    sources. Tuning changes grid, block and knobs one at a time, and chooses from the values of ``grid``,
    ``block`` and ``knobs``. Without ``tune`` and ``tune_per_knob``, every combination is measured."""
    tune_per_knob: Annotated[int, msgspec.Meta(ge=0)] = 0
    """The largest number of settings per knob for tuning a variant from one source of a graph. The fastest
    setting is then measured from all sources. If this project has changed the authors' search, the authors'
    form and each changed form are tuned one after the other."""
    label: str = ""
    """The name of this sweep's rows in drawings, claims and printed tables. A sweep with a label has exactly
    one variant."""

    @property
    def tunes(self) -> bool:
        """True if the sweep looks for the fastest setting."""
        return bool(self.tune or self.tune_per_knob)


Relation = Literal["faster", "slower", "fewer", "more"]


class Claim(TomlTable, frozen=True, kw_only=True):
    """A statement of the paper that compares series on graphs.

    On every graph in ``graphs``, ``series`` is faster (or slower) than each series in ``versus``. The factor
    is at least ``by`` and, if given, at most ``at_most``. A claim about a counter of level profiles uses the
    words ``fewer`` and ``more`` instead of ``faster`` and ``slower``.
    """

    text: str
    """The claim in words."""
    series: str
    versus: list[str]
    """Names of series to compare with. ``others`` stands for every other kernel of the experiment. If
    ``series`` names knob values, ``others`` stands for the variant with other values of these knobs.
    ``papers`` stands for the kernels of papers, and ``entries`` for the programs of other authors."""
    relation: Relation = "faster"
    quantity: str = "time"
    """The quantity that the claim compares: ``time``, or a counter that is summed over the levels (see
    ``bfsbench list counters``)."""
    graphs: list[str] = msgspec.field(default_factory=list)
    by: Factor = 1.0
    at_most: Factor | None = None
    changed: bool = False
    """True if the claim also compares with searches of other authors in a form that this project has changed
    (see ``Knob.changed``)."""


class Experiment(TomlTable, frozen=True, kw_only=True):
    """One table or figure of a paper, or an experiment of the user's own."""

    file: str
    """The path of the file that the experiment was read from. It is not a key of the file."""
    title: str
    paper: str
    figure: str = ""
    note: str = ""
    """Notes for readers on questions that the paper leaves open, and on this project's decisions."""
    family: str = DEFAULT
    graphs: list[GraphUse]
    source: str = ""
    """Source vertices as ``run --source`` takes them, or ``recommended`` for the source that the graph's
    generator recommends. By default, ``sources`` vertices are drawn at random with ``seed``."""
    sources: Annotated[int, msgspec.Meta(ge=1)] = 1
    seed: int = 0
    profile: bool = False
    """True if the level profile of each search is also measured."""
    all_rows: bool = False
    """True if the experiment also uses rows of other result files, for graphs, sources and devices that occur
    in its own rows. A search's time is then its best time in any file, no matter which experiment tuned the
    search."""
    graph_by_graph: bool = False
    """True if each graph is loaded, measured and released before the next graph. Sweeps that do not tune run
    first on every graph. Sweeps that tune follow."""
    sweeps: list[Sweep] = msgspec.field(default_factory=list)
    drawings: list[Drawing] = msgspec.field(default_factory=list)
    printed: list[str] = msgspec.field(default_factory=list)
    """Names of files with numbers that the paper prints, without ``.toml``. The files lie beside the
    experiment's file, or in a folder ``papers`` beside it."""
    claims: list[Claim] = msgspec.field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the experiment's file without ``.toml``."""
        return Path(self.file).stem

    @property
    def needs_graphs(self) -> bool:
        """True if a drawing shows the graphs themselves and not only measured rows."""
        return any(drawing.needs_graphs for drawing in self.drawings)

    def graph(self, label: str) -> GraphUse:
        """Returns the graph with this label or name."""
        return next(use for use in self.graphs if label in (use.title, use.name))


def read_experiment(path: Path) -> Experiment:
    """Returns the experiment that a file declares. Raises InputError for mistakes in the file. The message
    names the file and the faulty key."""
    table = read_toml(path)
    for key in ("name", "file"):
        if key in table:
            raise InputError(f"{path}: unknown key `{key}`: the file's name is the experiment's name")
    experiment = converted(path, {**table, "file": str(path)}, Experiment)
    families = all_families()
    if experiment.family not in families:
        there = ", ".join(families)
        raise InputError(f"{path}: `family` '{experiment.family}' is not one of {there}")
    labels = [use.title for use in experiment.graphs]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise InputError(f"{path}: two graphs are called '{twice}': give one of them another 'label'")
    known = {*labels, *(use.name for use in experiment.graphs)}
    for key in ("sweeps", "drawings", "claims"):
        for part in getattr(experiment, key):
            if strange := next((label for label in part.graphs if label not in known), None):
                raise InputError(f"{path}: `{key}` names graph '{strange}', which is not in `graphs`")
    for claim in experiment.claims:
        if (claim.relation in ("faster", "slower")) != (claim.quantity == "time"):
            raise InputError(f"{path}: `claims`: {claim.quantity} cannot be '{claim.relation}'")
    for sweep in experiment.sweeps:
        if sweep.label and len(sweep.variants) != 1:
            raise InputError(f"{path}: sweep '{sweep.label}' has a label and not one variant")
        if sweep.preset not in PRESETS:
            raise InputError(f"{path}: preset '{sweep.preset}' is not one of {', '.join(PRESETS)}")
    return experiment
