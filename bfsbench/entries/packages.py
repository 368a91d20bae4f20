"""Python packages that entries need: whether they are installed, their version, and how to install them."""

import importlib.util
import re
import sys
from importlib import metadata
from pathlib import Path

from bfsbench.entries.declaration import Entry


def _parts(package: str) -> tuple[str, str]:
    """Distribution and module of ``python-igraph`` or ``python-graphblas(graphblas)``."""
    found = re.fullmatch(r"([^()]+)(?:\((.+)\))?", package)
    distribution = found[1].strip() if found else package
    return distribution, (found and found[2]) or re.split(r"[<>=!~;\[]", distribution)[0].replace("-", "_")


def missing(entry: Entry) -> str:
    """The command that installs the missing packages, in one line; empty if there are none."""
    wanted = [_parts(package) for package in entry.call.packages]
    absent = [distribution for distribution, module in wanted if importlib.util.find_spec(module) is None]
    if not absent:
        return ""
    have = "is" if len(absent) == 1 else "are"
    command = f"{sys.executable} -m pip install {' '.join(absent)}"
    return f"entry {entry.name}: {', '.join(absent)} {have} not installed: run '{command}'"


def versions(entry: Entry) -> list[str]:
    """The installed versions of its packages, each as ``scipy 1.14.0``."""
    found = []
    for package in entry.call.packages:
        distribution = re.split(r"[<>=!~;\[]", _parts(package)[0])[0]
        try:
            found.append(f"{distribution} {metadata.version(distribution)}")
        except metadata.PackageNotFoundError:
            found.append(distribution)
    return found


def module_beside(entry: Entry) -> Path | None:
    """The module beside the TOML file that an entry's Python function is in."""
    module = entry.call.python.partition(":")[0]
    file = entry.file.parent.joinpath(*module.split(".")).with_suffix(".py")
    return file if module and file.is_file() else None


def module_file(entry: Entry) -> Path | None:
    """The file of the module that an entry's Python function is in, without importing it."""
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
