"""Return properties of this computer: processor, cores and memory."""

import os
import platform
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")


@cache
def cpu_model() -> str:
    """Return the name of the processor that the operating system reports."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # Not Linux.
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Return the number of cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int | None:
    """Return the bytes that this process can allocate before the machine swaps or the process is killed.

    It is the least of three numbers, or None if all are unknown:

    - the system's available memory, without swap
    - the room below the limits of the process's control groups (versions 1 and 2) and of their parents
    - the room below ``ulimit -v``
    """
    found = [*_system(), *_cgroup_room(), *_address_space()]
    return max(0, min(found)) if found else None


def _system() -> Iterator[int]:
    kilobytes = _fields(_PROC / "meminfo").get("MemAvailable:")
    if kilobytes is not None:
        yield kilobytes * 1024


def _cgroup_room() -> Iterator[int]:
    """Yield the limit minus the use, in bytes, for each control group of the process and their parents.

    A group's use includes file pages that the system can drop. They count as free here.
    """
    try:
        lines = (_PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
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
                yield limit - used + _fields(folder / "memory.stat").get(names[2], 0)
            if folder == root:
                break


def _address_space() -> Iterator[int]:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _number(_PROC / "self" / "statm")
    if limit != resource.RLIM_INFINITY and pages is not None:
        yield limit - pages * resource.getpagesize()


def _number(path: Path) -> int | None:
    """Return the number at the beginning of a file.

    Returns None if there is no file or no number, as for ``max``.
    """
    try:
        return int(path.read_text(encoding="utf-8").split(None, 1)[0])
    except (OSError, ValueError, IndexError):
        return None


def _fields(path: Path) -> dict[str, int]:
    """Return the lines ``name number`` of a file as a dictionary; empty if it cannot be read."""
    try:
        lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}
