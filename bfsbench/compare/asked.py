"""What ``bfsbench compare`` does, from Python and for the command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from bfsbench.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.compare.points import Comparison
    from bfsbench.compare.sides import Side

Operand: TypeAlias = "pd.DataFrame | os.PathLike[str] | str"
"""Rows, a result file or a folder of them, or ``FILE@REVISION``: the file as git has it at that revision."""


def compare(
    a: Operand,
    b: Operand | None = None,
    *,
    commits: tuple[str, str] | None = None,
    threshold: float = 5.0,
    allow_different: bool = False,
    graphs: Sequence[str] = (),
    variants: Sequence[str] = (),
    backends: Sequence[str] = (),
) -> Comparison:
    """Compare the times of ``b`` with those of ``a``, point by point; see :mod:`bfsbench.compare`.

    ``commits`` compares the rows of ``a`` that were taken at two commits instead. Differences up to
    ``threshold`` per cent are the same. Raises UsageError where no point is on both sides, where devices,
    graphs or methods differ unless ``allow_different``, and for operands that do not go together; InputError
    for files that cannot be read.
    """
    from bfsbench.compare.points import compare as compare_sides

    sides = _selected(*_sides(a, b, commits), graphs, variants, backends)
    found = compare_sides(*sides, threshold / 100)
    if not found.points:
        emulated = " (rows of emulated kernels are never compared)" if found.num_emulated else ""
        raise UsageError(f"no point is both in {found.a.name} and in {found.b.name}{emulated}")
    if found.differences and not allow_different:
        listed = "; ".join(found.differences)
        raise UsageError(f"not comparable: {listed}; --allow-different compares them anyway")
    return found


def _sides(a: Operand, b: Operand | None, commits: tuple[str, str] | None) -> tuple[Side, Side]:
    from bfsbench.compare.sides import of_commits

    if commits is None and b is None:
        raise UsageError("name two files to compare, or with --commits OLD NEW one that holds rows of both")
    if commits is not None and b is not None:
        raise UsageError("--commits compares rows of one file: leave out B")
    return of_commits(_side(a, "A"), *commits) if commits else (_side(a, "A"), _side(b, "B"))


def _side(operand: Operand | None, name: str) -> Side:
    from bfsbench.compare.sides import of_frame, read_side

    if isinstance(operand, str | os.PathLike):
        return read_side(os.fspath(operand))
    if operand is None:
        raise UsageError(f"there is no side {name} to compare")
    return of_frame(operand, name)


def _selected(
    a: Side, b: Side, graphs: Sequence[str], variants: Sequence[str], backends: Sequence[str]
) -> tuple[Side, Side]:
    """The sides with the selected rows only; each name must occur on one of them."""
    import pandas as pd

    from bfsbench.report import select

    rows = [*a.rows, *b.rows]
    if not rows:
        raise UsageError(f"neither {a.name} nor {b.name} has any rows")
    kept = set(select(pd.DataFrame(rows), graphs, variants, backends).index)
    first = [row for place, row in enumerate(a.rows) if place in kept]
    second = [row for place, row in enumerate(b.rows, start=len(a.rows)) if place in kept]
    return replace(a, rows=first), replace(b, rows=second)
