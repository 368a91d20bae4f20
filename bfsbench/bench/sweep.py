"""The sweep: the one service that measures points and writes rows. A request says what to measure and how,
where rows go, and what runs it. Commands and Python functions make a request of their arguments and call
:func:`sweep`; a :class:`SweepProgress` is notified of its progress.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bfsbench.bench.output import Output
from bfsbench.bench.plan import Plannable, Questions, Setting, Work
from bfsbench.bench.point import Point
from bfsbench.bench.runner import Measured, Method, Runner
from bfsbench.bench.turns import run_in_turns
from bfsbench.bench.worker import DeviceInfo, Worker
from bfsbench.errors import UsageError
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import Progress, load, resolve
from bfsbench.native import HELPERS, building


@dataclass(frozen=True)
class Request:
    """What to sweep, how, into which file, and on what."""

    work: Work
    method: Method
    path: Path | None = None
    """Path of the result file; None keeps the rows in memory only."""
    resume: bool = False
    """Keep the rows that the file has, and measure the missing ones."""
    retry_failed: bool = False
    """With ``resume``: measure the points again that failed."""
    backend: str = "auto"
    """Where kernels run, as for ``open_device``."""
    new_runner: Callable[[str | None], Runner] = Worker
    """What runs the points on a backend, not started yet; None is for host programs only."""

    def __post_init__(self) -> None:
        if self.resume and self.path is None:
            raise UsageError("--resume needs the --out it is to continue")
        if self.retry_failed and not self.resume:
            raise UsageError("--retry-failed goes with --resume")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a sweep."""

    rows: list[Mapping[str, str]]
    """The rows of all points, in the order requested, those included that the file had before."""
    statuses: Counter[str]
    """How many of the points measured now ended with each status."""

    @property
    def failed(self) -> int:
        """How many of the points have no time."""
        return sum(row["status"] != "ok" for row in self.rows)


class SweepProgress:
    """Callbacks of a sweep. This base class shows nothing."""

    def loading(self, name: str) -> AbstractContextManager[Progress | None]:
        """A context around the loading of a graph; its value is called with the bytes read so far and in
        all."""
        return nullcontext()

    def begin(self, device: DeviceInfo | None, total: int) -> None:
        """The first of at most ``total`` points is about to be measured."""

    def batch(self, size: int, held: Sequence[Mapping[str, str]]) -> None:
        """``size`` points are next; ``held`` are the rows of those that have one already."""

    def done(self, measured: Measured) -> None:
        """A point is done, with this outcome; its row is on disk."""


def sweep(request: Request, progress: SweepProgress | None = None) -> Outcome:
    """Measure the points of a request, and write each row as it is made. An interrupt stops the runner and is
    raised again. Raises BfsbenchError.
    """
    shown = progress or SweepProgress()
    with ExitStack() as stack:
        with building(_helpers(request.work)):
            runner = stack.enter_context(_started(request))
            retry = request.retry_failed
            output = Output(request.path, request.method, resume=request.resume, retry=retry)
            stack.enter_context(closing(output))
            graphs = {name: _load(name, shown) for name in request.work.graphs}
        setting = Setting(graphs, _backend(runner), runner.device.limits if runner.device else None)
        questions = request.work.ask(setting)
        output.check_continuity(graphs, runner.origins())
        return _carry_out(questions, graphs, runner, output, request.method, shown)


def _helpers(work: Work) -> list[str]:
    """The native libraries that the sweep is going to need, which are built while the device is opened."""
    generated = any(resolve(name).spec is not None for name in work.graphs)
    programs = [variant.name for variant in work.variants if variant.host]
    return [*HELPERS, *(["generate"] if generated else []), *programs]


def preview(request: Request, work: Plannable) -> list[Point]:
    """The points of a sweep of this work, found without building a graph; sources are placeholders. Raises
    BfsbenchError."""
    with _started(request) as runner:
        return work.planned({}, _backend(runner))


@contextmanager
def _started(request: Request) -> Iterator[Runner]:
    """The runner, started, with the work checked on its device; an interrupt stops it."""
    host_only = all(variant.host for variant in request.work.variants)
    runner = request.new_runner(None if host_only else request.backend)
    with closing(runner):
        try:
            runner.start()
            request.work.check(runner.device.limits if runner.device else None)
            yield runner
        except KeyboardInterrupt:
            runner.stop()
            raise


def _backend(runner: Runner) -> str:
    return runner.device.backend if runner.device else "host"


def _load(name: str, progress: SweepProgress) -> Graph:
    with progress.loading(name) as read:
        return load(name, read)


def _carry_out(
    questions: Questions,
    graphs: Mapping[str, Graph],
    runner: Runner,
    output: Output,
    method: Method,
    progress: SweepProgress,
) -> Outcome:
    """Give each batch of points its rows, from the file or by measuring."""
    outcome = Outcome([], Counter())
    run = partial(run_in_turns, runner) if method.order.turns else runner.run
    progress.begin(runner.device, questions.total)
    batch = next(questions.batches, None)
    while batch is not None:
        rows = [output.row(point, graphs[point.graph]) for point in batch]
        progress.batch(len(batch), [row for row in rows if row is not None])
        left = [point for point, row in zip(batch, rows, strict=True) if row is None]
        for measured in run(left, graphs, method):
            output.append(measured)
            outcome.statuses[measured.row["status"]] += 1
            progress.done(measured)
        rows = [output.row(point, graphs[point.graph]) for point in batch]
        answers = [row for row in rows if row is not None]
        outcome.rows.extend(answers)
        try:
            batch = questions.batches.send(answers)
        except StopIteration:
            batch = None
    outcome.rows[:] = output.finish(outcome.rows)
    return outcome
