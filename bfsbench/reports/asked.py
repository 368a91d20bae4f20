"""Provides ``bfsbench report`` and ``bfsbench compare`` as Python functions."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bfsbench.reports import (
    NOT_IN_TABLES,
    TABLES,
    Table,
    select,
    tables as make_tables,
    warnings as warnings_about,
)
from bfsbench.reports.changes import as_published as without_changes
from bfsbench.reports.comparison import THRESHOLD
from bfsbench.reports.levels import read_levels
from bfsbench.reports.names import Names
from bfsbench.reports.rows import as_read
from bfsbench.reports.table import LATEX_INCHES, SUFFIXES, format_of, render
from bfsbench.rows.columns import ADDED, COLUMNS
from bfsbench.rows.results import read_results
from bfsbench.support.errors import InputError, OptionError, UsageError, listed, public
from bfsbench.support.storage import output

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.reports.comparison.points import Comparison, Side


_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_LEAST_INCHES = 2.0
"""The least width of a picture or table. Narrower panels have no room between their labels."""


def inches(length: object) -> float:
    """Returns a length such as ``3.3in``, ``8cm`` or ``84mm`` in inches. Raises UsageError if it is malformed
    or out of range."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(in|cm|mm)", str(length))
    width = float(found[1]) * _INCHES[found[2]] if found else 0.0
    if not _LEAST_INCHES <= width <= 100:
        known = f"a length from {_LEAST_INCHES:g}in to 100in"
        raise UsageError(f"{length} is not {known}, such as 3.3in, 84mm or 8.4cm")
    return width


class Report(dict[str, "pd.DataFrame"]):
    """The tables of a report, as a dictionary that maps their names to data frames."""

    files: list[Path]
    """The paths of the files that ``report`` wrote."""


@public
def report(
    rows: pd.DataFrame | os.PathLike[str] | str | Sequence[os.PathLike[str] | str],
    *,
    tables: str | Sequence[str] | None = None,
    plots: str | Sequence[str] | None = None,
    graphs: Iterable[str] = (),
    variants: Iterable[str] = (),
    backends: Iterable[str] = (),
    names: Mapping[str, str] | None = None,
    as_published: bool = False,
    out: os.PathLike[str] | str | None = None,
    width: str | None = None,
    no_title: bool = False,
) -> Report:
    """Makes the tables of ``bfsbench report``. Returns a dictionary that maps the names of the tables to data
    frames. Its attribute ``files`` lists the paths of the files that were written.

    ``rows`` are result files, folders of result files, or a data frame from a sweep or from
    :func:`read_results`. For files, the level profiles beside them are read. A data frame has no level
    profiles. ``tables`` names the tables, which ``bfsbench report --help`` lists. Emulated rows have tables
    of their own, such as ``best_emulated`` besides ``best``. By default the tables are those that the command
    makes, also for LaTeX if ``out`` ends in ``.tex``. ``graphs``, ``variants`` and ``backends`` select rows.
    ``as_published`` leaves out rows with a knob value by which this project changed the authors' search.
    ``names`` maps names of searches and graphs to the names that tables and pictures show, such as
    ``{"merrill": "Merrill et al."}``.

    ``out`` names a file to write as well. The suffix of its name decides what it holds: ``.html`` a page;
    ``.md``, ``.tex``, ``.csv``, ``.json`` or ``.txt`` the tables; ``.png``, ``.svg`` or ``.pdf`` a picture.
    ``plots`` names the kinds of pictures, by default bars. Several pictures for ``x.png`` become the files
    ``x-NAME.png``. ``width`` is the width of pictures, or the largest width of tables in a ``.tex``
    file, such as ``"3.3in"`` or ``"84mm"``. ``no_title`` leaves out the titles of pictures, for a paper with
    captions.

    Issues a ``UserWarning`` for each reason not to compare the times, for example because the rows come from
    different machines or commits. Raises UsageError for unknown names, for files that cannot be written, and
    for a data frame that lacks columns of result rows. Raises InputError for files that cannot be read, and
    if there are no rows.
    """
    from bfsbench.reports.plots import FORMATS as PICTURES

    suffix = "" if out is None else Path(out).suffix.lower().removeprefix(".")
    wide = None if width is None else inches(width)
    for name, given in {"plots": plots, "width": width, "no_title": no_title}.items():
        suffixes = (*PICTURES, "tex") if name == "width" else PICTURES
        if given and suffix not in suffixes:
            raise UsageError(f"{name} goes with out, the name of a file (.{', .'.join(suffixes)})")
    if names and suffix == "html":
        raise UsageError("names goes with tables and pictures, not with a page (.html)")
    chosen = None if tables is None else listed(tables)
    bases = None if chosen is None else [*dict.fromkeys(map(_base, chosen))]
    frame, levels = _read(rows)
    if frame.empty:
        raise InputError("there are no rows to report")
    frame = select(as_read(frame), graphs, variants, backends)
    frame = without_changes(frame) if as_published else frame
    renamed = Names.of(set(frame["graph"]), set(frame["variant"]), names or {})
    form = None if out is None else format_of(Path(out))
    made = [*map(renamed.in_table, make_tables(frame, bases, levels, form))]
    if chosen is not None:
        made = [table for table in made if any(f"{table.name}_".startswith(f"{name}_") for name in chosen)]
    result = Report((table.name, table.frame()) for table in made)
    if suffix in PICTURES:
        layout = {"width": wide, "titled": not no_title, "names": renamed}
        result.files = picture_file(frame, levels, listed(plots or ()), Path(out or ""), suffix, **layout)
    else:
        result.files = [] if out is None else [_write(Path(out), frame, levels, made, wide or LATEX_INCHES)]
    for text in warnings_about(frame):
        warnings.warn(text, stacklevel=3)  # the lines of the caller of ``public``
    return result


def _base(name: str) -> str:
    """Returns the key in TABLES for a table's name, such as ``best`` for ``best_emulated``. Raises UsageError
    for an unknown name."""
    for base in TABLES:
        if name == base or name.startswith(f"{base}_"):
            return base
    raise UsageError(f"unknown table '{name}': there are {', '.join(TABLES)}")


def picture_file(
    rows: pd.DataFrame,
    levels: pd.DataFrame | None,
    kinds: Sequence[str],
    path: Path,
    style: str,
    **layout: Any,
) -> list[Path]:
    """Draws pictures of the given ``kinds``, by default bars, and writes them to ``path``. Returns the paths
    of the files.

    If there are several pictures, the name of each file also contains the picture's name. ``layout`` gives
    the arguments ``width``, ``titled`` and ``names`` of :func:`bfsbench.reports.plots.draw`. Raises
    NothingToDrawError if the rows have no data for one of the kinds. Raises UsageError if a file cannot be
    written.
    """
    from bfsbench.reports.plots import draw, one_page, saved
    from bfsbench.support.machine import usable_cores

    with one_page():
        pictures = [picture for kind in kinds or ["bars"] for picture in draw(kind, rows, levels, **layout)]
    if len(pictures) == 1:
        named = [replace(pictures[0], name=path.stem)]
    else:
        named = [replace(picture, name=f"{path.stem}-{picture.name}") for picture in pictures]
    return list(saved(named, path.parent, style, usable_cores()))


def _read(
    rows: pd.DataFrame | os.PathLike[str] | str | Sequence[os.PathLike[str] | str],
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Returns result rows, and the level profiles that lie beside the result files. If ``rows`` is a data
    frame, there are no level profiles."""
    import pandas as pd

    if isinstance(rows, pd.DataFrame):
        optional = {*ADDED, *NOT_IN_TABLES}
        if missing := [name for name in COLUMNS if name not in rows and name not in optional]:
            raise UsageError(f"rows for a report lack the columns {', '.join(missing)}")
        return rows, None
    files = listed(rows)
    return read_results(files), read_levels(files)


def _write(
    path: Path, rows: pd.DataFrame, levels: pd.DataFrame | None, made: list[Table], width: float
) -> Path:
    """Writes a page or the tables. LaTeX tables are at most ``width`` inches wide, if this is possible.
    Returns ``path``."""
    from bfsbench.reports.plots import FORMATS as PICTURES

    style = format_of(path)
    if style is None and path.suffix.lower() != ".html":
        known = ", ".join((".html", *SUFFIXES, *(f".{name}" for name in PICTURES)))
        raise UsageError(f"the name of {path} means no format: it has to end in one of {known}")
    with output(path) as file:
        if style is None:
            from bfsbench.reports.html import page

            file.write(page(rows, levels))
        else:
            file.write(render(made, style, narrow="tables=NAME", inches=width))
    return path


Operand: TypeAlias = "pd.DataFrame | os.PathLike[str] | str"
"""What ``compare`` accepts: a data frame of rows, a result file, a folder of result files, or
``FILE@REVISION``, which is the file at that revision in git."""


@public
def compare(
    a: Operand,
    b: Operand | None = None,
    *,
    commits: tuple[str, str] | None = None,
    searches: tuple[str, str] | None = None,
    threshold: float = 100 * THRESHOLD,
    allow_different: bool = False,
    graphs: Sequence[str] = (),
    variants: Sequence[str] = (),
    backends: Sequence[str] = (),
) -> Comparison:
    """Compares the times in ``b`` with the times in ``a``. Returns a verdict for each configuration that
    ``a`` and ``b`` have in common; see :mod:`bfsbench.reports.comparison`.

    If ``commits`` is given instead of ``b``, the rows of ``a`` that were taken at two commits are compared.
    If ``searches`` is given instead, two searches (variants) in ``a`` are compared, each in its fastest
    configuration on each graph. The verdict is "same" for differences of at most ``threshold`` per cent.
    ``graphs``, ``variants`` and ``backends`` select rows.

    Raises UsageError if ``a`` and ``b`` have no configuration in common. Raises UsageError also if not
    exactly one of ``b``, ``commits`` and ``searches`` is given. Raises UsageError if devices, graphs or
    methods differ, unless ``allow_different`` is true. Raises InputError for files that cannot be read.
    """
    from bfsbench.reports.comparison import points

    given = sum(option is not None for option in (b, commits, searches))
    if given == 0:
        raise OptionError(
            "name two files to compare, or one file with {commits} or {searches} to compare some of its rows"
        )
    if given > 1:
        raise OptionError("{commits} and {searches} compare rows of one file: leave out B, and name only one")
    first = _side(a, "A")
    if commits:
        sides = points.of_commits(first, *commits)
    elif searches:
        sides = points.of_searches(first, *searches)
    else:
        sides = (first, _side(b, "B"))
    found = points.compare(*_selected(*sides, graphs, variants, backends), threshold / 100)
    if not found.points:
        emulated = " (rows of emulated kernels are never compared)" if found.num_emulated else ""
        why = f": {'; '.join(found.warnings)}" if found.warnings else ""
        raise UsageError(f"no point is both in {found.a.name} and in {found.b.name}{emulated}{why}")
    if found.differences and not allow_different:
        reason = "not comparable: {listed}; {allow_different} compares them anyway"
        raise OptionError(reason, listed="; ".join(found.differences))
    return found


def _side(operand: Operand | None, name: str) -> Side:
    from bfsbench.reports.comparison.points import of_frame, read_side

    if isinstance(operand, str | os.PathLike):
        return read_side(os.fspath(operand))
    if operand is None:
        raise UsageError(f"there is no side {name} to compare")
    if not hasattr(operand, "columns"):
        raise UsageError(f"side {name} must be rows or the name of a file, not {operand!r}")
    return of_frame(operand, name)


def _selected(
    a: Side, b: Side, graphs: Sequence[str], variants: Sequence[str], backends: Sequence[str]
) -> tuple[Side, Side]:
    """Returns ``a`` and ``b`` with only the rows of these graphs, variants and backends. Raises UsageError
    for a name that occurs neither in ``a`` nor in ``b``."""
    import pandas as pd

    rows = [*a.rows, *b.rows]
    if not rows:
        raise UsageError(f"neither {a.name} nor {b.name} has any rows")
    kept = select(pd.DataFrame(rows), graphs, variants, backends).index
    first = [rows[place] for place in kept if place < len(a.rows)]
    second = [rows[place] for place in kept if place >= len(a.rows)]
    return replace(a, rows=first), replace(b, rows=second)
