"""The catalogue of named graphs, and the choices by which a source becomes a searchable graph.

``datasets.toml`` is the catalogue as shipped; the user's own entries take precedence.
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
FormatName = Literal[
    "snap", "dimacs9", "metis", "mtx", "csv", "npz", "npy", "parquet", "arrow", "graphml", "gml"
]
Keep = Literal["keep", "drop"]


@dataclass(frozen=True)
class Recipe:
    """How to read and convert a graph; part of its key in the cache. None means the source's default."""

    symmetrise: bool = False
    """Add the reverse of every arc of a directed graph; undirected ones contain it already."""
    ids: IdPolicy | None = None
    """``compact``: vertices are the ids that occur, renumbered in ascending order. ``keep``: every id up to
    the largest, or to the count in the header, is a vertex. ``names``: of an edge list, words are vertices,
    in ascending order, even if they look like numbers. None: compact for edge lists, keep for the others."""
    self_loops: Keep | None = None
    """None: drop those of a matrix (its diagonal), keep others."""
    duplicates: Keep | None = None
    """Parallel arcs. None: keep, but drop when ``symmetrise`` has made them."""
    orientation: Orientation | None = None
    """How to read the edges of a file. None: as its format says; directed where it says nothing."""
    weights: WeightPolicy | None = None
    """``read``: arcs have the source's weights, whole numbers of 32 bits. ``ignore``: every arc weighs 1.
    None: they are not read, which does not affect searches; all-pairs shortest paths refuse the graph."""
    format: str | None = None
    """A key of :data:`bfsbench.graphs.formats.FORMATS`. None: from the file's name and content."""


DEFAULT = Recipe()
"""The recipe with all defaults of the source."""


Count = Annotated[int, msgspec.Meta(ge=0)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Parameter = int | float | str

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One place a graph's file comes from. Exactly one of ``url``, ``bundled`` and ``file`` is given.

    A mirror may hold the graph in another format, or with other counts, than the publisher's own file.
    """

    url: str | None = None
    bundled: str | None = None
    """Name of a bundled file."""
    file: str | None = None
    """Name of a file that cannot be downloaded; ``bfsbench fetch --from`` takes it from a folder."""
    format: Literal["snap", "dimacs9", "metis", "mtx"]
    orientation: Orientation | None = None
    """How its edges are to be read, where the format does not define it."""
    ids: IdPolicy | None = None
    """Needed where the source keeps ids without edges that the publisher's own file lacks."""
    size: Count | None = None
    """Size of the offered file in bytes."""
    sha256: Sha256 | None = None
    """SHA-256 of the offered file."""
    content_sha256: Sha256 | None = None
    """SHA-256 of the unpacked graph file: identifies the same graph in any packing."""
    num_vertices: Count | None = None
    num_edges: Count | None = None
    """Counts of this source where they differ from the dataset's."""

    @property
    def filename(self) -> str:
        """The file's name as offered."""
        return self.bundled or self.file or PurePosixPath(urlsplit(self.url or "").path).name

    @property
    def vouched_for(self) -> bool:
        """Whether a checksum of the file is published."""
        return self.sha256 is not None or self.content_sha256 is not None

    @property
    def origin(self) -> str:
        """Its URL or file, for messages and records."""
        return self.url or self.filename


class Dataset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A named graph: files to read (``sources``, the best first) or a generator and its parameters."""

    name: str
    kind: str = msgspec.field(name="family")
    """The class of graphs, such as ``road``."""
    description: str
    directed: bool
    """Whether its arcs have a direction; undirected graphs are always ``:symmetrised``."""
    aliases: list[str] = []
    sources: list[Source] = []
    generator: str | None = None
    parameters: dict[str, Parameter] = {}
    duplicates: Keep | None = None
    self_loops: Keep | None = None
    num_vertices: Count | None = None
    num_edges: Count | None = None
    """Edges as the publisher's file lists them; for a generated graph, edges drawn, where that is fixed."""
    terms: str | None = None
    """Licence, or the page that states it."""
    papers: list[str] = []
    """Tables and figures the graph appears in."""
    note: str | None = None

    @property
    def generated(self) -> bool:
        return self.generator is not None

    def recipe(self, source: Source | None) -> Recipe:
        """How this graph is read from ``source`` (None when generated), before the user's overrides."""
        return Recipe(
            ids=source.ids if source else None,
            self_loops=self.self_loops,
            duplicates=self.duplicates,
            orientation=source.orientation if source else None,
            format=source.format if source else None,
        )

    def counts(self, source: Source | None) -> tuple[int | None, int | None]:
        """Published (vertices, edges as listed) of the file at ``source``; None where not published."""
        if source is None:
            return self.num_vertices, self.num_edges
        vertices = self.num_vertices if source.num_vertices is None else source.num_vertices
        edges = self.num_edges if source.num_edges is None else source.num_edges
        return vertices, edges


class Catalogue:
    """All named graphs. Case is ignored in names and aliases."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        """A later dataset replaces an earlier one of the same name; names take precedence over aliases."""
        self._datasets = {dataset.name.lower(): dataset for dataset in datasets}
        self._aliases = {
            alias.lower(): dataset for dataset in self._datasets.values() for alias in dataset.aliases
        }

    @classmethod
    def load(cls) -> Catalogue:
        """The shipped catalogue and the user's, if there is one. Raises UsageError naming file and key."""
        user = user_catalogue()
        return cls([*_shipped(), *(read_catalogue(user) if user.exists() else ())])

    def __iter__(self) -> Iterator[Dataset]:
        return iter(self._datasets.values())

    def get(self, name: str) -> Dataset:
        """The dataset called ``name``. Raises UsageError with similar names for an unknown one."""
        key = name.lower()
        found = self._datasets.get(key) or self._aliases.get(key)
        if found is None:
            raise self.unknown(name)
        return found

    def unknown(self, name: str) -> UsageError:
        """The error for an unknown name, with similar ones."""
        known = (word for dataset in self for word in (dataset.name, *dataset.aliases))
        return unknown_name("dataset", name, known)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._datasets or name.lower() in self._aliases

    def names(self) -> list[str]:
        """Every dataset's name, in catalogue order."""
        return [dataset.name for dataset in self]

    def kinds(self) -> list[str]:
        """Every kind's name, in catalogue order."""
        return list(dict.fromkeys(dataset.kind for dataset in self))

    def of_kind(self, name: str) -> list[Dataset]:
        """The datasets of one kind. Raises UsageError when there is no such kind."""
        members = [dataset for dataset in self if dataset.kind.lower() == name.lower()]
        if not members:
            raise UsageError(f"unknown family '{name}': choose one of {', '.join(self.kinds())}")
        return members


@cache
def _shipped() -> tuple[Dataset, ...]:
    """The datasets of this package, read once: graphs are looked up by the thousand."""
    return tuple(read_catalogue(paths.CATALOGUE))


def user_catalogue() -> Path:
    """The file of the user's own entries: ``BFSBENCH_DATASETS``, or one in the configuration folder."""
    override = os.environ.get("BFSBENCH_DATASETS")
    if override:
        path = Path(override).expanduser()
        if not path.exists():
            raise UsageError(f"BFSBENCH_DATASETS names {path}, which does not exist")
        return path
    import platformdirs

    return Path(platformdirs.user_config_dir("bfsbench")) / "datasets.toml"


def read_catalogue(path: Path) -> list[Dataset]:
    """The entries of one catalogue file. Raises UsageError naming the file and the key at fault."""
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
