"""Finds entries (programs of other authors), and writes the files of new entries.

Entries lie in this package, in the user's own folder (see ``own_folder``), and in the folders that the
environment variable ``BFSBENCH_VARIANTS`` names.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bfsbench.entries.declaration import read
from bfsbench.entries.variant import EntryVariant, variant_of
from bfsbench.programs import Variant
from bfsbench.programs.declared import is_name
from bfsbench.support import storage
from bfsbench.support.errors import InputError, UsageError, unknown_name

SHIPPED = Path(__file__).parent / "shipped"
SKELETONS = Path(__file__).parent / "skeletons"
"""The folder with the files of new entries, in a subfolder for each kind of entry. ``NAME`` stands for the
name of the entry."""


def own_folder() -> Path:
    """Returns the folder of the user's own entries. The environment variable ``BFSBENCH_ENTRIES`` names it.
    If the variable is not set, it is the folder ``entries`` in the user's configuration folder."""
    if override := os.environ.get("BFSBENCH_ENTRIES"):
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("bfsbench")) / "entries"


def entry_variants(folders: Iterable[Path], problems: list[str]) -> Iterator[type[EntryVariant]]:
    """Yields one variant class for each entry. An instance of the class runs the entry. The entries are this
    package's entries, the user's entries, and the entries in ``folders``. If an entry cannot be read, appends
    a message to ``problems``."""
    places = dict.fromkeys((SHIPPED, own_folder().resolve(), *folders))
    for file in dict.fromkeys(file.resolve() for folder in places for file in declarations_in(folder)):
        try:
            entry = read(file)
        except InputError as error:
            problems.append(str(error))
            continue
        if entry is not None:
            yield variant_of(entry)


def declarations_in(folder: Path) -> list[Path]:
    """Returns the paths of the TOML files in a folder, and of ``NAME/NAME.toml`` in its subfolders."""
    return [
        *sorted(f for f in folder.glob("*.toml") if f.is_file()),
        *sorted(f for f in folder.glob("*/*.toml") if f.stem == f.parent.name and f.is_file()),
    ]


def entries_among(variants: Mapping[str, type[Variant]]) -> dict[str, type[EntryVariant]]:
    """Returns the variants in ``variants`` that are entries (programs of other authors)."""
    return {name: one for name, one in variants.items() if issubclass(one, EntryVariant)}


def find_entry(name: str, variants: Mapping[str, type[Variant]]) -> type[EntryVariant]:
    """Returns the entry with a given name. Raises UsageError if there is none."""
    entries = entries_among(variants)
    if name in entries:
        return entries[name]
    if name in variants:
        raise UsageError(f"{name} is a variant of this package, not an entry")
    raise unknown_name("entry", name, entries, "bfsbench entry list")


def new(name: str, kind: str, parent: Path, device: str = "cpu") -> list[Path]:
    """Write the files of a new entry into the folder ``parent``/``name``. The entry is a working example that
    the user can change. Returns the paths of the files, the TOML file first.

    ``kind`` is one of ``KINDS``, and ``device`` is ``cpu`` or ``gpu``. Raises UsageError if the name is
    invalid, or if the folder exists or cannot be written. Also raises UsageError for a library on a GPU,
    because bfsbench passes only host arrays to a library.
    """
    if not is_name(name):
        raise UsageError(
            f"'{name}' is not a valid name: use lower-case letters, digits and _, and begin with a letter"
        )
    if (kind, device) == ("library", "gpu"):
        raise UsageError("a library is given arrays on the host: for a GPU choose command or python")
    folder = parent / name
    if folder.exists():
        raise UsageError(f"{folder} exists: choose another name, or remove it")
    skeleton = SKELETONS / (kind if device == "cpu" else f"{kind}_{device}")
    files = sorted(skeleton.iterdir(), key=lambda file: file.suffix != ".toml")
    if kind == "command":
        files.append(SKELETONS / "entry.h")
    made = [folder / file.name.replace("NAME", name) for file in files]
    try:
        folder.mkdir(parents=True)
        for file, place in zip(files, made, strict=True):
            storage.write(place, file.read_text(encoding="utf-8").replace("NAME", name).encode())
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from error
    return made
