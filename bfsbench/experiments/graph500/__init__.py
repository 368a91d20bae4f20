"""The Graph500 benchmark by its rules, for one machine and any search that finds parents.

A Kronecker graph of 2^S vertices and 16 edges for each is drawn. The list of edges is made into what a
search reads, which is timed as the construction; 64 sources with a neighbour are searched from, each once,
and each tree is checked by the five rules against the list. :mod:`benchmark` does all of it and writes rows.
"""

NAME = "graph500"
"""The name in ``bfsbench reproduce``."""
TITLE = "Graph500's breadth-first search, by its rules"
EDGE_FACTOR = 16
NUM_SOURCES = 64
SMALLEST_SCALE, LARGEST_SCALE = 8, 30
