"""Shell completions: names of datasets, variants, tables and plots, also behind commas.

Each function is a ``shell_complete`` of a click parameter. A word may be a list with commas; its last name is
completed. Imports stand inside, since the parameters are declared whenever a command is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from bfsbench.backends import GPU_BACKENDS
from bfsbench.errors import UsageError


def datasets(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the catalogue; none when the user's own catalogue is broken."""
    from bfsbench.graphs.catalogue import Catalogue

    try:
        return _last_of_list(incomplete, Catalogue.load().names())
    except UsageError:
        return []


def families(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Families of the catalogue; none when the user's own catalogue is broken."""
    from bfsbench.graphs.catalogue import Catalogue

    try:
        return _last_of_list(incomplete, Catalogue.load().families())
    except UsageError:
        return []


def variants(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the variants that can be loaded."""
    from bfsbench.variants import look

    return _last_of_list(incomplete, look().variants)


def variants_or_all(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of the variants, and ``all``."""
    from bfsbench.variants import look

    return _last_of_list(incomplete, ["all", *look().variants])


def experiments(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the experiments that travel with the package, and of what has rules of its own."""
    from bfsbench import graph500
    from bfsbench.experiments import bundled

    names = [*bundled(), graph500.NAME]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def tables(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the tables of a report."""
    from bfsbench.report import TABLES

    return _last_of_list(incomplete, TABLES)


def tables_of_comparison(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of the tables of a comparison."""
    from bfsbench.compare.tables import TABLES

    return _last_of_list(incomplete, TABLES)


def plots(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds of pictures of a report."""
    from bfsbench.report.plots import PLOTS

    return _last_of_list(incomplete, PLOTS)


def backends(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What the backend column of a result file may hold."""
    return _last_of_list(incomplete, (*GPU_BACKENDS, "host", "cpu"))


def _last_of_list(word: str, names: Iterable[str]) -> list[CompletionItem]:
    """Completions of the last name in a list with commas, by names that it does not hold yet."""
    *before, last = word.split(",")
    head = "".join(f"{name}," for name in before)
    return [
        CompletionItem(head + name)
        for name in names
        if name.lower().startswith(last.lower()) and name not in before
    ]
