"""``bfsbench worker``: this machine's GPUs for a cluster."""

from __future__ import annotations

import asyncio

import click


@click.command(short_help="Offer this machine's GPUs to a sweep on a cluster.")
@click.argument("address", metavar="dask://HOST:PORT")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many; by default one a visible GPU, or one a core where there is none.",
)
def command(address: str, workers: int | None) -> None:
    """Run worker processes for the Dask scheduler at this address, one a GPU, until it ends.

    'dask scheduler' starts a scheduler, 'bfsbench run --cluster dask://HOST:PORT' a sweep on its workers.
    With Slurm: srun --ntasks-per-node=1 --gpus-per-node=8 bfsbench worker dask://HOST:PORT
    """
    from bfsbench.cluster.address import scheduler_address
    from bfsbench.cluster.launch import nannies, require_dask, serve

    require_dask()
    try:
        asyncio.run(serve(scheduler_address(address), nannies(workers, "auto")))
    except asyncio.CancelledError:
        raise SystemExit(130) from None
