"""Define the command ``bfsbench show``, which describes one variant."""

import click

from bfsbench.cli import completion
from bfsbench.cli.options import format_option, rendered
from bfsbench.tools.listing import variant_tables
from bfsbench.variants import find


@click.command()
@click.argument("name", shell_complete=completion.variants)
@format_option(["text", "markdown", "latex", "json"])
def command(name: str, style: str) -> None:
    """Show a variant's description, paper and figure, kernel file, knobs and counters.

    NAME is the variant's name or an alias.
    """
    click.echo(rendered(variant_tables(find(name)), style), nl=False)
