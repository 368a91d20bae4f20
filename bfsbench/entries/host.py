"""Implements the program that calls the search of an entry. The search is a function of a shared library or
of a Python module.

bfsbench starts it as ``python -m bfsbench.entries.host``. The arguments are the TOML file, the folder with
the graph, and the file for the answer. It follows the protocol of :mod:`bfsbench.entries.process`, and
measures the time of each call.

The array for the answer lies between guard words. Before each search, the program overwrites this array.
After each search, it overwrites any array that the Python function has returned.
"""

import ctypes
import importlib
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.entries import folder
from bfsbench.entries.declaration import Entry, read
from bfsbench.entries.process import GUARD_BROKEN, LOADED, READY
from bfsbench.programs import POISON
from bfsbench.support.errors import BfsbenchError

GUARD = 1024
"""Number of guard words before the array, and also after it."""
_GUARD_WORD = 0x6A6A6A6B

Search = Callable[[int, Any], Any]


class GuardedArray:
    """An array int32[V] of NumPy or CuPy that lies between guard words. A changed guard word shows a write
    outside of the array."""

    def __init__(self, num_vertices: int, numpy: Any) -> None:
        self._all = numpy.full(num_vertices + 2 * GUARD, _GUARD_WORD, dtype=numpy.int32)
        self.array = self._all[GUARD : GUARD + num_vertices]

    def is_broken(self) -> bool:
        ends = (self._all[:GUARD], self._all[len(self._all) - GUARD :])
        return any(bool((end != _GUARD_WORD).any()) for end in ends)


Prepare = Callable[[folder.GraphArrays], Search]


def loaded(entry: Entry) -> Prepare:
    """Load the library or the Python module of an entry. Returns its function that prepares a graph."""
    if entry.call.library:
        function = getattr(ctypes.CDLL(entry.filled(entry.call.library)), entry.call.function)
        return lambda graph: of_library(entry, function, graph)
    module, _, name = entry.call.python.partition(":")
    sys.path.insert(0, str(entry.file.parent))
    prepare: Prepare = getattr(importlib.import_module(module), name)
    return prepare


def of_library(entry: Entry, function: Any, graph: folder.GraphArrays) -> Search:
    """Prepare a graph for the function of a shared library. Returns the search, a function of a source and an
    array.

    To prepare the graph, this function calls the function of the library once with source -1, which is no
    vertex, and without an answer.
    """
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    function.argtypes = [number, number, ctypes.c_int32, *[pointer] * 4, number, pointer]
    function.restype = ctypes.c_int32
    arrays = (graph.row_offsets, graph.column_indices, graph.column_offsets, graph.row_indices)
    pointers = [pointer(array.ctypes.data) for array in arrays]
    facts = (graph.num_vertices, graph.num_edges, graph.row_offsets.dtype.itemsize)

    def search(source: int, answer: Any) -> None:
        place = None if answer is None else pointer(answer.ctypes.data)
        if code := function(*facts, *pointers, source, place):
            raise RuntimeError(f"{entry.call.function} returned {code}")

    search(-1, None)
    return search


def timed(call: Callable[[], Any], cupy: Any, by_events: bool) -> tuple[Any, float]:
    """Call a function. Returns its result, and the time in ms.

    If ``by_events``, GPU events measure the time. Otherwise the host's clock measures it. ``cupy`` is the
    module CuPy if the function works on CuPy arrays, else None.
    """
    if by_events:
        first, last = cupy.cuda.Event(), cupy.cuda.Event()
        first.record()
        result = call()
        last.record()
        last.synchronize()
        return result, float(cupy.cuda.get_elapsed_time(first, last))
    started = perf_counter()
    result = call()
    if cupy is not None:
        cupy.cuda.Device().synchronize()
    return result, (perf_counter() - started) * 1e3


def spoil(result: object) -> None:
    """Overwrite the array that a search has returned, so that the array cannot serve as the answer of another
    search."""
    flags = getattr(result, "flags", None)
    if flags is not None and getattr(flags, "writeable", True):
        result.fill(POISON % 128)  # type: ignore[attr-defined]


def whole_numbers(found: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Returns the answer ``found`` as int32. Raises BfsbenchError if the conversion would change a value."""
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        # NumPy warns about complex numbers, which the comparison below refuses
        warnings.simplefilter("ignore")
        exact = found.astype("<i4")
    if not np.array_equal(exact, found):
        raise BfsbenchError("it returned an answer of other than whole numbers of 32 bits")
    return exact


def serve(entry: Entry, place: Path, answer: Path, say: Callable[[str], None]) -> None:
    """Prepare the graph. Then search from each source on standard input, write the answer to the file
    ``answer``, and print the time.

    A search may return a function instead of an answer. This function is then called, outside the timed part,
    and returns the answer. ``say`` prints a line of the protocol.
    """
    cupy = importlib.import_module("cupy") if entry.call.arrays == "cupy" else None
    prepare = loaded(entry)
    say(LOADED)
    graph = folder.read(place)
    guarded = GuardedArray(graph.num_vertices, cupy or np)
    if cupy is not None:
        graph = replace(graph, **{name: cupy.asarray(getattr(graph, name)) for name in folder.ARRAYS})
    search = prepare(graph)
    if not callable(search):
        found = type(search).__name__
        raise BfsbenchError(f"{entry.call.python} returned a value of type {found}, not a search function")
    by_events = entry.clock.held_by == "events"
    say(READY)
    for line in sys.stdin:
        guarded.array.fill(POISON)
        result, milliseconds = timed(partial(search, int(line), guarded.array), cupy, by_events)
        if guarded.is_broken():
            say(GUARD_BROKEN)
            return
        if callable(result):
            result = result()
        found = guarded.array if result is None else result
        whole_numbers(np.asarray(found if cupy is None else cupy.asnumpy(found))).tofile(answer)
        spoil(result)
        say(f"{milliseconds:.6f}")


def main() -> None:
    """Run the program. Lines of the protocol go to standard output. All other output, such as a library's
    output, goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(line: str) -> None:
        answers.write(line + "\n")

    toml, place, answer = map(Path, sys.argv[1:])
    try:
        entry = read(toml)
        assert entry is not None
        serve(entry, place, answer, say)
    except BfsbenchError as error:
        say(f"error {error}")
    except Exception as error:  # code of an entry may raise any exception, which is reported to bfsbench
        frames = [
            frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).parent == toml.parent
        ]
        line = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        say("error " + " ".join(f"{type(error).__name__}: {error}{line}".split()))


if __name__ == "__main__":
    main()
