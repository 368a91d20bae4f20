"""Discovery of entries: in this package, the configuration folder, and the folders of variants."""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bfsbench.entries.declaration import read
from bfsbench.entries.variant import EntryVariant, variant_of
from bfsbench.programs import Variant
from bfsbench.support.errors import InputError, UsageError

SHIPPED = Path(__file__).parent / "shipped"


def own_folder() -> Path:
    """The user's entries: ``BFSBENCH_ENTRIES``, or a folder of the configuration."""
    if override := os.environ.get("BFSBENCH_ENTRIES"):
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("bfsbench")) / "entries"


def entry_variants(folders: Iterable[Path], problems: list[str]) -> Iterator[type[EntryVariant]]:
    """The entries of the package, the user's, and those of ``folders``; a line is added to ``problems`` for
    each that cannot be read."""
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
    """TOML files in a folder, and in subfolders those with the subfolder's name."""
    return [
        *sorted(f for f in folder.glob("*.toml") if f.is_file()),
        *sorted(f for f in folder.glob("*/*.toml") if f.stem == f.parent.name and f.is_file()),
    ]


def entries_among(variants: Mapping[str, type[Variant]]) -> dict[str, type[EntryVariant]]:
    """The variants that are entries."""
    return {name: one for name, one in variants.items() if issubclass(one, EntryVariant)}


def find_entry(name: str, variants: Mapping[str, type[Variant]]) -> type[EntryVariant]:
    """The entry of that name. Raises UsageError when there is none."""
    entries = entries_among(variants)
    if name in entries:
        return entries[name]
    if name in variants:
        raise UsageError(f"{name} is a variant of this package, no entry")
    near = difflib.get_close_matches(name, entries, n=1)
    hint = f"did you mean {near[0]}?" if near else "see 'bfsbench entry list'"
    raise UsageError(f"unknown entry '{name}': {hint}")
