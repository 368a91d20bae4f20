"""Read and write the counters of emulated kernels, such as memory requests and bank conflicts.

A file of counters is CSV, with one row for each combination of level, kernel, source line and kind of access.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bfsbench.rows.columns import AXES
from bfsbench.rows.point import Point
from bfsbench.rows.results import COUNTERS_SUFFIX, read_rows
from bfsbench.support.errors import InputError
from bfsbench.support.storage import output

if TYPE_CHECKING:
    import pandas as pd

KEY = ("level", "kernel", "file", "line", "kind", "memory")
"""The key columns of a row of counters."""
SUMS = (
    *("executions", "lanes", "bytes", "polls", "sectors", "distinct_sectors"),
    *("far_sectors", "streamed_sectors", "passes", "conflicts", "collisions"),
)
LARGEST = ("most_collisions", "hottest")
COUNTERS = (*SUMS, *LARGEST)
"""The counters of :class:`bfsbench.emulator.Count`.

If a level has several launches, the counters in SUMS are added up over the launches. For each counter in
LARGEST, the maximum over the launches is taken.
"""

COLUMNS = (*AXES, "graph_checksum", *KEY, *COUNTERS)
_NUMBERS = ("level", "line", *COUNTERS)


@dataclass(frozen=True)
class Counted(ABC):
    """The counters of the kernels that one program or search launched."""

    lines: pd.DataFrame
    """A table with one row of COUNTERS for each combination of KEY.

    ``level`` is -1 if the family has no levels. ``kind`` is one of KINDS and ``memory`` one of MEMORIES in
    :mod:`bfsbench.emulator.watch`.
    """
    launches: pd.DataFrame
    """A table with one row for each launch and each level in it.

    Its columns are ``level``, ``launch``, ``kernel``, ``blocks``, ``threads`` per block, ``shared`` in bytes
    per block, and the columns STEPS of :mod:`bfsbench.emulator.watch`.
    """
    waits: int
    """How often the host waited for the device during the search, for example to read whether the search has
    ended."""
    sources: dict[str, Path]
    """The paths of the source files that ``lines`` names."""

    has_levels: ClassVar[bool] = True
    """True for a search, and false for a program."""
    name: ClassVar[str] = "search"
    level_name: ClassVar[str] = "level"
    """The words for users: ``name`` for the whole search or program, and ``level_name`` for one level of
    it."""

    @property
    @abstractmethod
    def title(self) -> str:
        """A line that names the program or the search."""

    @property
    @abstractmethod
    def subject(self) -> str:
        """A line with the properties that several searches, or runs of a program, in one report share."""

    @property
    @abstractmethod
    def search(self) -> tuple[str, ...]:
        """The values of the columns AXES and ``graph_checksum`` in a file of counters."""


@dataclass(frozen=True)
class ProgramCounters(Counted):
    """The counters of one run of a CUDA program. Each launch of a kernel counts as a level."""

    program: str
    """The name of the program's first source file."""
    macros: str
    """The macros that distinguish this run from others of the same report, such as ``TILE=16``."""
    copies: int
    copied_bytes: int
    """The number of copies between the host and the device, and their bytes."""

    has_levels: ClassVar[bool] = False
    name: ClassVar[str] = "program"
    level_name: ClassVar[str] = "launch"

    @property
    def title(self) -> str:
        return f"{self.program} {self.macros}".rstrip()

    @property
    def subject(self) -> str:
        return self.program

    @property
    def search(self) -> tuple[str, ...]:
        """The columns of a program. All programs have the same ``variant``, so that kernels of two versions
        of a program are compared although their files have different names."""
        axes = dict.fromkeys(AXES, "") | {"variant": "program", "backend": "cpu", "knobs": self.macros}
        return (*axes.values(), "")


@dataclass(frozen=True)
class Counters(Counted):
    point: Point
    graph_checksum: str

    @property
    def title(self) -> str:
        """A line that names the search: its variant, its knobs, its block, and its grid if it has one."""
        axes = self.point.axes()
        knobs = f" {axes['knobs']}" if axes["knobs"] else ""
        grid = f", grid {self.point.grid}" if self.point.grid else ""
        return f"{axes['variant']}{knobs}, block {axes['block']}{grid}"

    @property
    def subject(self) -> str:
        """A heading for a report on several searches: their graph and their source."""
        axes = self.point.axes()
        return f"{axes['graph']}, source {axes['source']}" if axes["source"] else str(axes["graph"])

    @property
    def search(self) -> tuple[str, ...]:
        return (*self.point.axes().values(), self.graph_checksum)


def is_counters_file(path: Path) -> bool:
    """Return whether a file holds counters, judging by its first line. If the file cannot be read, its name
    decides.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return file.readline().rstrip("\r\n") == ",".join(COLUMNS)
    except (OSError, ValueError):
        return path.name.endswith(COUNTERS_SUFFIX)


def write_counters(path: Path, counted: Sequence[Counted]) -> None:
    """Write all counters to one file. Raises UsageError if the file cannot be written."""
    with output(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for of in counted:
            writer.writerows((*of.search, *row) for row in of.lines.itertuples(index=False))


def read_counters(path: Path) -> pd.DataFrame:
    """Return all rows of a file of counters. The table has the columns COLUMNS, and counters are int64.

    Raises InputError if the file cannot be read, or is not a valid file of counters.
    """
    import pandas as pd

    frame = pd.DataFrame(read_rows(path, COLUMNS, "file of counters"), columns=list(COLUMNS))
    for name in _NUMBERS:
        try:
            frame[name] = frame[name].astype("int64")
        except (ValueError, OverflowError) as error:
            raise InputError(
                f"{path}: column {name} has a value that is not a whole number: {error}"
            ) from None
    return frame
