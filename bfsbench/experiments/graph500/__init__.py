"""Runs the Graph500 benchmark by its rules, on one machine, with any search that finds parents.

The benchmark draws a Kronecker graph of 2^S vertices and 16 edges per vertex. It builds the graph that a
search reads from the list of edges. The time of this step is the construction time. Then it searches once
from each of 64 sources that have a neighbour. It checks each tree by the five rules against the list of
edges. :mod:`benchmark` does this and writes rows.
"""

NAME = "graph500"
"""The benchmark's name in ``bfsbench reproduce``."""
TITLE = "Graph500's breadth-first search, by its rules"
EDGE_FACTOR = 16
NUM_SOURCES = 64
SMALLEST_SCALE, LARGEST_SCALE = 8, 30
