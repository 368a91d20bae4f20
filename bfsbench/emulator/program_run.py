"""Runs CUDA programs on the emulator, and reads the reports that they write when they end.

``python -m bfsbench.emulator.program_run REPORT`` prints the report of one run. If a user starts a program
directly, the program runs this command at its end. The exit code of the command is 1 if the report has a
fault that no comment in the source declares benign.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bfsbench.emulator import watch
from bfsbench.emulator.watch import Finding, Line
from bfsbench.support.errors import KernelError, plural


@dataclass(frozen=True)
class HostFinding:
    """A fault in the host code of a CUDA program. No comment can declare it benign."""

    fault: str
    """The kind of fault: ``host access``, ``bad copy``, ``bad free``, ``uninitialised copy``, ``race between
    streams``, ``leak``, ``unseen error`` or ``crash``."""
    what: str
    line: Line | None
    count: int
    other: Line | None = None
    """The line of the later operation of a race between streams. None for other faults."""
    array: str = ""
    """The pointer to the memory of a leak. Empty for other faults, and if the pointer is unknown."""
    benign = lacks_barrier = False

    @property
    def lines(self) -> tuple[Line | None, ...]:
        """The source line of the fault, or the two lines of a race."""
        return (self.line, self.other) if self.other else (self.line,)

    def shown(self, how_often: str) -> Iterator[str]:
        """Yields the lines that show the fault on a terminal. ``how_often`` says in words how often the fault
        occurred."""
        yield f"  {self} [{how_often}]"
        for line in self.lines:
            if line and line.text():
                yield f"        {line.text()}"

    def __str__(self) -> str:
        return f"{self.fault} at {self.line or 'an unknown line'}: {self.what}"


_STREAMS = {-1: "", 0: " in the default stream"}
"""Maps the numbers of special streams to their words in messages. The class Streams in runtime/streams.h
assigns the numbers. The number -1 stands for the host."""
_ACTS = {"cudaFree": "frees", "cudaFreeAsync": "frees", "cudaMallocAsync": "allocates"}


@dataclass
class ProgramReport(watch.Report):
    """The report of one run of a CUDA program."""

    status: int = 0
    """The exit code of the program."""
    waits: int = 0
    """How often the host waited for launches."""
    copies: int = 0
    copied_bytes: int = 0
    """The number of copies between the host and the device, and their bytes."""
    ended_threads: int = 0
    """The number of threads that the emulator ended at their first fault."""
    host: list[HostFinding] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Error messages of kernels that failed for a reason other than a fault in ``findings``."""

    def all_findings(self) -> list[Finding | HostFinding]:
        """Returns the faults in kernels, followed by the faults in host code."""
        return [*self.findings, *self.host]

    @property
    def clean(self) -> bool:
        """True if no kernel failed, and if comments in the source declare every fault benign."""
        return not self.failures and all(found.benign for found in self.all_findings())


def read_report(path: Path) -> ProgramReport:
    """Read the report file that a program has written. Returns the report. Raises OSError if the file does
    not exist."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    _, status, executable = rows[0]
    program = Path(executable)

    def line(site: int) -> Line | None:
        return watch.line_at(program, site - 1) if site else None

    def operation(name: str, stream: str, act: str, *at: str) -> tuple[str, str, Line | None]:
        *call, instruction = at
        where = _STREAMS.get(int(stream), f" in stream {stream}")
        verb = _ACTS.get(name, f"{watch.ACTS[int(act)]}s")
        if not int(instruction):
            return (name or "the host") + where, verb, watch.place(line, *call)
        launched = f" (launched at {watch.place(line, *call) or 'an unknown line'})"
        return f"kernel '{name}'{where}{launched}", verb, line(int(instruction))

    report = ProgramReport(status=int(status))
    allocations = watch.Allocations(rows[1:], line)
    for kind, *values in rows[1:]:
        if kind == "waits":
            report.waits = int(values[0])
        elif kind == "copies":
            report.copies, report.copied_bytes = map(int, values)
        elif kind == "ended":
            report.ended_threads = int(values[0])
        elif kind == "failure":
            report.failures.append(values[0])
        elif kind == "host":
            fault, file, number, site, times, what = values
            where = watch.place(line, file, number, site)
            pointer = allocations.pointer(where, int(site)) if fault == "leak" and where else ""
            what = f"{what} ('{pointer}')" if pointer else what
            report.host.append(HostFinding(fault, what, where, int(times), array=pointer))
        elif kind == "streams":
            times, memory, file, number, site, *both = values
            if allocated := watch.place(line, file, number, site):
                pointer = allocations.pointer(allocated, int(site))
                named = f"'{pointer}', " if pointer else ""
                memory += f" ({named}allocated at {allocated})"
            who, verb, first = operation(*both[:7])
            later, other_verb, second = operation(*both[7:])
            what = f"{who} {verb} {memory}; {later} {other_verb} it at {second or 'an unknown line'}"
            what += ", and nothing orders them"
            report.host.append(HostFinding("race between streams", what, first, int(times), second))
    watch.read_rows(rows[1:], line, report)
    return report


def lines(report: ProgramReport) -> Iterator[str]:
    """Yields the lines that show the faults of a report on a terminal. Faults that comments declare benign
    are left out."""
    shown = [found for found in report.all_findings() if not found.benign]
    number = len(report.failures) + len(shown)
    yield f"{number} found" if number else "nothing found"
    for message in report.failures:
        yield f"  {message}"
    for found in shown:
        yield from found.shown(f"{found.count} times")
    if report.ended_threads and number > 1:
        yield on_ended_threads(report.ended_threads)


def on_ended_threads(number: int) -> str:
    """Returns a line that says how many threads the emulator ended in a run, and why this matters."""
    return (
        f"  The emulator ended {plural(number, 'thread')} of a run at the thread's first fault. Other "
        "findings may follow from these faults."
    )


def cost_lines(report: ProgramReport) -> Iterator[str]:
    """Yields the lines that show the counted costs of a report on a terminal: first by launch, then by source
    line."""
    for launch in report.launches:
        shape = f"{launch.blocks} blocks of {launch.threads} threads"
        yield f"launch {launch.launch}: kernel '{launch.kernel}', {shape}, longest warp {launch.steps} steps"
    names = ("executions", "lanes", "sectors", "conflicts", "collisions")
    sums: dict[Line | None, list[int]] = {}
    for of in report.counts:
        row = sums.setdefault(of.line, [0] * len(names))
        sums[of.line] = [total + getattr(of, name) for total, name in zip(row, names, strict=True)]
    yield " ".join(f"{name:>11}" for name in names)
    for line, row in sorted(sums.items(), key=lambda item: -item[1][2]):
        text = f"{line}  {line.text()}" if line else "unknown line"
        yield " ".join(f"{number:>11}" for number in row) + f"  {text}"


_THREADS = re.compile(r"\([\d,]+\)|0x[0-9a-f]+|(?:threads?|lanes?|warp|for) \d+|\d+ (?:threads|others|have)")
"""The parts of a message that differ between schedules: threads, lanes, masks and addresses."""


@dataclass
class Runs:
    """The results of several runs of a program."""

    statuses: list[int] = field(default_factory=list)
    """The exit code of each run."""
    findings: dict[tuple[object, ...], tuple[Finding | HostFinding, int]] = field(default_factory=dict)
    failures_by_kind: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The first message and the number of runs of each kind of failure. Messages that differ only in their
    threads are of one kind. Faults in ``findings`` are not included."""
    ended_threads: int = 0
    """The largest number of threads that the emulator ended in one run at their first fault."""

    @property
    def failures(self) -> dict[str, int]:
        """Returns a dictionary that maps each error message to the number of runs in which a kernel failed
        with this message. Messages that differ only in the threads that they name are counted together, under
        the first message."""
        return dict(self.failures_by_kind.values())

    @property
    def clean(self) -> bool:
        """True if no kernel failed in any run, and if comments in the source declare every fault benign."""
        return not self.failures and not any(True for _ in self.undeclared())

    def undeclared(self) -> Iterator[tuple[Finding | HostFinding, int]]:
        """Yields the faults that no comment declares benign, each with the number of runs in which it
        occurred."""
        return ((found, runs) for found, runs in self.findings.values() if not found.benign)

    def add(self, report: ProgramReport) -> None:
        """Add the results of one run to this object."""
        self.statuses.append(report.status)
        self.ended_threads = max(self.ended_threads, report.ended_threads)
        seen: dict[tuple[object, ...], Finding | HostFinding] = {}
        for found in report.all_findings():
            seen.setdefault((found.fault, frozenset(found.lines), found.array), found)
        for key, found in seen.items():
            first, runs = self.findings.get(key, (found, 0))
            self.findings[key] = (first, runs + 1)
        alike = {_THREADS.sub("", text): text for text in report.failures}
        for kind, text in alike.items():
            text, runs = self.failures_by_kind.get(kind, (text, 0))
            self.failures_by_kind[kind] = (text, runs + 1)


@contextmanager
def built(sources: Sequence[Path], options: Sequence[str], mode: str) -> Iterator[Path]:
    """Build a program from its sources, with nvcc's ``options``. Yields the path of the program, and removes
    it when the ``with`` block ends. Raises ToolchainError if the compiler fails, and UsageError if an option
    is not supported."""
    from bfsbench.emulator.nvcc import build, parse

    with tempfile.TemporaryDirectory() as work:
        program = Path(work) / sources[0].stem
        build(parse([f"--{mode}", *options, *map(str, sources), "-o", str(program)]))
        yield program


_STDERR = 2
"""The file descriptor of this process's stderr."""


def run(
    program: Path,
    arguments: Sequence[str],
    seed: int,
    *,
    quiet: bool,
    stop: bool,
    apart: bool = False,
    limit_s: float | None = None,
) -> ProgramReport:
    """Run a program that was built to be watched or counted. Returns its report. The program's output is
    shown unless ``quiet`` is true. If ``apart`` is true, all of it goes to stderr. If ``stop`` is true, a
    launch ends at its first fault.

    Raises KernelError if the program ended without a report, for example by SIGKILL or by _exit. Kills the
    program and raises TimeoutError if it has not ended after ``limit_s`` seconds.
    """
    record = program.with_suffix(".report")
    environment = os.environ | {"BFSBENCH_SEED": str(seed), "BFSBENCH_REPORT": str(record)}
    if stop:
        environment["BFSBENCH_STOP_AT_FIRST"] = "1"
    stderr = subprocess.DEVNULL if quiet else None
    stdout = _STDERR if apart and not quiet else stderr
    command = [str(program), *arguments]
    try:
        done = subprocess.run(
            command, env=environment, stdout=stdout, stderr=stderr, check=False, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if not record.exists():
        code = done.returncode
        if code < 0:
            raise KernelError(f"the program was killed by {signal.Signals(-code).name}")
        raise KernelError(f"the program did not reach its end, or could not start: exit code {code}")
    report = read_report(record)
    record.unlink()
    return report


def check_program(
    sources: Sequence[Path],
    options: Sequence[str],
    arguments: Sequence[str],
    seeds: int,
    *,
    stop: bool,
    apart: bool = False,
) -> Runs:
    """Build a program, and run it on the emulator with the seeds 1 to ``seeds``. The emulator checks every
    memory access. Returns the faults of all runs. Only the output of the first run is shown. If
    ``apart`` is true, all of it goes to stderr. If ``stop`` is true, a launch ends at its first fault.

    Raises ToolchainError if the compiler fails, UsageError if an option is not supported, and KernelError if
    the program is killed.
    """
    runs = Runs()
    with built(sources, options, "watched") as program:
        for seed in range(1, seeds + 1):
            runs.add(run(program, arguments, seed, quiet=seed > 1, stop=stop, apart=apart))
    return runs


def _main(path: Path) -> int:
    report = read_report(path)
    shown = cost_lines(report) if report.launches else lines(report)
    print("\n".join(shown), file=sys.stderr)
    return int(not report.launches and not report.clean)


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
