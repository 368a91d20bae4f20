"""Where the rows of a sweep go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bfsbench.bench import profile
from bfsbench.bench.code import is_outdated
from bfsbench.bench.point import Point, row_name
from bfsbench.bench.results import LEVELS_SUFFIX, ResultWriter, axes_of
from bfsbench.bench.runner import Measured, Method
from bfsbench.errors import UsageError
from bfsbench.graphs.graph import Graph

Identity = tuple[str, ...]
SAME_DEVICE = ("gpu", "compute_capability", "host_cpu")


class Output:
    """The files a sweep writes: results and, if wanted, level profiles in ``*.levels.csv`` beside them.

    Without a path rows are kept in memory only. A point's profile is written before its row, so a profile
    without a row belongs to an interrupted point. It is dropped, since the point will be run again. ``retry``
    drops the rows of failed points for the same reason. Raises UsageError, InputError; also where rows lack
    the profiles or the parents that ``method`` asks for.
    """

    def __init__(
        self, path: Path | None, method: Method, *, resume: bool = False, retry: bool = False
    ) -> None:
        self.path = path
        self._replaced: set[Identity] = set()
        self._results: ResultWriter | None = None
        self._profiles: ResultWriter | None = None
        if path is None:
            if method.profile:
                raise UsageError("level profiles go beside a result file: name one")
            self._rows: dict[Identity, Mapping[str, str]] = {}
            return
        self._results = ResultWriter(path, resume=resume)
        try:
            if retry:
                self._results.keep_only(lambda row: row["status"] == "ok")
            self._rows = {_identity(row): row for row in self._results.rows}
            timed = [row for row in self._results.rows if row["status"] == "ok"]
            if method.parents and not all(row["parents_ms"] for row in timed):
                raise UsageError(f"{path} has rows without parents: choose another --out")
            others = {row["method"] for row in timed} - {method.words}
            if others:
                taken, now = (f"'{words or 'as usual'}'" for words in (min(others), method.words))
                raise UsageError(f"{path} has rows measured {taken}, not {now}: choose another --out")
            if method.profile:
                self._profiles = self._open_profiles(path, timed, resume)
        except BaseException:
            self.close()
            raise

    def _open_profiles(self, path: Path, timed: Sequence[Mapping[str, str]], resume: bool) -> ResultWriter:
        beside = path.with_name(path.name.removesuffix(".csv") + LEVELS_SUFFIX)
        profiles = ResultWriter(beside, resume=resume, columns=profile.COLUMNS)
        finished = {axes_of(row) for row in self._rows.values()}
        profiles.keep_only(lambda row: axes_of(row) in finished)
        profiled = {axes_of(row) for row in profiles.rows}
        for row in timed:
            if row["block"] and axes_of(row) not in profiled:
                profiles.close()
                raise UsageError(f"{path} has rows without level profiles: choose another --out")
        return profiles

    def row(self, point: Point, graph: Graph) -> Mapping[str, str] | None:
        """The row of a point on its graph, if there is one that measured the current code."""
        row = self._rows.get(_identity_of(point, graph))
        return None if row is None or is_outdated(row, point) else row

    def append(self, measured: Measured) -> None:
        """Store the row of a point; it is on disk when this returns."""
        if self._profiles is not None:
            self._profiles.append(*measured.levels)
        if self._results is not None:
            self._results.append(measured.row)
        identity = _identity(measured.row)
        if identity in self._rows:
            self._replaced.add(identity)
        self._rows[identity] = measured.row

    def finish(self, answers: Sequence[Mapping[str, str]]) -> Sequence[Mapping[str, str]]:
        """Drop rows of older code that newer rows supersede. Called once, after the last row. An interrupted
        sweep leaves both, and the later one counts. ``answers`` are rows of this output; they are returned
        fully read, as the file may be rewritten.
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
        self._results.keep_only(lambda row: _is_current(row, latest.get(_identity(row))))
        return read

    def check_continuity(self, graphs: Mapping[str, Graph], origins: Sequence[Mapping[str, str]]) -> None:
        """Raises UsageError unless the rows are of these graphs and of one of these machines.

        ``origins`` are the provenance columns of the rows to come, one entry a device.
        """
        known: dict[str, set[str]] = {}
        for graph in graphs.values():
            known.setdefault(graph.full_name, set()).add(graph.checksum)
        if self._profiles is not None and any(len(checksums) > 1 for checksums in known.values()):
            raise UsageError("level profiles cannot tell graphs of one name apart: sweep them one by one")
        for row in self._rows.values():
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


def _identity(row: Mapping[str, str]) -> Identity:
    """The unique key of a row: the axes and the graph's checksum."""
    return (*_named_today(row), row["graph_checksum"])


def _identity_of(point: Point, graph: Graph) -> Identity:
    """The key of a point's row."""
    return (*point.axes().values(), graph.checksum)


def _is_current(row: Mapping[str, str], latest: Mapping[str, str] | None) -> bool:
    """Whether no later row of the same point supersedes this one."""
    return latest is None or row["code"] == latest["code"]


def _named_today(row: Mapping[str, str]) -> tuple[str, ...]:
    """A row's axes, its graph named as in new rows."""
    graph, *others = axes_of(row)
    return (row_name(graph), *others)


def _difference(row: Mapping[str, str], origin: Mapping[str, str]) -> str:
    """How a row's device differs from that of ``origin``; empty if it does not."""
    for name in ("host_cpu",) if row["backend"] == "host" else SAME_DEVICE:
        if name in origin and row[name] != origin[name]:
            return f"rows were taken with {name} '{row[name]}', this is '{origin[name]}'"
    return ""
