"""bfsbench: published CUDA breadth-first searches, re-implemented, swept, verified and timed in one place."""

__version__ = "0.1.0"
