"""Entries: searches of other programs, declared in a TOML file each, that stand beside the variants.

An entry runs as a process of its own, whichever way it is called, so that its crash, its memory and what it
leaves behind cost its own row only. ``declaration`` is the file, ``folder`` the graph as the process gets it,
``process`` the conversation, ``answer`` what is checked of it, ``variant`` all of that as a variant.
``host`` is the program that calls shared libraries and Python functions.
"""
