"""Define the command ``bfsbench certificates``, which controls who may join a cluster."""

from pathlib import Path

import click


@click.command(short_help="Make certificates for a cluster of several hosts.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--days",
    default=365,
    show_default=True,
    type=click.IntRange(1, 3650),
    help="Days until the certificates expire.",
)
def command(folder: Path, days: int) -> None:
    """Make certificates in FOLDER, by which a scheduler, its workers and sweeps authenticate each other.

    Without certificates, whoever reaches a Dask scheduler or worker over the network can run code there as
    the user who started it. Copy FOLDER to every host, or keep it on a file system that the hosts share.
    Whoever can read FOLDER can join the cluster, so only you have access to it.
    """
    from bfsbench.cluster.certificates import make

    made = make(folder, days)
    click.echo(
        f"{made.folder} holds certificates for {days} days. Use them on every host:\n\n"
        f"  dask scheduler {made.options()}\n"
        f"  bfsbench worker dask://HOST:8786 --tls {made.folder}\n"
        f"  bfsbench run --cluster dask://HOST:8786 --tls {made.folder} ..."
    )
