"""Reads the report that a watched or counting program writes at its end: findings and counts, with source
lines.

``python -m bfsbench.emulator.exit_report FILE`` prints the report. Its exit code is 1 if there is a finding
that no comment declares benign.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bfsbench.emulator.watch import (
    Count,
    Finding,
    Line,
    NativeActor,
    NativeCount,
    NativeFinding,
    NativePhaseCount,
    PhaseCount,
    count,
    finding,
    line_at,
    phase_count,
)


@dataclass(frozen=True)
class HostFinding:
    """A fault in the host code of a program."""

    fault: str
    """One of ``host access``, ``bad copy``, ``uninitialised copy``, ``leak`` and ``unseen error``."""
    what: str
    line: Line | None
    count: int

    def __str__(self) -> str:
        return f"{self.fault} at {self.line or 'an unknown line'}: {self.what}"


@dataclass
class ProgramReport:
    """The report of one run of a program."""

    status: int
    """The exit code of the program."""
    findings: list[Finding] = field(default_factory=list)
    host: list[HostFinding] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Messages of kernels that failed for another reason than a finding."""
    launches: list[PhaseCount] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """True if the run has no failures and no findings, except findings that comments declare benign."""
        return not (self.host or self.failures or any(not found.benign for found in self.findings))


def read_report(path: Path) -> ProgramReport:
    """Read the report that a program has written. Returns its findings and counts. Raises OSError if there is
    no report."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    _, status, executable = rows[0]
    program = Path(executable)

    def line(site: int | None) -> Line | None:
        return line_at(program, site - 1) if site else None

    report = ProgramReport(int(status))
    kernels: dict[int, str] = {}
    for kind, *values in rows[1:]:
        if kind == "failure":
            report.failures.append(values[0])
        elif kind == "host":
            report.host.append(_host_finding(values, line))
        elif kind == "finding":
            report.findings.append(finding(_native_finding(values), line))
        elif kind == "launch":
            launch = phase_count(NativePhaseCount(values[0].encode(), *map(int, values[1:])), 1)
            report.launches.append(launch)
            kernels[launch.launch] = launch.kernel
        else:
            native = NativeCount(*map(int, values))
            report.counts.append(count(native, 1, kernels[native.launch - 1], line))
    return report


def _host_finding(values: list[str], line: Callable[[int | None], Line | None]) -> HostFinding:
    fault, file, number, site, times, what = values
    place = Line(str(Path(file).absolute()), int(number)) if file else line(int(site))
    return HostFinding(fault, what, place, int(times))


def _native_finding(values: list[str]) -> NativeFinding:
    fault, space = int(values[0]), int(values[1])
    actors = [NativeActor(*map(int, values[first : first + 5])) for first in (2, 7)]
    size, element, offset, times = map(int, values[12:16])
    array = ctypes.create_string_buffer(values[17].encode())
    begin = ctypes.addressof(array) if values[17] else 0
    native = NativeFinding(fault, space, *actors, begin, size, element, offset, times, values[16].encode())
    native.file, native.line = values[18].encode() or None, int(values[19])
    native.kept = array
    return native


def lines(report: ProgramReport, *, benign: bool = False) -> Iterator[str]:
    """Yields the lines that show the findings of a report on a terminal. Findings that comments declare
    benign are shown only if ``benign`` is true."""
    shown = [found for found in report.findings if benign or not found.benign]
    number = len(report.failures) + len(shown) + len(report.host)
    yield f"{number} found" if number else "nothing found"
    for message in report.failures:
        yield f"  {message}"
    for found in shown:
        yield from found.shown(f"{found.count} times")
    for item in report.host:
        yield f"  {item} [{item.count} times]"
        if item.line and item.line.text():
            yield f"        {item.line.text()}"


def cost_lines(report: ProgramReport) -> Iterator[str]:
    """Yields the lines that show a report's counts on a terminal: first by launch, then by source line."""
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


def _main(path: Path) -> int:
    report = read_report(path)
    if report.launches:
        print("\n".join(cost_lines(report)), file=sys.stderr)
        return 0
    print("\n".join(lines(report)), file=sys.stderr)
    return int(not report.clean)


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
