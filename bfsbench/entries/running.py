"""The programs of entries that run now: one for each entry on a graph in use."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.entries.declaration import Entry
from bfsbench.entries.memory import device_memory_used

if TYPE_CHECKING:
    from bfsbench.entries.folder import GraphFolder
    from bfsbench.entries.process import Process
    from bfsbench.graphs.graph import Graph


@dataclass
class Running:
    """What is kept between the searches of an entry on one graph."""

    folder: GraphFolder
    path: Path
    """Of the file for its answers."""
    on_gpu: bool = False
    process: Process | None = None
    preparation_ms: float = 0.0
    held_bytes: int | None = None
    """Of the GPUs' memory, after the preparation and at most after a search."""
    before_bytes: int | None = None
    """In use on the GPUs before the preparation, then before each search: others may take more between."""
    peak_bytes: int = 0
    untimed_ms: list[float] = field(default_factory=list)
    """Host's clock less the program's, of each search from one source."""

    def note(self) -> None:
        """Look at the memory it has now."""
        if self.process is not None:
            self.process.note_memory()
            self.peak_bytes = max(self.peak_bytes, self.process.peak_bytes)
        used = None if self.before_bytes is None else device_memory_used()
        if used is not None and self.before_bytes is not None:
            self.held_bytes = (self.held_bytes or 0) + max(0, used - self.before_bytes)
            self.before_bytes = used

    def close(self) -> None:
        if self.process is not None:
            self.process.close()
            self.process = None


class _Kept:
    """What runs on the graphs in use: it ends with its graph."""

    def __init__(self) -> None:
        self._folders: dict[int, GraphFolder] = {}
        self._running: dict[tuple[int, str], Running] = {}

    def of(self, graph: Graph, entry: Entry) -> Running:
        from bfsbench.entries.folder import GraphFolder

        key = id(graph)
        if key not in self._folders:
            self._folders[key] = GraphFolder(graph)
            weakref.finalize(graph, self._end, key)
        if (key, entry.name) not in self._running:
            place = self._folders[key]
            answer_file = place.new_answer(entry.name)
            self._running[key, entry.name] = Running(place, answer_file, entry.call.device == "gpu")
        return self._running[key, entry.name]

    def _end(self, key: int) -> None:
        for name in [name for graph, name in self._running if graph == key]:
            self._running.pop((key, name)).close()
        self._folders.pop(key, None)

    def on_gpus(self) -> int:
        """How many of them compute on a GPU."""
        return sum(one.process is not None and one.on_gpu for one in self._running.values())


_KEPT = _Kept()


def programs_on_gpus() -> int:
    """How many entries this process keeps that have memory on a GPU; they wait, and compute nothing."""
    return _KEPT.on_gpus()


def running(graph: Graph, entry: Entry) -> Running:
    """What is kept of an entry on a graph, not started yet when first asked for; it ends with the graph."""
    return _KEPT.of(graph, entry)
