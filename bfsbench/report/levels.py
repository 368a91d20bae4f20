"""Level profiles that lie beside result files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.bench.columns import PROFILE_COLUMNS, PROFILE_NUMERIC
from bfsbench.bench.results import LEVELS_SUFFIX, result_files

if TYPE_CHECKING:
    import pandas as pd


def read_levels(paths: Iterable[Path | str]) -> pd.DataFrame:
    """The level profiles of result files, or of all in a folder, in one table; empty when there are none.

    Columns as in ``PROFILE_COLUMNS`` and those that families append, ``file`` the last; those that hold
    numbers are float64 (NaN where empty), the rest text. Raises InputError as ``read_results`` does.
    """
    from bfsbench.bench.reading import read_tables  # which imports NumPy

    files = dict.fromkeys(file for path in paths for file in result_files(Path(path)))
    beside = [file.with_name(file.name.removesuffix(".csv") + LEVELS_SUFFIX) for file in files]
    return read_tables([path for path in beside if path.exists()], PROFILE_COLUMNS, PROFILE_NUMERIC)
