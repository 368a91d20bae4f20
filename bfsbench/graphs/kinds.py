"""What kind of graph a name stands for."""

from __future__ import annotations

from functools import cache

from bfsbench.errors import UsageError
from bfsbench.graphs.catalogue import Catalogue
from bfsbench.graphs.generators import GENERATORS, parse_spec

UNKNOWN = "other"
"""Of graphs that are neither in the catalogue nor generated."""


@cache
def family_of_graph(name: str) -> str:
    """The family of the graph that result rows call ``name``: that of its entry in the catalogue, or of its
    generator, else UNKNOWN."""
    plain = name.partition(":")[0]
    known = _catalogue()
    if plain in known:
        return known.get(plain).family
    try:
        generator, _ = parse_spec(plain)
    except UsageError:
        return UNKNOWN
    return GENERATORS[generator].family if generator in GENERATORS else UNKNOWN


@cache
def _catalogue() -> Catalogue:
    return Catalogue.load()
