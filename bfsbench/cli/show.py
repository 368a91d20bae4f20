"""``bfsbench show``: describes one variant."""

from __future__ import annotations

import click

from bfsbench.cli import completion
from bfsbench.cli.showing import rendered
from bfsbench.listing import variant_tables
from bfsbench.variants import find


@click.command()
@click.argument("name", shell_complete=completion.variants)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "markdown", "latex", "json"]),
    default="text",
    show_default=True,
)
def command(name: str, style: str) -> None:
    """Show a variant's description, paper and figure, kernel file, knobs and counters.

    NAME is the variant's name or an alias.
    """
    click.echo(rendered(variant_tables(find(name)), style), nl=False)
