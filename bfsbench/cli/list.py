"""``bfsbench list``: what there is to run."""

from __future__ import annotations

import click

from bfsbench.listing import BRIEF, LISTS
from bfsbench.report.formats import FORMATS, render


@click.command()
@click.argument("what", required=False, type=click.Choice(list(LISTS)))
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", show_default=True)
def command(what: str | None, style: str) -> None:
    """Show one of these lists; without a name, variants and datasets in brief."""
    makers = [LISTS[what]] if what else BRIEF
    click.echo(render([make() for make in makers], style, narrow="one of their names"), nl=False)
