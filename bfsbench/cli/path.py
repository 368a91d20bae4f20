"""Define the command ``bfsbench path``, which prints a shortest path."""

import click

from bfsbench.cli import completion
from bfsbench.cli.options import measuring_option


@click.command(short_help="Print a shortest path between two vertices.")
@click.option(
    "--dataset",
    shell_complete=completion.datasets,
    required=True,
    metavar="NAME",
    help="A name, a file or a generator, as for 'run'.",
)
@click.option("--source", required=True, metavar="ID", help="Where the path begins.")
@click.option("--target", required=True, metavar="ID", help="Where the path ends.")
@click.option(
    "--variant",
    shell_complete=completion.variants,
    default="cpu_queue",
    show_default=True,
    metavar="NAME",
    help="The search, or variant of all-pairs shortest paths, that finds the path.",
)
@measuring_option("backend", "Where the variant's kernels run.")
def command(dataset: str, source: str, target: str, variant: str, backend: str) -> None:
    """Print the vertices of a shortest path from --source to --target, one per line.

    Vertices have the ids or names of the graph's file, in the options and in the output. 'run --source'
    counts them from 0 instead. The length of a path is its number of arcs for a breadth-first search, and the
    sum of their weights for all-pairs shortest paths. The result is checked. Without a path the exit code is
    1.
    """
    from bfsbench import api
    from bfsbench.bench.child import in_child
    from bfsbench.cli.progress import load_with_progress
    from bfsbench.graphs.load import resolve
    from bfsbench.support.errors import NoPathError
    from bfsbench.variants import find, find_family

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
