"""Defines base classes of variants that search from many sources, and chooses how many sources one pass
serves."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from bfsbench.programs import HostProgram, Variant

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.graphs.graph import Ids

    Measures = npt.NDArray[np.void]

FIELDS = (("reached", "i8"), ("distance_sum", "i8"), ("harmonic", "f8"), ("eccentricity", "i8"))
"""The fields of an answer, which has one element per source. ``reached`` counts vertices, including the
source. ``distance_sum`` is the sum of their distances. ``harmonic`` is the sum of the inverses of positive
distances. ``eccentricity`` is the largest distance.
"""


def bits_for(widths: tuple[int, ...], sources: int, workers: int, bytes_of: Any, room: int | None) -> int:
    """Returns how many sources one pass of a search serves. It is one of ``widths``, which ascend.

    The result is the largest width that leaves a pass for each of ``workers`` and whose memory is small
    enough. The memory, ``bytes_of(bits)``, must fit into half of ``room``. If no width qualifies, the result
    is the smallest width.
    """
    busy = [bits for bits in widths if bits * (workers - 1) < sources]
    fitting = [bits for bits in busy if room is None or 2 * bytes_of(bits) <= room]
    return max(fitting, default=widths[0])


def measures_of(levels: Ids) -> tuple[int, int, float, int]:
    """Returns the fields of an answer for one source, from the levels of its search, int32[V]. Unreached
    vertices have the level -1."""
    import numpy as np

    numbers = np.bincount(levels + 1)[1:]  # of the vertices in each level
    distances = np.arange(len(numbers))
    harmonic = float((numbers[1:] / distances[1:]).sum())
    return int(numbers.sum()), int(numbers @ distances), harmonic, len(numbers) - 1


class ClosenessVariant(Variant):
    """A variant that searches from many sources."""

    family = "closeness"
    layout = ("CSR", "CSC")
    finds: tuple[str, ...] = tuple(name for name, _ in FIELDS)
    """The fields of FIELDS that the variant fills."""
    took_ms: float = 0.0
    """The time that counts since the run began, for a variant with a SummedClock."""
    bytes_source: float = 0.0
    """Bytes that searches hold besides the graph, divided by the sources that they serve at once. 0 if
    unknown."""

    @abstractmethod
    def poison(self) -> None:
        """Overwrite the answer."""

    @abstractmethod
    def reset(self, sources: Ids) -> None:
        """Initialise a run from ``sources``, which are distinct. This is the first part of the timed run."""

    @abstractmethod
    def solve(self, sources: Ids) -> None:
        """Search from all sources."""

    @abstractmethod
    def measures(self) -> Measures:
        """Wait for the run. Returns the answer: a structured array with FIELDS, one element per source in
        their order."""

    def measured(self) -> dict[str, str]:
        of_source = f"{self.bytes_source:.1f}" if self.bytes_source else ""
        return {**super().measured(), "bytes_source": of_source}


class SummedClock:
    """A clock that reads ``took_ms``, in which a variant adds up the time that counts. Summing distances does
    not count."""

    def __init__(self, variant: ClosenessVariant) -> None:
        self._variant = variant

    def wait(self) -> None:
        """Do nothing, because a variant that adds up its own time also waits for its own work."""

    def start(self) -> None:
        self._variant.took_ms = 0.0

    def stop(self) -> float:
        return self._variant.took_ms


class HostCloseness(HostProgram, ClosenessVariant):
    """A program on this machine's CPU, which leaves its answer in ``found``."""

    found: Measures | None = None

    def poison(self) -> None:
        """Discard the answer."""
        self.found = None

    def reset(self, sources: Ids) -> None:
        """Allocate the answer."""
        import numpy as np

        self.found = np.zeros(len(sources), [*FIELDS])

    def measures(self) -> Measures:
        if self.found is None:
            raise ValueError(f"{self.name} has not run")
        return self.found.copy()
