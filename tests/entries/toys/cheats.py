"""Functions that make searches, each of which answers in another way. The vertices of the graph are in a
line."""

import os
import subprocess
import time
from functools import partial

import numpy as np


def levels(graph, source):
    return np.abs(np.arange(graph.num_vertices) - source).astype(np.int32)


def searching(search):
    """Returns a function that prepares a graph for a search, which is called with graph, source and
    answer."""
    return lambda graph: partial(search, graph)


@searching
def honest(graph, source, answer):
    answer[:] = levels(graph, source)


def slow_at_first(graph):
    """Searches honestly. Only the first search takes long, as if the program waited for a core."""
    waits = [0.2]

    def search(source, answer):
        time.sleep(waits.pop() if waits else 0)
        answer[:] = levels(graph, source)

    return search


def warms_up(graph):
    """Searches honestly. The first eight searches take long, as if a compiler made the program faster."""
    waits = [0.05] * 8

    def search(source, answer):
        time.sleep(waits.pop() if waits else 0)
        answer[:] = levels(graph, source)

    return search


returned = searching(lambda graph, source, answer: levels(graph, source))
too_wide = searching(lambda graph, source, answer: levels(graph, source).astype(np.int64) + 2**32)
fractions = searching(lambda graph, source, answer: levels(graph, source) + 0.5)
complex_numbers = searching(lambda graph, source, answer: levels(graph, source) + 1j)
texts = searching(lambda graph, source, answer: levels(graph, source).astype(str))
ends = searching(lambda graph, source, answer: os._exit(3))
hangs = searching(lambda graph, source, answer: time.sleep(60))


@searching
def wrong(graph, source, answer):
    answer[:] = levels(graph, source)
    answer[-1] += 1


@searching
def no_tree_from_3(graph, source, answer):
    """Leaves parents, which are no tree if the source is 3."""
    vertices = np.arange(graph.num_vertices)
    answer[:] = vertices - np.sign(vertices - source)
    if source == 3:
        answer[-1] = answer[-2] = graph.num_vertices - 1


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


@searching
def past_end(graph, source, answer):
    answer.base[-1] = 1
    answer[:] = levels(graph, source)


def stops_the_clock(graph):
    time.perf_counter = lambda: 0.0

    def search(source, answer):
        time.sleep(0.02)
        answer[:] = levels(graph, source)

    return search


@searching
def leaves_child(graph, source, answer):
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    answer[:] = levels(graph, source)


@searching
def raises(graph, source, answer):
    raise ValueError("no such\nthing")


def prints(graph):
    print("loading")

    def search(source, answer):
        print("searching", flush=True)
        answer[:] = levels(graph, source)

    return search


def no_search(graph):
    pass
