"""Functions that make searches, each of which answers in another way; vertices are in a line."""

import os
import subprocess
import time

import numpy as np


def levels(graph, source):
    return np.abs(np.arange(graph.num_vertices) - source).astype(np.int32)


def honest(graph):
    def search(source, answer):
        answer[:] = levels(graph, source)

    return search


def slow_at_first(graph):
    """Searches honestly. Only the first search takes long, as if the program waited for a core."""
    waits = [0.2]

    def search(source, answer):
        time.sleep(waits.pop() if waits else 0)
        answer[:] = levels(graph, source)

    return search


def returned(graph):
    return lambda source, answer: levels(graph, source)


def too_wide(graph):
    return lambda source, answer: levels(graph, source).astype(np.int64) + 2**32


def fractions(graph):
    return lambda source, answer: levels(graph, source) + 0.5


def complex_numbers(graph):
    return lambda source, answer: levels(graph, source) + 1j


def texts(graph):
    return lambda source, answer: levels(graph, source).astype(str)


def wrong(graph):
    def search(source, answer):
        answer[:] = levels(graph, source)
        answer[-1] += 1

    return search


def no_tree_from_3(graph):
    """Leaves parents, which are no tree if the source is 3."""

    def search(source, answer):
        vertices = np.arange(graph.num_vertices)
        answer[:] = vertices - np.sign(vertices - source)
        if source == 3:
            answer[-1] = answer[-2] = graph.num_vertices - 1

    return search


def stale(graph):
    searches = []

    def search(source, answer):
        if not searches:
            answer[:] = levels(graph, source)
        searches.append(source)

    return search


def returned_again(graph):
    found = {}
    return lambda source, answer: found.setdefault(source, levels(graph, source))


def past_end(graph):
    def search(source, answer):
        answer.base[-1] = 1
        answer[:] = levels(graph, source)

    return search


def stops_the_clock(graph):
    time.perf_counter = lambda: 0.0

    def search(source, answer):
        time.sleep(0.02)
        answer[:] = levels(graph, source)

    return search


def leaves_child(graph):
    def search(source, answer):
        subprocess.Popen(["sleep", "60"], start_new_session=True)
        answer[:] = levels(graph, source)

    return search


def raises(graph):
    def search(source, answer):
        raise ValueError("no such\nthing")

    return search


def ends(graph):
    return lambda source, answer: os._exit(3)


def hangs(graph):
    return lambda source, answer: time.sleep(60)


def prints(graph):
    print("loading")

    def search(source, answer):
        print("searching", flush=True)
        answer[:] = levels(graph, source)

    return search
