"""A graph by name: from the catalogue, a file, or a generator's specification, through the cache on disk."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from bfsbench.errors import InputError, UsageError
from bfsbench.graphs import files
from bfsbench.graphs.catalogue import Catalogue, Dataset
from bfsbench.graphs.files import Held
from bfsbench.graphs.graph import Direction, EdgeList, Graph, Orientation
from bfsbench.graphs.marks import MARKS, UNMARKED, Marks, marks_of, split_marks
from bfsbench.graphs.recipe import FormatName, IdPolicy, Keep, Recipe, WeightPolicy
from bfsbench.wording import no_formula, printable

if TYPE_CHECKING:
    from bfsbench.graphs.store import GraphStore

_DIRECTIONS: tuple[Direction, ...] = ("directed", "symmetrised")

_OPTIONS: dict[str, tuple[str, ...]] = {
    "ids": get_args(IdPolicy),
    "self_loops": get_args(Keep),
    "duplicates": get_args(Keep),
    "orientation": get_args(Orientation),
    "weights": get_args(WeightPolicy),
    "format": get_args(FormatName),
}
"""Fields of :class:`Recipe` that a user may set after a graph's name, and their values."""

_SUFFIX = re.compile(rf":(?:({'|'.join(_DIRECTIONS)})|(\w+)=([\w.+-]*))$", re.ASCII)

Overrides = dict[str, Any]
"""Fields of :class:`Recipe` by name."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Request:
    """A parsed graph name such as ``soc-Slashdot0902:directed``: a dataset, a file, or a generated graph."""

    name: str
    """Canonical: the catalogue's name, that of the file, or the generator's shortest specification, followed
    by the options that were set and the marks."""
    direction: Direction
    overrides: Overrides
    dataset: Dataset | None = None
    path: Path | None = None
    spec: str | None = None
    """Specification of a generated graph, named in the catalogue or not; of the small one if it is shrunk."""
    marks: Marks = UNMARKED
    reader: str = ""
    """The library that reads the file, if it is not this package's parser."""

    @property
    def full_name(self) -> str:
        """As result rows name the graph. Files of one name are distinguished by their checksums."""
        return f"{self.name}:{self.direction}"

    @property
    def locator(self) -> str:
        """The text that loads the same graph again, from any folder."""
        return f"{self._located(self.name)}:{self.direction}"

    @property
    def stored_name(self) -> str:
        """The graph's name in the cache: the mark of a stand-in is left out."""
        return self._located(split_marks(self.name)[0]) + Marks(self.marks.shrink).suffix

    def _located(self, name: str) -> str:
        """The name, of a file with its folder."""
        return name if self.path is None else f"{self.path.parent.resolve() / name}"

    @property
    def needs_file(self) -> bool:
        """Whether the graph is read from a fetched or bundled file."""
        return self.spec is None and self.path is None


def load(text: str, progress: Progress | None = None, *, check: bool = True) -> Graph:
    """The graph that ``text`` names, converted or generated if it is not in the cache.

    ``text`` is a name or alias of the catalogue, the path of a graph file, or the specification of a
    generated graph, such as ``kronecker(scale=12,edge_factor=16,seed=1)``. In any order may follow options
    such as ``:duplicates=drop``, ``:shrink=SHARE`` for a small graph of the kind, ``:stands_for=NAME``, which
    only marks it, and ``:directed`` or ``:symmetrised``. ``progress`` is called with the bytes read so far
    and in all while a file is converted. A graph in the cache is checked for damage; ``check`` is false where
    the parent process has done so. Raises UsageError for an unknown name or a graph that is not fetched,
    InputError for a file that is damaged or differs from its published counts.
    """
    request = resolve(text)
    found = files.held(request.dataset) if request.dataset else None
    if request.dataset is not None and request.needs_file and found is None:
        name = request.dataset.name
        raise UsageError(f"dataset {name} is not here yet: run 'bfsbench fetch {name}'")
    return prepare(request, found, progress, check=check)


def resolve(text: str) -> Request:
    """Parse a graph name, reading no more than a file's header. Raises UsageError, InputError."""
    name, options, marks, direction = _split(text)
    catalogue = Catalogue.load()
    if name in catalogue:
        request = replace(request_for(catalogue.get(name)), overrides=options)
        directed = request.direction == "directed"
    elif os.sep in name or ("(" not in name and _is_file(name)):
        path = _readable(name)
        orientation, reader = _first_look(path, options)
        request = Request(_row_name(path), "directed", options, path=path, reader=reader)
        directed = orientation == "directed"
    elif "(" in name or _is_generator(name):
        spec = _canonical(*_parse(name))
        request = Request(spec, "directed", options, spec=spec)
        directed = _draws_arcs(spec)
    elif match := re.search(r":(\w+)$", name):
        raise UsageError(f"'{match[1]}' in '{text}' is no direction: choose from {', '.join(_DIRECTIONS)}")
    else:
        raise catalogue.unknown(name)
    suffix = "".join(f":{key}={options[key]}" for key in _OPTIONS if key in options)
    request = replace(request, name=request.name + suffix + marks.suffix, marks=marks)
    if request.spec is not None:
        request = replace(request, spec=_shrunk(request.spec, marks.shrink))
    return _with_direction(request, direction, directed)


def _is_file(name: str) -> bool:
    """Whether there is such a file; none has a name that the file system refuses."""
    try:
        return Path(name).is_file()
    except OSError:
        return False


def _readable(name: str) -> Path:
    """The path of a graph file or folder. Raises InputError for a pipe or a device, and for a name that no
    file can have."""
    path = Path(name)
    try:
        path = path.expanduser()
        special = path.exists() and not path.is_file() and not path.is_dir()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except RuntimeError as error:  # no user is called so
        raise InputError(f"cannot read {path}: {error}") from error
    if special:
        raise InputError(f"cannot read {path}: it is a pipe or a device, and graphs are read several times")
    return path


def _row_name(path: Path) -> str:
    """A file's graph name in rows. Raises UsageError for a name that cannot be written to rows, and for a
    folder whose name is not UTF-8."""
    name = path.name
    if not name.isprintable():
        raise UsageError(f"graph file '{printable(name)}': rename it, its name has unprintable characters")
    folder = str(path.parent.resolve())
    if any("\ud800" <= one <= "\udfff" for one in folder):
        raise UsageError(f"graph file '{name}': rename its folder '{printable(folder)}', which is not UTF-8")
    return name if no_formula(name) == name else f"{os.curdir}{os.sep}{name}"


def request_for(dataset: Dataset) -> Request:
    """The request for a dataset of the catalogue."""
    direction: Direction = "directed" if dataset.directed else "symmetrised"
    spec = _canonical(dataset.generator, dataset.parameters) if dataset.generator else None
    return Request(dataset.name, direction, {}, dataset=dataset, spec=spec)


def prepare(
    request: Request, found: Held | None, progress: Progress | None = None, *, check: bool = True
) -> Graph:
    """The searchable arrays, from the cache or made and checked now. ``found`` is a dataset's file."""
    from bfsbench.graphs.store import GraphStore

    recipe, checksum = _identity(request, found)
    store = GraphStore()
    graph = store.open(request.stored_name, recipe, checksum, check=check)
    if graph is None:
        graph = _build(store, request, found, progress)
    return replace(graph, name=request.name, locator=request.locator)


def _build(store: GraphStore, request: Request, found: Held | None, progress: Progress | None) -> Graph:
    """Make and store the searchable arrays."""
    recipe, checksum = _identity(request, found)
    name = request.stored_name
    if request.marks.shrink < 1:
        return store.build(name, recipe, lambda: _part(request, found, progress), checksum)
    counts = request.dataset.counts(found.source if found else None) if request.dataset else (None, None)
    if found is not None and request.dataset is not None:
        published = request.dataset.recipe(found.source).ids
        counts = (counts[0] if recipe.ids == published else None, counts[1])
    return store.build(
        name, recipe, lambda: _edges(request, found, recipe, progress), checksum, expect=counts
    )


def stored(request: Request, found: Held | None) -> Path | None:
    """The folder of the searchable arrays, if they have been made."""
    from bfsbench.graphs.store import GraphStore

    if request.needs_file and found is None:
        return None
    store, (recipe, checksum) = GraphStore(), _identity(request, found)
    graph = store.open(request.stored_name, recipe, checksum, check=False)
    return None if graph is None else store.folder(request.stored_name, recipe)


def _identity(request: Request, found: Held | None) -> tuple[Recipe, str]:
    """The recipe, and the checksum of its source: together with the name the key in the cache."""
    if request.spec is not None:
        base, checksum = Recipe(), hashlib.sha256(request.spec.encode()).hexdigest()
    elif request.path is not None:
        base, checksum = Recipe(), files.checksum_of(request.path)
    else:
        assert request.dataset is not None and found is not None
        base, checksum = request.dataset.recipe(found.source), found.checksum
    return replace(base, **request.overrides), checksum


def _part(request: Request, found: Held | None, progress: Progress | None) -> EdgeList:
    """The edges of a shrunk graph: generated small, or cut out of the whole."""
    if request.spec is not None:
        return _edges(request, found, Recipe(), progress)  # the recipe is for files
    from bfsbench.graphs.ball import ball

    whole = replace(request, name=split_marks(request.name)[0], marks=UNMARKED)
    return ball(prepare(whole, found, progress), request.marks.shrink)


def _edges(request: Request, found: Held | None, recipe: Recipe, progress: Progress | None) -> EdgeList:
    if request.spec is not None:
        from bfsbench.graphs.generators import generate

        name, parameters = _parse(request.spec)
        return generate(name, **parameters)
    from bfsbench.graphs.formats import read_edges

    path = found.path if found else request.path
    assert path is not None
    return read_edges(path, recipe, progress)


def _split(text: str) -> tuple[str, Overrides, Marks, Direction | None]:
    """Name, options, marks and direction of a text; after the name the order is free."""
    name, found = text, dict[str, str]()
    while match := _SUFFIX.search(name):
        direction, key, value = match.groups()
        _check_option(key, value, text)
        if (key or "direction") in found:
            raise UsageError(f"'{text}' has two values of its {key or 'direction'}")
        found[key or "direction"] = direction if key is None else value
        name = name[: match.start()]
    options = {key: value for key, value in found.items() if key in _OPTIONS}
    chosen = next((word for word in _DIRECTIONS if word == found.get("direction")), None)
    return name, options, marks_of(found), chosen


def _check_option(key: str | None, value: str, text: str) -> None:
    """Raises UsageError for an unknown option or value."""
    if key is None or key in MARKS:
        return
    if key not in _OPTIONS:
        known = (*_OPTIONS, *MARKS)
        raise UsageError(f"unknown option '{key}' in '{text}': choose from {', '.join(known)}")
    if value not in _OPTIONS[key]:
        raise UsageError(f"option {key}: '{value}' is not one of {', '.join(_OPTIONS[key])}")


def _with_direction(request: Request, direction: Direction | None, directed: bool) -> Request:
    """The request with its direction: the requested one, else the graph's own."""
    if "orientation" in request.overrides:
        directed = request.overrides["orientation"] == "directed"
    if direction == "directed" and not directed:
        raise UsageError(
            f"{request.name} is undirected: its edges are searched both ways, so ':directed' does not apply"
        )
    # An undirected graph has both arcs of every edge already: asking for them must not make a second copy.
    if directed and direction == "symmetrised":
        return replace(request, direction="symmetrised", overrides={**request.overrides, "symmetrise": True})
    return replace(request, direction="directed" if directed else "symmetrised")


def _first_look(path: Path, options: Overrides) -> tuple[Orientation, str]:
    """The orientation of a file's edges by its header, and the library that reads it."""
    from bfsbench.graphs.formats import first_look

    return first_look(path, options.get("format"), options.get("ids"))


def _is_generator(name: str) -> bool:
    from bfsbench.graphs.generators import GENERATORS

    return name in GENERATORS


def _draws_arcs(spec: str) -> bool:
    """Whether a generator's edges have a direction, which a parameter may decide."""
    from bfsbench.graphs.generators import GENERATORS

    name, given = _parse(spec)
    return GENERATORS[name].draws_arcs(given)


def _parse(spec: str) -> tuple[str, dict[str, Any]]:
    from bfsbench.graphs.generators import parse_spec

    name, parameters = parse_spec(spec)
    return name, dict(parameters)


def _shrunk(spec: str, share: float) -> str:
    """The specification of a graph of the same kind with about ``share`` of the vertices."""
    from bfsbench.graphs.generators import GENERATORS

    name, parameters = _parse(spec)
    return _canonical(name, GENERATORS[name].shrunk(parameters, share)) if share < 1 else spec


def _canonical(name: str, parameters: dict[str, Any]) -> str:
    from bfsbench.graphs.generators import canonical_spec

    return canonical_spec(name, parameters)
