"""``bfsbench report``: tables from result files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench.results import read_results, result_files
from bfsbench.cli import completion
from bfsbench.cli.options import names_option, output_options, row_filters
from bfsbench.errors import InputError, UsageError
from bfsbench.report import TABLES, select, tables, warnings
from bfsbench.report.formats import render
from bfsbench.report.output import replacing

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@names_option(
    "--table",
    "names",
    completion.tables,
    f"Which tables: {', '.join(TABLES)}. Default: all, without heat maps of emulated kernels.",
)
@row_filters
@output_options
def command(
    files: tuple[Path, ...],
    names: list[str],
    graphs: list[str],
    variants: list[str],
    backends: list[str],
    style: str,
    out: Path | None,
) -> None:
    """Make tables from result FILES; by default from the newest in results/.

    Options that take NAMES may be repeated or given a list with commas. Times of emulated kernels (backend
    cpu) stand in tables of their own.
    """
    for name in names:
        if name not in TABLES:
            raise UsageError(f"unknown table '{name}': there are {', '.join(TABLES)}")
    if style == "csv" and len(names) != 1:
        raise UsageError(f"--format csv writes one table: choose it with --table ({', '.join(TABLES)})")
    for path in files:
        if str(path) in TABLES and not path.exists():
            raise UsageError(f"there is no file {path}: choose a table with --table {path}")
    with replacing(out) if out else nullcontext(sys.stdout) as file:
        rows = select(_read(files or (_newest(),)), graphs, variants, backends)
        made = tables(rows, names or None)
        colour = file.isatty() and "NO_COLOR" not in os.environ
        file.write(render(made, style, colour=colour, narrow="--backend"))
    if names and "provenance" not in names:
        for text in warnings(rows):
            click.echo(f"bfsbench: warning: {text}", err=True)


def _newest() -> Path:
    """The newest result file that holds a row, or the newest if none does."""
    folder = Path("results")
    if not any(folder.glob("*.csv")):
        raise UsageError("no result file in results/: name one, or make one with 'bfsbench run'")
    found = sorted(result_files(folder), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    return next(filter(_holds_rows, found), found[0])


def _holds_rows(path: Path) -> bool:
    """Whether anything follows the line of headers."""
    try:
        with path.open("rb") as file:
            return len(list(islice(file, 2))) == 2
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _read(files: Sequence[Path]) -> pd.DataFrame:
    rows = read_results(files)
    if rows.empty:
        raise InputError(f"no rows in {', '.join(map(str, files))}: nothing to report")
    return rows
