"""Define options that several commands have, their completion in the shell, and their order in ``--help``.

This module also writes tables to a file, a pipe or a terminal.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from bfsbench.backends import GPU_BACKENDS
from bfsbench.bench.options import DEFAULTS, KINDS, OPTIONS, Method
from bfsbench.reports.table import FORMATS, LATEX_INCHES, SUFFIXES, Table, format_of, render, width_of
from bfsbench.support.errors import KernelError, UsageError, as_option, spelt
from bfsbench.support.storage import output
from bfsbench.variants import add_folder, all_variants, every_variant, find, look

if TYPE_CHECKING:
    from bfsbench.bench.plan import SourceChoice
    from bfsbench.graphs.load import GraphName
    from bfsbench.programs import Variant
    from bfsbench.programs.families.base import Family

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
Declaration = Callable[[Callable[..., None]], Callable[..., None]]
"""The type of a decorator that adds one or more options to the function of a command."""

PATH = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class Number(click.FloatRange):
    """A click parameter type for finite numbers. It refuses ``nan`` and ``inf``, which click accepts in any
    range.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


POSITIVE = Number(min=0, min_open=True)

_COMPLETED: dict[str, tuple[str, Callable[[Any], Iterable[str]]]] = {
    "datasets": ("graphs.catalogue", lambda at: at.Catalogue.load().names()),
    "families": ("graphs.catalogue", lambda at: at.Catalogue.load().kinds()),
    "variants": ("variants", lambda at: at.look().variants),
    "variants or all": ("variants", lambda at: ["all", *at.look().variants]),
    "entries": ("entries.find", lambda at: at.entries_among(look().variants)),
    "experiments": ("experiments", lambda at: [*at.bundled(), "graph500"]),
    "tables": ("reports", lambda at: at.TABLES),
    "tables of comparison": ("reports.comparison.tables", lambda at: at.TABLES),
    "plots": ("reports.plots", lambda at: at.PLOTS),
    "backends": ("backends", lambda at: (*at.GPU_BACKENDS, "host", "cpu")),
}
"""Maps each kind of names, such as ``datasets``, to a module and to a function that gets the names from this
module.

A module is imported when its names are first completed.
"""


def completer(kind: str) -> Completer:
    """Return a ``shell_complete`` function for a parameter that takes names of a ``kind``, such as
    ``"datasets"``.

    In a list with commas, the function completes the last name, and proposes only names that the list does
    not have yet. If the user's own catalogue is broken, it proposes no names.
    """
    module, known = _COMPLETED[kind]

    def complete(_context: click.Context, _parameter: click.Parameter, word: str) -> list[CompletionItem]:
        *before, last = word.split(",")
        head = "".join(f"{name}," for name in before)
        try:
            names = [*known(importlib.import_module(f"bfsbench.{module}"))]
        except UsageError:
            return []
        return [
            CompletionItem(head + name)
            for name in names
            if name.lower().startswith(last.lower()) and name not in before
        ]

    return complete


def together(options: Iterable[Declaration]) -> Declaration:
    """Return one decorator that adds several options, in the order in which ``--help`` shows them."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        for option in reversed([*options]):
            function = option(function)
        return function

    return declare


def gathered(variable: str, kind: Callable[..., object], options: Mapping[str, Declaration]) -> Declaration:
    """Return one decorator that adds several options to a command. The command gets all their values as one
    argument called ``variable``: the object that ``kind`` returns. ``kind`` is called with the options'
    values as keyword arguments. ``options`` maps the names of these keyword arguments to the options.
    """

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def collect(*context: click.Context, **values: Any) -> None:
            own = {name: values.pop(name) for name in options}
            function(*context, **{variable: kind(**own)}, **values)

        return together(options.values())(collect)

    return declare


def list_option(option: str, variable: str, text: str, **facts: Any) -> Declaration:
    """Return an option that takes a list with commas, as text. The list may contain ranges of numbers."""
    return click.option(option, variable, metavar="LIST", help=text, **facts)


def datasets_option(text: str, *, required: bool = True) -> Declaration:
    """Return the option ``--dataset``, which names the graphs of a command."""
    completed = completer("datasets")
    return list_option(
        "--dataset", "datasets", text, multiple=True, required=required, shell_complete=completed
    )


def variants_option(text: str, **facts: Any) -> Declaration:
    """Return the option ``--variant``, which names the variants of a command."""
    completed = completer("variants or all")
    return list_option("--variant", "variants", text, multiple=True, shell_complete=completed, **facts)


def launch_options(grid: str, block: str, **facts: Any) -> Declaration:
    """Return a decorator that adds the options ``--grid`` and ``--block``, with the given help texts.

    A command gets the values of each option as a list of numbers, in which None stands for ``auto``. If the
    option is not given, and ``facts`` (the arguments for click) contain no default, the list is empty.
    """
    facts["callback"] = _launches
    return together(
        (list_option("--grid", "grid", grid, **facts), list_option("--block", "block", block, **facts))
    )


def _launches(_context: click.Context, option: click.Parameter, text: str | None) -> list[int | None]:
    from bfsbench.bench.axes import blocks, grids

    if text is None:
        return []
    return grids(text) if option.name == "grid" else blocks(text)


def preset_option(use: str) -> Declaration:
    """Return the option ``--knobs``.

    ``use`` is the beginning of the option's help text. It says which knobs get the values of the preset.
    """
    from bfsbench.variants.base import PRESETS

    text = f"{use}: defaults, the paper's values, or values by the paper's rules for the graph."
    return click.option("--knobs", "preset", default=PRESETS[0], type=click.Choice(PRESETS), help=text)


@dataclass(frozen=True)
class Sources:
    """The values of the options ``--source``, ``--source-id``, ``--sources`` and ``--seed``."""

    source: str | None
    source_id: str | None = None
    num_sources: int | None = None
    seed: int = 0

    def choice(self, family: Family) -> SourceChoice:
        """Return the SourceChoice of these options for a family of problems.

        Raises UsageError for a malformed list, for options that exclude each other, and for sources that the
        family does not have.
        """
        from bfsbench.bench.axes import expand, split_list
        from bfsbench.bench.plan import SourceChoice

        if self.source is not None and self.source_id is not None:
            raise UsageError("--source and --source-id exclude each other")
        published = self.source_id is not None
        listed = self.source_id if published else self.source
        given: list[int | str] | None = None
        try:
            given = None if listed is None else [int(value) for value in expand(listed)]
        except ValueError:
            if self.source_id is None:
                raise UsageError(f"--source: '{listed}' is not a list of vertices") from None
            given = [*split_list(self.source_id)]
        return SourceChoice.of(family, given, self.num_sources, self.seed, published)


def source_options(seed: str) -> Declaration:
    """Return the options that choose sources. ``seed`` is the help text of ``--seed``.

    A command gets their values as the argument ``sources``, of type Sources.
    """
    by_name = "Source vertices by their ids or names in the graph's file."
    some = "N random sources with outgoing arcs; 1 by default."
    options: dict[str, Declaration] = {
        "source": list_option("--source", "source", "Source vertices, counted from 0."),
        "source_id": list_option("--source-id", "source_id", by_name),
        "num_sources": click.option(
            "--sources", "num_sources", type=click.IntRange(min=1), metavar="N", help=some
        ),
        "seed": click.option("--seed", default=0, help=seed),
    }
    return gathered("sources", Sources, options)


def measuring_option(name: str, text: str = "") -> Declaration:
    """Return the command-line option for the measuring option ``name``.

    If ``text`` is given, it replaces the help text of the option.
    """
    option, kind = OPTIONS[name], KINDS[name]
    takes: click.ParamType[Any] | None = None
    if option.choices:
        takes = click.Choice(option.choices)
    elif kind is int:
        takes = click.IntRange(option.least, option.most)
    elif kind is float:
        above = option.above is not None
        takes = Number(option.above if above else option.least, min_open=above)
    elif option.folder:
        takes = click.Path(file_okay=False)
    return click.option(
        as_option(name),
        default=DEFAULTS[name],
        type=takes,
        is_flag=kind is bool,
        metavar=option.metavar,
        help=text or spelt(option.help, as_option),
    )


def measuring_options(*without: str) -> Declaration:
    """Return the measuring options, except the options in ``without``.

    A command gets their values as the argument ``measuring``, of type Method.
    """
    return gathered(
        "measuring", Method, {name: measuring_option(name) for name in OPTIONS if name not in without}
    )


def names_option(option: str, variable: str, known: str, text: str) -> Declaration:
    """Return an option that takes a list of names. The shell completes names of the kind ``known``."""

    def split(_context: click.Context, _option: click.Parameter, values: Sequence[str]) -> list[str]:
        from bfsbench.bench.axes import split_list

        return [name for value in values for name in split_list(value)]

    facts: dict[str, Any] = {"callback": split, "shell_complete": completer(known)}
    return click.option(option, variable, multiple=True, metavar="NAMES", help=text, **facts)


def format_option(formats: Sequence[str] = FORMATS) -> Declaration:
    """Return the option ``--format``, which selects the format of printed tables."""
    return click.option("--format", "style", type=click.Choice(formats), default="text")


row_filters = gathered(
    "filters",
    dict,
    {
        "graphs": names_option("--graph", "graphs", "datasets", "Only these graphs."),
        "variants": names_option("--variant", "variants", "variants", "Only these variants."),
        "backends": names_option(
            "--backend", "backends", "backends", f"Only {', '.join(GPU_BACKENDS)}, host or cpu."
        ),
    },
)
"""Options that select rows. A command gets their values as the argument ``filters``, a dict of lists."""


def _new_names(_context: click.Context, option: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    found = {}
    for value in values:
        old, equals, new = value.rpartition("=")
        if not (equals and old and new.strip()):
            raise click.BadParameter(
                f"'{value}' is not OLD=NEW, such as 'merrill=Merrill et al.'.", param=option
            )
        found[old] = new
    return found


renaming_option = click.option(
    "--name",
    "new_names",
    multiple=True,
    metavar="OLD=NEW",
    callback=_new_names,
    help="Show a search or a graph under another name, such as --name 'merrill=Merrill et al.'. May be "
    "repeated.",
)
"""The option ``--name``, which renames searches and graphs in tables and pictures. A command gets the
argument ``new_names``, a dict of new names by old names."""

output_options = together(
    (
        click.option(
            "--format",
            "style",
            type=click.Choice(FORMATS),
            help="Format of the tables; by default the suffix of --out decides "
            f"({', '.join(SUFFIXES)}), else text.",
        ),
        click.option("--out", type=PATH, help="Write to this file instead of the terminal."),
    )
)


def chosen_format(style: str | None, out: Path | None) -> str:
    """Return the requested format ``style``. If none is requested, return the format that the suffix of the
    file ``out`` stands for, or else ``text``.
    """
    return style or (format_of(out) if out is not None else None) or "text"


@contextmanager
def opened(out: Path | None) -> Iterator[TextIO]:
    """Open the file ``out`` for writing and yield it. The file is written whole or not at all. Without
    ``out``, yield standard output.

    Raises UsageError if the file cannot be written.
    """
    if out is None:
        yield sys.stdout
    else:
        with output(out) as file:
            yield file


def require_known(what: str, chosen: Iterable[str], known: Iterable[str]) -> None:
    """Check that all names in ``chosen`` are known names. Raises UsageError otherwise. ``what`` is the word
    for these names in the error's message.
    """
    for name in chosen:
        if name not in known:
            raise UsageError(f"unknown {what} '{name}': there are {', '.join(known)}")


def rendered(
    tables: Sequence[Table],
    style: str = "text",
    file: TextIO | None = None,
    *,
    narrow: str = "",
    inches: float = LATEX_INCHES,
) -> str:
    """Return the text of tables in one of FORMATS. If ``file`` (by default standard output) is a terminal,
    the text has the terminal's width, and heat maps may be coloured. ``narrow`` and ``inches`` are passed to
    :func:`bfsbench.reports.table.render`."""
    is_terminal = (file or sys.stdout).isatty()
    colour = is_terminal and "NO_COLOR" not in os.environ
    return render(tables, style, colour=colour, narrow=narrow, width=width_of(is_terminal), inches=inches)


def names(items: Sequence[str], option: str) -> list[str]:
    """Return all names in the values of an option. The option may be repeated, and each value is a list with
    commas. Raises UsageError if there are no names.
    """
    from bfsbench.bench.axes import split_list

    found = [name for item in items for name in split_list(item)]
    if not found:
        raise UsageError(f"{option} names none")
    return found


def variants_of(words: Sequence[str]) -> list[type[Variant]]:
    """Return the variants that ``words`` name. A word that is the path of a folder stands for all variants
    that the folder declares.

    The name ``all`` stands for every variant that has kernels. Raises UsageError for an unknown name, for the
    path of a single file, and for a folder with faulty declarations. For ``all``, also raises UsageError if a
    variant cannot be loaded.
    """
    chosen: list[type[Variant]] = []
    for word in words:
        if Path(word).suffix in (".cu", ".py") and Path(word).is_file():
            raise UsageError(f"{word} is a file: name the folder with the kernel and its declaration")
        if word == "all":
            chosen += [variant for variant in every_variant() if variant.launched]
        else:
            chosen += add_folder(Path(word)) if Path(word).is_dir() else [find(word)]
    return list(dict.fromkeys(chosen))


def graphs_named(datasets: Sequence[str]) -> list[GraphName]:
    """Return the graphs of these names, without loading them. A name with commas is a list of names, unless a
    file has this name."""
    from bfsbench.graphs.load import is_file, resolve

    lists = ([item] if is_file(item) else names([item], "--dataset") for item in datasets)
    return list(dict.fromkeys(resolve(text) for texts in lists for text in texts))


_SECTIONS = {
    "What": (
        *("datasets", "dataset", "family", "variants", "grid", "block", "preset", "benign"),
        *("show", "graphs", "scale", "stand_ins", "variant"),
    ),
    "From where": ("source", "source_id", "num_sources", "seed", "seeds"),
    "How": ("minutes",),
    "How many samples": (),
    "How many points": ("points", "method"),
    "On what": (),
    "Rows": ("out",),
    "Instead": ("dry_run", "sanitizer", "rows", "quiet", "as_json"),
    "Others": (),
}
"""The titles of the sections of ``--help``, and the parameters in each section.

Measuring options are not listed here, because each declares its section. The section ``Others`` has all
parameters that are not assigned to a section.
"""

_KNOB = "knob_"
"""The prefix of parameters that are knobs."""


class KnobCommand(click.Command):
    """A command with an option for every knob that any variant declares, and with ``--help-knobs``.

    The command gets the argument ``knobs``: a dict with the values of each knob whose option was given.
    ``--help`` shows the options in sections. Only ``--help-knobs`` shows the options of knobs.
    """

    def __init__(self, **facts: Any) -> None:
        """Takes the arguments of ``click.Command``. Options may be spelt like knobs: --W_SZ for --w-sz."""
        spelt = {"token_normalize_func": lambda word: word.lower().replace("_", "-")}
        super().__init__(context_settings=spelt, **facts)

    _knob_options: Sequence[click.Parameter] | None = None
    """The options of knobs. They are made when first used, because making them imports all variants."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return all parameters.

        Raises UsageError if a knob's option has the name of another option of the command.
        """
        own = super().get_params(ctx)
        if self._knob_options is None:
            self._knob_options = _knob_options(own, f"bfsbench {ctx.info_name}")
        return [*own, *self._knob_options]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line. If an option is unknown and a variant could not be loaded, the error also
        names this variant, because the option may be a knob of the variant."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if not (problems := look().problems):
                raise
            which = f"it may be the option of a variant that cannot be used: {problems[0]}"
            raise UsageError(f"{error.format_message().rstrip('.')}: {which}") from error

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function of the command. Raises UsageError for a malformed range of a knob's values."""
        from bfsbench.bench.axes import expand

        given = {name: ctx.params.pop(name) for name in [*ctx.params] if name.startswith(_KNOB)}
        ctx.params["knobs"] = {
            name.removeprefix(_KNOB): expand(text) for name, text in given.items() if text is not None
        }
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {name: option.section for name, option in OPTIONS.items()}
        titles |= {name: title for title, names in _SECTIONS.items() for name in names}
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in _SECTIONS}
        for option in self.get_params(ctx):
            record, name = option.get_help_record(ctx), option.name or ""
            if isinstance(option, click.Option) and record and not name.startswith(_KNOB):
                found[titles.get(name, "Others")].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _knob_options(others: Sequence[click.Parameter], command: str) -> list[click.Parameter]:
    """Return ``--help-knobs`` and the options of all knobs. ``others`` are the command's other parameters.
    Raises UsageError if one of ``others`` has an option with the same name as a knob's option.
    """
    taken = {"--help-knobs", *(option for other in others for option in other.opts)}
    options: dict[str, str] = {}
    for variant in all_variants().values():
        for knob in variant.knobs:
            if knob.option in taken:
                what = f"variant {variant.name}: knob {knob.name} would be {knob.option}"
                raise UsageError(f"{what}, which is another option of '{command}'")
            options[knob.name] = knob.option
    help_knobs = click.Option(
        ["--help-knobs"],
        is_flag=False,
        flag_value="all",
        metavar="[VARIANTS]",
        is_eager=True,
        expose_value=False,
        callback=_help_knobs,
        help="Show the knobs of all variants, or of VARIANTS.",
    )
    return [
        help_knobs,
        *(
            click.Option([option, _KNOB + name], metavar="LIST", help=f"Knob {name}.")
            for name, option in sorted(options.items())
        ),
    ]


def refuse_given(*parameters: str) -> None:
    """Raise UsageError if the command line sets one of these parameters or a knob.

    A command calls this function if its arguments name a program or an exercise, because these options are
    only for searches.
    """
    context = click.get_current_context()
    for one in context.command.get_params(context):
        name = one.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and (name in parameters or name.startswith(_KNOB)):
            raise UsageError(f"{one.opts[0]} is for searches; a program takes the words after '--'")


def _help_knobs(context: click.Context, _option: click.Parameter, names: str | None) -> None:
    """Print the options of knobs, grouped by variant, and exit.

    Raises UsageError for an unknown variant.
    """
    if names is None or context.resilient_parsing:
        return
    chosen = every_variant() if names == "all" else [*map(find, names.split(","))]
    formatter = context.make_formatter()
    for variant in dict.fromkeys(chosen):
        lines = [
            (f"{knob.option} LIST", f"{knob.name}: {knob.meaning} ({knob.legal}; default {knob.default})")
            for knob in variant.knobs
        ]
        if lines:
            with formatter.section(variant.name):
                formatter.write_dl(lines)
        elif names != "all":
            formatter.write_text(f"{variant.name} has no knobs.")
    click.echo(formatter.getvalue(), nl=False)
    context.exit()


@contextmanager
def limited(what: str, timeout: float) -> Iterator[None]:
    """Return a context manager that turns a TimeoutError of its ``with`` block into a KernelError."""
    try:
        yield
    except TimeoutError:
        raise KernelError(
            f"{what} has not ended after {timeout:g} s: raise --timeout, or let 'bfsbench check' look for a "
            "loop that never ends"
        ) from None
