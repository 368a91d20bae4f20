"""Define the commands that read result files: ``report``, ``compare``, ``roofline`` and ``text``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bfsbench.cli.options import (
    FILE,
    FOLDER,
    PATH,
    Number,
    chosen_format,
    names_option,
    opened,
    output_options,
    renaming_option,
    rendered,
    require_known,
    row_filters,
)
from bfsbench.reports import NOT_IN_TABLES, NOT_ON_PAGES, TABLES, select, tables, warnings
from bfsbench.reports.asked import compare, inches, picture_file
from bfsbench.reports.changes import as_published
from bfsbench.reports.comparison import THRESHOLD
from bfsbench.reports.levels import read_levels
from bfsbench.reports.names import Names
from bfsbench.reports.plots import (
    FORMATS as PICTURES,
    PLOTS,
    NothingToDrawError,
    Picture,
    draw,
    one_page,
    saved,
)
from bfsbench.reports.roofline import roofline
from bfsbench.reports.table import FORMATS, LATEX_INCHES
from bfsbench.rows.counters import is_counters_file
from bfsbench.rows.results import left_out, read_results, result_files
from bfsbench.support.errors import BfsbenchError, InputError, UsageError
from bfsbench.support.machine import usable_cores
from bfsbench.support.storage import output

if TYPE_CHECKING:
    import pandas as pd

PAGE = "html"
LATEX = "latex"
HISTORY = "history"


class Inches(click.ParamType[float]):
    """A click parameter type for lengths such as ``3.3in``, ``8cm`` or ``84mm``. The value is in inches."""

    name = "LENGTH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return inches(value)
        except UsageError as error:
            self.fail(f"{error}.", param, ctx)


@click.command()
@click.argument("files", nargs=-1, type=PATH)
@names_option(
    "--table",
    "names",
    "tables",
    f"Which tables: {', '.join(TABLES)}. Default: all except the settings, levels, the matrix, the history, "
    "rankings of one graph, and heat maps of emulated kernels. settings lists every grid, block and knob "
    "value with its time. LaTeX of several graphs has the matrix in place of the "
    "best times and the heat maps.",
)
@names_option(
    "--plot",
    "kinds",
    "plots",
    f"Which pictures: {', '.join(PLOTS)}. Default: all that the rows have data for.",
)
@click.option(
    "--history",
    is_flag=True,
    help="Show the time of each search over commits, and the commits at which it changed. This is short for "
    "'--table history', or for '--plot history' where pictures are written.",
)
@row_filters
@renaming_option
@click.option(
    "--as-published",
    "published",
    is_flag=True,
    help="Leave out rows with a knob value by which this project changed a search of other authors, such as "
    "ATOMIC_CLAIM=1 of merrill. Without this option, such times are marked with a dagger in the matrix, the "
    "ranking and the bars.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice((*FORMATS, PAGE, *PICTURES)),
    help="html is one page with everything, for a browser. png, svg and pdf are pictures. latex needs the "
    "package booktabs. By default the suffix of --out decides (x.html, x.tex, x.png), else "
    "text.",
)
@click.option(
    "--out",
    type=PATH,
    help="Write to this file instead of the terminal. Pictures are written to this folder. A name such as "
    "x.png gets one picture, by default the bars, and several pictures become x-NAME.png.",
)
@click.option(
    "--width",
    type=Inches(),
    help="Width of pictures, such as 3.3in, 84mm or 8.4cm for a column of a paper. For latex it is the "
    f"largest width of a table, by default {LATEX_INCHES:g}in for a page with two columns.",
)
@click.option(
    "--no-title",
    is_flag=True,
    help="Draw pictures without a title, for a paper with captions. The files' metadata keep the title.",
)
def report_command(
    files: tuple[Path, ...],
    names: list[str],
    kinds: list[str],
    history: bool,
    filters: dict[str, list[str]],
    new_names: dict[str, str],
    published: bool,
    style: str | None,
    out: Path | None,
    width: float | None,
    no_title: bool,
) -> None:
    """Make tables, pictures or a page from result FILES. By default, the newest file in results/ is read.

    Options that take NAMES may be repeated or given a list with commas. Times of emulated kernels (backend
    cpu) get tables and pictures of their own.

        bfsbench report --out report.html results/

        bfsbench report --table ranking --out ranking.tex results/mine.csv

        bfsbench report --format pdf --width 3.3in --plot bars --out pictures results/mine.csv

        bfsbench report --history results/monday.csv results/tuesday.csv
    """
    style = _style(style, out)
    if history and style in PICTURES:
        kinds = [*kinds, HISTORY]
    elif history:
        names = [*names, HISTORY]
    _require_options(names, kinds, new_names, width, no_title, style, out)
    layout: dict[str, Any] = {"width": width, "titled": not no_title}
    for path in files:
        if str(path) in TABLES and not path.exists():
            raise UsageError(f"there is no file {path}: choose a table with --table {path}")
    files = files or (_newest(),)

    def shown(rows: pd.DataFrame) -> pd.DataFrame:
        rows = select(rows, **filters)
        return as_published(rows) if published else rows

    if style in PICTURES and out is not None:
        rows, levels = shown(_read(files)), read_levels(files)
        layout["names"] = Names.of(set(rows["graph"]), set(rows["variant"]), new_names)
        incomplete = False
        if out.suffix.lower() == f".{style}":
            written = picture_file(rows, levels, kinds, out, style, **layout)
        else:
            written, incomplete = _draw(rows, levels, kinds, out, style, layout)
        for path in written:
            click.echo(str(path))
        if incomplete:
            raise SystemExit(1)
    else:
        with opened(out) as file:
            unused = NOT_ON_PAGES if style == PAGE else NOT_IN_TABLES
            rows, levels = shown(_read(files, unused)), read_levels(files)
            if style == PAGE:
                from bfsbench.reports.html import page

                file.write(page(rows, levels))
            else:
                renamed = Names.of(set(rows["graph"]), set(rows["variant"]), new_names)
                made = [*map(renamed.in_table, tables(rows, names or None, levels, style))]
                file.write(rendered(made, style, file, narrow="--backend", inches=width or LATEX_INCHES))
    if others := [path.name for folder in files for path in left_out(folder)]:
        click.echo(f"bfsbench: not result files, and left out: {', '.join(others)}", err=True)
    if not history and (style in PICTURES or (names and "provenance" not in names)):
        for text in warnings(rows):
            click.echo(f"bfsbench: warning: {text}", err=True)


def _style(style: str | None, out: Path | None) -> str:
    suffix = "" if out is None else out.suffix.lower().removeprefix(".")
    if style is None and suffix in (PAGE, *PICTURES):
        return suffix
    return chosen_format(style, out)


def _require_options(
    names: Sequence[str],
    kinds: Sequence[str],
    new_names: dict[str, str],
    width: float | None,
    no_title: bool,
    style: str,
    out: Path | None,
) -> None:
    """Raise UsageError for unknown names, and for options that have no meaning in the format ``style``."""
    require_known("table", names, TABLES)
    require_known("plot", kinds, PLOTS)
    if style == "csv" and len(names) != 1:
        raise UsageError(f"--format csv writes one table: choose it with --table ({', '.join(TABLES)})")
    if names and style not in FORMATS:
        raise UsageError(f"--table does not go with --format {style}: choose one of {', '.join(FORMATS)}")
    for option, given, formats in (
        ("--plot", bool(kinds), PICTURES),
        ("--name", bool(new_names), (*FORMATS, *PICTURES)),
        ("--width", width is not None, (*PICTURES, LATEX)),
        ("--no-title", no_title, PICTURES),
    ):
        if given and style not in formats:
            raise UsageError(f"{option} goes with --format {' or '.join(formats)}, not {style}")
    if style in PICTURES and out is None:
        raise UsageError(f"--format {style} writes several files: name their folder with --out")


def _draw(
    rows: pd.DataFrame,
    levels: pd.DataFrame,
    kinds: Sequence[str],
    folder: Path,
    style: str,
    layout: dict[str, Any],
) -> tuple[list[Path], bool]:
    """Write pictures of the given ``kinds``. Returns the paths of the pictures, and whether any of the kinds
    has no picture. ``layout`` has the arguments ``width``, ``titled`` and ``names``
    of :func:`bfsbench.reports.plots.draw`.

    If no kinds are given, writes all pictures for which the rows have data.
    """
    from bfsbench.cli.progress import PicturesDisplay

    def drawn() -> Iterator[Picture]:
        for kind in dict.fromkeys(kinds or PLOTS):
            display.begin(kind)
            try:
                yield from draw(kind, rows, levels, **layout)
            except NothingToDrawError as error:
                missing.append(f"no {kind}: {error}")

    missing: list[str] = []
    written = []
    with PicturesDisplay(len(kinds or PLOTS)) as display, one_page():
        for path in saved(drawn(), folder, style, usable_cores()):
            written.append(path)
            display.written()
    if not written:
        raise NothingToDrawError("; ".join(missing) if kinds else "no picture: the rows have nothing to draw")
    for reason in missing:
        click.echo(f"bfsbench: {reason}", err=True)
    return written, bool(kinds and missing)


def _newest() -> Path:
    """Return the newest result file in ``results/`` that has a row. If no file has a row, return the newest
    file."""
    folder = Path("results")
    if not any(folder.glob("*.csv")):
        raise UsageError("no result file in results/: name one, or make one with 'bfsbench run'")
    found = sorted(result_files(folder), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in found:
        try:
            with path.open("rb") as file:
                if len(list(islice(file, 2))) == 2:
                    return path
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return found[0]


def _read(files: Sequence[Path], unused: Sequence[str] = ()) -> pd.DataFrame:
    rows = read_results(files, leave_out=unused)
    if rows.empty:
        raise InputError(f"no rows in {', '.join(map(str, files))}: nothing to report")
    return rows


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="[B]", required=False)
@click.option(
    "--commits",
    nargs=2,
    metavar="OLD NEW",
    help="Compare the rows of A that were taken at two commits, by their column 'commit'; leave out B.",
)
@click.option(
    "--searches",
    nargs=2,
    metavar="OLD NEW",
    help="Compare two searches in A: on each graph, the fastest configuration of each; leave out B.",
)
@click.option(
    "--threshold",
    type=Number(min=0),
    default=100 * THRESHOLD,
    metavar="PERCENT",
    help="A difference of at most this size counts as 'same'.",
)
@click.option(
    "--allow-different",
    is_flag=True,
    help="Compare rows even if their device, graph checksum, schema or method differ, and print a warning.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("missing", "undecided")),
    multiple=True,
    help="Exit with 1 also if a point of A, or a kernel in a file of counters, is missing in B, or if a "
    "point is undecided. May be repeated.",
)
@names_option(
    "--table", "names", "tables of comparison", "Which tables: summary, points, unmatched. Default: all."
)
@row_filters
@renaming_option
@output_options
def compare_command(
    a: str,
    b: str | None,
    commits: tuple[str, str] | None,
    searches: tuple[str, str] | None,
    threshold: float,
    allow_different: bool,
    fail_on: tuple[str, ...],
    names: list[str],
    filters: dict[str, list[str]],
    new_names: dict[str, str],
    style: str | None,
    out: Path | None,
) -> None:
    """Compare the times of B with the times of A, point by point.

    A point is one combination of graph, source, variant, backend, grid, block and knob values. A and B are
    result files, folders of result files, or FILE@REVISION: the file as git has it at that revision. A point
    is slower or faster if the 95 % confidence interval of the ratio of its times lies beyond --threshold. A
    point counts as 'same' if the interval lies within --threshold, and otherwise as 'undecided'. If A and B
    measured the same code, no point counts as slower or faster, because only the machine differs. A and B may
    have different numbers of repeats, because the verdicts use the ranks of all repeats. Two files
    of counters ('bfsbench explain --out') are compared by kernel: more, less or the same.

    \b
    Exit code: 0  no point is slower, no counter has grown
               1  a point is slower, or had a time in A and has none in B,
                  or a counter has grown, or --fail-on applies
               2  nothing was compared: bad usage, unreadable files, devices,
                  graphs or methods that differ, no point in common
    """
    from bfsbench.reports.comparison.tables import TABLES as COMPARISONS

    if any(is_counters_file(Path(side)) for side in (a, b) if side):
        if b is None or commits or searches:
            raise UsageError(f"{a} holds counters: name another file of counters to compare it with")
        options: dict[str, object] = {"--table": names, "--allow-different": allow_different}
        options["--name"] = new_names
        options |= {f"--{name.removesuffix('s')}": chosen for name, chosen in filters.items()}
        for option, given in options.items():
            if given:
                raise UsageError(f"{option} does not go with files of counters")
        return _compare_counters(Path(a), Path(b), threshold / 100, "missing" in fail_on, style, out)
    require_known("table", names, COMPARISONS)
    with opened(out) as file:
        found = compare(
            a,
            b,
            commits=commits,
            searches=searches,
            threshold=threshold,
            allow_different=allow_different,
            **filters,
        )
        compared = [*found.a.rows, *found.b.rows]
        variants = {name for row in compared for name in row["variant"].split(" / ")}
        renamed = Names.of({row["graph"] for row in compared}, variants, new_names)
        made = [renamed.in_table(COMPARISONS[name](found)) for name in names or COMPARISONS]
        file.write(rendered(made, chosen_format(style, out), file, narrow="--table"))
    if names and "summary" not in names:
        for line in (*found.differences, *found.warnings):
            click.echo(f"bfsbench: warning: {line}", err=True)
    undecided = any(point.verdict == "undecided" for point in found.points)
    strict = ("missing" in fail_on and found.only_a) or ("undecided" in fail_on and undecided)
    raise SystemExit(1 if found.is_worse or strict else 0)


def _compare_counters(
    a: Path, b: Path, threshold: float, fail_on_missing: bool, style: str | None, out: Path | None
) -> None:
    from bfsbench.reports.comparison.tables import compare_counters, counters_table

    for side, other in ((a, b), (b, a)):
        if side.exists() and other.exists() and not is_counters_file(side):
            raise UsageError(f"{other} holds counters, and {side} does not: name two files of counters")
    with opened(out) as file:
        found = compare_counters(a, b, threshold)
        file.write(rendered([counters_table(found)], chosen_format(style, out), file))
    raise SystemExit(1 if found.is_worse or (fail_on_missing and found.only_a) else 0)


@click.command()
@click.argument("files", nargs=-1, required=True, type=PATH)
@click.option(
    "--ceilings",
    type=PATH,
    metavar="FILE",
    help="Ceilings that 'bfsbench probe' measured on the device; by default the file beside FILES.",
)
@row_filters
@output_options
def roofline_command(
    files: tuple[Path, ...],
    ceilings: Path | None,
    filters: dict[str, list[str]],
    style: str | None,
    out: Path | None,
) -> None:
    """Compare the searches of result FILES with the ceilings of the device that they ran on.

    The table has one row for the fastest search of each variant, graph and source. It shows edges read and
    bytes moved per second, and the least time that latency, random access and bandwidth allow. It also shows
    which of the three is the bottleneck, and the ratio of the least time to the measured time. If there are
    level profiles beside the files ('bfsbench run --profile'), edges are counted, and otherwise they are
    estimated from the rows. Each line says whether its edges were counted or estimated. 'bfsbench report
    --plot roofline' draws the ratios.
    """
    from bfsbench.rows.ceilings import ceilings_beside, read_ceilings

    with opened(out) as file:
        beside = (file for path in files for file in result_files(path))
        measured = read_ceilings(ceilings or ceilings_beside(beside))
        rows = select(read_results(files), **filters)
        table = roofline(rows, read_levels(files), measured)
        file.write(rendered([table], chosen_format(style, out), file))


@click.command()
@click.argument("template", type=PATH)
@click.option(
    "--rows",
    "folder",
    default=Path("results"),
    type=FOLDER,
    metavar="DIR",
    help="Folder of the result files that the template names.",
)
@click.option("--out", type=FILE, metavar="FILE", help="Where to write the text.")
@click.option("--check", is_flag=True, help="Write nothing, and exit with 1 unless FILE is up to date.")
def text_command(template: Path, folder: Path, out: Path | None, check: bool) -> None:
    """Fill in a TEMPLATE, a Jinja2 file, with numbers from result files, and print or write the text.

    A template opens files by {{ rows("h200/all-variants.csv") }} and quotes their numbers, as in {{
    all.of(graph="wave", variant="luo").ms | number }}. Missing rows are an error. In a template for LaTeX,
    such as paper.tex.j2, these are \\VAR{rows(...)}, \\BLOCK{for ...} and \\#{a comment}.
    bfsbench/experiments/texts.py describes the functions of templates.
    """
    from bfsbench.cli import COMMANDS
    from bfsbench.experiments.texts import fill_in

    if check and out is None:
        raise click.UsageError("--check needs --out, the file to check")
    text = fill_in(template, folder, COMMANDS)
    if out is None:
        click.echo(text, nl=False)
    elif not check:
        with output(out) as file:
            file.write(text)
    else:
        try:
            current = out.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"cannot read {out}: {error.strerror}") from error
        if current != text:
            raise BfsbenchError(
                f"{out} is not up to date with {template} and the rows: write it again without --check"
            )
