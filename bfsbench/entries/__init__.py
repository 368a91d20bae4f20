"""Entries: searches of other programs, declared in a TOML file each, that stand beside the variants.

Every kind of entry runs in a separate process, so a crash or a memory leak affects only its own row.
``declaration`` is the file, ``folder`` the graph for the process, ``process`` the protocol, ``answer`` the
check of its output, ``variant`` the entry as a variant. ``host`` is the program that calls shared libraries
and Python functions.
"""
