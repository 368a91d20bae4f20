"""Reads the catalogue of named graphs, and defines the options for converting a file to a searchable graph.
``datasets.toml`` is the catalogue of this package. The user's own entries take precedence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

import msgspec

from bfsbench.graphs.graph import Orientation
from bfsbench.support import paths
from bfsbench.support.errors import InputError, UsageError, unknown_name
from bfsbench.support.toml_files import converted, read_toml

IdPolicy = Literal["compact", "keep", "names"]
WeightPolicy = Literal["read", "ignore"]
WEIGHT_POLICIES = (*get_args(WeightPolicy), None)
Keep = Literal["keep", "drop"]

FORMATS_BY_SUFFIX = {
    **dict.fromkeys((".edges", ".edgelist", ".el", ".ncol"), "snap"),
    ".gr": "dimacs9",
    **dict.fromkeys((".graph", ".metis"), "metis"),
    ".mtx": "mtx",
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    ".npz": "npz",
    ".npy": "npy",
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather"), "arrow"),
    ".graphml": "graphml",
    ".gml": "gml",
}
"""The suffixes of graph files, with the format that each suffix means."""


@dataclass(frozen=True)
class Recipe:
    """The options for reading and converting a graph. They are part of the graph's key in the cache. A field
    that is None takes the default of the file, dataset or generator that the graph comes from."""

    symmetrise: bool = False
    """Add the reverse of every arc of a directed graph. Undirected graphs contain it already."""
    ids: IdPolicy | None = None
    """``compact``: the vertices are the ids that occur, renumbered in ascending order. ``keep``: every id up
    to the largest, or to the count in the header, is a vertex. ``names``: the words of an edge list are
    vertices in ascending order, even if they look like numbers. None: ``keep`` for DIMACS, METIS and matrix
    files, ``compact`` for all other formats.
    """
    self_loops: Keep | None = None
    """None: drop the self loops of a Matrix Market file (its diagonal), and keep the self loops of other
    formats."""
    duplicates: Keep | None = None
    """What to do with parallel arcs. None: keep them, but drop them if ``symmetrise`` adds arcs."""
    orientation: Orientation | None = None
    """How to read the edges of a file. None: as its format says, or directed if the format does not say."""
    weights: WeightPolicy | None = None
    """``read``: arcs have the source's weights, which must be 32-bit integers. ``ignore``: every arc weighs
    1. None: weights are not read. Searches need none, but all-pairs shortest paths refuse a graph with unread
    weights other than 1.
    """
    format: str | None = None
    """A key of :data:`bfsbench.graphs.formats.FORMATS`. None: the format follows from the file's name and
    content."""


DEFAULT = Recipe()
"""A recipe without choices: every option has the default of the file, dataset or generator."""


Count = Annotated[int, msgspec.Meta(ge=0)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One place from which a graph's file can be obtained. Exactly one of ``url``, ``bundled`` and ``file``
    is given.

    The file of a mirror may differ from the publisher's file in its format or in its numbers of vertices and
    edges.
    """

    url: str | None = None
    bundled: str | None = None
    """Name of a file in this package."""
    file: str | None = None
    """Name of a file that cannot be downloaded. ``bfsbench fetch --from`` takes it from a folder."""
    format: Literal["snap", "dimacs9", "metis", "mtx"]
    orientation: Orientation | None = None
    """How the edges are to be read, if the format does not define it."""
    ids: IdPolicy | None = None
    """Needed if this file lists vertices without edges that the publisher's own file lacks."""
    size: Count | None = None
    """Size in bytes of the file as offered."""
    sha256: Sha256 | None = None
    """SHA-256 of the file as offered."""
    content_sha256: Sha256 | None = None
    """SHA-256 of the unpacked graph file. It identifies the graph in any packing."""
    num_vertices: Count | None = None
    num_edges: Count | None = None
    """Counts of this source, if they differ from the dataset's."""

    @property
    def filename(self) -> str:
        """Returns the name of the source's file."""
        return self.bundled or self.file or PurePosixPath(urlsplit(self.url or "").path).name

    @property
    def vouched_for(self) -> bool:
        """Returns whether a checksum of the source's file is published."""
        return self.sha256 is not None or self.content_sha256 is not None

    @property
    def origin(self) -> str:
        """Returns the URL or file name of the source, for messages and records."""
        return self.url or self.filename


class Dataset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A named graph of the catalogue. It is read from a file (``sources``, the best first), or generated by
    ``generator``."""

    name: str
    kind: str = msgspec.field(name="family")
    """The kind of graph, such as ``road``."""
    description: str
    directed: bool
    """True if arcs have a direction. Undirected graphs are always ``:symmetrised``."""
    aliases: list[str] = []
    sources: list[Source] = []
    generator: str | None = None
    parameters: dict[str, int | float | str] = {}
    duplicates: Keep | None = None
    self_loops: Keep | None = None
    num_vertices: Count | None = None
    num_edges: Count | None = None
    """Edges as the publisher's file lists them. For a generated graph, the edges drawn, if that number is
    fixed."""
    terms: str | None = None
    """The licence, or the page that states it."""
    papers: list[str] = []
    """Tables and figures in which the graph appears."""
    note: str | None = None

    @property
    def generated(self) -> bool:
        return self.generator is not None

    def recipe(self, source: Source | None) -> Recipe:
        """Returns the default options for reading this graph from ``source``. The user may override these
        options. ``source`` is None for a generated graph."""
        return Recipe(
            ids=source.ids if source else None,
            self_loops=self.self_loops,
            duplicates=self.duplicates,
            orientation=source.orientation if source else None,
            format=source.format if source else None,
        )

    def counts(self, source: Source | None) -> tuple[int | None, int | None]:
        """Returns the published numbers of vertices and of listed edges of the file at ``source``. A number
        that is not published is None. ``source`` is None for a generated graph."""
        if source is None:
            return self.num_vertices, self.num_edges
        vertices = self.num_vertices if source.num_vertices is None else source.num_vertices
        edges = self.num_edges if source.num_edges is None else source.num_edges
        return vertices, edges


class Catalogue:
    """All named graphs, in the order of the catalogue. Upper and lower case are not distinguished in names
    and aliases.
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        """Index the datasets by name. A later dataset replaces an earlier dataset with an equal name. Names
        take precedence over aliases."""
        self._datasets = {dataset.name.lower(): dataset for dataset in datasets}
        aliases = {alias.lower(): dataset for dataset in self for alias in dataset.aliases}
        self._named = {**aliases, **self._datasets}

    @classmethod
    def load(cls) -> Catalogue:
        """Returns the catalogue of this package, extended by the entries of the user's catalogue if there is
        one. Raises a UsageError that names the file and the key at fault."""
        user = user_catalogue()
        return cls([*_shipped(), *(read_catalogue(user) if user.exists() else ())])

    def __iter__(self) -> Iterator[Dataset]:
        return iter(self._datasets.values())

    def get(self, name: str) -> Dataset:
        """Returns the dataset called ``name``. For an unknown name, raises a UsageError that suggests similar
        names."""
        if name not in self:
            raise self.unknown(name)
        return self._named[name.lower()]

    def unknown(self, name: str) -> UsageError:
        """Returns an error for a name that no dataset has. The error suggests similar names."""
        known = (word for dataset in self for word in (dataset.name, *dataset.aliases))
        return unknown_name("dataset", name, known)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._named

    def names(self) -> list[str]:
        """Returns the names of all datasets, in catalogue order."""
        return [dataset.name for dataset in self]

    def kinds(self) -> list[str]:
        """Returns the names of all kinds of graphs, such as social networks or roads, in catalogue order."""
        return list(dict.fromkeys(dataset.kind for dataset in self))

    def of_kind(self, name: str) -> list[Dataset]:
        """Returns the datasets of one kind. Raises UsageError if there is no such kind."""
        members = [dataset for dataset in self if dataset.kind.lower() == name.lower()]
        if not members:
            raise UsageError(f"unknown family '{name}': choose one of {', '.join(self.kinds())}")
        return members


@cache
def _shipped() -> tuple[Dataset, ...]:
    """Returns the datasets of the catalogue that belongs to this package. The file is read once, because
    graphs are looked up thousands of times.
    """
    return tuple(read_catalogue(paths.CATALOGUE))


def user_file(variable: str, name: str) -> Path:
    """Returns the path in the environment variable ``variable``. If it is not set, returns the path of the
    file ``name`` in the user's configuration folder.
    """
    override = os.environ.get(variable)
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("bfsbench")) / name


def user_catalogue() -> Path:
    """Returns the path of the user's own catalogue. This is the path in the environment variable
    ``BFSBENCH_DATASETS``, or else a file in the configuration folder. Raises UsageError if the variable names
    a file that does not exist.
    """
    path = user_file("BFSBENCH_DATASETS", "datasets.toml")
    if os.environ.get("BFSBENCH_DATASETS") and not path.exists():
        raise UsageError(f"BFSBENCH_DATASETS names {path}, which does not exist")
    return path


def read_catalogue(path: Path) -> list[Dataset]:
    """Returns the entries of one catalogue file. Raises an InputError that names the file and the key at
    fault."""
    datasets = [_dataset(path, name, table) for name, table in read_toml(path).items()]
    owners: dict[str, str] = {}
    for dataset in datasets:
        for name in (dataset.name, *dataset.aliases):
            owner = owners.setdefault(name.lower(), dataset.name)
            if owner != dataset.name:
                raise InputError(f"{path}: [{dataset.name}]: the name '{name}' already belongs to [{owner}]")
    return datasets


def _dataset(path: Path, name: str, table: Any) -> Dataset:
    where = f"{path}: [{name}]"
    if not isinstance(table, dict):
        raise InputError(f"{path}: key '{name}' stands outside any [dataset]")
    if "name" in table:
        raise InputError(f"{where}: unknown field `name`; the heading is the name")
    dataset = converted(where, {**table, "name": name}, Dataset)
    for text in (name, *dataset.aliases):
        if not _NAME.match(text):
            raise InputError(f"{where}: name '{text}' may hold only letters, digits, and any of _ . + -")
    if dataset.generated == bool(dataset.sources):
        raise InputError(f"{where}: give either 'sources' or 'generator'")
    for source in dataset.sources:
        _check_source(where, dataset, source)
    return dataset


def _check_source(where: str, dataset: Dataset, source: Source) -> None:
    if [source.url, source.bundled, source.file].count(None) != 2:
        raise InputError(f"{where}: give each of 'sources' one of 'url', 'bundled' and 'file'")
    if source.url is not None and not source.url.startswith(("http://", "https://")):
        raise InputError(f"{where}: 'url' must begin with http:// or https://, got '{source.url}'")
    if not _NAME.match(source.filename):
        raise InputError(f"{where}: '{source.origin}' does not end in a file name")
    if not dataset.directed and source.format == "snap" and source.orientation is None:
        raise InputError(
            f"{where}: an undirected edge list needs 'orientation': 'each_once' if every edge has one line, "
            f"'both_ways' if it has two"
        )
