"""The command line. Commands live in modules of this folder and are imported when called for."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from bfsbench import __version__
from bfsbench.errors import BfsbenchError

COMMANDS = {
    "fetch": "Download graphs and convert them.",
    "run": "Sweep variants over graphs, grids, blocks and knobs.",
    "report": "Make tables from result files.",
    "list": "Show variants, datasets and knobs.",
    "doctor": "Check what is installed and what is missing.",
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"bfsbench.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Expected failures become one line and their exit code."""
        try:
            return super().invoke(ctx)
        except BfsbenchError as error:
            click.echo(f"bfsbench: {error}", err=True)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            sys.stderr.close()
            ctx.exit(1)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Run published CUDA breadth-first searches on real graphs, verified and timed.

    A first sweep, with or without a GPU:

        bfsbench run --dataset soc-Epinions1 --variant all --block 64:256:x2

        bfsbench report
    """
