"""Names of vertices, for graphs whose files have words instead of numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class VertexNames(Sequence[str]):
    """The name of every vertex, sorted by code points: a name is found by bisection.

    offsets: int64[V+1]; text: uint8, the names in UTF-8 one after the other. Both may be mapped files.
    """

    offsets: npt.NDArray[np.int64]
    text: npt.NDArray[np.uint8]

    @staticmethod
    def of(names: Sequence[str]) -> VertexNames:
        """Make it of sorted names."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(name) for name in encoded], out=offsets[1:])
        return VertexNames(offsets, np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, vertex: int) -> str: ...
    @overload
    def __getitem__(self, vertex: slice) -> list[str]: ...
    def __getitem__(self, vertex: int | slice) -> str | list[str]:
        if isinstance(vertex, slice):
            return [self[v] for v in range(*vertex.indices(len(self)))]
        if not 0 <= vertex < len(self):
            raise IndexError(vertex)
        begin, end = self.offsets[vertex], self.offsets[vertex + 1]
        return self.text[begin:end].tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[vertex] for vertex in range(len(self)))

    def find(self, name: str) -> int | None:
        """The vertex of this name; None where there is none."""
        vertex = bisect_left(self, name)
        return vertex if vertex < len(self) and self[vertex] == name else None

    def take(self, vertices: npt.NDArray[np.int32]) -> VertexNames:
        """The names of some vertices, ascending."""
        return VertexNames.of([self[int(vertex)] for vertex in vertices])
