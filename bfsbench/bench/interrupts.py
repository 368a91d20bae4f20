"""Interrupts while processes start: half started, they could not be closed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C's signal, and the one that batch systems send to every process of a job."""


def leave_interrupts_to_parent() -> None:
    """Ignore interrupts in this process, which its parent ends."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def deaf() -> Iterator[None]:
    """Threads and processes started inside ignore interrupts, which the main process handles. A terminal
    sends an interrupt to all processes, and Python's would print a traceback.
    """
    resource_tracker.ensure_running()  # Python's resource tracker would unblock these signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Delays interrupts to the end, when everything started inside can be closed. SIGTERM is delayed where
    the program handles it. Threads other than the main one get no interrupts, so nothing is delayed there."""
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
