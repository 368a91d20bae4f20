"""Run a sweep: measure the configurations of a request, and write one result row for each configuration.

A request says what to measure and how, where to write rows, and what runs the searches. Commands and Python
functions make a request from their arguments and call :func:`sweep`, which notifies a :class:`SweepProgress`.
A :class:`Trial` tests a search on small graphs instead of measuring it.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from bfsbench.backends import GPU_BACKENDS
from bfsbench.backends.cupti_trace import load_cupti
from bfsbench.bench.options import Method
from bfsbench.bench.plan import Axes, Questions, Setting, Work, plan
from bfsbench.bench.worker import (
    ON_CLOCK,
    UNDECIDED,
    DeviceInfo,
    Graphs,
    Measured,
    Runner,
    Worker,
    run_in_turns,
    source_rule,
    together,
)
from bfsbench.entries.variant import WRONG_CLOCK
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import GraphName, Progress, load, load_parsed
from bfsbench.programs import Variant
from bfsbench.rows.columns import AXES, COLUMNS, PROFILE_COLUMNS
from bfsbench.rows.point import Point, row_name
from bfsbench.rows.provenance import is_outdated, record_run
from bfsbench.rows.results import LEVELS_SUFFIX, OTHER_SUFFIXES, ResultWriter, axes_of
from bfsbench.support.errors import OptionError, UsageError, plural
from bfsbench.support.toolchain import HELPERS, building

if TYPE_CHECKING:
    from bfsbench.rows.reading import KnownRows

_Runner = TypeVar("_Runner", bound=Runner)
_EMPTY = dict.fromkeys(COLUMNS, "")
"""A result row without values."""

Identity = tuple[str, ...]
SAME_DEVICE = ("gpu", "compute_capability", "host_cpu")


class Output:
    """The files that a sweep writes: results and, if wanted, level profiles in ``*.levels.csv`` beside them.

    Without a path, rows are kept in memory only. When the first row is written, this run of the program is
    recorded in ``*.runs.jsonl``. A point's profile is written before its row. When files are opened, a
    profile without a row is dropped, because its point was interrupted and will be run again. With
    ``method.retry_failed``, the rows of failed points are dropped, because these points will be run again.
    Raises UsageError or InputError if the files cannot be continued, as when rows lack the profiles that
    ``method`` asks for.
    """

    def __init__(self, path: Path | None, method: Method) -> None:
        self.path = path
        self._replaced: set[Identity] = set()
        self._most_to_decide = method.most if method.until_decided else 0
        """Undecided points with fewer samples are measured again."""
        self._origins: Sequence[Mapping[str, str]] = ()
        """The columns that describe the devices of this run. Empty after the run has been recorded."""
        self._results: ResultWriter | None = None
        self._profiles: ResultWriter | None = None
        if path is None:
            if method.profile:
                raise UsageError("level profiles go beside a result file: name one")
            self._rows: dict[Identity, Mapping[str, str]] = {}
            return
        self._results = ResultWriter(path, resume=method.resume)
        try:
            if method.retry_failed:
                self._results.keep_only(lambda row: row["status"] == "ok")
            known = self._results.rows
            self._rows = _by_identity(known)
            _require_method(known, method, path)
            if method.profile:
                self._profiles = self._open_profiles(path, known, method.resume)
        except BaseException:
            self.close()
            raise

    def _open_profiles(self, path: Path, known: "KnownRows", resume: bool) -> ResultWriter:
        beside = path.with_name(path.name.removesuffix(".csv") + LEVELS_SUFFIX)
        profiles = ResultWriter(beside, resume=resume, columns=PROFILE_COLUMNS)
        finished = {axes_of(row) for row in self._rows.values()}
        profiles.keep_only(lambda row: axes_of(row) in finished)
        profiled = {axes_of(row) for row in profiles.rows}
        for row in known:
            if row["status"] == "ok" and row["block"] and axes_of(row) not in profiled:
                profiles.close()
                raise _another_file(path, "without level profiles")
        return profiles

    @property
    def graphs(self) -> set[str]:
        return {row_name(row["graph"]) for row in self._rows.values()}

    def row(self, point: Point, graph: Graph) -> Mapping[str, str] | None:
        """Return the file's row for a point (configuration) on this graph. Returns None if there is no such
        row, or if the point must be measured again."""
        return None if self.why_again(point, graph) else self._row(point, graph)

    def why_again(self, point: Point, graph: Graph) -> str:
        """Return the reason why a point (configuration) that has a row in the file must be measured again.
        Returns an empty string if the point need not be measured again, or if it has no row."""
        row = self._row(point, graph)
        if row is None:
            return ""
        if is_outdated(row, point):
            return "of older code"
        samples = row["search_ms_samples"].count(";") + 1
        wants_more = self._most_to_decide > samples and UNDECIDED in row["warnings"]
        return "undecided" if wants_more else ""

    def _row(self, point: Point, graph: Graph) -> Mapping[str, str] | None:
        return self._rows.get(_identity_of(point, graph))

    def append(self, measured: Measured) -> None:
        """Write the result row of a measured configuration. When this method returns, the row is on disk."""
        if self._profiles is not None:
            self._profiles.append(*measured.levels)
        if self._results is not None:
            self._results.append(measured.row)
            if self._origins:
                record_run(self._results.path, self._origins)
                self._origins = ()
        identity = _identity(measured.row)
        if identity in self._rows:
            self._replaced.add(identity)
        self._rows[identity] = _EMPTY | measured.row  # the row of a failed point lacks columns

    def finish(self, answers: Sequence[Mapping[str, str]]) -> Sequence[Mapping[str, str]]:
        """Remove the old rows of configurations that the sweep has measured again. Call this once, after the
        last row.

        ``answers`` are the rows that the sweep will return. This method returns ``answers``, or copies of
        them if it has rewritten the file, because the rows themselves refer to the old file. If a sweep is
        interrupted before this call, the file keeps the old and the new row of a configuration, and readers
        use the new row.
        """
        if self._results is None or not self._replaced:
            return answers
        read = [dict(row) for row in answers]
        latest = {name: self._rows[name] for name in self._replaced}
        taken = {name[:-1]: row["taken_at"] for name, row in latest.items()}
        if self._profiles is not None:
            self._profiles.read_again()
            self._profiles.keep_only(lambda row: taken.get(_named_today(row)) in (None, row["taken_at"]))
        self._results.read_again()
        # A sweep of a small graph may replace a row within a second, so taken_at alone is not enough.
        telling = itemgetter("code", "taken_at", "search_ms_samples")
        written = {name: telling(row) for name, row in latest.items()}
        self._results.keep_only(lambda row: written.get(_identity(row)) in (None, telling(row)))
        return read

    def check_continuity(self, graphs: Graphs, origins: Sequence[Mapping[str, str]]) -> None:
        """Check that a sweep may continue the file.

        ``origins`` contains one dictionary per device of the sweep: the columns of new rows that describe the
        device, the machine and the software. Raises UsageError if a row of the file has the name of one of
        ``graphs`` but belongs to a different graph. Also raises UsageError if the device of a row differs
        from all devices in ``origins``. Also raises UsageError if level profiles are written and two of
        ``graphs`` have one name.
        """
        self._origins = origins
        known: dict[str, set[str]] = {}
        for graph in graphs.values():
            known.setdefault(graph.full_name, set()).add(graph.checksum)
        if self._profiles is not None and any(len(checksums) > 1 for checksums in known.values()):
            raise UsageError("level profiles cannot tell graphs of one name apart: sweep them one by one")
        names = ("graph", "graph_checksum", "backend", *SAME_DEVICE)
        for facts in dict.fromkeys(map(itemgetter(*names), self._rows.values())):
            row = dict(zip(names, facts, strict=True))
            name = row_name(row["graph"])
            if row["graph_checksum"] not in known.get(name, {row["graph_checksum"]}):
                other = f"{name} has changed since {self.path} was begun, or is another graph of that name"
                raise UsageError(f"cannot resume: {other}")
            differences = [_difference(row, origin) for origin in origins]
            if differences and all(differences):
                raise UsageError(f"cannot resume: {differences[0]}")

    def close(self) -> None:
        for writer in (self._results, self._profiles):
            if writer is not None:
                writer.close()


def _require_method(known: "KnownRows", method: Method, path: Path) -> None:
    """Raise UsageError if rows of the file were measured with options that differ from ``method``."""
    parents = known.values("status", "parents_ms")
    if method.parents and not all(ms for status, ms in parents if status == "ok"):
        raise _another_file(path, "without parents")
    kernels = known.values("status", "backend", "reason", "kernel_ms")
    of_gpu = (
        ms for status, where, why, ms in kernels if status == "ok" and where in GPU_BACKENDS and not why
    )
    if method.cupti and not all(of_gpu):
        raise _another_file(path, "without times of kernels")
    facts = {*known.values("status", "method", "source", "backend")}
    ways = {(said, source != "", where) for status, said, source, where in facts if status == "ok"}
    others = {said.removesuffix(source_rule(said)).strip() for said, *_ in ways} - {method.words}
    if others:
        taken, now = (f"'{words or 'as usual'}'" for words in (min(others), method.words))
        raise _another_file(path, f"measured {taken}, not {now}")
    samples = known.values("status", "search_ms_samples")
    counts = {text.count(";") + 1 for status, text in samples if status == "ok" and text}
    if method.fewest == method.most and (unlike := counts - {method.fewest}):
        found = f"{plural(min(unlike), 'sample')} per point, not {method.fewest}"
        raise _another_file(path, f"with {found}")
    if any(has_source and where != "cpu" and not source_rule(said) for said, has_source, where in ways):
        raise _another_file(path, "of searches repeated from one source; now sources alternate")


def _another_file(path: Path, which: str) -> OptionError:
    return OptionError("{path} has rows {which}: choose another {out}", path=path, which=which)


def _identity(row: Mapping[str, str]) -> Identity:
    """Return the unique key of a result row: the columns that name its configuration, and the graph's
    checksum.
    """
    return (*_named_today(row), row["graph_checksum"])


def _identity_of(point: Point, graph: Graph) -> Identity:
    """Return the key of a point's row (see ``_identity``)."""
    return (*point.axes().values(), graph.checksum)


def _by_identity(rows: "KnownRows") -> dict[Identity, Mapping[str, str]]:
    """Return a dictionary that maps the keys from ``_identity`` to the rows. If several rows have the same
    key, the last row is kept.
    """
    names = {graph: row_name(graph) for (graph,) in {*rows.values("graph")}}
    identities = rows.values(*AXES, "graph_checksum")
    return {(names[graph], *others): row for (graph, *others), row in zip(identities, rows, strict=True)}


def _named_today(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of a row that name its configuration.

    Older rows may name a graph by its path. This function spells the graph's name as new rows do.
    """
    graph, *others = axes_of(row)
    return (row_name(graph), *others)


def _difference(row: Mapping[str, str], origin: Mapping[str, str]) -> str:
    """Return a sentence that says how the device of a row differs from the device in ``origin``. Returns an
    empty string if the two devices agree."""
    for name in ("host_cpu",) if row["backend"] == "host" else SAME_DEVICE:
        if name in origin and row[name] != origin[name]:
            return f"rows were taken with {name} '{row[name]}', this is '{origin[name]}'"
    return ""


@dataclass(frozen=True)
class SweepRequest:
    """A request for a sweep: what to measure and how, the result file, and what runs the searches."""

    work: Work
    method: Method
    path: Path | None = None
    """The path of the result file. None keeps the rows in memory only."""
    new_runner: Callable[[str | None], Runner] = Worker
    """A function that returns a runner for a backend. The runner is not started yet. A backend of None stands
    for host programs only."""
    deadline: float = math.inf
    """No point begins after this time, in seconds on the monotonic clock. Points that are measured together
    are all measured."""

    def __post_init__(self) -> None:
        if self.method.resume and self.path is None:
            raise OptionError("{resume} needs the {out} it is to continue")
        if self.path is not None and self.path.name.endswith(OTHER_SUFFIXES):
            reason = "the names of other files beside result files end like this: choose another name"
            raise OptionError(f"{{out}} {{path}}: {reason}", path=str(self.path))


@dataclass
class SweepOutcome:
    rows: list[Mapping[str, str]]
    """The rows of all points in the order requested, including rows that the file had before."""
    statuses: Counter[str]
    """How many of the points measured in this sweep ended with each status."""
    left: int = 0
    """The number of points that have no row because the deadline ended the sweep. It is the largest possible
    number if the points of the sweep depend on earlier rows."""

    @property
    def failed(self) -> int:
        """The number of configurations that have no time because they failed."""
        return sum(row["status"] != "ok" for row in self.rows)


def deadline_in(minutes: float | None) -> float:
    """Return the deadline that is ``minutes`` minutes from now, in s on the monotonic clock. Returns infinity
    if ``minutes`` is None."""
    return math.inf if minutes is None else time.monotonic() + 60 * minutes


class SweepProgress:
    """The base class of objects that are notified of a sweep's progress. The methods of this base class do
    nothing. The object is also a context manager: the sweep runs in its ``with`` block.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def loading(self, graph: GraphName) -> AbstractContextManager[Progress | None]:
        """Return a context manager in whose ``with`` block the sweep loads a graph. The context manager
        yields None, or a function that shows the progress. This function is called with the number of bytes
        read so far, and the total number.
        """
        return nullcontext()

    def begin(self, device: DeviceInfo | None, total: int) -> None:
        """Called before the first configuration is measured. The sweep measures at most ``total``
        configurations.
        """

    def again(self, size: int, reasons: Mapping[str, int]) -> None:
        """Called before the method ``batch`` if configurations of the batch have rows in the file, but are
        measured again. ``size`` is the size of the batch. ``reasons`` counts the configurations by reason."""

    def batch(self, size: int, held: Sequence[Mapping[str, str]]) -> None:
        """Called before a batch of ``size`` configurations is measured.

        ``held`` are the rows of these configurations that are in the file already.
        """

    def done(self, measured: Measured) -> None:
        """Called with the result of each configuration, after its row is on disk."""

    def out_of_time(self, left: int) -> None:
        """Called if the deadline ends the sweep. At most ``left`` configurations have no row yet."""


def sweep(request: SweepRequest, progress: SweepProgress | None = None) -> SweepOutcome:
    """Measure the configurations of a request, and write each result row as it is made. Returns all rows, and
    how many configurations ended with each status.

    If an interrupt comes, the processes that run the searches are stopped, and KeyboardInterrupt is raised.
    Raises BfsbenchError if the sweep cannot run.
    """
    shown = progress or SweepProgress()
    with ExitStack() as stack:
        with building(_helpers(request.work)):
            runner = stack.enter_context(_started(request))
            if _backend(runner) == "cpu" and not any(variant.host for variant in request.work.variants):
                for name in ("until_decided", "energy"):
                    if getattr(request.method, name):
                        raise OptionError(
                            f"{{{name}}} needs a GPU or host programs, and this sweep is emulated"
                        )
            output = Output(request.path, request.method)
            stack.enter_context(closing(output))
            graphs = {graph.locator: _load(graph, shown) for graph in request.work.graphs}
        questions = request.work.ask(_setting(graphs, runner))
        output.check_continuity(graphs, runner.origins())
        return _carry_out(questions, graphs, runner, output, request, shown)


def _helpers(work: Work) -> list[str]:
    """Return the native libraries that the sweep will need. They are built while the device is opened."""
    generated = any(graph.generator is not None for graph in work.graphs)
    programs = [variant.name for variant in work.variants if variant.host]
    return [*HELPERS, *(["generate"] if generated else []), *programs]


def preview(request: SweepRequest, *, real_sources: bool = False) -> list[Point]:
    """Return the points (configurations) that a sweep would measure, without measuring them.

    With ``resume``, points are left out if the result file has rows for them that the sweep would keep.
    Random sources can be chosen only after a graph is loaded, so the sources in graphs that are not loaded
    are placeholders. With ``resume``, the graphs that have rows in the file are loaded. With
    ``real_sources``, all graphs are loaded. Raises BfsbenchError if the sweep could not run.
    """
    with _started(request) as runner:
        if request.method.resume and request.path is not None and request.path.exists():
            return _left(request, request.path, runner, real_sources)
        loaded = request.work.graphs if real_sources else ()
        return request.work.planned(_setting(_loaded(loaded), runner))


def _loaded(graphs: Iterable[GraphName]) -> Graphs:
    return {graph.locator: load_parsed(graph) for graph in graphs}


def _left(request: SweepRequest, path: Path, runner: Runner, load_all: bool) -> list[Point]:
    """Return the points (configurations) that a sweep still has to measure: all points without a row of the
    current code. With ``retry_failed``, failed points are included. The sweep's file is not changed."""
    reading = replace(request.method, retry_failed=False, profile=False)
    with closing(Output(path, reading)) as output:
        begun = (graph for graph in request.work.graphs if load_all or graph.full_name in output.graphs)
        graphs = _loaded(begun)
        output.check_continuity(graphs, runner.origins())

        def known(point: Point) -> Mapping[str, str] | None:
            row = output.row(point, graphs[point.graph]) if point.graph in graphs else None
            failed = row is not None and row["status"] != "ok"
            return None if failed and request.method.retry_failed else row

        return request.work.planned(_setting(graphs, runner), known)


@contextmanager
def _started(request: SweepRequest) -> Iterator[Runner]:
    """Start the runner of a request, and check that its device can run the sweep. Yields the runner. An
    interrupt stops the runner.
    """
    host_only = all(variant.host for variant in request.work.variants)
    with _closed(request.new_runner(None if host_only else request.method.backend)) as runner:
        runner.start()
        request.work.check(runner.device.limits if runner.device else None)
        if request.method.cupti:
            load_cupti()
            if _backend(runner) not in GPU_BACKENDS:
                raise OptionError("{cupti} traces kernels on a GPU, and this sweep has none")
        yield runner


@contextmanager
def _closed(runner: _Runner) -> Iterator[_Runner]:
    """Yield the runner, and close it at the end of the ``with`` block. An interrupt stops it at once."""
    with closing(runner):
        try:
            yield runner
        except KeyboardInterrupt:
            runner.stop()
            raise


def _setting(graphs: Graphs, runner: Runner) -> Setting:
    return Setting(graphs, _backend(runner), runner.device.limits if runner.device else None)


def _backend(runner: Runner) -> str:
    return runner.device.backend if runner.device else "host"


def _load(graph: GraphName, progress: SweepProgress) -> Graph:
    with progress.loading(graph) as read:
        return load_parsed(graph, read)


def _carry_out(
    questions: Questions,
    graphs: Graphs,
    runner: Runner,
    output: Output,
    request: SweepRequest,
    progress: SweepProgress,
) -> SweepOutcome:
    outcome = SweepOutcome([], Counter())
    method = request.method
    run = partial(run_in_turns, runner) if method.takes_turns else runner.run
    progress.begin(runner.device, questions.total)
    for batch in questions.batches:
        rows = [output.row(point, graphs[point.graph]) for point in batch.points]
        left = [point for point, row in zip(batch.points, rows, strict=True) if row is None]
        again = Counter(filter(None, (output.why_again(point, graphs[point.graph]) for point in left)))
        if again:
            progress.again(len(rows), again)
        progress.batch(len(rows), [row for row in rows if row is not None])
        made: dict[Identity, Mapping[str, str]] = {}
        for measured in _until(request.deadline, left, graphs, method, run):
            output.append(measured)
            outcome.statuses[measured.row["status"]] += 1
            made[_identity(measured.row)] = measured.row
            progress.done(measured)
        every = zip(batch.points, rows, strict=True)
        found = (row or made.get(_identity_of(point, graphs[point.graph])) for point, row in every)
        batch.rows.extend(row for row in found if row is not None)
        outcome.rows.extend(batch.rows)
        if len(made) < len(left):
            outcome.left = questions.total - len(outcome.rows)
            progress.out_of_time(outcome.left)
            break
    outcome.rows[:] = output.finish(outcome.rows)
    return outcome


def _until(
    deadline: float,
    points: Sequence[Point],
    graphs: Graphs,
    method: Method,
    run: Callable[[Sequence[Point], Graphs, Method], Iterator[Measured]],
) -> Iterator[Measured]:
    """Yield the outcomes of points (configurations) from ``run`` until ``deadline``, a time in seconds on the
    monotonic clock.

    A group of points that are measured together is completed even if the deadline passes meanwhile. If
    ``method.takes_turns``, all points of a graph form one group. Otherwise, ``together`` returns the groups.
    """
    if time.monotonic() >= deadline:
        return
    group_of = {
        _identity_of(point, graphs[point.graph]): point.graph if method.takes_turns else number
        for number, group in enumerate(together(points, graphs))
        for point in group
    }
    pending = Counter(group_of.values())
    for measured in run(points, graphs, method):
        yield measured
        group = group_of[_identity(measured.row)]
        pending[group] -= 1
        if not pending[group] and time.monotonic() >= deadline:
            return


SHAPES = (
    "path(n=1)",
    "star(n=300,arcs=in)",  # the hub has no out-arcs
    "path(n=2000)",
    "lattice(rows=23,columns=17)",
    "kronecker(scale=8,edge_factor=8)",  # hubs
    "uniform(n=500,m=500,directed=1)",  # isolated vertices, loops and duplicate arcs
    "uniform(n=1025,m=8200)",
    "uniform(n=1025,m=8200,directed=1):offsets=int64",
)
"""The names of the graphs to search."""
REPEATS = 3
FAILURES_SHOWN = 5
"""The trial ends after this many failures. It ends at once after a time-out, because a small graph takes no
time, and after a failure that depends on no graph."""


@dataclass
class Trial:
    """A test of a variant on small graphs, and the results of the test. The test ends after all searches, or
    after FAILURES_SHOWN failures."""

    searches: int = 0
    shape: str = ""
    """The generator of the graph that is being searched."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """For each failed search: a message that says how it failed, and its graph and source. The graph is empty
    if the program's clock, and not a search, is at fault."""

    def lines(self) -> list[str]:
        """Returns one line per failure, with the graph and the source. If all searches failed with the same
        message, returns only this message, because the fault does not depend on a graph. Messages that differ
        only in times count as the same."""
        messages = [message for message, _ in self.failures]
        without_times = {re.sub(r"[\d.e+-]+ ms", "", message) for message in messages}
        if len(without_times) == 1 and 1 < len(messages) == self.searches:
            return messages[:1]
        return [f"{message} [{place}]" if place else message for message, place in self.failures]

    def run(self, variant: type[Variant], limit_s: float, begins: Callable[[str], None]) -> None:
        """Search each graph of SHAPES from its first, middle and last vertex, in the way that a sweep does.

        REPEATS timed runs are made from each vertex. All runs from one vertex may take at most ``limit_s``
        seconds in total. ``begins`` is called with the name of each graph before the graph is searched.
        Raises BfsbenchError if no device can run the variant.
        """
        axes, method = Axes([variant], [None], [None]), Method(REPEATS, limit_s)
        with _closed(Worker(None if variant.host else "auto")) as worker:
            worker.start()
            for self.shape in SHAPES:
                begins(self.shape)
                graph = load(self.shape)
                sources = dict.fromkeys((0, graph.num_vertices // 2, graph.num_vertices - 1))
                for point in plan(axes, {self.shape: [*sources]}, {}, _backend(worker)):
                    row = next(worker.run_group([point], graph, method)).row
                    self.searches += 1
                    if row["status"] != "ok":
                        on_clock = ON_CLOCK in row["reason"] or row["reason"].startswith(WRONG_CLOCK)
                        place = "" if on_clock else f"{row['graph']} from {point.source}"
                        self.failures.append((f"{row['status']}: {row['reason']}", place))
                        if on_clock or row["status"] == "timeout" or len(self.failures) == FAILURES_SHOWN:
                            return
