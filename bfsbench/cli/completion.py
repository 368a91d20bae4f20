"""Complete names of datasets, variants, tables and plots in the shell, also after commas.

Each completer is a ``shell_complete`` of a click parameter. A word may be a list with commas, whose last name
is completed.
"""

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from bfsbench.support.errors import UsageError

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _names(module: str, known: Callable[[Any], Iterable[str]]) -> Completer:
    """Return a completer for the last name of a list with commas. It proposes names that the list does not
    hold yet.

    ``known`` returns the names of a module, which is imported at the first completion. If the user's own
    catalogue is broken, no names are proposed.
    """

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


datasets = _names("graphs.catalogue", lambda at: at.Catalogue.load().names())
families = _names("graphs.catalogue", lambda at: at.Catalogue.load().kinds())
variants = _names("variants", lambda at: at.look().variants)
variants_or_all = _names("variants", lambda at: ["all", *at.look().variants])
experiments = _names("experiments", lambda at: [*at.bundled(), "graph500"])
tables = _names("reports", lambda at: at.TABLES)
tables_of_comparison = _names("reports.comparison.tables", lambda at: at.TABLES)
plots = _names("reports.plots", lambda at: at.PLOTS)
backends = _names("backends", lambda at: (*at.GPU_BACKENDS, "host", "cpu"))
"""Completes the values that the column ``backend`` of a result file may hold."""
