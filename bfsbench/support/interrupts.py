"""Lets an interrupt end a long computation at once, and ends the program after an interrupt.

Python calls the handlers of signals in the main thread, and only between two steps of the interpreter. So
native code that runs in the main thread for minutes delays an interrupt by minutes.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Never, TypeVar

from bfsbench.support import storage
from bfsbench.support.descendants import kill_descendants

INTERRUPTED = 130
"""The exit code of a program that was interrupted."""
OUT_OF_TIME = 124
"""The exit code of a sweep that began no further point, because the time of --minutes was over."""
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""SIGINT, which Ctrl-C sends, SIGTERM, which batch systems send to every process of a job, and SIGHUP, which
a terminal sends when it closes."""

GRACE_S = 1.0
"""Seconds that a program has to end after an interrupt. Interrupts that come in this time are ignored."""

_T = TypeVar("_T")


class Ending:
    """The handler of interrupts for the command line.

    The first interrupt raises KeyboardInterrupt. Batch systems may send several signals at once, and a second
    KeyboardInterrupt would keep the first from ending child processes. So interrupts within GRACE_S seconds
    are ignored. A later interrupt ends this process and its child processes at once.
    """

    def __init__(self) -> None:
        self._began_s: float | None = None

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        if self._began_s is None:
            self._began_s = time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - self._began_s > GRACE_S:
            os.write(2, b"bfsbench: interrupted\n")
            leave()

    def forget(self) -> None:
        """Make the next interrupt count as the first one. Call this if an interrupt came, but its
        KeyboardInterrupt was lost."""
        self._began_s = None


def interruptible(work: Callable[[], _T]) -> _T:
    """Call ``work`` in another thread, wait for it, and return its result. Raises the exceptions of ``work``.

    An interrupt ends the wait at once with KeyboardInterrupt. ``work`` then goes on until it is done or the
    process ends, and its result is dropped. If this process does not handle interrupts in Python, or if the
    caller is not the main thread, ``work`` is called directly.
    """
    handled = any(callable(signal.getsignal(number)) for number in INTERRUPTS)
    if threading.current_thread() is not threading.main_thread() or not handled:
        return work()
    outcome: Future[_T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome.result()


@contextmanager
def interruptible_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads. At its end, the ``with`` block waits for the threads, unless an interrupt
    ended it."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    except BaseException as error:
        pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    pool.shutdown()


def leave() -> Never:
    """End this process with the exit code INTERRUPTED, without waiting for its threads. Kill the processes
    that this process has started, and remove its unfinished files."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError, RuntimeError):  # RuntimeError: the interrupt came while the stream was written
        sys.stdout.flush()
    kill_descendants()
    storage.remove_unfinished()
    os._exit(INTERRUPTED)
