"""The file with the output of an entry. It is overwritten before each search, and its size is checked after
it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.programs import POISON
from bfsbench.support.errors import WrongResultError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def poison(path: Path, num_vertices: int) -> None:
    """Overwrite the answer with a value that no search writes. The file itself stays, because the program may
    have mapped it into memory."""
    import numpy as np

    with path.open("r+b" if path.exists() else "w+b") as file:
        np.full(num_vertices, POISON, "<i4").tofile(file)
        file.truncate(4 * num_vertices)


def read(path: Path, num_vertices: int) -> npt.NDArray[np.int32]:
    """Returns the answer of the last search, int32[V]. Raises WrongResultError if the file has another size,
    or if a value was not written."""
    import numpy as np

    size = path.stat().st_size if path.exists() else 0
    if size != 4 * num_vertices:
        beyond = "wrote beyond its answer: " if size > 4 * num_vertices else ""
        raise WrongResultError(f"it {beyond}left {size:,} bytes, not {4 * num_vertices:,}")
    found = np.fromfile(path, "<i4").astype(np.int32, copy=False)
    if unwritten := int(np.count_nonzero(found == POISON)):
        raise WrongResultError(f"it left {unwritten:,} of {num_vertices:,} answers unwritten")
    return found
