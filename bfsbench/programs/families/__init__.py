"""Finds the families that come with bfsbench. A family is a problem on a graph, with a reference algorithm
and a check of results.

All other code, from planning the measurements to writing result rows, is common to all families. A module or
package of this folder declares a family by a subclass of Family. Families need not be listed anywhere else.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from bfsbench.programs.families.base import Family

DEFAULT = "bfs"
"""The name of the family that commands use if the user names none."""


@cache
def families_here() -> dict[str, Family]:
    """Returns the families that come with bfsbench, by name. The default family is first."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    found = {family.name: family for module in modules for family in families_of(module)}
    return dict(sorted(found.items(), key=lambda item: (item[0] != DEFAULT, item[0])))


def families_of(module: ModuleType) -> Iterator[Family]:
    """Yields one instance of each family that a module or a package declares."""
    for item in vars(module).values():
        declared = isinstance(item, type) and issubclass(item, Family) and "name" in vars(item)
        if declared and f"{item.__module__}.".startswith(f"{module.__name__}."):
            yield item()
