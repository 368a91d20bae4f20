"""Define the command ``bfsbench roofline``, which compares searches with their device's ceilings."""

from pathlib import Path

import click

from bfsbench.cli.options import chosen_format, opened, output_options, rendered, row_filters
from bfsbench.reports import select
from bfsbench.rows.results import read_results, result_files


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--ceilings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ceilings that 'bfsbench probe' measured on the device; by default the file beside FILES.",
)
@row_filters
@output_options
def command(
    files: tuple[Path, ...],
    ceilings: Path | None,
    graphs: list[str],
    variants: list[str],
    backends: list[str],
    style: str | None,
    out: Path | None,
) -> None:
    """Compare the searches of result FILES with the ceilings of the device that they ran on.

    The table has one row for the fastest search of each variant, graph and source. It shows edges read and
    bytes moved per second, and the least time that latency, random access and bandwidth allow. It also shows
    which of the three bounds the search, and the share of the least time in the measured time. Edges are
    counted if there are level profiles beside the files ('bfsbench run --profile'), and otherwise modelled
    from the rows. Each line says which. 'bfsbench report --plot roofline' draws the shares.
    """
    from bfsbench.reports.levels import read_levels
    from bfsbench.reports.roofline import roofline
    from bfsbench.rows.ceilings import ceilings_beside, read_ceilings

    with opened(out) as file:
        beside = (file for path in files for file in result_files(path))
        measured = read_ceilings(ceilings or ceilings_beside(beside))
        rows = select(read_results(files), graphs, variants, backends)
        table = roofline(rows, read_levels(files), measured)
        file.write(rendered([table], chosen_format(style, out), file))
