"""Output of tables by commands: to a file, a pipe or a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from bfsbench.report.formats import format_of, render
from bfsbench.report.table import Table
from bfsbench.report.terminal import width_of
from bfsbench.storage import output


def chosen_format(style: str | None, out: Path | None) -> str:
    """The requested format, or else that of the file's suffix; text otherwise."""
    return style or (format_of(out) if out is not None else None) or "text"


@contextmanager
def opened(out: Path | None) -> Iterator[TextIO]:
    """The file ``out``, written whole or not at all, or standard output. Raises UsageError."""
    if out is None:
        yield sys.stdout
    else:
        with output(out) as file:
            yield file


def rendered(
    tables: Sequence[Table], style: str = "text", file: TextIO | None = None, *, narrow: str = ""
) -> str:
    """Tables in one of FORMATS, with the width and colours of the destination, by default standard output.

    ``narrow`` as for :func:`bfsbench.report.formats.render`.
    """
    is_terminal = (file or sys.stdout).isatty()
    colour = is_terminal and "NO_COLOR" not in os.environ
    return render(tables, style, colour=colour, narrow=narrow, width=width_of(is_terminal))
