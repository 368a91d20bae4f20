"""Wait for the work of another process."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Return when the condition is true. Fail if it is not true within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)
