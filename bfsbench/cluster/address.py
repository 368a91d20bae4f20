"""Where the workers of a sweep are: ``local[:N]``, ``dask://HOST:PORT`` or ``slurm[:FILE]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bfsbench.errors import UsageError


@dataclass(frozen=True)
class Local:
    """Workers on this machine: ``count`` of them, None for one a GPU."""

    count: int | None = None


@dataclass(frozen=True)
class Running:
    """A Dask scheduler that runs already, with its workers."""

    address: str
    """As Dask writes it: ``tcp://HOST:PORT``."""


@dataclass(frozen=True)
class Slurm:
    """Workers that are Slurm jobs, one GPU each; ``settings`` are read from the user's Dask configuration
    where there is no file."""

    settings: Path | None = None


Place = Local | Running | Slurm


def parse(text: str) -> Place:
    """Raises UsageError for anything but the three forms."""
    kind, colon, rest = text.partition(":")
    if kind == "local" and not colon:
        return Local()
    if kind == "local" and re.fullmatch(r"[1-9]\d{0,3}", rest, re.ASCII):
        return Local(int(rest))
    if kind == "dask":
        return Running(scheduler_address(text))
    if kind == "slurm" and not colon:
        return Slurm()
    if kind == "slurm" and rest:
        return Slurm(Path(rest))
    raise UsageError(f"--cluster: '{text}' is not local[:N], dask://HOST:PORT or slurm[:FILE]")


def scheduler_address(text: str) -> str:
    """``dask://HOST:PORT``, or ``tcp://`` as Dask prints it, in Dask's spelling. Raises UsageError."""
    match = re.fullmatch(r"(?:dask|tcp)://([^/\s]+):(\d{1,5})", text, re.ASCII)
    if match is None or not 0 < int(match[2]) < 2**16:
        raise UsageError(f"'{text}' is not the address of a scheduler: write dask://HOST:PORT")
    return f"tcp://{match[1]}:{match[2]}"
