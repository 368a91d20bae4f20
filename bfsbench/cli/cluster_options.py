"""Options of the commands that connect to a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bfsbench.cluster.certificates import Certificates

tls_option = click.option(
    "--tls",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Certificates of this cluster, see 'bfsbench certificates'.",
)


def certificates_in(tls: Path | None) -> Certificates | None:
    """The certificates that ``--tls`` names. Raises InputError as Certificates.of does."""
    from bfsbench.cluster.certificates import Certificates

    return None if tls is None else Certificates.of(tls)
