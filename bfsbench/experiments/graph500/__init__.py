"""Runs the Graph500 benchmark by its rules, on one machine, with any search that finds parents.

The benchmark draws a Kronecker graph of 2^S vertices and 16 edges per vertex. From the list of edges, it
builds the graph that a search reads. The time of this step is the construction time. Then it searches once
from each of 64 sources that have a neighbour. It checks each tree against the list of edges, by the five
rules of Graph500's specification. :mod:`benchmark` does this and writes rows.
"""

NAME = "graph500"
"""The benchmark's name in ``bfsbench reproduce``."""
TITLE = "Graph500's breadth-first search, by its rules"
EDGE_FACTOR = 16
NUM_SOURCES = 64
SMALLEST_SCALE, LARGEST_SCALE = 8, 30
