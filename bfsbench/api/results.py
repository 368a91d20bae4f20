"""Result files and checks from Python, as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench import checks
from bfsbench.bench import axes as axis_language
from bfsbench.bench import results
from bfsbench.bench.plan import Axes, check_axes, chosen_variants
from bfsbench.numerals import positive, positive_or_none
from bfsbench.programs import KnobValue

if TYPE_CHECKING:
    import pandas as pd


def read_results(*paths: Path | str | Iterable[Path | str]) -> pd.DataFrame:
    """Rows of result files, or of folders of them, as one table; bfsbench.bench.results names the columns."""
    flat: list[Path | str] = []
    for item in paths:
        flat.extend([item] if isinstance(item, Path | str) else item)
    return results.read_results(flat)


def check(
    variants: str | Sequence[str],
    graphs: Sequence[str] = (),
    *,
    seeds: int = 4,
    grid: int | None = None,
    block: int | None = None,
    **knobs: KnobValue,
) -> pd.DataFrame:
    """Run kernels on the CPU with every memory access watched, as ``bfsbench check`` does it.

    ``graphs`` are names as for :func:`load`, by default small ones; ``seeds`` schedules of threads are
    tried on each.

    Returns a row for each fault: ``variant``, ``fault``, ``kernel``, ``where`` (the memory), ``line`` and
    ``other_line`` (of the source, FILE:NUMBER), ``benign`` (whether a comment declares it so), and in how
    many ``runs`` of ``of_runs`` it was seen. A run that fails, or gives a wrong answer, is a row whose
    ``fault`` is its message. No rows: nothing was found.

    Raises UsageError for unknown names, knobs out of range, and variants without kernels.
    """
    seeds, grid, block = (
        positive("seeds", seeds),
        positive_or_none("grid", grid),
        positive_or_none("block", block),
    )
    chosen = chosen_variants([variants] if isinstance(variants, str) else variants)
    given = {name: axis_language.expand(str(value)) for name, value in knobs.items()}
    some = grid is not None or block is not None
    axes = Axes(chosen, [grid] if some else [], [block] if some else [], given)
    check_axes(axes, None)
    found = [
        checks.check(variant, axes, graphs or checks.usual_graphs(variant, axes), seeds, lambda: None)
        for variant in chosen
    ]
    return checks.table(found)
