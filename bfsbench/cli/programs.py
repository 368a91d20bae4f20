"""Check and explain CUDA programs that have a main function of their own."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from bfsbench.cli.help import SectionedCommand
from bfsbench.cli.options import rendered
from bfsbench.support.errors import UsageError

_ARGUMENTS = "bfsbench.program_arguments"
_SUFFIXES = (".cu", ".cpp", ".cc", ".c")


class ProgramCommand(SectionedCommand):
    """A command that passes the words after ``--`` to a program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta[_ARGUMENTS] = tuple(args[place + 1 :])
            args = args[:place]
        return super().parse_args(ctx, args)


def program_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for compiling a program to a command: ``-I`` and ``-D``."""
    folders = click.option(
        "-I", "include", multiple=True, metavar="DIR", help="Folder with headers of a program."
    )
    macros = click.option(
        "-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Macro for compiling a program."
    )
    return folders(macros(command))


def refuse_program_options(context: click.Context) -> None:
    """Raise UsageError for options, or words after ``--``, that apply only to programs."""
    names = {"include": "-I", "defines": "-D", "as_json": "--json", "stop": "--stop-at-first"}
    given = [option for name, option in names.items() if context.params.get(name)]
    if given or arguments_of(context):
        raise UsageError(f"{(given or ['--'])[0]} is for programs: name a .cu file")


def arguments_of(context: click.Context) -> tuple[str, ...]:
    """Return the words after ``--``."""
    found: tuple[str, ...] = context.meta.get(_ARGUMENTS, ())
    return found


def program_files(words: Sequence[str]) -> list[Path]:
    """Return the words as paths, if they are the source files of a CUDA program.

    Returns an empty list if the first word is not the name of a CUDA file, or if no file mentions ``main``.
    Raises UsageError for a file that is missing or that is not a source file.
    """
    if not words or Path(words[0]).suffix != ".cu":
        return []
    for word in words:
        if Path(word).suffix not in _SUFFIXES or not Path(word).is_file():
            raise UsageError(f"{word}: no such source file of a program")
    sources = [Path(word) for word in words]
    has_main = any("main" in source.read_text(encoding="utf-8", errors="replace") for source in sources)
    return sources if has_main else []


def options_of(include: Sequence[str], defines: Sequence[str]) -> list[str]:
    """Return the compiler's options for folders of headers and for macros."""
    return [*(f"-I{folder}" for folder in include), *(f"-D{name}" for name in defines)]


def check_program(
    sources: Sequence[Path],
    options: Sequence[str],
    arguments: Sequence[str],
    seeds: int,
    *,
    stop: bool,
    as_json: bool,
    benign: bool,
) -> bool:
    """Check a program and print the findings. Returns whether nothing was found."""
    from bfsbench.emulator.program_run import Runs, check_program as check
    from bfsbench.support.errors import plural

    runs: Runs = check(sources, options, arguments, seeds, stop=stop)
    undeclared = list(runs.undeclared())
    if as_json:
        found = [
            {
                "fault": one.fault,
                "text": str(one),
                "lines": [f"{line.file}:{line.number}" for line in one.lines if line],
                "runs": number,
            }
            for one, number in undeclared
        ]
        failures = [{"text": text, "runs": number} for text, number in runs.failures.items()]
        result = {"exit_codes": runs.statuses, "runs": seeds, "findings": found, "failures": failures}
        click.echo(json.dumps(result, indent=2))
        return runs.clean
    number = len(undeclared) + len(runs.failures)
    codes = ", ".join(map(str, sorted(set(runs.statuses))))
    verdict = f"{number} found" if number else "nothing found"
    click.echo(f"{sources[0].name}: {verdict} in {plural(seeds, 'run')}; the program's exit code: {codes}")
    shown = list(runs.findings.values()) if benign else undeclared
    for one, times in sorted(shown, key=lambda item: -item[1]):
        click.echo(f"  {one} [{times} of {seeds} runs]")
        for line in dict.fromkeys(one.lines):
            if line and line.text():
                click.echo(f"        {line}: {line.text()}")
    for message, times in runs.failures.items():
        click.echo(f"  {message} [{times} of {seeds} runs]")
    return runs.clean


def explain_program(
    sources: Sequence[Path], options: Sequence[str], arguments: Sequence[str], seed: int, ceilings: Path
) -> None:
    """Print the costs of a program's kernels by launch and by line, and the predicted time."""
    from bfsbench.emulator.program_run import built, run
    from bfsbench.rows.ceilings import read_ceilings
    from bfsbench.tools.explain.counters import of_program
    from bfsbench.tools.explain.tables import LEGEND, level_table, listing_lines, predict

    device = read_ceilings(ceilings)
    with built(sources, options, "counting") as program:
        report = run(program, arguments, seed, quiet=False, stop=False)
    if not report.launches:
        click.echo("the program has launched no kernel")
        return
    counted = of_program(sources[0].name, report.counts, report.launches)
    predicted = predict(counted, device)
    time = f"{predicted.search_ms:.3g} ms, bound by {predicted.bound}"
    click.echo(f"\npredicted time of {len(report.launches)} launches: {time}")
    click.echo(rendered([level_table(counted)]), nl=False)
    click.echo(f"\n{LEGEND}")
    for line in listing_lines(counted, None, max(80, shutil.get_terminal_size((120, 24)).columns)):
        click.echo(line)
