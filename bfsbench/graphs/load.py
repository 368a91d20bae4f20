"""Opens a graph by its name, which stands for a catalogue entry, a file or a generated graph. Converted
graphs are cached.

The module also finds the kind of a named graph, and which of its files are on disk. It also estimates the
memory that is needed to open the graph.
"""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

from bfsbench.graphs import files
from bfsbench.graphs.ball import ball
from bfsbench.graphs.catalogue import (
    FORMATS_BY_SUFFIX,
    Catalogue,
    Dataset,
    IdPolicy,
    Keep,
    Recipe,
    Source,
    WeightPolicy,
)
from bfsbench.graphs.files import Held
from bfsbench.graphs.formats import count_entries, first_look, read_edges
from bfsbench.graphs.generators import GENERATORS, canonical_spec, generate
from bfsbench.graphs.generators.declaration import parse_spec
from bfsbench.graphs.graph import Direction, EdgeList, Graph, Orientation, Size
from bfsbench.graphs.marks import MARKS, UNMARKED, Marks, given_name, marks_of
from bfsbench.graphs.store import GraphStore
from bfsbench.support.errors import InputError, UsageError, no_formula, printable, public, size_text
from bfsbench.support.interrupts import interruptible
from bfsbench.support.machine import available_memory

_DIRECTIONS: tuple[Direction, ...] = ("directed", "symmetrised")

_OPTIONS: dict[str, tuple[str, ...]] = {
    "ids": get_args(IdPolicy),
    "self_loops": get_args(Keep),
    "duplicates": get_args(Keep),
    "orientation": get_args(Orientation),
    "weights": get_args(WeightPolicy),
    "format": tuple(dict.fromkeys(FORMATS_BY_SUFFIX.values())),
}
"""Fields of :class:`Recipe` that a user may set after a graph's name, and the values of each."""

_SUFFIX = re.compile(rf":(?:({'|'.join(_DIRECTIONS)})|(\w+)=([\w.+-]*))$", re.ASCII)

Overrides = dict[str, Any]
"""Fields of :class:`Recipe` by name."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class GraphName:
    """A parsed graph name such as ``soc-Slashdot0902:directed``: a dataset, a file, or a generated graph."""

    plain: str
    """The canonical name, followed by the options that were set. It is the catalogue's name, the file's name,
    or the generator's shortest specification."""
    direction: Direction
    overrides: Overrides
    dataset: Dataset | None = None
    path: Path | None = None
    generator: tuple[str, Mapping[str, Any]] | None = None
    """The generator and the parameters of a generated graph before it is shrunk. The graph may be an entry of
    the catalogue. None for a graph that is read from a file."""
    marks: Marks = UNMARKED
    reader: str = ""
    """The library that reads the file. Empty for this package's parser."""

    def __hash__(self) -> int:
        return hash(self.locator)

    @property
    def name(self) -> str:
        """Returns the graph's name without its direction, but with its marks, such as
        ``:shrink=...`` (see marks.py). For a graph given in memory, returns the name that
        the user gave the graph."""
        given = given_name(self._located)
        return (self.plain if given == self._located else given) + self.marks.suffix

    @property
    def full_name(self) -> str:
        """Returns the graph's name in result rows. If two files have the same name, the checksum in result
        rows distinguishes their graphs."""
        return f"{self.name}:{self.direction}"

    @property
    def locator(self) -> str:
        """Returns the text that loads this graph again, from any folder."""
        return f"{self._located}{self.marks.suffix}:{self.direction}"

    @property
    def stored_name(self) -> str:
        """Returns the graph's name in the cache. It contains the file's folder and the mark ``shrink``, but
        neither the direction nor other marks."""
        return self._located + Marks(self.marks.shrink).suffix

    @property
    def drawn(self) -> tuple[str, dict[str, Any]] | None:
        """Returns the generator and its parameters, or None if the graph is not generated. For a shrunk
        graph, the parameters are those of the small graph."""
        if self.generator is None:
            return None
        name, parameters = self.generator
        share = self.marks.shrink
        return name, GENERATORS[name].shrunk(parameters, share) if share < 1 else dict(parameters)

    @property
    def spec(self) -> str | None:
        """Returns the specification of a generated graph, such as ``kronecker(scale=12,seed=1)``. Returns
        None for any other graph.
        """
        return None if self.drawn is None else canonical_spec(*self.drawn)

    @property
    def _located(self) -> str:
        """Returns the graph's name without direction. If the graph is a file, the name includes the file's
        folder.
        """
        return self.plain if self.path is None else f"{self.path.parent.resolve() / self.plain}"

    @property
    def needs_file(self) -> bool:
        """Returns whether the graph is read from a fetched or bundled file."""
        return self.generator is None and self.path is None


@public
def load(text: str | os.PathLike[str], progress: Progress | None = None, *, check: bool = True) -> Graph:
    """Returns the graph that ``text`` names. It is converted or generated if it is not in the cache.

    ``text`` is a name or alias of the catalogue, the path of a graph file as text or as a path object, or the
    specification of a generated graph, such as ``kronecker(scale=12,edge_factor=16,seed=1)``. Options may
    follow in any order, such as ``:duplicates=drop``, ``:directed`` or ``:symmetrised``. ``:shrink=0.1`` asks
    for a connected part, or a generated graph, with a tenth of the vertices. ``:offsets=int64`` asks for
    64-bit offsets. ``:stands_for=NAME`` marks the graph as a replacement of the graph NAME.

    ``progress`` is called with the bytes read so far and in all while a file is converted. A graph in the
    cache is checked for damage, unless ``check`` is false because the parent process has done so. Raises
    UsageError for an unknown name or a graph that is not fetched. Raises InputError for a file that is
    damaged or differs from its published counts.
    """
    if not isinstance(text, (str, os.PathLike)):
        raise UsageError(f"load needs a name or a path, not {type(text).__name__}: see Graph.from_networkx")
    return load_parsed(resolve(os.fspath(text)), progress, check=check)


def load_parsed(request: GraphName, progress: Progress | None = None, *, check: bool = True) -> Graph:
    """Returns the graph of a parsed name. ``progress`` and ``check`` have the meaning that :func:`load`
    describes. Raises UsageError for a dataset that is not fetched, and InputError for a bad file."""
    if missing := not_here(request):
        raise UsageError(missing)
    found = files.held(request.dataset) if request.dataset else None
    return prepare(request, found, progress, check=check)


def not_here(request: GraphName) -> str:
    """Returns a message with the command that fetches the graph. Returns an empty string if the graph's file
    is here, or if the graph needs no file."""
    if request.dataset is None or not request.needs_file or files.held(request.dataset):
        return ""
    name = request.dataset.name
    return f"dataset {name} is not here yet: run 'bfsbench fetch {name}'"


def resolve(text: str) -> GraphName:
    """Parse a graph name. Returns the parsed name, without opening the graph. At most the beginning of a file
    is read. Raises UsageError for an unknown or malformed name, and InputError for a file that cannot be
    read.
    """
    name, options, marks, direction = _split(text)
    catalogue = Catalogue.load()
    if name in catalogue:
        request = replace(request_for(catalogue.get(name)), overrides=options)
        directed = request.direction == "directed"
    elif os.sep in name or ("(" not in name and (is_file(name) or _ends_like_a_file(name))):
        path = _readable(name)
        orientation, reader = first_look(path, options.get("format"), options.get("ids"))
        request = GraphName(_row_name(path), "directed", options, path=path, reader=reader)
        directed = orientation == "directed"
    elif "(" in name or name in GENERATORS:
        generator = parse_spec(name)
        request = GraphName(canonical_spec(*generator), "directed", options, generator=generator)
        directed = GENERATORS[generator[0]].draws_arcs(generator[1])
    elif match := re.search(r":(\w+)$", name):
        raise UsageError(f"'{match[1]}' in '{text}' is not a direction: choose from {', '.join(_DIRECTIONS)}")
    else:
        raise catalogue.unknown(name)
    suffix = "".join(f":{key}={options[key]}" for key in _OPTIONS if key in options)
    return _with_direction(replace(request, plain=request.plain + suffix, marks=marks), direction, directed)


def is_file(name: str) -> bool:
    """Returns whether a file of this name exists. Returns False for a text that is too long for a file's
    name. Such a text may be a list of graph names."""
    try:
        return Path(name).is_file()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False


def _ends_like_a_file(name: str) -> bool:
    """Returns whether a name has the suffix of a graph format, with or without a suffix of a compression. If
    so, the caller reports a missing file instead of an unknown dataset."""
    return not {suffix.lower() for suffix in Path(name).suffixes}.isdisjoint(FORMATS_BY_SUFFIX)


def _readable(name: str) -> Path:
    """Returns the path of a graph file or folder. Raises InputError for a pipe or a device, and for a name
    that no file can have."""
    path = Path(name)
    try:
        path = path.expanduser()
        special = path.exists() and not path.is_file() and not path.is_dir()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except RuntimeError as error:  # the path begins with ~user, and this user does not exist
        raise InputError(f"cannot read {path}: {error}") from error
    if special:
        raise InputError(f"cannot read {path}: it is a pipe or a device, and graphs are read several times")
    return path


def _row_name(path: Path) -> str:
    """Returns the name of a graph file in result rows. If a spreadsheet would take the name for a formula,
    ``./`` is put in front of it. Raises UsageError for a name with unprintable characters, and for a folder
    whose name is not UTF-8."""
    name = path.name
    if not name.isprintable():
        raise UsageError(f"graph file '{printable(name)}': rename it, its name has unprintable characters")
    folder = str(path.parent.resolve())
    if any("\ud800" <= one <= "\udfff" for one in folder):
        raise UsageError(f"graph file '{name}': rename its folder '{printable(folder)}', which is not UTF-8")
    return name if no_formula(name) == name else f"{os.curdir}{os.sep}{name}"


def request_for(dataset: Dataset) -> GraphName:
    """Returns the parsed name of a dataset of the catalogue. If the dataset is a generated graph with wrong
    parameters, raises UsageError."""
    direction: Direction = "directed" if dataset.directed else "symmetrised"
    generator = (dataset.generator, dataset.parameters) if dataset.generator else None
    if generator is not None:
        canonical_spec(*generator)  # this call raises UsageError for bad parameters
    return GraphName(dataset.name, direction, {}, dataset=dataset, generator=generator)


def prepare(
    request: GraphName, found: Held | None, progress: Progress | None = None, *, check: bool = True
) -> Graph:
    """Returns the graph of a parsed name from the cache. If the cache does not contain the graph, it is made,
    checked and stored. ``found`` is the dataset's file, if the graph is read from a dataset. An interrupt
    (Ctrl-C) ends the wait for the graph at once."""
    return interruptible(lambda: _prepared(request, found, progress, check))


def _prepared(request: GraphName, found: Held | None, progress: Progress | None, check: bool) -> Graph:
    recipe, checksum = _identity(request, found)
    store = GraphStore()
    graph = store.open(request.stored_name, recipe, checksum, check=check)
    if graph is None:
        graph = store.build(
            *(request.stored_name, recipe, lambda: _edges(request, found, recipe, progress), checksum),
            expect=_published_counts(request, found, recipe),
        )
    if request.marks.offsets:
        graph = graph.with_wide_offsets()
    return replace(graph, name=request.name, locator=request.locator)


def _edges(request: GraphName, found: Held | None, recipe: Recipe, progress: Progress | None) -> EdgeList:
    """Returns the edges of a graph. For a shrunk graph, they are generated for the smaller size or cut out of
    the whole graph."""
    if request.drawn is not None:
        name, parameters = request.drawn
        return generate(name, **parameters)
    if request.marks.shrink < 1:
        return ball(prepare(replace(request, marks=UNMARKED), found, progress), request.marks.shrink)
    path = found.path if found else request.path
    assert path is not None
    return read_edges(path, recipe, progress)


def _published_counts(
    request: GraphName, found: Held | None, recipe: Recipe
) -> tuple[int | None, int | None]:
    """Returns the numbers of vertices and edges that a dataset must have. A number is None if it is not
    published, or if ``recipe`` or shrinking may change it."""
    if request.dataset is None or request.marks.shrink < 1:
        return None, None
    vertices, edges = request.dataset.counts(found.source if found else None)
    if found is not None and recipe.ids != request.dataset.recipe(found.source).ids:
        vertices = None
    return vertices, edges


def stored(request: GraphName, found: Held | None) -> Path | None:
    """Returns the cache folder with the arrays of a graph, or None if they have not been made."""
    if request.needs_file and found is None:
        return None
    store, (recipe, checksum) = GraphStore(), _identity(request, found)
    graph = store.open(request.stored_name, recipe, checksum, check=False)
    return None if graph is None else store.folder(request.stored_name, recipe)


def _identity(request: GraphName, found: Held | None) -> tuple[Recipe, str]:
    """Returns the options for reading a graph, and the checksum of its source. Together with the name, they
    identify the graph in the cache.
    """
    if request.spec is not None:
        base, checksum = Recipe(), hashlib.sha256(request.spec.encode()).hexdigest()
    elif request.path is not None:
        base, checksum = Recipe(), files.checksum_of(request.path)
    else:
        assert request.dataset is not None and found is not None
        base, checksum = request.dataset.recipe(found.source), found.checksum
    return replace(base, **request.overrides), checksum


def _split(text: str) -> tuple[str, Overrides, Marks, Direction | None]:
    """Split the text that names a graph. Returns the name, the options, the marks (such as ``shrink``), and
    the direction or None.

    Options, marks and direction may be in any order. Raises UsageError for an option that is unknown, has a
    wrong value, or is given twice.
    """
    name, found = text, dict[str, str]()
    while match := _SUFFIX.search(name):
        direction, key, value = match.groups()
        if direction:
            key, value = "direction", direction
        else:
            _check_option(key, value, text)
        if key in found:
            raise UsageError(f"'{text}' has two values of its {key}")
        found[key] = value
        name = name[: match.start()]
    options = {key: value for key, value in found.items() if key in _OPTIONS}
    return name, options, marks_of(found), cast("Direction | None", found.get("direction"))


def _check_option(key: str, value: str, text: str) -> None:
    """Check an option and its value. Raises UsageError if either is unknown."""
    if key in MARKS:
        return
    if key not in _OPTIONS:
        known = (*_OPTIONS, *MARKS)
        raise UsageError(f"unknown option '{key}' in '{text}': choose from {', '.join(known)}")
    if value not in _OPTIONS[key]:
        raise UsageError(f"option {key}: '{value}' is not one of {', '.join(_OPTIONS[key])}")


def _with_direction(request: GraphName, direction: Direction | None, directed: bool) -> GraphName:
    """Returns the parsed name with the chosen direction. If none is chosen, it has the graph's own direction.

    Raises UsageError if ``directed`` is chosen for an undirected graph.
    """
    if "orientation" in request.overrides:
        directed = request.overrides["orientation"] == "directed"
    if direction == "directed" and not directed:
        raise UsageError(
            f"{request.name} is undirected: its edges are searched both ways, so ':directed' does not apply"
        )
    # An undirected graph has both arcs of every edge already, so it needs no second copy in the cache.
    if directed and direction == "symmetrised":
        return replace(request, direction="symmetrised", overrides={**request.overrides, "symmetrise": True})
    return replace(request, direction="directed" if directed else "symmetrised")


UNKNOWN = "other"
"""The kind of a graph that is neither in the catalogue nor generated."""
_catalogue = cache(Catalogue.load)


@cache
def kind_of_graph(name: str) -> str:
    """Returns the kind of a graph, such as a social network or roads. ``name`` is the graph's name in result
    rows. The catalogue's entry or the generator determines the kind. If the graph has neither, the result is
    UNKNOWN."""
    plain = name.partition(":")[0]
    known = _catalogue()
    if plain in known:
        return known.get(plain).kind
    try:
        generator, _ = parse_spec(plain)
    except UsageError:
        return UNKNOWN
    return GENERATORS[generator].kind if generator in GENERATORS else UNKNOWN


State = Literal["missing", "partial", "fetched", "bundled", "converted", "generated"]


@dataclass(frozen=True)
class Presence:
    """Says which files of a dataset are on disk.

    ``state`` is ``converted`` if the cache has the graph's arrays. It is ``generated`` if the graph has no
    file and is generated when it is first used.
    """

    state: State
    bytes_on_disk: int
    """Size of the source file, complete or not, and of the converted arrays."""
    source: Source | None
    """The source that is present. Its counts may differ from the dataset's."""


def presence(dataset: Dataset) -> Presence:
    """Returns which files of a dataset are on disk, without reading them."""
    found = None if dataset.generated else files.held(dataset)
    partial = files.partial_bytes(dataset)
    converted = stored(request_for(dataset), found)
    size = partial + _size(found.path if found else None) + _size(converted)
    state: State
    if converted is not None:
        state = "converted"
    elif found is not None:
        state = "bundled" if found.source.bundled else "fetched"
    elif dataset.generated:
        state = "generated"
    else:
        state = "partial" if partial else "missing"
    return Presence(state, size, found.source if found else None)


def _size(path: Path | None) -> int:
    if path is None:
        return 0
    inside = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in inside)


_EDGES_A_VERTEX = 4
"""Edges per vertex assumed for a file that does not give its number of vertices. Most graphs have more."""


def peak_memory(request: GraphName) -> int | None:
    """Returns an estimate of the peak memory that is needed to open a graph, in bytes.

    For a graph in the cache, the estimate is the size of its memory-mapped arrays. Any other graph is
    generated or read, and then converted. At most the beginning of its file is read for the estimate. Returns
    None for a graph that is not fetched and whose size is not in the catalogue. Memory of searches and
    devices is not included. Raises InputError for a file that cannot be read.
    """
    found = files.held(request.dataset) if request.dataset else None
    folder = stored(request, found)
    if folder is not None:
        return _size(folder)
    path = found.path if found else request.path
    vertices, edges = _known_counts(request, path)
    if path is not None and edges is not None:
        vertices = vertices or edges // _EDGES_A_VERTEX
    if vertices is None or edges is None:
        return None
    weighted = request.drawn is not None and GENERATORS[request.drawn[0]].weighted
    # If the file lists both arcs of every edge, no reverse arcs are added, and the estimate is too high.
    return Size(vertices, edges, request.direction == "symmetrised", weighted).peak_bytes


def known_vertices(request: GraphName) -> int | None:
    """Returns the number of vertices of a graph that is not open yet, or None if it is unknown.

    It is known for generated graphs. For other graphs, the catalogue's entry or the file's header may state
    it. Raises InputError for a file that cannot be read.
    """
    # Some values of the option ``ids`` leave out vertices without arcs, so the number is unknown.
    return None if "ids" in request.overrides else _known_counts(request, request.path)[0]


def _known_counts(request: GraphName, path: Path | None) -> tuple[int | None, int | None]:
    """Returns the number of vertices of a graph and the number of edges in its file, without opening the
    graph. An unknown number is None. At most the beginning of the file at ``path`` is read."""
    if request.drawn is not None:
        name, parameters = request.drawn
        return GENERATORS[name].counts(parameters)
    if path is not None:
        return count_entries(path, request.overrides.get("format"))
    assert request.dataset is not None
    return request.dataset.counts(None)


def memory_lines(requests: Sequence[GraphName]) -> list[str]:
    """Returns one line per graph with its peak memory. The line contains a warning if the peak is more than
    the available memory."""
    available = available_memory()
    lines = []
    for request in requests:
        peak = peak_memory(request)
        if peak is None:
            lines.append(f"{request.full_name}: its size is known once it has been fetched")
            continue
        room = "" if available is None or peak <= available else f", but {size_text(available)} are available"
        lines.append(f"{request.full_name}: about {size_text(peak)}{room}")
    return lines
