"""Which graphs of the catalogue are present."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bfsbench.graphs import files, load
from bfsbench.graphs.catalogue import Dataset, Source

State = Literal["missing", "partial", "fetched", "bundled", "converted", "generated"]


@dataclass(frozen=True)
class Presence:
    """The state of a dataset. ``generated`` graphs are made when used; ``converted`` ones are ready."""

    state: State
    bytes_on_disk: int
    """Size of the source file, finished or not, and of the converted arrays."""
    source: Source | None
    """The source that is present, which may have counts of its own."""


def presence(dataset: Dataset) -> Presence:
    """Look for a dataset's files, without reading them."""
    found = None if dataset.generated else files.held(dataset)
    partial = files.partial_bytes(dataset)
    converted = load.stored(load.request_for(dataset), found)
    size = partial + _size(found.path if found else None) + _size(converted)
    if converted is None and found is None:
        state: State = "generated" if dataset.generated else "partial" if partial else "missing"
        return Presence(state, size, None)
    source = found.source if found else None
    if converted is not None:
        return Presence("converted", size, source)
    return Presence("bundled" if source and source.bundled else "fetched", size, source)


def _size(path: Path | None) -> int:
    if path is None:
        return 0
    inside = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in inside)
