"""``bfsbench doctor``: what can run here, and how to get the rest."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict

import click

from bfsbench.doctor import Section, examine, usable_backends
from bfsbench.report.formats import WIDTH


@click.command()
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(context: click.Context, style: str) -> None:
    """Check what is installed, and say how to install what is missing.

    The exit code is 0 when at least one backend can run, and 1 otherwise.
    """
    sections = examine()
    usable = usable_backends(sections)
    if style == "json":
        click.echo(
            json.dumps(
                {"usable": usable, **{name: _record(part) for name, part in sections.items()}}, indent=2
            )
        )
    else:
        click.echo("\n\n".join(_text(section) for section in sections.values()))
        click.echo("\n" + "\n".join(_verdict(name, able) for name, able in usable.items()))
    context.exit(0 if any(usable.values()) else 1)


def _record(section: Section) -> dict[str, object]:
    return {
        "title": section.title,
        "works": section.works,
        "checks": [asdict(check) for check in section.checks],
    }


def _text(section: Section) -> str:
    """Details are wrapped; what is to be typed stays on one line."""
    lines = [section.title]
    for check in section.checks:
        head = f"  {check.state:<7}  {check.name:<13}  "
        lines.append(textwrap.fill(head + check.detail, WIDTH, subsequent_indent=" " * len(head)))
        if check.fix:
            lines.append(f"{'':<11}{'to fix':<13}  {check.fix}")
    return "\n".join(lines)


def _verdict(backend: str, usable: bool) -> str:
    return f"Backend {backend} can run." if usable else f"Backend {backend} cannot run yet."
