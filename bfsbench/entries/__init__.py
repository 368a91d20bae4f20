"""Runs entries: programs of other authors that bfsbench measures like its own searches. A TOML file declares
each entry.

Every entry runs in a separate process, so a crash or a memory leak affects only the result rows of this
entry.

- ``declaration`` reads the TOML file.
- ``find`` finds the TOML files, and writes the files of a new entry.
- ``packages`` and ``build`` check and build what the program needs.
- ``folder`` writes the graph for the program, and reads and checks its answers.
- ``process`` implements the protocol between bfsbench and the program.
- ``host`` is the program that calls shared libraries and Python functions.
- ``variant`` makes the entry a variant, and checks its times.
"""
