"""The searches: one module here and one file in ``cuda_src`` each.

A module that defines a subclass of Variant with a ``name`` is found by looking into this folder, and into
those that ``BFSBENCH_VARIANTS`` names, where the ``.cu`` file lies beside the module; nothing else lists it.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from bfsbench.variants.base import Variant

__path__ += [folder for folder in os.environ.get("BFSBENCH_VARIANTS", "").split(os.pathsep) if folder]


@cache
def all_variants() -> dict[str, type[Variant]]:
    """Every variant by its name, in alphabetical order. Raises UsageError for a broken module of a user's."""
    for folder in __path__:
        if not Path(folder).is_dir():
            raise UsageError(f"BFSBENCH_VARIANTS names {folder}, which is not a folder")
    from bfsbench.variants.base import Variant

    found: dict[str, type[Variant]] = {}
    for info in pkgutil.iter_modules(__path__):
        try:
            module = importlib.import_module(f"{__name__}.{info.name}")
        except (SyntaxError, ImportError) as error:
            raise UsageError(f"cannot load variant module {info.name}.py: {error}") from error
        for item in vars(module).values():
            if not (isinstance(item, type) and issubclass(item, Variant)):
                continue
            name = vars(item).get("name")
            if name is None or item.__module__ != module.__name__:
                continue
            _check(item, info.name, found)
            found[name] = item
    return dict(sorted(found.items()))


def _check(variant: type[Variant], module: str, others: Mapping[str, object]) -> None:
    """Raises UsageError, naming module and attribute, for a declaration that says too little."""
    where = f"variant {variant.name} ({module}.py)"
    for attribute in ("summary", "origin", "layout", "frontier", "parallel_unit", "work"):
        if not getattr(variant, attribute, None):
            raise UsageError(f"{where} does not declare '{attribute}'")
    if variant.__abstractmethods__:
        raise UsageError(f"{where} does not define {', '.join(sorted(variant.__abstractmethods__))}")
    if variant.name in others:
        raise UsageError(f"{where}: there is another of that name")


def find(name: str) -> type[Variant]:
    """The variant of that name or alias. Raises UsageError with near misses."""
    known: dict[str, type[Variant]] = {}
    for variant in all_variants().values():
        known.update(dict.fromkeys((variant.name, *variant.aliases), variant))
    if name.lower() not in known:
        raise unknown_name("variant", name, known)
    return known[name.lower()]
