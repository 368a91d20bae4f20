"""Define the command ``bfsbench text``, which writes a text whose numbers come from result files."""

from pathlib import Path

import click

from bfsbench.support.errors import BfsbenchError, InputError


@click.command(short_help="Write a text whose numbers come from result files.")
@click.argument("template", type=click.Path(path_type=Path))
@click.option(
    "--rows",
    "folder",
    default=Path("results"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of the result files that the template names.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where to write the text."
)
@click.option("--check", is_flag=True, help="Write nothing, and exit with 1 unless FILE is up to date.")
def command(template: Path, folder: Path, out: Path | None, check: bool) -> None:
    """Fill in a TEMPLATE, a Jinja2 file, with numbers from result files, and print or write the text.

    A template opens files by {{ rows("h200/all-variants.csv") }} and quotes them, as in {{
    all.of(graph="wave", variant="luo").ms | number }}. Missing rows are an error.
    bfsbench/experiments/texts.py describes the functions of templates.
    """
    from bfsbench.cli import COMMANDS
    from bfsbench.experiments.texts import fill_in
    from bfsbench.support.storage import output

    if check and out is None:
        raise click.UsageError("--check needs the --out it is to look at")
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
