"""Define the commands that need graphs but no kernels: ``fetch`` and ``path``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench.child import in_child
from bfsbench.cli.options import EXISTING_FOLDER, POSITIVE, completer, measuring_option
from bfsbench.graphs.catalogue import Catalogue, Dataset
from bfsbench.graphs.load import GraphName, presence, resolve
from bfsbench.support.errors import BfsbenchError, NoPathError, UsageError
from bfsbench.support.interrupts import INTERRUPTED
from bfsbench.variants import find, find_family

if TYPE_CHECKING:
    from bfsbench.cli.progress import FetchDisplay


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=completer("datasets"))
@click.option("--all", "everything", is_flag=True, help="Fetch every graph that is not generated.")
@click.option(
    "--family",
    metavar="FAMILY",
    shell_complete=completer("families"),
    help="Fetch every graph of a family, such as road or social.",
)
@click.option(
    "--from",
    "folder",
    type=EXISTING_FOLDER,
    metavar="FOLDER",
    help="Copy the files from a folder, packed in any format, instead of downloading them.",
)
@click.option(
    "--list", "show", is_flag=True, help="Show the graphs of the catalogue, and which have been fetched."
)
@click.option("--jobs", default=2, type=click.IntRange(1, 16), help="Number of downloads at the same time.")
@click.option("--no-convert", is_flag=True, help="Only fetch the files; convert them when they are used.")
@click.option("--insecure", is_flag=True, help="Accept files over plain HTTP even if no checksum is known.")
@click.option(
    "--accept-changed",
    is_flag=True,
    help="Accept files that have changed since they were first downloaded, and record their checksums.",
)
@click.option(
    "--timeout",
    default=60.0,
    type=POSITIVE,
    metavar="S",
    help="Seconds without data after which a connection is retried.",
)
def fetch_command(
    names: tuple[str, ...],
    everything: bool,
    family: str | None,
    folder: Path | None,
    show: bool,
    jobs: int,
    no_convert: bool,
    insecure: bool,
    accept_changed: bool,
    timeout: float,
) -> None:
    """Download graphs by name, verify them by their published checksums and sizes, and convert them.

    NAME may also be a file, or a generator such as 'kronecker(scale=22)', with options after a colon. A file
    is converted and a generator is run now, so that a sweep need not do this. An interrupted download
    continues where it stopped when the command is run again. If no checksum is published, the checksum of the
    first download is recorded, and later downloads must match it. If one graph fails, the other graphs are
    still fetched, and the exit code is 1. With an unknown name, nothing is fetched, and the exit code is 2.
    """
    catalogue = Catalogue.load()
    requests = [resolve(name) for name in names if name not in catalogue]
    chosen = [catalogue.get(name) for name in names if name in catalogue]
    chosen += [request.dataset for request in requests if request.dataset and request.needs_file]
    if family is not None:
        chosen += catalogue.of_kind(family)
    if everything:
        chosen += [dataset for dataset in catalogue if not dataset.generated]
    datasets = list({dataset.name: dataset for dataset in chosen}.values())
    if show:
        _list(datasets or list(catalogue))
        return
    if not datasets and not requests:
        raise UsageError("name the graphs to fetch, or give --family or --all; --list shows them")

    from bfsbench.cli.progress import FetchDisplay
    from bfsbench.graphs.fetch import Fetcher, Patience, Transfer

    transfer = Transfer(Patience(connect_timeout=min(timeout, 15.0), read_timeout=timeout))
    with FetchDisplay() as display:
        fetcher = Fetcher(
            display,
            transfer,
            folder,
            convert=not no_convert,
            insecure=insecure,
            accept_changed=accept_changed,
            jobs=jobs,
        )
        try:
            failed = [dataset.name for dataset in fetcher.fetch_all(datasets)]
            failed += [] if no_convert else [one.name for one in requests if not _prepared(one, display)]
        except KeyboardInterrupt:
            click.echo("bfsbench: interrupted: the command continues when it is run again", err=True)
            raise SystemExit(INTERRUPTED) from None
    if failed:
        total = len(datasets) + len(requests)
        click.echo(f"bfsbench: {len(failed)} of {total} failed: {', '.join(failed)}", err=True)
        raise SystemExit(1)


def _prepared(request: GraphName, display: FetchDisplay) -> bool:
    """Load a graph, so that it is in the cache afterwards. Returns whether this succeeded. An error is
    displayed."""
    from bfsbench.cli.progress import load_with_progress

    try:
        graph = load_with_progress(request)
    except BfsbenchError as error:
        display.finish(request.full_name, str(error), failed=True)
        return False
    ready = f"ready; {graph.num_vertices:,} vertices, {graph.num_edges:,} arcs"
    display.finish(request.full_name, ready, failed=False)
    return True


def _list(datasets: list[Dataset]) -> None:
    from tabulate import tabulate

    rows = []
    for dataset in datasets:
        here = presence(dataset)
        counts = (f"{count:,}" if count is not None else "" for count in dataset.counts(here.source))
        size = f"{here.bytes_on_disk / 1e6:,.1f} MB" if here.bytes_on_disk else ""
        rows.append([dataset.name, dataset.kind, *counts, size, here.state])
    headers = ["name", "family", "vertices", "edges", "on disk", "state"]
    align = ("left", "left", "right", "right", "right", "left")
    click.echo(tabulate(rows, headers, disable_numparse=True, colalign=align))


@click.command()
@click.option(
    "--dataset",
    shell_complete=completer("datasets"),
    required=True,
    metavar="NAME",
    help="A name, a file or a generator, as for 'run'.",
)
@click.option("--source", required=True, metavar="ID", help="Vertex at which the path begins.")
@click.option("--target", required=True, metavar="ID", help="Vertex at which the path ends.")
@click.option(
    "--variant",
    shell_complete=completer("variants"),
    default="cpu_queue",
    metavar="NAME",
    help="Variant that finds the path: a search, or all-pairs shortest paths.",
)
@measuring_option("backend", "Where the variant's kernels run.")
def path_command(dataset: str, source: str, target: str, variant: str, backend: str) -> None:
    """Print the vertices of a shortest path from --source to --target, one per line.

    The options and the output name vertices as in the graph's file, by id or name. ('run --source' instead
    counts vertices from 0.) The length of a path is its number of arcs for a breadth-first search, and the
    sum of its arcs' weights for all-pairs shortest paths. The result is checked. If there is no path, the
    exit code is 1.
    """
    from bfsbench import api
    from bfsbench.cli.progress import load_with_progress

    graph = load_with_progress(resolve(dataset))
    start, end = graph.vertex(source), graph.vertex(target)
    family = find_family(find(variant).family)
    asked = start if family.from_sources else None
    links = in_child(lambda _step: api.solve(graph, variant, asked, backend=backend, paths=True).links)
    try:
        found = family.path(links, start, end)
    except NoPathError:
        raise NoPathError(f"there is no path from {source} to {target} in {graph.full_name}") from None
    for vertex in graph.published_ids(found):
        click.echo(vertex)
