"""What the commands that reach a cluster have in common."""

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
    help="Show the certificates in this folder, and talk only to a scheduler and workers that have them too; "
    "see 'bfsbench certificates'.",
)


def certificates_in(tls: Path | None) -> Certificates | None:
    """Those that ``--tls`` names. Raises InputError as Certificates.of does."""
    from bfsbench.cluster.certificates import Certificates

    return None if tls is None else Certificates.of(tls)
