"""What an experiment file says: graphs, sweeps, what to draw, and what the paper claims."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from bfsbench.errors import InputError
from bfsbench.variants.base import PRESETS

Factor = Annotated[float, msgspec.Meta(gt=0)]
Kind = TypeVar("Kind")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file: keys that are not declared are mistakes."""


class GraphUse(Part, frozen=True, kw_only=True):
    """A graph of the experiment."""

    name: str
    """As ``run --dataset`` takes it."""
    label: str = ""
    """What the paper calls it; the name by default."""
    stand_ins: list[str] = []
    """Graphs of the same class to search where this one is missing and ``--stand-ins`` allows it; the first
    that is here is taken."""
    x: float | None = None
    """Its place on the horizontal axis of a curve whose ``x`` is ``given``."""

    @property
    def title(self) -> str:
        return self.label or self.name


class Sweep(Part, frozen=True, kw_only=True):
    """What is crossed, as options of ``run``."""

    variants: list[str]
    """Names or aliases; ``all`` for every one."""
    graphs: list[str] = []
    """Labels of graphs; all of the experiment's by default."""
    grid: str = "auto"
    block: str = "auto"
    knobs: dict[str, str | int | float] = {}
    preset: str = PRESETS[0]
    label: str = ""
    """Names the series of these rows in drawings, claims and printed tables; it has one variant then."""


class Chart(Part, frozen=True, kw_only=True, tag_field="kind"):
    """What all drawings have in common."""

    title: str = ""
    """The experiment's title by default."""
    graphs: list[str] = []
    """Labels; all by default."""
    series: list[str] = []
    """Labels of sweeps or variants, which knobs may narrow: ``virtual_warp W_SZ=4``; all by default."""

    @property
    def compared(self) -> list[str]:
        """Series that the others are shown in relation to."""
        return []


class Bars(Chart, frozen=True, kw_only=True, tag="bars"):
    """The best time of every series, a group a graph."""


class HeatMap(Chart, frozen=True, kw_only=True, tag="heatmap"):
    """Time over grid x block, a map a graph and series."""


class Profile(Chart, frozen=True, kw_only=True, tag="profile"):
    """Frontier size and time a level, the kernel or layer that ran it marked."""


class Duplicates(Chart, frozen=True, kw_only=True, tag="duplicates"):
    """Entries of the frontier a level, duplicates included, against distinct vertices."""


class Ablation(Chart, frozen=True, kw_only=True, tag="ablation"):
    """Speed-up over ``baseline`` as parts are added, in the order of ``series``."""

    baseline: str = "cpu_queue"
    references: list[str] = []
    """Series drawn as lines across the bars."""

    @property
    def compared(self) -> list[str]:
        return [self.baseline, *self.references]


class KnobSweep(Chart, frozen=True, kw_only=True, tag="knobs"):
    """Best time of each series against each value of the knobs that it sweeps."""


class SpeedUp(Chart, frozen=True, kw_only=True, tag="speedup"):
    """Time of ``baseline`` / time of each series, a group a graph."""

    baseline: str = "cpu_queue"

    @property
    def compared(self) -> list[str]:
        return [self.baseline]


class Curve(Chart, frozen=True, kw_only=True, tag="curve"):
    """Best time of every series over the graphs, placed by their size or by their ``x``."""

    x: Literal["num_vertices", "given"] = "num_vertices"
    x_label: str = "vertices"
    log_x: bool = False
    log_y: bool = False


class Growth(Chart, frozen=True, kw_only=True, tag="growth"):
    """An accelerated quadratic algorithm against n log n, with measured times of ``series`` over V."""

    acceleration: Factor = 1000.0


class Spread(Chart, frozen=True, kw_only=True, tag="spread"):
    """Fastest, median and slowest sample of every series."""


class Datasets(Chart, frozen=True, kw_only=True, tag="datasets"):
    """The graphs' statistics beside the printed ones."""


class Complexity(Chart, frozen=True, kw_only=True, tag="complexity"):
    """Declarations of the variants side by side; ``series`` says which."""


class Trace(Chart, frozen=True, kw_only=True, tag="trace"):
    """Small graphs: matrices, levels, and which threads of which kernels do what."""

    sources: list[int]


class Maze(Chart, frozen=True, kw_only=True, tag="maze"):
    """A maze of the generator ``maze``, routed from its first to its last cell by ``series``."""


Drawing = (
    Bars
    | HeatMap
    | Profile
    | Duplicates
    | Ablation
    | KnobSweep
    | SpeedUp
    | Curve
    | Growth
    | Spread
    | Datasets
    | Complexity
    | Trace
    | Maze
)


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
    graphs: list[str] = []
    by: Factor = 1.0
    at_most: Factor | None = None


class Experiment(Part, frozen=True, kw_only=True):
    """One table or figure of a paper, or one of the user's own."""

    file: str
    """Where it was read from; not a key of the file."""
    title: str
    paper: str
    figure: str = ""
    note: str = ""
    """What a reader must know: choices made here, what the paper leaves open."""
    family: Literal["bfs", "apsp"] = "bfs"
    graphs: list[GraphUse]
    source: str = ""
    """Source vertices as ``run --source`` takes them, or ``recommended``: the one that the graph's paper
    searches from; by default ``sources`` are chosen by ``seed``."""
    sources: Annotated[int, msgspec.Meta(ge=1)] = 1
    seed: int = 0
    profile: bool = False
    """Whether level profiles are taken as well."""
    sweeps: list[Sweep] = []
    drawings: list[Drawing] = []
    printed: list[str] = []
    """Tables of printed numbers: names, without ``.toml``, of files in a folder ``papers`` or beside this."""
    claims: list[Claim] = []

    @property
    def name(self) -> str:
        """The file's name without ``.toml``."""
        return Path(self.file).stem

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


def read_toml(path: Path, parse_float: Callable[[str], float | str] = float) -> dict[str, Any]:
    """A TOML file, its decimal fractions as ``parse_float`` makes them. Raises InputError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=parse_float)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error


def converted(path: Path, table: dict[str, Any], kind: type[Kind]) -> Kind:
    """The table as a ``kind``. Raises InputError naming the file and the key at fault."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {str(error).replace('`$.', '`')}") from error


def _check(path: Path, experiment: Experiment) -> None:
    """What the types do not say: labels that are used exist and are unique."""
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
