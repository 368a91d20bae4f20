"""Finds and ends the processes that a program has started, even if they have left its process group.

A process that adopts orphans becomes the parent of every descendant whose own parent has ended. So all its
descendants stay below it in the tree of processes, which ``/proc`` shows. A worker process of bfsbench adopts
orphans.
"""

import ctypes
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

MARK = "BFSBENCH_ENTRY"
"""An environment variable that bfsbench sets for a program. The program's descendants inherit it. Its value
has the id of the process that started the program, and a random word."""

ON_GPU: set[int] = set()
"""Ids of the processes that this process has started and that hold memory on a GPU. A process of this set is
stopped (SIGSTOP) except during its searches."""

_PROC = Path("/proc")
_SET_CHILD_SUBREAPER = 36
_adopting: set[int] = set()
"""The id of the process that called ``adopt_orphans``. It is kept because a forked copy of this process,
which has another id, does not adopt orphans."""


def adopt_orphans() -> None:
    """Make this process the parent of all descendants whose own parents end.

    Call this only in a process whose only background processes are entries (programs of other authors). The
    function ``left_by`` assumes that every other background process was left behind by an entry.
    """
    if become_parent_of_orphans():
        _adopting.add(os.getpid())


def become_parent_of_orphans() -> bool:
    """Make this process the parent of all descendants whose own parents end. Returns whether this
    succeeded."""
    return bool(ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def left_by(pid: int, mark: str, kept: Iterable[int]) -> list[int]:
    """Returns the ids of the living processes that the program ``pid`` has left behind, without the program
    itself.

    These processes are the descendants of the program, and all processes in whose environment the variable
    MARK has a value that begins with ``mark``. If the calling process adopts orphans, its own descendants are
    included too, except the programs in ``kept`` and their descendants.
    """
    tree = _tree()
    found = {*_below(pid, tree), *_marked(f"{MARK}={mark}".encode(), tree)}
    if os.getpid() in _adopting:
        others = {one for other in kept if other != pid for one in (other, *_below(other, tree))}
        found |= {*_below(os.getpid(), tree)} - others
    return sorted(found - {pid, os.getpid()})


def kill_programs(pid: int) -> None:
    """Kill all descendants of a process, and all entries (programs of other authors) that it has started.

    The process itself is only suspended (SIGSTOP), so that it starts no further processes.
    """
    signal_all([pid], signal.SIGSTOP)  # a stopped process starts no further processes
    for _ in range(10):
        tree = _tree()
        found = {*_below(pid, tree), *_marked(f"{MARK}={pid}.".encode(), tree)} - {pid, os.getpid()}
        if not found:
            return
        signal_all(found, signal.SIGKILL)


def kill_descendants() -> None:
    """Kill all descendants of this process. Orphans that this process has adopted are killed too."""
    for _ in range(10):
        found = [*_below(os.getpid(), _tree())]
        if not found:
            return
        signal_all(found, signal.SIGKILL)


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to processes. Processes that have ended, and processes of other users, are ignored."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _tree() -> dict[int, list[int]]:
    """Returns the tree of living processes: for the id of each process, the ids of its children."""
    tree: dict[int, list[int]] = {}
    for place in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                tree.setdefault(int(parent), []).append(int(place.name))
    return tree


def _below(pid: int, tree: dict[int, list[int]]) -> Iterator[int]:
    for child in tree.get(pid, ()):
        yield child
        yield from _below(child, tree)


def _marked(wanted: bytes, tree: dict[int, list[int]]) -> Iterator[int]:
    """Yields the ids of the processes in ``tree`` with an environment variable whose text ``NAME=VALUE``
    begins with ``wanted``. Processes of other users are left out."""
    for children in tree.values():
        for pid in children:
            with suppress(OSError):
                words = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
                if any(word.startswith(wanted) for word in words):
                    yield pid
