"""Control interrupts while processes start.

An interrupt in the middle of a start would leave a process that cannot be closed.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
"""SIGINT, which Ctrl-C sends, and SIGTERM, which batch systems send to every process of a job."""


def leave_interrupts_to_parent() -> None:
    """Make this process ignore SIGINT and SIGTERM. Its parent process handles them and ends it."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def deaf() -> Iterator[None]:
    """Make threads and processes that start in this context ignore SIGINT.

    A terminal sends SIGINT to all processes, and each Python process would print a traceback. Only the main
    process handles the signal.
    """
    resource_tracker.ensure_running()  # Python's resource tracker would unblock these signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Delay interrupts until the end of this context, when every process that started in it can be closed.

    Raises KeyboardInterrupt at the end if an interrupt came. SIGTERM is delayed only if the program handles
    it. In a thread other than the main thread nothing is delayed, because only the main thread gets
    interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    handled = [number for number in INTERRUPTS if callable(signal.getsignal(number))]
    before = {
        number: signal.signal(number, lambda number, _frame: heard.append(number)) for number in handled
    }
    try:
        with deaf():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if heard:
            raise KeyboardInterrupt
