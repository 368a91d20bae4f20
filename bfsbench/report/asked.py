"""What ``bfsbench report`` makes, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.errors import InputError, UsageError
from bfsbench.storage import output

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.report.table import Table


def report(
    rows: pd.DataFrame | Path | str | Sequence[Path | str],
    *,
    tables: str | Sequence[str] | None = None,
    plots: str | Sequence[str] | None = None,
    graphs: Iterable[str] = (),
    variants: Iterable[str] = (),
    backends: Iterable[str] = (),
    out: Path | str | None = None,
) -> dict[str, pd.DataFrame]:
    """The tables of result files, of folders of them, or of rows, as DataFrames by their names.

    ``rows`` of a sweep or of :func:`read_results` have no level profiles; files have those beside them.
    ``tables`` chooses some (``bfsbench report --help`` names them), by default those that the command prints.
    ``graphs``, ``variants`` and ``backends`` choose rows.

    ``out`` writes a file as well, whose name says what: ``.html`` a page, ``.md``, ``.tex``, ``.csv``,
    ``.json`` and ``.txt`` the tables, ``.png`` and ``.svg`` a picture of the kinds in ``plots``, by default
    the bars; several go beside each other, as ``x-NAME.png``.

    Raises UsageError for unknown names and files that cannot be written, InputError for files that cannot be
    read and where there are no rows.
    """
    from bfsbench.report import TABLES, select
    from bfsbench.report import tables as make_tables
    from bfsbench.report.rows import as_read

    names = [tables] if isinstance(tables, str) else tables
    for name in names or ():
        if name not in TABLES:
            raise UsageError(f"unknown table '{name}': there are {', '.join(TABLES)}")
    frame, levels = _read(rows)
    if frame.empty:
        raise InputError("there are no rows to report")
    frame = select(as_read(frame), graphs, variants, backends)
    made = make_tables(frame, names, levels)
    if out is not None:
        kinds = [plots] if isinstance(plots, str) else plots
        _write(Path(out), frame, levels, kinds or (), made)
    return {table.name: table.frame() for table in made}


def picture_file(
    rows: pd.DataFrame, levels: pd.DataFrame | None, kinds: Sequence[str], path: Path, style: str
) -> list[Path]:
    """Write the one picture of these kinds, by default the bars, to ``path``; several beside each other, with
    their names behind that of the file. Returns the files. Raises NothingToDrawError, UsageError."""
    from bfsbench.machine import usable_cores
    from bfsbench.report.plots import draw, saved

    pictures = [picture for kind in kinds or ["bars"] for picture in draw(kind, rows, levels)]
    if len(pictures) == 1:
        named = [replace(pictures[0], name=path.stem)]
    else:
        named = [replace(picture, name=f"{path.stem}-{picture.name}") for picture in pictures]
    return list(saved(named, path.parent, style, usable_cores()))


def _read(rows: pd.DataFrame | Path | str | Sequence[Path | str]) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Rows, and the level profiles beside them."""
    import pandas as pd

    from bfsbench.bench.results import read_results
    from bfsbench.report.levels import read_levels

    if isinstance(rows, pd.DataFrame):
        return rows, None
    files = [rows] if isinstance(rows, str | Path) else list(rows)
    return read_results(files), read_levels(files)


def _write(
    path: Path, rows: pd.DataFrame, levels: pd.DataFrame | None, kinds: Sequence[str], made: list[Table]
) -> None:
    from bfsbench.report.formats import SUFFIXES, format_of, render
    from bfsbench.report.plots import FORMATS as PICTURES

    suffix = path.suffix.lower().removeprefix(".")
    if suffix in PICTURES:
        picture_file(rows, levels, kinds, path, suffix)
        return
    style = format_of(path)
    if style is None and suffix != "html":
        known = ", ".join((".html", *SUFFIXES, *(f".{name}" for name in PICTURES)))
        raise UsageError(f"the name of {path} means no format: it has to end in one of {known}")
    with output(path) as file:
        if style is None:
            from bfsbench.report.html import page

            file.write(page(rows, levels))
        else:
            file.write(render(made, style, narrow="tables=NAME"))
