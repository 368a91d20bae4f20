"""Where commands put their tables: a file, a pipe or a terminal."""

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
    """The format asked for, or else what the name of the file means; text otherwise."""
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
    """Tables in one of FORMATS, with the width and the colours of where they go: standard output by default.

    ``narrow`` as for :func:`bfsbench.report.formats.render`.
    """
    is_terminal = (file or sys.stdout).isatty()
    colour = is_terminal and "NO_COLOR" not in os.environ
    return render(tables, style, colour=colour, narrow=narrow, width=width_of(is_terminal))
