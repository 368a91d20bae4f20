"""Define the command ``bfsbench worker``, which offers this machine's GPUs to a cluster."""

import asyncio
from functools import partial

import click

from bfsbench.cli.options import measuring_option


@click.command(short_help="Offer this machine's GPUs to a sweep on a cluster.")
@click.argument("address", metavar="dask://HOST:PORT")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of workers; by default one per visible GPU, or one per core without a GPU.",
)
@measuring_option("tls")
@click.option(
    "--insecure",
    is_flag=True,
    help="Serve a scheduler on another machine without --tls. Whoever reaches a worker can run code as you.",
)
def command(address: str, workers: int | None, tls: str | None, insecure: bool) -> None:
    """Run worker processes for the Dask scheduler at this address, one per GPU, until the scheduler ends.

    'dask scheduler' starts a scheduler. 'bfsbench run --cluster dask://HOST:PORT' starts a sweep on its
    workers. If the scheduler is on this machine, workers listen on 127.0.0.1 alone. Otherwise they listen on
    all addresses, so --tls or --insecure is needed. With Slurm: srun --ntasks-per-node=1 --gpus-per-node=8
    bfsbench worker dask://HOST:PORT
    """
    from bfsbench.cluster.address import Running, host_and_port, is_loopback
    from bfsbench.cluster.certificates import security_in
    from bfsbench.cluster.launch import LOOPBACK, nannies, require_access_control, require_dask, serve, url

    place = Running(host_and_port(address))
    require_dask()
    security = security_in(tls)
    scheduler = url(place, security)
    tell = partial(click.echo, err=True)
    here = is_loopback(place.scheduler)
    require_access_control(scheduler, insecure, tell)
    host = {"host": LOOPBACK} if here else {}
    offered = [options | host for options in nannies(workers, "auto")]
    try:
        asyncio.run(serve(scheduler, offered, security, tell))
    except asyncio.CancelledError:
        raise SystemExit(130) from None
