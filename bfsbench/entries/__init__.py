"""Entries: programs of other authors that take part in a sweep. Each is declared in a TOML file.

Every entry runs in a process of its own, so a crash or a memory leak affects only its own row.

- ``declaration`` reads the TOML file.
- ``folder`` writes the graph for the process.
- ``process`` implements the protocol between bfsbench and the process.
- ``answer`` reads and checks the output of the process.
- ``variant`` makes the entry a variant.
- ``host`` is the program that calls shared libraries and Python functions.
"""
