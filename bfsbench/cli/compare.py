"""Define the command ``bfsbench compare``, which shows the points that got faster or slower."""

from pathlib import Path

import click

from bfsbench.cli import completion
from bfsbench.cli.options import (
    Number,
    chosen_format,
    names_option,
    opened,
    output_options,
    rendered,
    row_filters,
)
from bfsbench.rows.counters import is_counters_file
from bfsbench.support.errors import UsageError


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
    "--threshold",
    type=Number(min=0),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="Differences up to this are 'same'.",
)
@click.option(
    "--allow-different",
    is_flag=True,
    help="Compare rows even if their device, graph checksum, schema or repeats differ, and print a warning.",
)
@names_option(
    "--table",
    "names",
    completion.tables_of_comparison,
    "Which tables: summary, points, unmatched. Default: all.",
)
@row_filters
@output_options
def command(
    a: str,
    b: str | None,
    commits: tuple[str, str] | None,
    threshold: float,
    allow_different: bool,
    names: list[str],
    graphs: list[str],
    variants: list[str],
    backends: list[str],
    style: str | None,
    out: Path | None,
) -> None:
    """Compare the times of B with the times of A, point by point.

    A and B are result files, folders of result files, or FILE@REVISION: the file as git has it at that
    revision. A point is slower or faster if the 95 % confidence interval of the ratio of its times lies
    beyond --threshold. It is the same if the interval lies within, and undecided otherwise. If A and B
    measured the same code, no point counts as slower or faster, because only the machine differs. Two files
    of counters ('bfsbench explain --out') are compared by kernel: more, less or the same.

    \b
    Exit code: 0  no point is slower, no counter has grown
               1  a point is slower, or had a time in A and has none in B,
                  or a counter has grown
               2  nothing was compared: bad usage, unreadable files, devices,
                  graphs or methods that differ, no point in common
    """
    from bfsbench.reports.asked import compare
    from bfsbench.reports.comparison.tables import TABLES

    if is_counters_file(Path(a)):
        if b is None or commits or not is_counters_file(Path(b)):
            raise UsageError(f"{a} holds counters: name another file of counters to compare it with")
        return _compare_counters(Path(a), Path(b), threshold / 100, style, out)
    for name in names:
        if name not in TABLES:
            raise UsageError(f"unknown table '{name}': there are {', '.join(TABLES)}")
    with opened(out) as file:
        found = compare(
            *(a, b),
            commits=commits,
            threshold=threshold,
            allow_different=allow_different,
            graphs=graphs,
            variants=variants,
            backends=backends,
        )
        made = [TABLES[name](found) for name in names or TABLES]
        file.write(rendered(made, chosen_format(style, out), file, narrow="--table"))
    if names and "summary" not in names:
        for line in (*found.differences, *found.warnings):
            click.echo(f"bfsbench: warning: {line}", err=True)
    raise SystemExit(1 if found.is_worse else 0)


def _compare_counters(a: Path, b: Path, threshold: float, style: str | None, out: Path | None) -> None:
    from bfsbench.reports.comparison.tables import compare_counters, counters_table

    with opened(out) as file:
        found = compare_counters(a, b, threshold)
        file.write(rendered([counters_table(found)], chosen_format(style, out), file))
    raise SystemExit(1 if found.is_worse else 0)
