"""A point: one configuration to measure. A sweep is a list of points; a row is the result of one."""

from dataclasses import dataclass
from functools import lru_cache

from bfsbench.graphs.marks import given_name
from bfsbench.programs import KnobValue as KnobValue
from bfsbench.support.errors import InputError, no_formula


@dataclass(frozen=True)
class Point:
    """One (graph, source, variant, grid, block, knobs, backend).

    ``grid`` caps the blocks of a launch; None is ``auto``: as many as the work needs. Host programs, and
    programs that choose their own, have neither grid nor block (both None). ``source`` is None for families
    that ask about all vertices.
    """

    graph: str
    """The graph's locator: its full name, ``soc-Epinions1:directed``; for a file with its path."""
    source: int | None
    variant: str
    backend: str
    grid: int | None
    block: int | None
    knobs: tuple[tuple[str, KnobValue], ...] = ()

    def axes(self) -> dict[str, str]:
        """The columns that identify a row, as text."""
        launched = self.block is not None
        return {
            "graph": row_name(self.graph),
            "source": "" if self.source is None else str(self.source),
            "variant": self.variant,
            "backend": self.backend,
            "grid": "" if not launched else "auto" if self.grid is None else str(self.grid),
            "block": "" if not launched else str(self.block),
            "knobs": " ".join(f"{name}={value}" for name, value in self.knobs),
        }


@lru_cache  # a large file repeats few names
def row_name(locator: str) -> str:
    """The name of a graph in rows: for a file its name without the folder, for a graph in memory its own.
    Older rows have the path as typed."""
    name = given_name(locator).rpartition("/")[2]
    return name if no_formula(name) == name else f"./{name}"  # spreadsheets open these tables


def knob_values(text: str) -> dict[str, str]:
    """The knob values in a row's column ``knobs``, by name. Raises InputError for a word without ``=``."""
    words = text.split()
    for word in words:
        if "=" not in word:
            raise InputError(f"column knobs has '{word}', which is not KNOB=VALUE")
    return dict(word.split("=", 1) for word in words)
