"""Progress of fetching: one live bar a graph on a terminal, plain lines elsewhere; on stderr."""

from __future__ import annotations

import threading
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from bfsbench.graphs.fetch import Stage


class FetchDisplay:
    """Implements :class:`bfsbench.graphs.fetch.Display`."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live = self._console.is_terminal
        columns = (
            TextColumn("{task.fields[graph]}"),
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
        )
        self._bars = Progress(*columns, console=self._console, disable=not self._live, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> FetchDisplay:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def stage(self, name: str, stage: Stage, detail: str = "") -> None:
        """The graph ``name`` begins a stage."""
        with self._lock:
            if name not in self._tasks:
                self._tasks[name] = self._bars.add_task(stage, total=None, graph=name)
            self._bars.reset(self._tasks[name], total=None, description=stage)
        if not self._live and stage != "waiting":
            self._print(f"{name}: {stage} {detail}".rstrip())

    def progress(self, name: str, done: int, total: int | None) -> None:
        """Bytes done of the stage, and in all if known."""
        self._bars.update(self._tasks[name], completed=done, total=total)

    def note(self, name: str, text: str) -> None:
        """Something goes wrong that does not end the stage."""
        self._print(f"{name}: {text}", style="yellow")

    def finish(self, name: str, outcome: str, failed: bool) -> None:
        """The graph is done with."""
        with self._lock:
            task = self._tasks.pop(name, None)
        if task is not None:
            self._bars.remove_task(task)
        self._print(f"{name}: {outcome}", style="red" if failed else "")

    def _print(self, line: str, style: str = "") -> None:
        # Soft wrapping and no markup: one message is one line, and brackets in it are themselves.
        self._console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
