"""Graphs under a progress display, which appears when making one takes longer than a moment; on stderr."""

from __future__ import annotations

import threading
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load, resolve

MOMENT_S = 1.0


def load_with_progress(text: str, console: Console | None = None) -> Graph:
    """The graph that ``text`` names, as :func:`bfsbench.graphs.load.load` gives it and with its errors.

    While one is converted or generated, a terminal shows a bar; elsewhere one line says what takes so long.
    """
    request = resolve(text)
    what = f"{'generating' if request.spec else 'converting'} {request.name}"
    with _Delayed(what, console or Console(stderr=True)) as display:
        return load(text, display.progress)


class _Delayed:
    """A bar that shows after a moment, and nothing at all when the work ends before that."""

    def __init__(self, what: str, console: Console) -> None:
        self._what = what
        self._console = console
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self._task = self._bar.add_task(what, total=None)
        self._timer = threading.Timer(MOMENT_S, self._show)

    def __enter__(self) -> _Delayed:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._timer.join()
        self._bar.stop()

    def progress(self, done: int, total: int) -> None:
        """Bytes of the file read so far and in all; what follows the reading has no known length."""
        self._bar.update(self._task, completed=done, total=total if done < total else None)

    def _show(self) -> None:
        if self._console.is_terminal:
            self._bar.start()
        else:
            self._console.print(self._what, markup=False, highlight=False, soft_wrap=True)
