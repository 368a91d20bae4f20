"""Everything that a user can name, one thing a line, to show that a change of the package keeps all of it.

    python tests/benchmarks/user_names.py > FILE
    python tests/benchmarks/user_names.py --compare FILE

Lists commands with their arguments and options, variants with their knobs and counters, generators with their
parameters, datasets, options and formats of graphs, experiments, exercises, columns of rows and tables, and
what ``bfsbench`` exports. It uses the command line and ``import bfsbench`` alone, never an internal module,
so the same script runs before and after modules move. With ``--compare`` it prints each line that FILE has
and the package lacks (``-``), and each that only the package has (``+``); the exit code is 1 if there is one.
"""

import inspect
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pandas as pd
from click.testing import CliRunner

import bfsbench
from bfsbench.cli import main as program

LISTED = {
    "variants": ("name", "aliases", "family", "knobs"),
    "papers": ("paper", "figure", "variant"),
    "datasets": ("name", "aliases", "family", "directed"),
    "knobs": ("variant", "name", "option", "default", "legal_values", "set_at"),
    "generators": ("generator", "parameter", "default", "legal_values"),
    "counters": ("variant", "name"),
}
"""Columns of the lists of ``bfsbench list`` whose cells users name."""


def commands(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yields a command, its parameters, and the commands below it."""
    path = context.command_path
    yield f"command {path}"
    for parameter in command.get_params(context):
        yield f"command {path} {_parameter(parameter, context)}"
        for item in parameter.shell_complete(context, ""):
            if item.type == "plain":
                yield f"command {path} {parameter.opts[0]} completes {item.value}"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, click.Context(below, parent=context, info_name=name))


def _parameter(parameter: click.Parameter, context: click.Context) -> str:
    """Returns the spellings of a parameter, the values that it takes, and its default."""
    kind = {key: value for key, value in parameter.type.to_info_dict().items() if key != "param_type"}
    facts: dict[str, Any] = {
        "metavar": parameter.metavar,
        "default": _default(parameter),
        "flag": getattr(parameter, "is_flag", False),
        "required": parameter.required,
        "multiple": parameter.multiple,
        "values": parameter.nargs,
        **kind,
    }
    said = json.dumps(facts, default=str, sort_keys=True)
    return f"{' '.join((*parameter.opts, *parameter.secondary_opts))} {said}"


def _default(parameter: click.Parameter) -> str:
    """Returns the default. It is empty where none is declared, which click gives as None or False."""
    declared = str(parameter.default)
    return "" if declared in ("Sentinel.UNSET", "None", "False") else declared


def called(*words: str) -> str:
    """Returns what a command prints, its errors included."""
    return CliRunner().invoke(program, words, prog_name="bfsbench").output


def lists() -> Iterator[str]:
    """Yields the rows of ``bfsbench list`` and ``bfsbench lab``, and the names of experiments."""
    for name, columns in LISTED.items():
        for row in json.loads(called("list", name, "--format", "json"))[name]["rows"]:
            yield f"{name} " + json.dumps({column: row[column] for column in columns})
    for row in json.loads(called("lab", "--format", "json"))["lab"]["rows"]:
        yield f"exercise {row['name']} {row['kind']}"
    for line in called("reproduce", "--list").splitlines()[2:]:
        yield f"experiment {' '.join(line.split())}"


def graph_options() -> Iterator[str]:
    """Yields the options after a graph's name and their values, which messages about wrong ones list."""
    known = called("run", "--dataset", "x:none=1").rpartition("choose from ")[2]
    for name in known.strip().split(", "):
        yield f"graph option {name}"
        values = called("run", "--dataset", f"x:{name}=nothing")
        if found := re.search(r"is not one of (.*)", values):
            yield from (f"graph option {name}={value}" for value in found[1].split(", "))


def columns() -> Iterator[str]:
    """Yields the columns of rows of both families, of their files, and of every table of a report."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "rows.csv")
        words = {"repeats": 6, "backend": "cpu", "parents": True, "out": out}
        rows = bfsbench.sweep("lattice(rows=4,columns=4)", "push", profile=True, **words)
        for file in sorted(Path(folder).glob("*.csv")):
            header = file.read_text(encoding="utf-8").partition("\n")[0]
            yield from (f"column of {file.name}: {name}" for name in header.split(","))
        pairs = bfsbench.sweep("path(n=9)", "cpu_floyd_warshall", repeats=6)
        for name, table in bfsbench.report(out, tables=_tables()).items():
            yield from _columns_of(f"table {name}", table)
    yield from _columns_of("rows of searches", rows)
    yield from _columns_of("rows of all pairs", pairs)
    yield from _columns_of("comparison", bfsbench.compare(pairs, pairs).frame())


def _tables() -> list[str]:
    """Returns the names of tables that ``bfsbench report`` completes."""
    report = program.get_command(click.Context(program), "report")
    assert report is not None
    (option,) = (one for one in report.params if "--table" in one.opts)
    return [item.value for item in option.shell_complete(click.Context(report), "")]


def _columns_of(title: str, table: pd.DataFrame) -> Iterator[str]:
    return (f"column of {title}: {name}" for name in table.columns)


def exports() -> Iterator[str]:
    """Yields the names that ``bfsbench`` exports: parameters of functions, members of classes."""
    for name in bfsbench.__all__:
        thing = getattr(bfsbench, name)
        yield f"bfsbench.{name}"
        if inspect.isclass(thing):
            yield from (f"bfsbench.{name}.{member}" for member in dir(thing) if not member.startswith("_"))
            for member, function in inspect.getmembers(thing):
                written = inspect.isfunction(function) or inspect.ismethod(function)  # in Python
                if written and not member.startswith("_"):
                    yield from _arguments(f"bfsbench.{name}.{member}", function)
        else:  # a module that can be called has its function as a method
            plain = inspect.isroutine(thing)
            yield from _arguments(f"bfsbench.{name}", thing if plain else type(thing).__call__)
            continue
        yield from _arguments(f"bfsbench.{name}", thing)


def _arguments(name: str, function: Any) -> Iterator[str]:
    for place, argument in enumerate(inspect.signature(function).parameters.values()):
        where = f" at {place}" if argument.kind.name.startswith("POSITIONAL") else ""
        default = "" if argument.default is argument.empty else f"={argument.default!r}"
        called_so = "**" if argument.kind is argument.VAR_KEYWORD else argument.name
        yield f"{name}({called_so}{default}) {argument.kind.name.lower()}{where}"


def names() -> list[str]:
    """Returns all lines, sorted."""
    tree = commands(program, click.Context(program, info_name="bfsbench"))
    return sorted({*tree, *lists(), *graph_options(), *columns(), *exports()})


@click.command()
@click.option("--compare", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
def main(compare: Path | None) -> None:
    """Print the list, or its differences from the list in FILE."""
    found = names()
    if compare is None:
        click.echo("\n".join(found))
        return
    before = compare.read_text(encoding="utf-8").splitlines()
    gone, new = sorted({*before} - {*found}), sorted({*found} - {*before})
    for line in (*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)):
        click.echo(line)
    click.echo(f"{len(before)} names before, {len(found)} now: {len(gone)} gone, {len(new)} new", err=True)
    sys.exit(bool(gone or new))


if __name__ == "__main__":
    main()
