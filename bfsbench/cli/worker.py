"""``bfsbench worker``: this machine's GPUs for a cluster."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import click

from bfsbench.cli.cluster_options import certificates_in, tls_option


@click.command(short_help="Offer this machine's GPUs to a sweep on a cluster.")
@click.argument("address", metavar="dask://HOST:PORT")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many; by default one a visible GPU, or one a core where there is none.",
)
@tls_option
def command(address: str, workers: int | None, tls: Path | None) -> None:
    """Run worker processes for the Dask scheduler at this address, one a GPU, until it ends.

    'dask scheduler' starts a scheduler, 'bfsbench run --cluster dask://HOST:PORT' a sweep on its workers.
    With Slurm: srun --ntasks-per-node=1 --gpus-per-node=8 bfsbench worker dask://HOST:PORT
    """
    from bfsbench.cluster.address import Running, host_and_port
    from bfsbench.cluster.launch import exposure, nannies, require_dask, serve, url

    place = Running(host_and_port(address))
    certificates = certificates_in(tls)
    require_dask()
    security = certificates.security() if certificates else None
    scheduler = url(place, security)
    tell = partial(click.echo, err=True)
    if warning := exposure(scheduler):
        tell(warning)
    try:
        asyncio.run(serve(scheduler, nannies(workers, "auto"), security, tell))
    except asyncio.CancelledError:
        raise SystemExit(130) from None
