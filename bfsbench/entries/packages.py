"""Checks the Python packages that entries need: whether they are installed, their versions, and how to
install them."""

import importlib.util
import re
import sys
from importlib import metadata
from pathlib import Path

from bfsbench.entries.declaration import Entry


def _parts(package: str) -> tuple[str, str]:
    """Returns the names of distribution and module, from a text such as ``python-igraph`` or
    ``python-graphblas(graphblas)``."""
    found = re.fullmatch(r"([^()]+)(?:\((.+)\))?", package)
    distribution = found[1].strip() if found else package
    return distribution, (found and found[2]) or re.split(r"[<>=!~;\[]", distribution)[0].replace("-", "_")


def missing(entry: Entry) -> str:
    """Returns one line with the command that installs the missing packages of an entry. Returns an empty
    string if none is missing."""
    wanted = [_parts(package) for package in entry.call.packages]
    absent = [distribution for distribution, module in wanted if importlib.util.find_spec(module) is None]
    if not absent:
        return ""
    have = "is" if len(absent) == 1 else "are"
    command = f"{sys.executable} -m pip install {' '.join(absent)}"
    return f"entry {entry.name}: {', '.join(absent)} {have} not installed: run '{command}'"


def versions(entry: Entry) -> list[str]:
    """Returns the packages of an entry with their installed versions, each as ``scipy 1.14.0``. A package
    that is not installed has no version."""
    found = []
    for package in entry.call.packages:
        distribution = re.split(r"[<>=!~;\[]", _parts(package)[0])[0]
        try:
            found.append(f"{distribution} {metadata.version(distribution)}")
        except metadata.PackageNotFoundError:
            found.append(distribution)
    return found


def module_beside(entry: Entry) -> Path | None:
    """Returns the file of an entry's Python module if it lies beside the TOML file, else None."""
    module = entry.call.python.partition(":")[0]
    file = entry.file.parent.joinpath(*module.split(".")).with_suffix(".py")
    return file if module and file.is_file() else None


def module_file(entry: Entry) -> Path | None:
    """Returns the file of the module with an entry's Python function, without importing it. Returns None if
    the entry has no Python function, or if the module is not installed."""
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
