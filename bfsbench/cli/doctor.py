"""Define the command ``bfsbench doctor``, which shows what can run here, and how to install what is
missing."""

import json
import textwrap
from dataclasses import asdict
from functools import partial

import click

from bfsbench.cli.options import measuring_option
from bfsbench.cluster.address import FORMS
from bfsbench.reports.table import WIDTH
from bfsbench.support.doctor import Section, examine, usable_backends
from bfsbench.support.errors import UsageError


@click.command()
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--cluster", metavar="WHERE", help=f"Check the workers of a cluster instead: {FORMS}.")
@measuring_option("tls")
@measuring_option("insecure")
@click.pass_context
def command(context: click.Context, style: str, cluster: str | None, tls: str | None, insecure: bool) -> None:
    """Check what is installed, and say how to install what is missing.

    The exit code is 0 if at least one backend can run. With --cluster, it is 0 if all workers can run and are
    alike. Otherwise it is 1.
    """
    if cluster is not None:
        context.exit(0 if _examine_cluster(cluster, style, tls, insecure) else 1)
    for name, given in (("--tls", tls), ("--insecure", insecure)):
        if given:
            raise UsageError(f"{name} goes with --cluster")
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
        click.echo()
        for name, able in usable.items():
            click.echo(f"Backend {name} can run." if able else f"Backend {name} cannot run yet.")
    context.exit(0 if any(usable.values()) else 1)


def _examine_cluster(text: str, style: str, tls: str | None, insecure: bool) -> bool:
    """Show the properties of the workers. Returns whether a sweep could use all of them."""
    from tabulate import tabulate

    from bfsbench.cluster.address import parse
    from bfsbench.cluster.launch import require_dask

    place = parse(text)
    require_dask()
    from bfsbench.cluster.certificates import security_in
    from bfsbench.cluster.runner import ALIKE, examine as examine_cluster

    found = examine_cluster(place, security_in(tls), partial(click.echo, err=True), insecure)
    if style == "json":
        told = {"works": found.works, "workers": found.workers, "here": found.here}
        click.echo(json.dumps(told | {"differences": found.differences}, indent=2))
        return found.works
    for facts in found.workers:
        shown = [(name, facts.get(name, "")) for name in ("host", "gpu_bus_id", *ALIKE) if facts.get(name)]
        click.echo(f"{facts['worker']}\n{textwrap.indent(tabulate(shown, tablefmt='plain'), '  ')}\n")
    for trouble in found.troubles:
        click.echo(f"cannot work: {trouble}")
    for difference in found.differences:
        click.echo(f"differs: {difference}")
    if found.works:
        click.echo(f"All {len(found.workers)} workers can run and are alike.")
    return found.works


def _record(section: Section) -> dict[str, object]:
    return {
        "title": section.title,
        "works": section.works,
        "checks": [asdict(check) for check in section.checks],
    }


def _text(section: Section) -> str:
    lines = [section.title]
    for check in section.checks:
        head = f"  {check.state:<7}  {check.name:<13}  "
        lines.append(textwrap.fill(head + check.detail, WIDTH, subsequent_indent=" " * len(head)))
        if check.fix:
            lines.append(f"{'':<11}{'to fix':<13}  {check.fix}")
    return "\n".join(lines)
