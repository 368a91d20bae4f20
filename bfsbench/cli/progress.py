"""The one progress display of a sweep: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bfsbench.bench.runner import Measured

LINE_EVERY_S = 10.0


class SweepProgress:
    """Shows how far a sweep is, its last result and how many points failed; on stderr."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._total = total
        self._count = self._failed = 0
        self._spoke = time.monotonic()
        self._console = Console(stderr=True)
        self._live = self._console.is_terminal
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
        )
        self._bar = Progress(*columns, console=self._console, disable=not self._live, transient=True)
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> SweepProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def done(self, measured: Measured) -> None:
        """Take note of a point."""
        self.row(measured.row)

    def row(self, row: Mapping[str, str]) -> None:
        """Take note of a row."""
        self._count += 1
        ok = row["status"] == "ok"
        self._failed += not ok
        what = " ".join(filter(None, (row["graph"], row["variant"], row["grid"], row["block"], row["knobs"])))
        came = f"{float(row['search_ms']):.3f} ms" if ok else f"{row['status']}: {row['reason']}"
        if self._live:
            failed = f"{self._failed} failed; " if self._failed else ""
            self._bar.update(self._task, completed=self._count, description=f"{failed}{what}: {came}")
            if not ok:
                self._console.print(f"{what}: {came}", style="red", markup=False)
        elif not ok or self._count == self._total or time.monotonic() - self._spoke > LINE_EVERY_S:
            self._spoke = time.monotonic()
            print(f"[{self._count}/{self._total}] {what}: {came}", file=sys.stderr, flush=True)
