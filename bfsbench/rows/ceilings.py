"""Read and write the ceilings of a device as a CSV file. Ceilings are the highest rates and the shortest
latencies that were measured, such as the memory bandwidth. Each row names the device and the date.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bfsbench.backends import GPU_BACKENDS
from bfsbench.rows.columns import PROVENANCE
from bfsbench.rows.results import CEILINGS_SUFFIX, read_rows
from bfsbench.support.errors import InputError, UsageError

COLUMNS = (
    "probe",
    "setting",  # the conditions of the measurement in words
    "working_set",  # bytes over which accesses are spread; empty if their number has no effect
    "value",  # the best sample
    "unit",
    "samples",  # all samples, separated by ';', in the order taken
    "backend",  # rows of "cpu" are from the emulator and are not ceilings
    *PROVENANCE,
)


def check_output(path: Path) -> Path:
    """Check that a file of ceilings can be made at ``path``, and return ``path``.

    Raises UsageError if the file exists, or if its name does not end in CEILINGS_SUFFIX. Reports would
    mistake a file with another suffix for a result file.
    """
    if not path.name.endswith(CEILINGS_SUFFIX):
        raise UsageError(f"--out {path}: a file of ceilings needs a name that ends in '{CEILINGS_SUFFIX}'")
    if path.exists():
        raise UsageError(f"{path} exists: choose another --out, or remove it")
    return path


def write_ceilings(file: IO[str], rows: Iterable[Mapping[str, str]]) -> None:
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


@dataclass(frozen=True)
class Ceilings:
    """The ceilings of one device: the best rates and latencies that probes measured on it."""

    gpu: str
    figures: Mapping[str, Mapping[int, float]]
    """The best value of each probe, by the name of the probe and then by its working set.

    The working set is the number of bytes over which the probe's accesses are spread. It is 0 if it has no
    effect.
    """

    def at(self, probe: str, working_set: int = 0) -> float:
        """Return the best value of a probe for a working set of this size in bytes.

        Between two measured sizes, the value is interpolated by the logarithm of the size. Outside of the
        measured sizes, the value at the nearest size is returned. Raises InputError if the probe was not run.
        """
        import numpy as np

        known = sorted(self.figures.get(probe, {}).items())
        if not known:
            raise InputError(
                f"the ceilings lack the probe '{probe}': measure them again with 'bfsbench probe'"
            )
        sizes, figures = zip(*known, strict=True)
        return float(np.interp(np.log(max(1, working_set)), np.log(np.maximum(1, sizes)), figures))


def ceilings_beside(files: Iterable[Path]) -> Path:
    """Return the path of the only file of ceilings in the folders of these result files. Raises InputError if
    there is no such file, or more than one."""
    folders = dict.fromkeys(file.parent for file in files)
    found = sorted(path for folder in folders for path in folder.glob(f"*{CEILINGS_SUFFIX}"))
    if len(found) == 1:
        return found[0]
    among = f"several: {', '.join(map(str, found))}" if found else "none: make one with 'bfsbench probe'"
    raise InputError(f"beside the result files should be one file of ceilings, but there are {among}")


def read_ceilings(path: Path) -> Ceilings:
    """Return the ceilings in a file: the highest rates that were measured on a device. Raises InputError if
    the file is empty or malformed. Also raises InputError if its rows are from several devices, or from the
    emulator."""
    rows = read_rows(path, COLUMNS, "file of ceilings")
    if not rows:
        raise InputError(f"{path} holds no ceilings")
    if any(row["backend"] not in GPU_BACKENDS for row in rows):
        raise InputError(f"{path} holds figures of emulated kernels, which are not ceilings of a device")
    devices = {row["gpu"] for row in rows}
    if len(devices) > 1:
        raise InputError(f"{path} holds ceilings of different devices: {', '.join(sorted(devices))}")
    figures: dict[str, dict[int, float]] = {}
    for line, row in enumerate(rows, start=2):
        value, working_set = _figure(path, line, row)
        known = figures.setdefault(row["probe"], {})
        rate = row["unit"].endswith("/s")
        known[working_set] = (max if rate else min)(value, known.get(working_set, value))
    return Ceilings(devices.pop(), figures)


def _figure(path: Path, line: int, row: Mapping[str, str]) -> tuple[float, int]:
    try:
        value, working_set = float(row["value"]), int(row["working_set"] or 0)
    except ValueError:
        raise InputError(f"{path}:{line}: value or working_set of {row['probe']} is not a number") from None
    if not (math.isfinite(value) and value > 0 and working_set >= 0):
        raise InputError(f"{path}:{line}: {row['probe']} has the value {value:g}, which is not positive")
    return value, working_set
