"""The searches: one module here and one file in ``cuda_src`` each.

A module that defines a subclass of Variant with a ``name`` is found by looking into this folder, and into
those that ``BFSBENCH_VARIANTS`` names, where the ``.cu`` file lies beside the module; nothing else lists it.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from bfsbench.errors import unknown_name

if TYPE_CHECKING:
    from bfsbench.variants.base import Variant

__path__ += [folder for folder in os.environ.get("BFSBENCH_VARIANTS", "").split(os.pathsep) if folder]


@cache
def all_variants() -> dict[str, type[Variant]]:
    """Every variant by its name, in alphabetical order."""
    from bfsbench.variants.base import Variant

    found: dict[str, type[Variant]] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for item in vars(module).values():
            if not (isinstance(item, type) and issubclass(item, Variant)):
                continue
            name = vars(item).get("name")
            if name is None or item.__module__ != module.__name__:
                continue
            if name in found:
                raise ImportError(f"{module.__name__}: there is another variant called {name}")
            found[name] = item
    return dict(sorted(found.items()))


def find(name: str) -> type[Variant]:
    """The variant of that name or alias. Raises UsageError with near misses."""
    known: dict[str, type[Variant]] = {}
    for variant in all_variants().values():
        known.update(dict.fromkeys((variant.name, *variant.aliases), variant))
    if name.lower() not in known:
        raise unknown_name("variant", name, known)
    return known[name.lower()]
