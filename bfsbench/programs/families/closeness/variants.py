"""Defines base classes of variants that search from many sources. Also chooses the number of sources from
which one pass over the graph searches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Ids
from bfsbench.programs import Variant

Measures = npt.NDArray[np.void]
FIELDS = (("reached", "i8"), ("distance_sum", "i8"), ("harmonic", "f8"), ("eccentricity", "i8"))
"""Names and NumPy types of the results for one source. ``reached`` counts the reached vertices, including the
source. ``distance_sum`` is the sum of their distances. ``harmonic`` is the sum of the inverses of positive
distances. ``eccentricity`` is the largest distance."""


def bits_for(
    widths: tuple[int, ...], sources: int, workers: int, bytes_of: Callable[[int], int], room: int | None
) -> int:
    """Returns the number of sources from which one pass over the graph searches. The result is one of
    ``widths``, which must be in ascending order.

    The result is the largest width that meets two conditions. First, each of ``workers`` workers has at least
    one pass. Second, the search takes at most half of ``room`` bytes. The search takes ``bytes_of(width)``
    bytes. If ``room`` is None, there is no second condition. If no width meets the conditions, the smallest
    width is returned.
    """
    busy = [bits for bits in widths if bits * (workers - 1) < sources]
    fitting = [bits for bits in busy if room is None or 2 * bytes_of(bits) <= room]
    return max(fitting, default=widths[0])


def measures_of(levels: Ids) -> tuple[int, int, float, int]:
    """Returns the results for one source, as listed in FIELDS. ``levels``, int32[V], are the levels of a
    search from the source, -1 for unreached vertices."""
    numbers = np.bincount(levels + 1)[1:]  # numbers[i] counts the vertices at level i
    distances = np.arange(len(numbers))
    harmonic = float((numbers[1:] / distances[1:]).sum())
    return int(numbers.sum()), int(numbers @ distances), harmonic, len(numbers) - 1


class ClosenessVariant(Variant):
    """The base class of variants that search from many sources."""

    family = "closeness"
    layout = ("CSR", "CSC")
    finds: tuple[str, ...] = tuple(name for name, _ in FIELDS)
    """Names of the fields in FIELDS that the variant fills."""
    found: Measures | None = None
    """The results of the last run, if the variant leaves them on the host."""
    bytes_source: float = 0.0
    """Memory in bytes besides the graph, per source that is served at the same time. It is 0 if unknown."""

    def poison(self) -> None:
        """Overwrite the results of the last run, so that they cannot pass as results of the next run."""
        self.found = None

    def reset(self, sources: Ids) -> None:
        """Initialise a run from the distinct vertices ``sources``. This is the first part of the timed
        run."""
        self.found = np.zeros(len(sources), [*FIELDS])

    @abstractmethod
    def solve(self, sources: Ids) -> None:
        """Search from all vertices in ``sources``. This is the second part of the timed run."""

    def measures(self) -> Measures:
        """Wait for the run. Returns a structured array with the fields of FIELDS. It has one element per
        source, in the order of the sources."""
        assert self.found is not None, "no run has ended"
        return self.found

    def measured(self) -> dict[str, str]:
        of_source = f"{self.bytes_source:.1f}" if self.bytes_source else ""
        return {**super().measured(), "bytes_source": of_source}
