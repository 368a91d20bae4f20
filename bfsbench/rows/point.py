"""Define a point: one configuration to measure. A sweep is a list of points, and a result row is the outcome
of one point.
"""

from dataclasses import dataclass
from functools import lru_cache

from bfsbench.graphs.marks import given_name
from bfsbench.programs import KnobValue as KnobValue
from bfsbench.support.errors import InputError, no_formula


@dataclass(frozen=True)
class Point:
    """One configuration to measure: graph, source, variant, backend, grid, block and knob values.

    ``grid`` is the maximum number of blocks of a launch. A grid of None is ``auto``: as many blocks as the
    work needs. Grid and block are both None for host programs, and for programs that choose their own grid
    and block. ``source`` is None for families of problems without a source, such as all-pairs shortest paths.
    """

    graph: str
    """The graph's locator: its full name, such as ``soc-Epinions1:directed``. For a file, the name includes
    the path."""
    source: int | None
    variant: str
    backend: str
    grid: int | None
    block: int | None
    knobs: tuple[tuple[str, KnobValue], ...] = ()

    def axes(self) -> dict[str, str]:
        """Return the columns of a result row that identify this point, with their values as text."""
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


@lru_cache  # cached, because a large file repeats few names
def row_name(locator: str) -> str:
    """Return the name that a graph has in result rows. For a graph in a file, it is the file's name without
    the folder.

    ``locator`` is the graph's full name, which includes the path of its file. It may also be the graph's name
    in an older row, which may include a path too. If a spreadsheet would evaluate the result as a formula,
    the result gets ``./`` in front.
    """
    name = given_name(locator).rpartition("/")[2]
    return (
        name if no_formula(name) == name else f"./{name}"
    )  # spreadsheets open these tables, and would run a formula


def knob_values(text: str) -> dict[str, str]:
    """Return the knob values in a row's column ``knobs``, by name.

    Raises InputError for a word without ``=``.
    """
    words = text.split()
    for word in words:
        if "=" not in word:
            raise InputError(f"column knobs has '{word}', which is not KNOB=VALUE")
    return dict(word.split("=", 1) for word in words)
