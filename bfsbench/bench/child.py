"""Call a function in a child process, so that a kernel that ends its process does not end the caller."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing import Pipe
from typing import Any, TypeVar, cast

from bfsbench.bench.messages import Refused
from bfsbench.support.errors import BfsbenchError, KernelError

_T = TypeVar("_T")


def in_child(work: Callable[[Callable[[], None]], _T], step: Callable[[], None] = lambda: None) -> _T:
    """Call ``work`` in a forked process and return its result, which must be picklable.

    ``work`` gets a function as its argument. Each call of that function in the child calls ``step`` in this
    process. Raises the BfsbenchError that ``work`` raises. Raises KernelError if the child ends without a
    result, whatever its exit code.
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
    try:
        while kind == "step":
            kind, value = receiver.recv()
            if kind == "step":
                step()
    except (EOFError, ConnectionError):
        kind = "no result"
    finally:
        if kind == "step":  # interrupted: the child's result is not wanted any more
            os.kill(child, signal.SIGKILL)
        receiver.close()
        _, status = os.waitpid(child, 0)
    if kind == "error":
        raise value.error()
    if kind != "result":
        how = how_it_ended(os.waitstatus_to_exitcode(status))
        raise KernelError(f"the process that runs the kernels {how} and returned no result")
    return cast(_T, value)


def how_it_ended(code: int | None) -> str:
    """Return in words how a process ended.

    A negative exit code is the number of the signal that killed it.
    """
    if code is not None and code < 0:
        name = next((known.name for known in signal.Signals if known == -code), f"signal {-code}")
        return f"was killed by {name}"
    return f"ended with exit code {code}"


def _answer(sender: Any, work: Callable[[Callable[[], None]], object]) -> None:
    """Send the result of ``work``, or the BfsbenchError that it raises, and end this process.

    If ``work`` raises any other exception, its traceback is printed and nothing is sent.
    """
    own, code = os.getpid(), 1

    def send(message: tuple[str, object]) -> None:
        try:
            sender.send(message)
        except ConnectionError:  # the parent is gone
            os._exit(1)

    try:
        try:
            answer: tuple[str, object] = ("result", work(lambda: send(("step", None))))
        except BfsbenchError as error:
            answer = ("error", Refused.of(error))
        if os.getpid() == own:  # a kernel may have forked: only the original process answers
            send(answer)
        code = 0
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
