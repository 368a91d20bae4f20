"""Counts the cost of kernels in a GPU's memory system without a GPU: by level, kernel and source line.

:mod:`bfsbench.emulator` counts while it runs a search. This package sums the counts by line and level, writes
files that ``bfsbench compare`` reads, and prints the counters beside the source. docs/emulator.md defines the
counters and their limits.
"""
