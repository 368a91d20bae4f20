"""The kinds of drawings, one module each: their keys in a file, and the tables and pictures made of them. A
new kind is a module here that defines a subclass of :class:`Chart` with a ``tag``.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from bfsbench.experiments.drawings.base import Chart


def _kinds() -> tuple[type[Chart], ...]:
    found = []
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        members = vars(import_module(module.name)).values()
        found += [member for member in members if isinstance(member, type) and issubclass(member, Chart)]
    return tuple(kind for kind in dict.fromkeys(found) if kind.kind())


KINDS = _kinds()
"""The union of all drawings in ``[[drawings]]``, distinguished by ``kind``."""
