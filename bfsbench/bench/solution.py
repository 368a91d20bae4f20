"""Define the objects that :func:`bfsbench.solve`, :func:`bfsbench.search` and :func:`bfsbench.all_pairs`
return."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.programs.families.apsp.matrix import INFINITY
from bfsbench.support.gpu_memory import DeviceArray


@dataclass(frozen=True, repr=False)
class Solution:
    """The verified answer of a variant to a problem on a graph. Times are in ms, as in result files.

    ``variant`` and ``graph`` are the names that result rows have. ``answer`` is a NumPy array: levels,
    distances, or another result that the variant's family of problems defines. ``shared_answer`` is the
    answer as an array that other libraries can use. It may be in a GPU's memory. ``figures`` contains the
    columns of a result row that only this family of problems fills. ``links`` contains the parents or next
    hops along shortest paths. It is None unless the caller asked for paths. ``sources`` contains the vertex
    of each element of the answer, int32[S], if the problem has many sources. Otherwise it is None.
    """

    variant: str
    graph: str
    shared_answer: npt.NDArray[np.int32] | DeviceArray
    backend: str
    search_ms: list[float]
    wall_ms: list[float]
    reset_ms: float
    figures: dict[str, str]
    links: npt.NDArray[np.int32] | None = None
    links_ms: float | None = None
    sources: npt.NDArray[np.int32] | None = None

    def __repr__(self) -> str:
        emulated = ", emulated" if self.backend == "cpu" else ""
        facts = [f"{min(self.search_ms):.4g} ms{emulated}"]
        facts += [f"{name} {self.figures[name]}" for name in ("reached", "depth") if self.figures.get(name)]
        return f"<{type(self).__name__} of {self.variant} on {self.graph}: {', '.join(facts)}>"

    @cached_property
    def answer(self) -> npt.NDArray[np.int32]:
        """Returns the answer in host memory. If the answer is on the GPU, the first use copies it to the
        host."""
        return np.asarray(self.shared_answer)


class SearchResult(Solution):
    """A verified breadth-first search.

    ``levels``, the answer, is an int32 array with the level of each vertex. ``parents``, the links, is an
    int32 array with the predecessor of each vertex on a shortest path from the source. The source is its own
    parent. Unreached vertices have level -1 and parent -1. :func:`path` follows the parents.

    ``shared_levels`` contains the levels for other libraries, which call ``torch.from_dlpack`` or a similar
    function. After a search with ``on_device`` on a GPU, ``shared_levels`` is in the GPU's memory. The first
    use of ``levels`` then copies it to the host.
    """

    @property
    def levels(self) -> npt.NDArray[np.int32]:
        return self.answer

    @property
    def shared_levels(self) -> npt.NDArray[np.int32] | DeviceArray:
        return self.shared_answer

    @property
    def parents(self) -> npt.NDArray[np.int32] | None:
        return self.links

    @property
    def parents_ms(self) -> float | None:
        return self.links_ms

    @property
    def edges_traversed(self) -> int:
        return int(self.figures["edges_traversed"])


class AllPairsResult(Solution):
    """Verified all-pairs shortest paths.

    ``distances``, the answer, is a masked int32 array of shape (V, V). Element [u, v] is the distance from u
    to v. It is masked if there is no path. ``next_hops``, the links, is an int32 array of shape (V, V).
    Element [u, v] is the second vertex on a shortest path from u to v, or -1 if there is no path.
    :func:`path_between` follows the next hops.
    """

    @property
    def distances(self) -> np.ma.MaskedArray[Any, np.dtype[np.int32]]:
        return np.ma.masked_array(self.answer, self.answer == INFINITY, fill_value=INFINITY)

    @property
    def next_hops(self) -> npt.NDArray[np.int32] | None:
        return self.links

    @property
    def next_hops_ms(self) -> float | None:
        return self.links_ms
