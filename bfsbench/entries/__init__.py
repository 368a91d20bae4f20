"""Entries: programs of other authors that take part in a sweep. Each is declared in a TOML file.

Every entry runs in a process of its own, so a crash or a memory leak affects only its own row.

- ``declaration`` reads the TOML file.
- ``find`` finds the TOML files, and writes the files of a new entry.
- ``packages`` and ``build`` check and build what the program needs.
- ``folder`` writes the graph for the process, and reads and checks its answers.
- ``process`` implements the protocol between bfsbench and the process.
- ``host`` is the program that calls shared libraries and Python functions.
- ``variant`` makes the entry a variant, and checks its times.
"""
