"""Checks the Python packages that an entry needs: whether they are installed, their versions, and how to
install them."""

import importlib.util
import re
import sys
from importlib import metadata
from pathlib import Path

from bfsbench.entries.declaration import Entry


def _parts(package: str) -> tuple[str, str, str]:
    """Split an item of an entry's ``packages``, such as ``scipy>=1.11`` or ``python-graphblas(graphblas)``.
    Returns the requirement for pip, the name of the distribution, and the name of the module."""
    requirement, _, module = package.rstrip(") ").partition("(")
    distribution = re.split(r"[<>=!~;\[]", requirement)[0].strip()
    return requirement.strip(), distribution, module or distribution.replace("-", "_")


def missing(entry: Entry) -> str:
    """Returns one line with the command that installs an entry's missing packages. Returns an empty string if
    none is missing."""
    wanted = map(_parts, entry.call.packages)
    absent = [requirement for requirement, _, module in wanted if importlib.util.find_spec(module) is None]
    if not absent:
        return ""
    have = "is" if len(absent) == 1 else "are"
    command = f"{sys.executable} -m pip install {' '.join(absent)}"
    return f"entry {entry.name}: {', '.join(absent)} {have} not installed: run '{command}'"


def versions(entry: Entry) -> list[str]:
    """Returns the packages of an entry with their installed versions, such as ``scipy 1.14.0``. A package
    that is not installed has only its name."""
    found = []
    for _, distribution, _ in map(_parts, entry.call.packages):
        try:
            found.append(f"{distribution} {metadata.version(distribution)}")
        except metadata.PackageNotFoundError:
            found.append(distribution)
    return found


def module_beside(entry: Entry) -> Path | None:
    """Returns the file of an entry's Python module if it lies beside the TOML file. Otherwise returns
    None."""
    module = entry.call.python.partition(":")[0]
    file = entry.file.parent.joinpath(*module.split(".")).with_suffix(".py")
    return file if module and file.is_file() else None


def module_file(entry: Entry) -> Path | None:
    """Find the module that has the Python function of an entry, without importing it. Returns its file.
    Returns None if the entry has no Python function, or if the module is not installed."""
    module = entry.call.python.partition(":")[0]
    if not module:
        return None
    if beside := module_beside(entry):
        return beside
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin else None
