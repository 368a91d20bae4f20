"""Packages that can be called like the function which does what they are for: ``bfsbench.report(rows)``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType


def make_callable(package: str, function: Callable[..., object]) -> None:
    """Let a call of the package be one of ``function``; its modules are imported as ever."""
    module = sys.modules[package]
    module.__class__ = type("CallablePackage", (ModuleType,), {"__call__": staticmethod(function)})
