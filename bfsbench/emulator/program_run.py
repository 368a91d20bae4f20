"""Runs of CUDA programs on the emulator: built watched or counting, run once for each seed."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bfsbench.emulator.exit_report import HostFinding, ProgramReport, read_report
from bfsbench.emulator.nvcc import build, parse
from bfsbench.emulator.watch import Finding, Line
from bfsbench.support.errors import KernelError


@dataclass
class Runs:
    """Several runs of a program, and in how many of them each finding occurred."""

    statuses: list[int] = field(default_factory=list)
    """Exit codes."""
    findings: dict[tuple[object, ...], tuple[Finding | HostFinding, int]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    """How many runs had each message of a kernel that failed in another way."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found, besides what comments declare benign."""
        return not self.failures and not any(True for _ in self.undeclared())

    def undeclared(self) -> Iterator[tuple[Finding | HostFinding, int]]:
        """Findings that no comment declares benign, with their numbers of runs."""
        for found, runs in self.findings.values():
            if isinstance(found, HostFinding) or not found.benign:
                yield found, runs

    def add(self, report: ProgramReport) -> None:
        """Add a run's report."""
        self.statuses.append(report.status)
        seen: dict[tuple[object, ...], Finding | HostFinding] = {}
        for found in report.findings:
            seen.setdefault((found.fault, frozenset(found.lines)), found)
        for item in report.host:
            seen.setdefault((item.fault, item.line), item)
        for key, one in seen.items():
            first, runs = self.findings.get(key, (one, 0))
            self.findings[key] = (first, runs + 1)
        for message in set(report.failures):
            self.failures[message] = self.failures.get(message, 0) + 1


@contextmanager
def built(sources: Sequence[Path], options: Sequence[str], mode: str) -> Iterator[Path]:
    """A program built of its sources with nvcc's ``options``; it is removed afterwards. Raises
    ToolchainError, UsageError."""
    with tempfile.TemporaryDirectory() as work:
        program = Path(work) / sources[0].stem
        build(parse([f"--{mode}", *options, *map(str, sources), "-o", str(program)]))
        yield program


def run(program: Path, arguments: Sequence[str], seed: int, *, quiet: bool, stop: bool) -> ProgramReport:
    """Run a program that is watched or counts. Its output is shown unless ``quiet``; ``stop`` ends a launch
    at its first fault. Raises KernelError if the program was killed, or ended by _exit.
    """
    record = program.with_suffix(".report")
    environment = os.environ | {"BFSBENCH_SEED": str(seed), "BFSBENCH_REPORT": str(record)}
    if stop:
        environment["BFSBENCH_STOP_AT_FIRST"] = "1"
    output = subprocess.DEVNULL if quiet else None
    done = subprocess.run(
        [str(program), *arguments], env=environment, stdout=output, stderr=output, check=False
    )
    if done.returncode < 0:
        raise KernelError(f"the program was killed by {signal.Signals(-done.returncode).name}")
    if not record.exists():
        code = done.returncode
        raise KernelError(f"the program did not reach its end, or could not start: exit code {code}")
    report = read_report(record)
    record.unlink()
    return report


def check_program(
    sources: Sequence[Path], options: Sequence[str], arguments: Sequence[str], seeds: int, *, stop: bool
) -> Runs:
    """Run a program, with every access to memory watched, under seeds from 1 on; the first run's output is
    shown. Raises ToolchainError, UsageError, KernelError.
    """
    runs = Runs()
    with built(sources, options, "watched") as program:
        for seed in range(1, seeds + 1):
            runs.add(run(program, arguments, seed, quiet=seed > 1, stop=stop))
    return runs


def lines_of(found: Finding | HostFinding) -> tuple[Line | None, ...]:
    """The source lines of a finding."""
    return (found.line,) if isinstance(found, HostFinding) else found.lines
