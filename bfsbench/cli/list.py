"""Define the command ``bfsbench list``, which shows variants, datasets and other lists."""

import click

from bfsbench.cli.options import format_option, rendered
from bfsbench.tools.listing import BRIEF, LISTS
from bfsbench.variants import look


@click.command()
@click.argument("what", required=False, type=click.Choice(list(LISTS)))
@format_option()
@click.pass_context
def command(context: click.Context, what: str | None, style: str) -> None:
    """Show a list by its name. Without a name, show variants and datasets in brief.

    A variant of your own that cannot be loaded is named with the reason, and the exit code is 1.
    """
    makers = [LISTS[what]] if what else BRIEF
    click.echo(rendered([make() for make in makers], style, narrow="one of their names"), nl=False)
    for problem in look().problems:
        click.echo(f"bfsbench: {problem}", err=True)
    context.exit(1 if look().problems else 0)
