"""Start child processes, and control interrupts while they start.

``in_child`` calls a function in a child process, so that a kernel that ends its process does not end the
caller. Interrupts are delayed while a process starts, because the caller cannot yet close the new process.
"""

import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import Pipe, resource_tracker
from typing import Any, TypeVar, cast

from bfsbench.bench.messages import Refused
from bfsbench.support.descendants import kill_programs
from bfsbench.support.errors import BfsbenchError, KernelError
from bfsbench.support.interrupts import INTERRUPTS

_T = TypeVar("_T")


def in_child(
    work: Callable[[Callable[[], None]], _T],
    step: Callable[[], None] = lambda: None,
    limit_s: float | None = None,
) -> _T:
    """Call ``work`` in a forked process and return its result, which must be picklable.

    ``work`` is called with a function as its only argument. When ``work`` calls this function in the child
    process, ``step`` is called in the parent process. Raises the BfsbenchError that ``work`` raises. Raises
    KernelError if the child ends without a result, whatever its exit code. Raises TimeoutError if the child
    has not ended after ``limit_s`` seconds. The child and the processes that it has started are then killed.
    They are also killed after an interrupt.
    """
    receiver, sender = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        receiver.close()
        _answer(sender, work)
    sender.close()
    kind, value, status = "step", cast(Any, None), 0
    deadline = math.inf if limit_s is None else time.monotonic() + limit_s
    try:
        while kind == "step":
            left_s = deadline - time.monotonic()
            if not receiver.poll(None if math.isinf(left_s) else max(left_s, 0)):
                raise TimeoutError
            kind, value = receiver.recv()
            if kind == "step":
                step()
    except (EOFError, ConnectionError):
        kind = "no result"
    finally:
        if kind == "step":  # after an interrupt or the time limit, the result is no longer needed
            _stop(child)
        receiver.close()
        _, status = os.waitpid(child, 0)
    if kind == "error":
        raise value.error()
    if kind != "result":
        how = how_it_ended(os.waitstatus_to_exitcode(status))
        raise KernelError(f"the process that runs the kernels {how} and returned no result")
    return cast(_T, value)


_GRACE_S = 1.0
"""Seconds in which a forked process may remove its files before it is killed."""


def _stop(child: int) -> None:
    """End a forked process and all processes that it has started."""
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline and not os.waitid(
        os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT
    ):
        time.sleep(0.01)
    kill_programs(child)
    os.kill(child, signal.SIGKILL)


def how_it_ended(code: int | None) -> str:
    """Return a phrase that says how a process ended. If the exit ``code`` is negative, signal ``-code``
    killed the process.
    """
    if code is not None and code < 0:
        name = next((known.name for known in signal.Signals if known == -code), f"signal {-code}")
        return f"was killed by {name}"
    return f"ended with exit code {code}"


def _answer(sender: Any, work: Callable[[Callable[[], None]], object]) -> None:
    """Call ``work`` in the child process, send its result to the parent process, and end the child process.

    If ``work`` raises a BfsbenchError, this error is sent instead. If ``work`` raises any other exception,
    its traceback is printed and nothing is sent.
    """
    own, code = os.getpid(), 1

    def send(message: tuple[str, object]) -> None:
        try:
            sender.send(message)
        except ConnectionError:  # the parent process has ended
            os._exit(1)

    try:
        try:
            answer: tuple[str, object] = ("result", work(lambda: send(("step", None))))
        except BfsbenchError as error:
            answer = ("error", Refused.of(error))
        if os.getpid() == own:  # a kernel may have forked a copy of this process, which must not answer
            send(answer)
        code = 0
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def leave_interrupts_to_parent() -> None:
    """Make this process ignore SIGINT and SIGTERM. The parent process handles these signals, and then ends
    this process.
    """
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def deaf() -> Iterator[None]:
    """Block SIGINT while the ``with`` block runs. Threads and processes that start in the block inherit this
    setting.

    At Ctrl-C, a terminal sends SIGINT to all processes, and each Python process would print a traceback. So
    only the main process may handle the signal.
    """
    resource_tracker.ensure_running()  # if it started later, it would unblock SIGINT in this thread
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Delay interrupts until the end of this ``with`` block. By then the caller knows every process that the
    block has started, and can close it.

    If an interrupt came, its usual handler is called at the end. SIGTERM is delayed only if the program
    handles it in Python. If the block runs in a thread other than the main thread, nothing is delayed,
    because Python handles signals in the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    handled = [number for number in INTERRUPTS if callable(signal.getsignal(number))]
    before = {number: signal.signal(number, lambda came, _frame: heard.append(came)) for number in handled}
    try:
        with deaf():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])
