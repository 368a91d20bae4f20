"""The output of an entry: its size is checked, and parents or distances are converted to levels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.errors import WrongResultError
from bfsbench.programs import POISON

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.families.bfs.levels import Levels
    from bfsbench.graphs.graph import Graph


def poison(path: Path, num_vertices: int) -> None:
    """Overwrite the answer with a value that no search gives. The file itself is kept, as the program may
    have mapped it."""
    import numpy as np

    with path.open("r+b" if path.exists() else "w+b") as file:
        np.full(num_vertices, POISON, "<i4").tofile(file)
        file.truncate(4 * num_vertices)


def read(path: Path, num_vertices: int) -> npt.NDArray[np.int32]:
    """The answer, int32[V]. Raises WrongResultError for a file of another size."""
    import numpy as np

    size = path.stat().st_size if path.exists() else 0
    if size != 4 * num_vertices:
        beyond = "wrote beyond its answer: " if size > 4 * num_vertices else ""
        raise WrongResultError(f"it {beyond}left {size:,} bytes, not {4 * num_vertices:,}")
    found = np.fromfile(path, "<i4").astype(np.int32, copy=False)
    if unwritten := int(np.count_nonzero(found == POISON)):
        raise WrongResultError(f"it left {unwritten:,} of {num_vertices:,} answers unwritten")
    return found


def tree_of(parents: npt.NDArray[np.int32], source: int) -> npt.NDArray[np.int32]:
    """The tree, int32[V], of parents as programs give them: a negative one means not reached, except at the
    source."""
    import numpy as np

    from bfsbench.families.bfs.parents import NO_PARENT

    tree = np.where(parents < 0, NO_PARENT, parents).astype(np.int32)
    tree[source] = source
    return tree


def levels_of(tree: npt.NDArray[np.int32], graph: Graph, source: int) -> Levels:
    """The levels, int32[V], of a breadth-first tree, int32[V], by pointer jumping.

    Raises WrongParentsError for a tree that breaks one of Graph500's rules.
    """
    import numpy as np

    from bfsbench.families.bfs.parents import (
        WrongParentsError,
        check_parents,
        levels_of_tree,
    )

    if (tree >= graph.num_vertices).any():
        vertex = int(np.argmax(tree >= graph.num_vertices))
        raise WrongParentsError(f"vertex {vertex} has parent {tree[vertex]}, which is no vertex")
    found = levels_of_tree(tree)
    check_parents(graph, source, found, tree)
    return found
