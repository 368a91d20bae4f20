"""Level profiles that lie beside result files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.bench.results import LEVELS_SUFFIX, read_rows, result_files
from bfsbench.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

NUMERIC = ("source", "block", "level", "frontier_size", "edges_inspected", "time_us")


def read_levels(paths: Iterable[Path | str]) -> pd.DataFrame:
    """The level profiles of result files, or of all in a folder, in one table; empty when there are none.

    Columns as in ``bench.profile.COLUMNS``, with ``NUMERIC`` ones as float64 (NaN where empty) and the rest
    as text, plus ``file``. Raises InputError as ``read_rows`` does, and when a numeric column holds anything
    else.
    """
    import pandas as pd

    from bfsbench.bench.profile import COLUMNS

    frames = [pd.DataFrame(columns=[*COLUMNS, "file"])]
    files = dict.fromkeys(file for path in paths for file in result_files(Path(path)))
    for path in (file.with_name(file.name.removesuffix(".csv") + LEVELS_SUFFIX) for file in files):
        if not path.exists():
            continue
        frame = pd.DataFrame(read_rows(path, COLUMNS), columns=list(COLUMNS))
        for name in NUMERIC:
            try:
                frame[name] = pd.to_numeric(frame[name].where(frame[name] != "", None)).astype("float64")
            except (ValueError, TypeError) as error:
                raise InputError(f"{path}: column {name} is not numeric: {error}") from error
        frames.append(frame.assign(file=str(path)))
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else frames[0]
