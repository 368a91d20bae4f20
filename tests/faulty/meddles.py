"""A program that writes into the pipe of its process, as a program with a bug may do."""

import os
import pickle
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from bfsbench.bench import messages
from bfsbench.bench.messages import frame
from bfsbench.variants.base import Knob
from bfsbench.variants.cpu_queue import CpuQueue

ROW = messages.encode(messages.Rows([{"status": "ok", "search_ms": "0.001"}]))
LEVELS = messages.encode(messages.Levels([]))


class Bomb:
    """An object that makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("unpickled",)


def written(how: str) -> bytes:
    """Returns the bytes to write to the pipe before the answer or instead of it."""
    number = request_number()
    whole = frame(number, ROW)
    return {
        "junk": b"\0junk" * 100,
        "pickle": pickle.dumps(Bomb()),
        "framed_pickle": frame(number, pickle.dumps(Bomb())),
        "other_request": frame(number + 1, ROW),
        "earlier_request": frame(number - 1, ROW),
        "other_question": frame(number, LEVELS),
        "other_row": whole,
        "other_point": frame(number, messages.encode(messages.Step(1))),
        "flipped_bit": whole[:-1] + bytes([whole[-1] ^ 1]),
        "cut_and_ended": whole[:-3],
        "cut_and_stopped": whole[:-3],
        "endless": whole[:4] + bytes([0] * 7 + [number] + [1] + [0] * 11) + ROW,
    }.get(how, b"")


def request_number() -> int:
    """Returns the number of the current request, which a caller has in a local variable."""
    caller = sys._getframe()
    while "number" not in caller.f_locals:
        assert caller.f_back is not None
        caller = caller.f_back
    return int(caller.f_locals["number"])


class Meddles(CpuQueue):
    name = "meddles"
    aliases = ()
    summary = "writes into the pipe of its process"
    knobs = (
        Knob(
            "MEDDLING",
            "junk",
            "in what way",
            choices=(
                *("junk", "pickle", "framed_pickle", "other_request", "earlier_request", "other_question"),
                *("other_row", "other_point", "flipped_bit", "cut_and_ended", "cut_and_stopped", "endless"),
                *("forked", "forked_and_stayed"),
            ),
        ),
    )
    done = False

    def traverse(self, source: int) -> None:
        super().traverse(source)
        if self.done:
            return
        self.done = True
        how = str(self.knob["MEDDLING"])
        for descriptor in sockets():
            os.write(descriptor, written(how))
        if how == "cut_and_ended":
            os._exit(3)
        if how == "cut_and_stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if how == "forked":
            os.fork()
        if how == "forked_and_stayed" and not os.fork():
            signal.pause()


def sockets() -> Iterator[int]:
    """Yields the descriptors of this process that are sockets. One of them is the pipe."""
    for entry in list(Path("/proc/self/fd").iterdir()):
        if entry.exists() and stat.S_ISSOCK(entry.stat().st_mode):
            yield int(entry.name)
