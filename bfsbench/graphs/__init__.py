"""Graphs: catalogue, download, file formats, generators, conversion, and the cache on disk."""
