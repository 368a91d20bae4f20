"""The families of algorithms: what a variant is asked about a graph, and how its answer is judged.

Everything else, from planning a sweep to writing its rows, is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bfsbench.errors import UsageError
from bfsbench.families.apsp import AllPairsShortestPaths
from bfsbench.families.base import Family
from bfsbench.families.bfs import BreadthFirstSearch

if TYPE_CHECKING:
    from bfsbench.variants.base import Variant

FAMILIES: dict[str, Family] = {
    family.name: family for family in (BreadthFirstSearch(), AllPairsShortestPaths())
}
"""All families by name; the first is what commands take when nobody says."""

DEFAULT = next(iter(FAMILIES))


def family_of(variants: Sequence[type[Variant]]) -> Family:
    """The one family of these variants. Raises UsageError when they are of several."""
    names = dict.fromkeys(variant.family for variant in variants)
    if len(names) != 1:
        examples = [next(variant.name for variant in variants if variant.family == name) for name in names]
        raise UsageError(f"one run takes variants of one family, not {' and '.join(examples)}")
    return FAMILIES[next(iter(names))]
