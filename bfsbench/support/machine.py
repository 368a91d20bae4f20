"""Reads properties of this computer: processor, cores and memory."""

import os
import platform
import re
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")


@cache
def cpu_model() -> str:
    """Returns the name of the processor that the operating system reports."""
    found = re.search(r"^model name\s*:(.*)", _text(Path("/proc/cpuinfo")), re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def usable_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def available_memory() -> int | None:
    """Returns the number of bytes that this process can allocate before the machine swaps or the process is
    killed.

    The result is the minimum of these numbers, or None if all are unknown:

    - the memory that the system reports as available, without swap
    - the room below the memory limits of the process's control groups (versions 1 and 2), and of their
      parents
    - the room below ``ulimit -v``
    """
    found = [*_cgroup_room()]
    if "MemAvailable:" in (system := number_fields(_PROC / "meminfo")):
        found.append(system["MemAvailable:"] * 1024)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _number(_PROC / "self" / "statm")
    if limit != resource.RLIM_INFINITY and pages is not None:
        found.append(limit - pages * resource.getpagesize())
    return max(0, min(found)) if found else None


def number_fields(path: Path) -> dict[str, int]:
    """Parse a file whose lines have the form ``name number``. Returns the numbers by name. The result is
    empty if the file cannot be read."""
    lines = [line.split() for line in _text(path).splitlines()]
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}


def _cgroup_room() -> Iterator[int]:
    """Yields how many bytes the process may still allocate, as one number for each memory limit. The limits
    are those of the process's control groups, and of the parents of these groups. File pages that the system
    can drop are counted as free, although the system reports them as used."""
    for line in _text(_PROC / "self" / "cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            root, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = _CGROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            limit, used = _number(folder / names[0]), _number(folder / names[1])
            if limit is not None and used is not None:
                yield limit - used + number_fields(folder / "memory.stat").get(names[2], 0)
            if folder == root:
                break


def _number(path: Path) -> int | None:
    """Returns the number at the beginning of a file. Returns None if the file does not exist, or if it does
    not begin with a number. For example, the file of a memory limit may contain the word ``max``."""
    words = _text(path).split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else None


def _text(path: Path) -> str:
    """Returns the text of a file, or an empty string if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
