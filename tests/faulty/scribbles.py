"""Searches that write into the graph."""

from bfsbench.variants.base import LevelKernelVariant


class Scribbles(LevelKernelVariant):
    name = "scribbles"
    kernel_files = ("scribbles",)
    summary = "swaps two arcs of a vertex, which changes no level"


class Vandal(Scribbles):
    name = "vandal"
    summary = "leads all arcs to one vertex, once it has followed those of the source"
