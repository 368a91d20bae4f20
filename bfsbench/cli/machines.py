"""Define ``doctor``, ``cache``, ``probe``, ``worker`` and ``certificates``: commands for machines and for
clusters."""

import asyncio
import json
import re
import shutil
import textwrap
from contextlib import closing
from dataclasses import asdict, fields
from functools import partial
from itertools import chain
from pathlib import Path

import click

from bfsbench.backends import GPU_BACKENDS, open_device
from bfsbench.bench.axes import split_list
from bfsbench.cli.options import FOLDER, PATH, format_option, measuring_option, rendered, require_known
from bfsbench.cluster.address import FORMS, Running, host_and_port, is_loopback, parse
from bfsbench.cluster.certificates import make, security_in
from bfsbench.reports.table import WIDTH, Table
from bfsbench.support.doctor import Section, examine, usable_backends
from bfsbench.support.errors import UsageError, size_text, unknown_name
from bfsbench.support.interrupts import INTERRUPTED
from bfsbench.support.paths import CACHE_PARTS, cache_dir
from bfsbench.support.storage import output


@click.command()
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")
@measuring_option("backend", "Decides the exit code: 0 if this backend can run.")
@click.option("--cluster", metavar="WHERE", help=f"Check the workers of a cluster instead: {FORMS}.")
@measuring_option("tls")
@measuring_option("insecure")
@click.pass_context
def doctor_command(
    context: click.Context, style: str, backend: str, cluster: str | None, tls: str | None, insecure: bool
) -> None:
    """Check what is installed, and say how to install what is missing.

    The exit code is 0 if at least one backend can run, and otherwise 1. With --backend, the exit code is 0 if
    this backend can run. With --cluster, the exit code is 0 if all workers can run and are alike.
    """
    if cluster is not None:
        if backend != "auto":
            raise UsageError("--backend goes without --cluster, which checks the backends of its workers")
        context.exit(0 if _examine_cluster(cluster, style, tls, insecure) else 1)
    for name, given in (("--tls", tls), ("--insecure", insecure)):
        if given:
            raise UsageError(f"{name} goes with --cluster")
    sections = examine()
    usable = usable_backends(sections)
    if style == "json":
        records = {
            name: {"title": part.title, "works": part.works, "checks": [*map(asdict, part.checks)]}
            for name, part in sections.items()
        }
        click.echo(json.dumps({"usable": usable, **records}, indent=2))
    else:
        click.echo("\n\n".join(_text(section) for section in sections.values()))
        click.echo()
        for name, able in usable.items():
            click.echo(f"Backend {name} can run." if able else f"Backend {name} cannot run yet.")
    context.exit(0 if usable.get(backend, any(usable.values())) else 1)


def _examine_cluster(text: str, style: str, tls: str | None, insecure: bool) -> bool:
    """Print the properties of a cluster's workers. Returns True if a sweep could use all of them."""
    from tabulate import tabulate

    from bfsbench.cluster.launch import require_dask

    place = parse(text)
    require_dask()
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


def _text(section: Section) -> str:
    lines = [section.title]
    for check in section.checks:
        head = f"  {check.state:<7}  {check.name:<13}  "
        lines.append(textwrap.fill(head + check.detail, WIDTH, subsequent_indent=" " * len(head)))
        if check.fix:
            lines.append(f"{'':<11}{'to fix':<13}  {check.fix}")
    return "\n".join(lines)


@click.command()
@click.option(
    "--clean",
    metavar="PARTS",
    help="Remove these folders of the cache, or 'all'; 'graphs/NAME' removes one graph, 'downloads/NAME' its "
    "files. Later commands make or download missing files again, except built entries ('bfsbench entry "
    "build' makes them).",
)
@format_option()
def cache_command(clean: str | None, style: str) -> None:
    """Show how much space the folders of the cache take, or remove some of them.

    Do not remove folders while another bfsbench runs.
    """
    cache = cache_dir()
    if clean is not None:
        wanted = list(CACHE_PARTS) if clean == "all" else split_list(clean)
        for path in list(chain.from_iterable(_named(cache, name) for name in wanted)):
            try:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise UsageError(f"cannot remove {error.filename}: {error.strerror}") from error
            click.echo(f"removed {path}", err=True)
    rows = [
        (name, len(files), sum(file.stat().st_size for file in files), content)
        for name, content in CACHE_PARTS.items()
        if (files := [path for path in (cache / name).rglob("*") if path.is_file()])
    ]
    notes = () if rows else ("The cache is empty.",)
    heading, size = ("bytes", int) if style in ("json", "csv") else ("size", size_text)
    cells = [(name, files, size(number), content) for name, files, number, content in rows]
    table = Table("cache", f"Cache in {cache}", ("folder", "files", heading, "content"), [*cells], notes)
    click.echo(rendered([table], style), nl=False)


def _named(cache: Path, wanted: str) -> list[Path]:
    """Return the paths in the cache that ``wanted`` names: a folder of the cache, or what a folder has under
    one name. A graph has a folder for each set of reading options. Raises UsageError for an unknown name.
    """
    from bfsbench.graphs.catalogue import Recipe
    from bfsbench.graphs.store import readable

    part, slash, name = wanted.partition("/")
    require_known("folder", [part], CACHE_PARTS)
    if not slash:
        return [cache / part]
    if not name:
        raise UsageError(f"{wanted} names no graph")
    # the name of a folder also has the generator's other parameters, and the reading options
    option = "" if "(" in name else rf"({'|'.join(field.name for field in fields(Recipe))})="
    form = re.compile(rf"{re.escape(readable(name))}(_{option}.*)?(-[0-9a-f]{{16}})?")
    paths = sorted((cache / part).glob("[!.]*"))
    if not (found := [path for path in paths if form.fullmatch(path.name)]):
        raise unknown_name(f"name in {part}", name, [path.name for path in paths], f"ls {cache / part}")
    return found


@click.command()
@click.option(
    "--out",
    type=PATH,
    default=Path("results/ceilings.csv"),
    help="File to write; its name must end in 'ceilings.csv'.",
)
@measuring_option("backend", "'cpu' only shows that the kernels work, but measures host_reads, too.")
@format_option()
def probe_command(out: Path, backend: str, style: str) -> None:
    """Measure the highest rates (ceilings) that the device reaches for memory accesses, atomics, min-plus
    operations, barriers and launches. Also measure how fast the host reads memory.

    Every probe is checked and then run 7 times, and the best run counts. 'bfsbench roofline' compares
    searches with the ceilings.
    """
    from bfsbench.rows.ceilings import check_output, write_ceilings
    from bfsbench.tools.probe import PROBES, run_probe

    check_output(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error
    with output(out) as file, closing(open_device(backend)) as device:
        click.echo(f"backend {device.backend}: {device.describe()['gpu']}", err=True)
        figures = [figure for probe in PROBES.values() for figure in run_probe(probe, device)]
        write_ceilings(file, (figure.row(device) for figure in figures))
    measured = device.backend in GPU_BACKENDS
    title = "Ceilings" if measured else "Emulated: shows that the probes work; only host_reads are ceilings"
    rows = [(f.probe.name, f.setting, f.value, f.probe.unit, f.probe.meaning) for f in figures]
    table = Table("ceilings", title, ("probe", "setting", "value", "unit", "of"), [*rows])
    click.echo(rendered([table], style), nl=False)
    click.echo(f"written to {out}", err=True)


@click.command()
@click.argument("address", metavar="dask://HOST:PORT")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of workers; by default one per visible GPU, or one per core without a GPU.",
)
@measuring_option("tls")
@click.option(
    "--insecure",
    is_flag=True,
    help="Serve a scheduler on another machine without --tls. Others who reach a worker can run code as you.",
)
def worker_command(address: str, workers: int | None, tls: str | None, insecure: bool) -> None:
    """Run worker processes for the Dask scheduler at this address, one per GPU, until the scheduler ends.

    'dask scheduler' starts a scheduler. 'bfsbench run --cluster dask://HOST:PORT' starts a sweep on its
    workers. If the scheduler is on this machine, workers listen on 127.0.0.1 alone. Otherwise they listen on
    all addresses, so --tls or --insecure is needed. With Slurm: srun --ntasks-per-node=1 --gpus-per-node=8
    bfsbench worker dask://HOST:PORT
    """
    from bfsbench.cluster.launch import LOOPBACK, nannies, require_access_control, require_dask, serve, url

    place = Running(host_and_port(address))
    require_dask()
    security = security_in(tls)
    scheduler = url(place, security)
    tell = partial(click.echo, err=True)
    require_access_control(scheduler, insecure, tell)
    host = {"host": LOOPBACK} if is_loopback(place.scheduler) else {}
    offered = [options | host for options in nannies(workers, "auto")]
    try:
        asyncio.run(serve(scheduler, offered, security, tell))
    except asyncio.CancelledError:
        raise SystemExit(INTERRUPTED) from None


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--days", default=365, type=click.IntRange(1, 3650), help="Days until the certificates expire.")
def certificates_command(folder: Path, days: int) -> None:
    """Make certificates in FOLDER, with which a scheduler, its workers and sweeps authenticate each other.

    Without certificates, anyone who can reach a Dask scheduler or worker over the network can run code there
    as the user who started it. Copy FOLDER to every host, or keep it on a file system that the hosts share.
    Anyone who can read the key can join the cluster, so the command makes the files readable for you only.
    """
    made = make(folder, days)
    click.echo(
        f"{made.folder} holds certificates for {days} days. Use them on every host:\n\n"
        f"  dask scheduler {made.options()}\n"
        f"  bfsbench worker dask://HOST:8786 --tls {made.folder}\n"
        f"  bfsbench run --cluster dask://HOST:8786 --tls {made.folder} ..."
    )
