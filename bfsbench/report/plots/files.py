"""Pictures as files, encoded by several processes where there are many."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path

from bfsbench.errors import UsageError
from bfsbench.report.plots.picture import Picture
from bfsbench.storage import output

_ALONE = 8
"""Pictures that one process encodes in the time that others take to start."""


def save(pictures: Iterable[Picture], folder: Path, style: str) -> list[Path]:
    """Write pictures to ``folder``, which is made if need be, as files of one of FORMATS named after them.

    Raises UsageError when that is not possible; a file is written whole or not at all.
    """
    return list(saved(pictures, folder, style))


def saved(pictures: Iterable[Picture], folder: Path, style: str, processes: int = 1) -> Iterator[Path]:
    """As ``save``, a picture at a time, in order; ``processes`` of them encode more than _ALONE pictures."""
    for name, data in _encoded(iter(pictures), style, processes):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write {folder}: {error.strerror or error}") from error
        path = folder / f"{name}.{style}"
        with output(path) as file:
            file.buffer.write(data)
        yield path


def _encoded(pictures: Iterator[Picture], style: str, processes: int) -> Iterator[tuple[str, bytes]]:
    """Names and files of pictures; at most two for each process are in memory."""
    first = list(islice(pictures, _ALONE + 1))
    pictures = chain(first, pictures)
    if processes < 2 or len(first) <= _ALONE:
        for picture in pictures:
            yield picture.name, picture.encoded(style)
        return
    waiting: deque[tuple[str, Future[bytes]]] = deque()
    with ProcessPoolExecutor(processes, get_context("spawn"), _leave_interrupts_to_parent) as pool:
        for picture in pictures:
            waiting.append((picture.name, pool.submit(picture.encoded, style)))
            if len(waiting) == 2 * processes:
                name, data = waiting.popleft()
                yield name, data.result()
        for name, data in waiting:
            yield name, data.result()


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
