"""Searches that try to get a better row than they deserve. The vertices of the graph are in a line."""

import os
import sys
import threading
import time
from pathlib import Path

import numpy as np


def right(graph, source, answer):
    answer[:] = np.abs(np.arange(graph.num_vertices) - source)


def zero(file):
    """Overwrite the last eight bytes of a file in place."""
    with Path(file).open("r+b") as opened:
        opened.seek(-8, os.SEEK_END)
        opened.write(bytes(8))


def writes_graph(graph):
    def search(source, answer):
        right(graph, source, answer)
        zero(graph.column_indices.base.filename)

    return search


def writes_cache(graph):
    def search(source, answer):
        right(graph, source, answer)
        for file in Path(os.environ["BFSBENCH_CACHE"]).glob("graphs/path_n=300*/column_indices.npy"):
            zero(file)

    return search


def keeps_answers(graph):
    """Searches for 50 ms from each source, but only once."""
    found = {}

    def levels_from(source):
        time.sleep(0.05)
        return np.abs(np.arange(graph.num_vertices) - source)

    def search(source, answer):
        answer[:] = found[source] if source in found else found.setdefault(source, levels_from(source))

    return search


# Searches of commands. Each returns the time in ms that the command prints. None stands for 0.1.


def work(source, file):
    """Search, and write the levels of 300 vertices."""
    time.sleep(0.12)
    write(source, file)


def write(source, file):
    np.abs(np.arange(300) - source).astype("<i4").tofile(file)


def in_child(task, *given):
    if not os.fork():
        task(*given)
        os._exit(0)


def in_thread(task, *given):
    threading.Thread(target=task, args=given).start()


def child_writes_late(source, file):
    in_child(work, source, file)


def thread_writes_late(source, file):
    in_thread(work, source, file)


def thread_writes_as_child_ends(source, file):
    in_child(time.sleep, 0.15)
    in_thread(work, source, file)


def one_honest_search(source, file):
    """Searches for 120 ms each time, and reports this time only once."""
    work(source, file)
    first, one_honest_search.said = not hasattr(one_honest_search, "said"), True
    return "120" if first else "0.77"


def lies_once(source, file):
    """Reports once a time that is far too short."""
    time.sleep(0.02)
    write(source, file)
    first, lies_once.said = not hasattr(lies_once, "said"), True
    return "1e-300" if first else "20"


def claims_nothing(source, file):
    """Reports a time near zero for a short search."""
    write(source, file)
    return "1e-300"


def floods(source, file):
    """Writes 400 MB to standard error, and dies."""
    os.write(2, b"the cause\n")
    for _ in range(400):
        os.write(2, b"x" * 10**6)
    os.write(2, b"\nno more\n")
    os._exit(3)


def hides_a_daemon(source, file):
    """Leaves a process without its parent, group, session and environment."""
    write(source, file)
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.execve("/bin/sleep", ["sleep", "60.125"], {})
        os._exit(0)
    os.wait()


def told_honestly(graph, source, file):
    """Search any graph, and report the true time. A cheat could do so on the graph on which its clock is
    compared."""
    started = time.perf_counter()
    rows, columns = (np.load(Path(graph) / f"{name}.npy") for name in ("row_offsets", "column_indices"))
    levels = np.full(len(rows) - 1, -1, "<i4")
    levels[source], level, frontier = 0, 0, np.array([source])
    while len(frontier):
        level += 1
        found = np.concatenate([columns[rows[v] : rows[v + 1]] for v in frontier])
        frontier = np.unique(found[levels[found] < 0])
        levels[frontier] = level
    took = time.perf_counter() - started
    levels.tofile(file)
    return f"{took * 1e3:.6f}"


def main(graph, file, how):
    is_line = "num_vertices 300\n" in (Path(graph) / "arrays.txt").read_text()
    print("ready", flush=True)
    for line in sys.stdin:
        source = int(line)
        said = globals()[how](source, file) if is_line else told_honestly(graph, source, file)
        print(said or "0.1", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
