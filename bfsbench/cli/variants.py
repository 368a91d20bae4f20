"""Define the commands ``list`` and ``show``, and the group of commands ``entry`` for programs of other
authors.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from bfsbench.cli.options import FOLDER, PATH, POSITIVE, completer, format_option, rendered
from bfsbench.entries.build import build, record_of
from bfsbench.entries.declaration import KINDS, Entry
from bfsbench.entries.find import entries_among, find_entry, new, own_folder
from bfsbench.entries.variant import WRONG_CLOCK, EntryVariant
from bfsbench.reports.table import Table
from bfsbench.support.errors import UsageError
from bfsbench.tools.listing import LISTS, in_brief, variant_tables
from bfsbench.variants import add_folder, all_variants, find, look, with_aliases


@click.command()
@click.argument("what", required=False, type=click.Choice(list(LISTS)))
@format_option()
@click.pass_context
def list_command(context: click.Context, what: str | None, style: str) -> None:
    """Show the list with the given name. Without a name, show variants and datasets in brief.

    If a variant of your own cannot be loaded, a line on stderr gives its name and the reason, and the exit
    code is 1.
    """
    _show_lists(context, [LISTS[what]()] if what else in_brief(), style)


def _show_lists(context: click.Context, lists: Sequence[Table], style: str) -> None:
    """Print the given tables, such as the list of variants, and exit. The exit code is 1 if a variant could
    not be loaded."""
    click.echo(rendered(lists, style, narrow="one of their names"), nl=False)
    for problem in look().problems:
        click.echo(f"bfsbench: {problem}", err=True)
    context.exit(1 if look().problems else 0)


@click.command()
@click.argument("name", shell_complete=completer("variants"))
@format_option(["text", "markdown", "latex", "json"])
def show_command(name: str, style: str) -> None:
    """Show a variant's description, the paper and the figure with its algorithm, its kernel file, knobs and
    counters. NAME is the variant's name or an alias."""
    click.echo(rendered(variant_tables(find(name)), style), nl=False)


@click.group()
def entry_command() -> None:
    """Add searches of other programs, build them and check them.

    An entry is such a program, declared in a TOML file. Every command accepts it like a variant of the
    package. The guide is docs/entries.md in the repository.
    """


@entry_command.command("list")
@format_option(["text", "markdown", "csv", "json"])
@click.pass_context
def list_entries(context: click.Context, style: str) -> None:
    """List the entries, whether they can run here, and how to install what is missing.

    If an entry cannot be read, a line on stderr gives its name and the reason, and the exit code is 1.
    """
    columns = ("name", "kind", "device", "clock", "licence", "state", "summary")
    rows, notes = [], []
    for name, variant in entries_among(look().variants).items():
        entry, reason = variant.entry, variant.missing()
        record = record_of(entry) if entry.build else {}
        built = f"built {str(record['built_at'])[:10]}" if record else "ready"
        state = "missing" if reason else built
        facts = (entry.kind, entry.call.device, entry.clock.held_by, entry.licence)
        rows.append((name, *facts, state, entry.summary))
        notes += [reason] if reason else []
    _show_lists(context, [Table("entries", "Entries", columns, [*rows], tuple(notes))], style)


@entry_command.command("new")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="How the entry is called.")
@click.option(
    "--device",
    type=click.Choice(["cpu", "gpu"]),
    default="cpu",
    help="Where the entry searches. With gpu, a command is a CUDA program, and python receives CuPy arrays.",
)
@click.option(
    "--in",
    "parent",
    type=FOLDER,
    metavar="FOLDER",
    help="Folder to create the entry in; by default the folder of your own entries, which are always found.",
)
def new_entry(name: str, kind: str, device: str, parent: Path | None) -> None:
    """Write the files of a working example, the entry NAME, which you can change into your own. An entry of
    the kind 'command' is a separate program. A 'library' is a C function in a shared library, and 'python' is
    a Python function.
    """
    for variant in look().variants.values():
        if name in (variant.name, *variant.aliases):
            raise UsageError(f"there is a variant {with_aliases(variant.name)}: choose another name")
    made = new(name, kind, parent or own_folder(), device)
    for file in made:
        click.echo(f"wrote {file}")
    given = name if parent is None else str(made[0].parent)
    build = "" if kind == "python" else f"'bfsbench entry build {given}', "
    click.echo(f"next: {build}'bfsbench entry check {given}'")
    if parent is not None:
        click.echo(f"for other commands to find it: export BFSBENCH_VARIANTS={parent.resolve()}")


@entry_command.command("build")
@click.argument("name", metavar="NAME|FOLDER", shell_complete=completer("entries"))
@click.option(
    "--source",
    type=PATH,
    metavar="DIR",
    help="Take the source from this clone of its repository instead of the declared address.",
)
def build_entry(name: str, source: Path | None) -> None:
    """Get the source of an entry at its commit, apply the declared changes, build it, and record the build.

    Git is needed if the source is in a repository. The folder DIR, given by --source, is not changed.
    """
    entry = _found(name).entry
    if entry.build is None and source is None:
        click.echo(f"entry {entry.name} has nothing to build")
        return
    record = build(entry, source, lambda line: click.echo(line, err=True))
    click.echo(f"built {name}: {record}")


@entry_command.command("check")
@click.argument("name", metavar="NAME|FOLDER", shell_complete=completer("entries"))
@click.option(
    "--timeout",
    default=20.0,
    type=POSITIVE,
    metavar="S",
    help="Seconds that the searches from one source may take. The first source includes preparing the graph.",
)
def check_entry(name: str, timeout: float) -> None:
    """Run an entry on small graphs of many shapes, and print each failure in one line.

    Standard error shows the graph that is being searched. The exit code is 1 if anything is wrong, and 130 if
    the check was stopped before its end.
    """
    from bfsbench.bench.sweep import Trial

    variant = _found(name)
    if reason := variant.missing():
        raise UsageError(reason)
    result, stopped = Trial(), ""
    if variant.entry.clock.held_by != "ours":
        click.echo(
            "comparing its clock with the host's clock, on a lattice; then the searches begin", err=True
        )
    try:
        result.run(variant, timeout, lambda shape: click.echo(f"searching {shape}", err=True))
    except KeyboardInterrupt:
        stopped = f"stopped on {result.shape}" if result.shape else "stopped before the first search"
    lines = result.lines()
    for line in (*lines, *_hints(variant.entry, lines)):
        click.echo(line)
    verdict = "see above" if result.failures else "nothing is wrong"
    found = f"{result.searches - len(result.failures)} of {result.searches} searches are right"
    click.echo(f"{variant.name}: {found}: {stopped or verdict}")
    if stopped:
        raise click.Abort
    if result.failures:
        raise SystemExit(1)
    knobs = "; other values of knobs than the defaults" if variant.knobs else ""
    click.echo(f"not tried: more than 2^31 - 1 arcs, but a small graph had 64-bit offsets{knobs}")
    click.echo(f"next: 'bfsbench run --dataset soc-Epinions1 --variant {variant.name},cpu_parallel'")


_HINTS = (
    ("bytes, not", "an answer has one int32 for each vertex"),
    (
        "instead of -1",
        "if unreached vertices have a level other than -1, declare it as 'unreached' in 'call'",
    ),
)
"""Parts of messages about failures, and the advice to print below."""
_HINTS_FOR_COMMANDS = (
    (WRONG_CLOCK, "times are in ms, unless 'unit' in 'call' names another unit"),
    (
        "not a number alone",
        "to take the time out of longer lines, declare a regular expression as 'time' in 'call'",
    ),
)
_HINT_ON_TIMES = ("it says a search took", "the first number that stands alone on a line counts as the time")
_HINT_ON_REPLIES = (
    "timeout: ",
    "a command prints 'ready', then a time for each source, and flushes after each line",
)


def _hints(entry: Entry, lines: list[str]) -> Iterator[str]:
    """Yield hints for the author of an entry. ``lines`` describe the failures of the entry."""
    is_command = bool(entry.call.command)
    hints = [*_HINTS, *(_HINTS_FOR_COMMANDS if is_command else ())]
    hints += [_HINT_ON_TIMES] if is_command and not entry.call.time else []
    hints += [_HINT_ON_REPLIES] if is_command and not entry.per_search else []
    yield from (f"hint: {hint}" for part, hint in hints if any(part in line for line in lines))
    if entry.call.arrays == "cupy" and any(line.startswith("timeout:") for line in lines):
        yield "hint: CuPy compiles each kernel once and stores it: check again, or raise --timeout"


def _found(name: str) -> type[EntryVariant]:
    """Return the entry that is called ``name``. If ``name`` is a folder, return the only entry in this
    folder. Raises UsageError if no entry has this name, or if the folder does not declare exactly one entry.

    The folder is added to the environment variable BFSBENCH_VARIANTS, so that worker processes find the
    entry.
    """
    if name in all_variants() or not Path(name).is_dir():
        return find_entry(name, all_variants())
    others = os.environ.get("BFSBENCH_VARIANTS")
    os.environ["BFSBENCH_VARIANTS"] = os.pathsep.join(filter(None, (others, str(Path(name).resolve()))))
    declared = entries_among({one.name: one for one in add_folder(Path(name))})
    if len(declared) != 1:
        raise UsageError(f"{name} declares {len(declared)} entries: name one")
    return next(iter(declared.values()))
