"""Waiting for what another process does in its own time."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Return once the condition holds; fail if it does not in that time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)
