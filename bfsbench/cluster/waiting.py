"""Lines that say what is waited for, and for how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

FIRST_S = 3.0
"""Waits below this print no line."""
LONGEST_S = 600.0
"""Between two lines."""


@dataclass
class Wait:
    """One wait. ``tell`` is called with a line after FIRST_S, and then each time the wait has doubled."""

    what: str
    tell: Callable[[str], None]
    limit_s: float | None = None
    """Limit in s; None waits until it is interrupted."""
    _began: float = field(default_factory=lambda: time.monotonic())
    _next_s: float = FIRST_S

    def over(self, state: str = "") -> bool:
        """Whether the limit is reached; to be called often. ``state`` is the progress, for the line."""
        waited = time.monotonic() - self._began
        if self.limit_s is not None and waited > self.limit_s:
            return True
        if waited >= self._next_s:
            self._next_s = waited + min(waited, LONGEST_S)
            end = "until interrupted" if self.limit_s is None else f"{self.limit_s:g} s at most"
            self.tell(f"waiting for {self.what}{state and f' ({state})'}: {waited:.0f} s so far, {end}")
        return False

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Prints lines while the block inside waits, which has a limit of its own."""
        done = threading.Event()

        def look() -> None:
            while not done.wait(FIRST_S / 10):
                self.over()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
