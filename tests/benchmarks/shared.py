"""What several scripts do: read numbers from the command line, wait for a process, and prepare a program."""

from __future__ import annotations

import argparse
import subprocess
from contextlib import suppress

from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup
from bfsbench.variants import find


def asked(doc: str | None, **numbers: int) -> argparse.Namespace:
    """Returns the options of a script: numbers by their names, with their defaults."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    return parser.parse_args()


def wait_for(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a time, but not longer than the process runs."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def prepared(
    variant: str, on: DeviceGraph, grid: int | None = None, block: int | None = None, **knobs: str | float
) -> KernelProgram:
    """Returns a prepared program of kernels, by default with the variant's own or usual block."""
    kind = find(variant)
    assert issubclass(kind, KernelProgram), f"{variant} has no kernels"
    values = kind.knob_values(knobs)
    program = kind(KernelSetup(on, grid, block or kind.own_block(values) or kind.usual_block, values))
    program.prepare()
    return program
