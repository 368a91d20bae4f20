"""Define the command ``bfsbench probe``, which measures the device's ceilings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.backends import GPU_BACKENDS, open_device
from bfsbench.cli.options import format_option, measuring_option, rendered
from bfsbench.support.errors import UsageError
from bfsbench.support.storage import output

if TYPE_CHECKING:
    from bfsbench.backends.base import Device
    from bfsbench.reports.table import Table
    from bfsbench.tools.probe import Figure


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results/ceilings.csv"),
    show_default=True,
    help="File to write; its name must end in 'ceilings.csv'.",
)
@measuring_option("backend", "'cpu' only shows that the kernels work; its figures are not ceilings.")
@format_option()
def command(out: Path, backend: str, style: str) -> None:
    """Measure the device's ceilings: memory, atomics, additions with minima, barriers, launches.

    Every probe is checked and then run 7 times, and the best run counts. 'bfsbench roofline' compares
    searches with the ceilings.
    """
    from bfsbench.rows.ceilings import check_output, write_ceilings
    from bfsbench.tools.probe import PROBES, run_probe

    check_output(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error
    with output(out) as file:
        device = open_device(backend)
        try:
            click.echo(f"backend {device.backend}: {device.describe()['gpu']}", err=True)
            figures = [figure for probe in PROBES.values() for figure in run_probe(probe, device)]
            write_ceilings(file, (figure.row(device) for figure in figures))
        finally:
            device.close()
    click.echo(rendered([_table(device, figures)], style), nl=False)
    click.echo(f"written to {out}", err=True)


def _table(device: Device, figures: list[Figure]) -> Table:
    from bfsbench.reports.table import Table

    measured = device.backend in GPU_BACKENDS
    title = "Ceilings" if measured else "Emulated: not ceilings; shows that the probes work"
    rows = [(f.probe.name, f.setting, f.value, f.probe.unit, f.probe.meaning) for f in figures]
    return Table("ceilings", title, ("probe", "setting", "value", "unit", "of"), list(rows))
