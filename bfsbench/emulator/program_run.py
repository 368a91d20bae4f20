"""Runs CUDA programs on the emulator: builds them as watched or counting programs, and runs them once for
each seed."""

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
    """The results of several runs of a program, with the number of runs in which each finding occurred."""

    statuses: list[int] = field(default_factory=list)
    """Exit codes of the runs."""
    findings: dict[tuple[object, ...], tuple[Finding | HostFinding, int]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    """Messages of kernels that failed for another reason than a finding, and the number of runs with each
    message."""

    @property
    def clean(self) -> bool:
        """True if all runs have no failures and no findings, except findings that comments declare benign."""
        return not self.failures and not any(True for _ in self.undeclared())

    def undeclared(self) -> Iterator[tuple[Finding | HostFinding, int]]:
        """Yields the findings that no comment declares benign, each with its number of runs."""
        for found, runs in self.findings.values():
            if isinstance(found, HostFinding) or not found.benign:
                yield found, runs

    def add(self, report: ProgramReport) -> None:
        """Add the report of one run."""
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
    """Build a program from its sources with nvcc's ``options``. Yields its path, and removes the program
    afterwards. Raises ToolchainError and UsageError."""
    with tempfile.TemporaryDirectory() as work:
        program = Path(work) / sources[0].stem
        build(parse([f"--{mode}", *options, *map(str, sources), "-o", str(program)]))
        yield program


def run(program: Path, arguments: Sequence[str], seed: int, *, quiet: bool, stop: bool) -> ProgramReport:
    """Run a program that was built as watched or counting. Returns its report. Its output is shown unless
    ``quiet``. If ``stop``, a launch ends at its first fault.

    Raises KernelError if the program was killed, or ended by _exit.
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
    """Build a program and run it under the seeds 1 to ``seeds``, with every access to memory watched. Returns
    the findings of all runs. Only the first run's output is shown.

    Raises ToolchainError, UsageError and KernelError.
    """
    runs = Runs()
    with built(sources, options, "watched") as program:
        for seed in range(1, seeds + 1):
            runs.add(run(program, arguments, seed, quiet=seed > 1, stop=stop))
    return runs


def lines_of(found: Finding | HostFinding) -> tuple[Line | None, ...]:
    """Returns the source lines of a finding."""
    return (found.line,) if isinstance(found, HostFinding) else found.lines
