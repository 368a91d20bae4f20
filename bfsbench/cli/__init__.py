"""Define the command line. The module of a command is imported when the command is called."""

import difflib
import errno
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NoReturn

import click

from bfsbench import __version__
from bfsbench.support.errors import BfsbenchError, OptionError, UsageError, printable
from bfsbench.support.interrupts import INTERRUPTED

_COMMANDS = {
    "list": ("variants", "Show variants, papers, datasets, knobs, generators and counters."),
    "show": ("variants", "Show all about one variant."),
    "fetch": ("graphs", "Download graphs and convert them."),
    "run": ("sweeps", "Sweep variants over graphs, grids, blocks and knobs."),
    "tune": ("sweeps", "Find the fastest grid, block and knobs of a variant on a graph."),
    "reproduce": ("reproduce", "Reproduce the papers' tables and figures."),
    "report": ("results", "Make tables, pictures or a page from result files."),
    "compare": ("results", "Compare result files: faster, slower, same, undecided."),
    "entry": ("variants", "Add searches of other programs, build and check them."),
    "check": ("kernels", "Find data races and other faults of kernels, without a GPU."),
    "explain": ("kernels", "Say what a kernel costs, by level and source line, without a GPU."),
    "nvcc": ("nvcc", "Build CUDA programs that run on the CPU."),
    "lab": ("lab", "Learn with broken and slow kernels of the papers' figures."),
    "path": ("graphs", "Print a shortest path between two vertices."),
    "probe": ("machines", "Measure the highest rates that a device reaches."),
    "text": ("results", "Write a text whose numbers come from result files."),
    "roofline": ("results", "Compare searches with the highest rates of their device."),
    "worker": ("machines", "Offer this machine's GPUs to a sweep on a cluster."),
    "certificates": ("machines", "Make certificates for a cluster of several hosts."),
    "cache": ("machines", "Show the space that the cache takes, or remove parts of it."),
    "doctor": ("machines", "Check what is installed and what is missing."),
}
"""Maps the name of each command to its module and its short help. The module defines the function
``NAME_command``."""
COMMANDS = {name: text for name, (_, text) in _COMMANDS.items()}
"""The short help of each command by its name."""
_UNREACHABLE = (errno.ENAMETOOLONG, errno.EACCES)
"""Errors that can occur wherever the program opens a file that the user named.

ENOENT (there is no such file) is not listed, because each caller handles it.
"""


class LazyGroup(click.Group):
    """A group of commands that imports only the command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, text = _COMMANDS[cmd_name]
        command: click.Command = getattr(
            importlib.import_module(f"{__name__}.{module}"), f"{cmd_name}_command"
        )
        command.short_help = text
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = difflib.get_close_matches(args[0], COMMANDS, n=1) if args else []
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(COMMANDS)}"
            raise click.UsageError(f"unknown command '{args[0]}': {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def main(self, *args: Any, **facts: Any) -> Any:
        """Run a command. After an error that a user can cause, print one line on stderr and set the exit
        code.

        An error that click raises is printed as one line, too. Commands may add functions to the list
        ``context.obj``. Each of them is called with the message of the error.
        """
        listeners: list[Callable[[str], None]] = []
        if sys.stdout is None:  # a file opened now would get the descriptor of the closed stream
            _end("cannot write the output: it is closed", 1)
        end = partial(_end, listeners=listeners)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **facts | {"standalone_mode": False, "obj": listeners})
            sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(0)
        except click.ClickException as error:
            end(re.sub(r"\s*\n\s*", " ", error.format_message()), error.exit_code)
        except OptionError as error:
            end(error.on_command_line, error.exit_code)
        except BfsbenchError as error:
            end(str(error), error.exit_code)
        except MemoryError:
            end("out of memory: choose a smaller graph or fewer points at once, or a larger machine", 1)
        except (click.Abort, KeyboardInterrupt):
            end("interrupted", INTERRUPTED)
        except OSError as error:
            if error.filename is not None and error.errno in _UNREACHABLE:
                end(f"{str(error.filename)[:80]}: {error.strerror}", UsageError.exit_code)
            if error.filename is not None or error.errno not in (errno.EPIPE, errno.ENOSPC):
                raise
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
            )  # when Python exits, it must not flush the broken stream
            end(f"cannot write the output: {error.strerror}", 1)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120, "show_default": True},
)
@click.version_option(__version__)
def main() -> None:
    """Run published CUDA breadth-first searches on real graphs, verify their answers, and time them.

    A first sweep, with or without a GPU:

        bfsbench run --dataset soc-Epinions1 --variant all --block 64:256:x2

        bfsbench report
    """


def _end(message: str, code: int, listeners: Iterable[Callable[[str], None]] = ()) -> NoReturn:
    click.echo("\n".join(printable(line) for line in f"bfsbench: {message}".split("\n")), err=True)
    for listen in listeners:
        listen(message)
    sys.exit(code)
