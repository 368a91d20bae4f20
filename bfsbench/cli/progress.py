"""The one progress display of a sweep: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from bfsbench.variants import with_aliases

if TYPE_CHECKING:
    from bfsbench.bench.runner import Measured

LINE_EVERY_S = 10.0


class SweepProgress:
    """Shows how far a sweep is, its last result and how many points failed; on stderr."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._total = total
        self._count = self._failed = 0
        self._by_worker: Counter[str] = Counter()
        self._started = self._spoke = time.monotonic()
        self._console = Console(stderr=True)
        self._live = self._console.is_terminal
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
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
        self._by_worker[measured.worker] += 1
        self.row(measured.row)

    def row(self, row: Mapping[str, str]) -> None:
        """Take note of a row."""
        self._count += 1
        ok = row["status"] == "ok"
        self._failed += not ok
        searched = (row["graph"], with_aliases(row["variant"]), row["grid"], row["block"], row["knobs"])
        what = " ".join(filter(None, searched))
        came = f"{float(row['search_ms']):.3f} ms" if ok else f"{row['status']}: {row['reason']}"
        if self._live:
            failed = f"{self._failed} failed; " if self._failed else ""
            said = f"{self._pace()}; {failed}{what}: {came}"
            self._bar.update(self._task, completed=self._count, description=said)
            if not ok:
                self._console.print(f"{what}: {came}", style="red", markup=False)
        elif not ok or self._count == self._total or time.monotonic() - self._spoke > LINE_EVERY_S:
            self._spoke = time.monotonic()
            line = f"[{self._count}/{self._total}, {self._pace()}] {what}: {came}"
            print(line, file=sys.stderr, flush=True)

    def _pace(self) -> str:
        """Points a minute so far, of several workers each, and how long the rest will take."""
        minutes = max(time.monotonic() - self._started, 1e-3) / 60
        pace = f"{self._count / minutes:.0f} points/min"
        if len(self._by_worker) > 1:
            pace += f" ({', '.join(f'{n / minutes:.0f}' for _, n in sorted(self._by_worker.items()))})"
        left = (self._total - self._count) * minutes / self._count
        return pace + (f", {left:.0f} min left" if left >= 1 else f", {60 * left:.0f} s left" if left else "")
