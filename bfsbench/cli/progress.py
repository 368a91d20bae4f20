"""Display progress on stderr: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)
from rich.table import Column

from bfsbench.bench.sweep import SweepProgress
from bfsbench.bench.worker import DeviceInfo, Measured
from bfsbench.graphs import load
from bfsbench.graphs.graph import Graph
from bfsbench.support.errors import printable
from bfsbench.variants import with_aliases

if TYPE_CHECKING:
    from bfsbench.graphs.fetch import (
        Stage,
    )  # only for type checkers, because this module imports everything that downloads need

LINE_EVERY_S = 10.0
"""Seconds between two progress lines of a sweep if stderr is not a terminal."""
MOMENT_S = 1.0
"""Seconds that loading a graph may take before a bar or a line shows it."""


class Display:
    """The base class of progress displays. Within a ``with`` block a display shows bars, and prints lines
    above the bars.
    """

    def __init__(
        self, *columns: ProgressColumn, console: Console | None = None, expand: bool = False
    ) -> None:
        self._console = console or Console(stderr=True)
        self.is_live = self._console.is_terminal
        self.bars = Progress(
            *columns, console=self._console, disable=not self.is_live, transient=True, expand=expand
        )

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def print(self, line: str, style: str = "") -> None:
        """Print a message as one line. Brackets and colons in the message are printed unchanged."""
        self._console.print(
            printable(line), style=style, markup=False, highlight=False, emoji=False, soft_wrap=True
        )


class SweepDisplay(Display, SweepProgress):
    """Shows the progress of a sweep, its last result, and the number of configurations that failed."""

    def __init__(self, path: Path | None, console: Console | None = None) -> None:
        rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)  # the part of the line beside the bar
        said = TextColumn("{task.description}", markup=False, table_column=rest)
        super().__init__(BarColumn(bar_width=10), said, console=console, expand=True)
        self._path = path
        self._total = self._count = self._failed = 0
        self._said_again = False
        self._by_worker: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self  # begin() shows this bar later, because loading a graph first shows another bar

    @contextmanager
    def loading(self, graph: load.GraphName) -> Iterator[load.Progress]:
        with loading(graph, self._console) as read:
            yield read

    def begin(self, device: DeviceInfo | None, total: int) -> None:
        if device:
            self.print(f"backend {device.backend}: {device.description['gpu']}")
        self._total = total
        self._started = self._spoke = time.monotonic()
        self._task = self.bars.add_task(f"0/{total}", total=total)
        self.bars.start()

    def again(self, size: int, reasons: Mapping[str, int]) -> None:
        if not self._said_again:
            self._said_again = True  # a tuning calls this for each point, and one line is enough
            which = ", ".join(f"{number} {why}" if size > 1 else why for why, number in reasons.items())
            self.print(f"rows in {self._path} are replaced, because their points are measured again: {which}")

    def batch(self, size: int, held: Sequence[Mapping[str, str]]) -> None:
        if held and size == self._total:
            failed = sum(row["status"] != "ok" for row in held)
            said = f"{len(held)} of {size} points are in {self._path} already"
            self.print(said + (f", {failed} of them failed (--retry-failed)" if failed else ""))
        self._total -= len(held)
        self.bars.update(self._task, total=self._total, description=f"{self._count}/{self._total}")

    def done(self, measured: Measured) -> None:
        row = measured.row
        self._by_worker[measured.worker] += 1
        self._count += 1
        ok = row["status"] == "ok"
        self._failed += not ok
        what, came = searched(row), came_to(row)
        if self.is_live:
            failed = f"{self._failed} failed; " if self._failed else ""
            said = f"{self._count}/{self._total} {self._pace()}; {failed}{came}, {what}"
            self.bars.update(self._task, completed=self._count, description=said)
            if not ok:
                self.print(f"{what}: {came}", style="red")
        elif not ok or self._count == self._total or time.monotonic() - self._spoke > LINE_EVERY_S:
            self._spoke = time.monotonic()
            self.print(f"[{self._count}/{self._total}, {self._pace()}] {what}: {came}")

    def _pace(self) -> str:
        """Return the number of configurations per minute so far, in total and per worker, and the estimated
        time left, as text."""
        minutes = max(time.monotonic() - self._started, 1e-3) / 60
        pace = f"{self._count / minutes:.0f} points/min"
        if len(self._by_worker) > 1:
            pace += f" ({', '.join(f'{n / minutes:.0f}' for _, n in sorted(self._by_worker.items()))})"
        left = (self._total - self._count) * minutes / self._count
        return pace + (f", {left:.0f} min left" if left >= 1 else f", {60 * left:.0f} s left" if left else "")


def searched(row: Mapping[str, str]) -> str:
    """Return the configuration of a result row as text: graph, variant, grid, block and knobs."""
    named = (row["graph"], with_aliases(row["variant"]), row["grid"], row["block"], row["knobs"])
    return " ".join(filter(None, named))


def came_to(row: Mapping[str, str]) -> str:
    """Return the time of a result row as text, or the reason why it has no time."""
    mark = " emulated" if row["backend"] == "cpu" else ""
    ok = row["status"] == "ok"
    return f"{float(row['search_ms']):.3f} ms{mark}" if ok else f"{row['status']}: {row['reason']}"


class FetchDisplay(Display):
    """Shows a bar for each graph that is fetched. Implements :class:`bfsbench.graphs.fetch.Display`."""

    def __init__(self, console: Console | None = None) -> None:
        names = TextColumn("{task.fields[graph]}"), TextColumn("{task.description}")
        super().__init__(*names, BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=console)
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def stage(self, name: str, stage: Stage, detail: str = "") -> None:
        """Called when a stage of the work on the graph ``name`` begins, such as the graph's download."""
        with self._lock:
            if name not in self._tasks:
                self._tasks[name] = self.bars.add_task(stage, total=None, graph=name)
            self.bars.reset(self._tasks[name], total=None, description=stage)
        if not self.is_live and stage != "waiting":
            self.print(f"{name}: {stage} {detail}".rstrip())

    def progress(self, name: str, done: int, total: int | None) -> None:
        """Called with the number of bytes processed in the current stage so far, and with the total number if
        it is known."""
        self.bars.update(self._tasks[name], completed=done, total=total)

    def note(self, name: str, text: str) -> None:
        """Called with a message about a problem that does not stop the current stage of the work on a
        graph."""
        self.print(f"{name}: {text}", style="yellow")

    def finish(self, name: str, outcome: str, failed: bool) -> None:
        """Called with the outcome for a graph when the work on this graph has ended."""
        with self._lock:
            task = self._tasks.pop(name, None)
        if task is not None:
            self.bars.remove_task(task)
        self.print(f"{name}: {outcome}", style="red" if failed else "")


class PicturesDisplay(Display):
    """Shows how many kinds of pictures have been drawn, and how many pictures have been written."""

    def __init__(self, kinds: int) -> None:
        described = TextColumn("{task.description}", markup=False)
        super().__init__(BarColumn(), MofNCompleteColumn(), described, TimeElapsedColumn())
        self._task = self.bars.add_task("", total=kinds, completed=-1)
        self._kind, self._begun, self._kinds = "", 0, kinds
        self._count, self._spoke = 0, time.monotonic()

    def begin(self, kind: str) -> None:
        """Called before pictures of the next kind are drawn."""
        self._kind, self._begun = kind, self._begun + 1
        self.bars.advance(self._task)
        self._say()

    def written(self) -> None:
        """Called after a picture is written."""
        self._count += 1
        self._say()

    def _say(self) -> None:
        said = f"kinds: {self._kind}; pictures written: {self._count}"
        self.bars.update(self._task, description=said)
        if not self.is_live and time.monotonic() - self._spoke > LINE_EVERY_S:
            self._spoke = time.monotonic()
            self.print(f"{self._begun} of {self._kinds} {said}")


@contextmanager
def loading(request: load.GraphName, console: Console | None = None) -> Iterator[load.Progress]:
    """Return a context manager in whose ``with`` block a graph is loaded. The context manager yields a
    function that shows the number of bytes read.

    If conversion or generation of the graph takes more than MOMENT_S seconds, a terminal shows a bar, and any
    other output gets one line. If an external library has read the file, a line names this library.
    """
    what = f"{'generating' if request.generator else 'converting'} {request.path or request.name}"
    description = TextColumn("{task.description}", markup=False)
    display = Display(description, BarColumn(), TimeElapsedColumn(), console=console)
    task = display.bars.add_task(what, total=None)

    def read(done: int, total: int) -> None:
        """Show how many bytes have been read. After the last byte no percentage is shown, because the
        progress of the remaining work is unknown.
        """
        display.bars.update(task, completed=done, total=total if done < total else None)

    show = display.bars.start if display.is_live else partial(display.print, what)
    timer = threading.Timer(MOMENT_S, show)
    timer.start()
    try:
        yield read
    finally:
        timer.cancel()
        timer.join()
        display.bars.stop()
    if request.reader:
        click.echo(f"{request.full_name} was read by {request.reader}", err=True)


def load_with_progress(request: load.GraphName, console: Console | None = None) -> Graph:
    """Return a graph, and show the progress of loading it.

    Raises the errors of :func:`bfsbench.graphs.load.load`.
    """
    with loading(request, console) as read:
        return load.load_parsed(request, read)
