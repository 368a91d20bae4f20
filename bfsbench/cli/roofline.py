"""``bfsbench roofline``: how far searches are from what their device can do at most."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from bfsbench.bench.results import CEILINGS_SUFFIX, read_results, result_files
from bfsbench.cli.options import output_options, row_filters
from bfsbench.errors import UsageError
from bfsbench.report import select
from bfsbench.report.formats import render
from bfsbench.report.output import replacing


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--ceilings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What 'bfsbench probe' measured on the same device; by default the file beside FILES.",
)
@row_filters
@output_options
def command(
    files: tuple[Path, ...],
    ceilings: Path | None,
    graphs: list[str],
    variants: list[str],
    backends: list[str],
    style: str,
    out: Path | None,
) -> None:
    """Hold the searches of result FILES against the ceilings of the device they ran on.

    For the fastest search of each variant, graph and source: edges read and bytes moved a second, the least
    time that latency, random access and bandwidth allow, which of them bounds the search, and its share of
    the time measured. Edges are counted where level profiles lie beside the files ('bfsbench run
    --profile'), and modelled from the rows where not; each line says which.
    """
    from bfsbench.probe.ceilings import read_ceilings
    from bfsbench.report.levels import read_levels
    from bfsbench.report.roofline import roofline

    with replacing(out) if out else nullcontext(sys.stdout) as file:
        measured = read_ceilings(ceilings or _beside(files))
        rows = select(read_results(files), graphs, variants, backends)
        file.write(render([roofline(rows, read_levels(files), measured)], style))


def _beside(files: Sequence[Path]) -> Path:
    """The file of ceilings in the folder of the result files."""
    folders = dict.fromkeys(file.parent for path in files for file in result_files(path))
    found = sorted(path for folder in folders for path in folder.glob(f"*{CEILINGS_SUFFIX}"))
    if len(found) == 1:
        return found[0]
    among = f"choose one of {', '.join(map(str, found))}" if found else "make it with 'bfsbench probe'"
    raise UsageError(f"--ceilings FILE is needed: {among}")
