"""Writes the files of a new entry, which works and which the user can then change."""

from pathlib import Path

from bfsbench.entries.declaration import KINDS
from bfsbench.programs.declared import is_name
from bfsbench.support import storage
from bfsbench.support.errors import UsageError

_SKELETONS = Path(__file__).parent / "skeletons"
_HEADER = _SKELETONS / "entry.h"
"""The header that commands in C, C++ and CUDA include."""
_NAME = "NAME"


def new(name: str, kind: str, parent: Path, device: str = "cpu") -> list[Path]:
    """Write the files of a new entry into the folder ``parent``/``name``. Returns their paths, the TOML file
    first.

    Raises UsageError for an invalid name, for an existing folder, and for a library on a GPU.
    """
    if not is_name(name):
        raise UsageError(
            f"'{name}' is not a valid name: use lower-case letters, digits and _, and begin with a letter"
        )
    if kind not in KINDS:
        raise UsageError(f"there is no kind '{kind}': choose from {', '.join(KINDS)}")
    if (kind, device) == ("library", "gpu"):
        raise UsageError("a library is given arrays on the host: for a GPU choose command or python")
    skeleton = _SKELETONS / (kind if device == "cpu" else f"{kind}_{device}")
    files = sorted(skeleton.iterdir(), key=lambda file: file.suffix != ".toml")
    folder = parent / name
    if folder.exists():
        raise UsageError(f"{folder} exists: choose another name, or remove it")
    made = []
    try:
        folder.mkdir(parents=True)
        for file in [*files, *([_HEADER] if kind == "command" else [])]:
            place = folder / file.name.replace(_NAME, name)
            storage.write(place, file.read_text(encoding="utf-8").replace(_NAME, name).encode())
            made.append(place)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from error
    return made
