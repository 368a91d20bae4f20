"""Finds all variants. A variant is an algorithm that bfsbench can run.

A module of this folder declares a variant by a subclass of Variant that has a ``name``. The environment
variable ``BFSBENCH_VARIANTS`` lists further folders, in which the ``.cu`` file of a variant lies beside its
module. These folders may also contain families (problems on graphs). They may contain entries too: programs
of other authors, each declared in a TOML file (:mod:`bfsbench.entries`).
"""

import importlib
import os
import pkgutil
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from bfsbench.entries.find import declarations_in, entry_variants
from bfsbench.entries.packages import module_beside
from bfsbench.entries.variant import EntryVariant
from bfsbench.programs import Variant
from bfsbench.programs.declared import NEEDED, fault_of_names, fault_of_values
from bfsbench.programs.families import families_here, families_of
from bfsbench.programs.families.base import Family
from bfsbench.support.errors import UsageError, unknown_name

__path__ += [folder for folder in os.environ.get("BFSBENCH_VARIANTS", "").split(os.pathsep) if folder]


@dataclass(frozen=True)
class Discovered:
    """Holds the variants and families that were found in the folders of variants."""

    variants: Mapping[str, type[Variant]]
    """The variant classes by name, in alphabetical order."""
    families: Mapping[str, Family]
    """The families by name. The families that come with bfsbench are first."""
    problems: tuple[str, ...]
    """Error messages, one for each folder, module, entry, family or variant that could not be used."""


def all_variants() -> dict[str, type[Variant]]:
    """Returns all variant classes that can be used, by name, in alphabetical order."""
    return dict(look().variants)


def require_all() -> None:
    """Raise UsageError if a folder of variants, or anything that it declares, cannot be used. The error
    reports only the first problem."""
    if problems := look().problems:
        raise UsageError(problems[0])


def every_variant() -> list[type[Variant]]:
    """Returns all variant classes, in alphabetical order. Raises UsageError as ``require_all`` does."""
    require_all()
    return [*all_variants().values()]


def all_families() -> dict[str, Family]:
    """Returns a dictionary from name to family. It contains a user's family if the family's module could be
    loaded, and if no other family has the same name."""
    return dict(look().families)


def add_folder(folder: Path) -> list[type[Variant]]:
    """Add a folder of variants, as if the environment variable ``BFSBENCH_VARIANTS`` listed it. Returns the
    variant classes that the folder declares.

    Raises UsageError if a module of any folder of variants is broken, or if ``folder`` declares no variant.
    """
    place = folder.resolve()
    if str(place) not in __path__:
        __path__.append(str(place))
        look.cache_clear()
    modules = {f"{__name__}.{info.name}" for info in pkgutil.iter_modules([str(place)])}
    files = {file.resolve() for file in declarations_in(place)}
    require_all()
    declared = [
        variant
        for variant in all_variants().values()
        if variant.__module__ in modules
        or (issubclass(variant, EntryVariant) and variant.entry.file in files)
    ]
    if not declared:
        raise UsageError(f"{folder} declares no variant: a NAME.py beside NAME.cu does")
    return declared


@cache
def look() -> Discovered:
    """Import the modules of all folders of variants. Returns the variants and families that they declare. If
    a module is broken, its error is added to ``problems`` of the result, and the other modules are still
    loaded."""
    families = dict(families_here())
    declared: list[type[Variant]] = []
    problems: list[str] = []
    entries = [*entry_variants((Path(folder).resolve() for folder in __path__), problems)]
    for module in _modules({module_beside(one.entry) for one in entries}, problems):
        for family in families_of(module):
            if family.name in families:
                problems.append(
                    f"family {family.name} ({_file(module.__name__)}): another family has this name"
                )
            families.setdefault(family.name, family)
        declared += [
            item
            for item in vars(module).values()
            if isinstance(item, type)
            and issubclass(item, Variant)
            and "name" in vars(item)
            and item.__module__ == module.__name__
        ]
    declared += entries
    variants: dict[str, type[Variant]] = {}
    for variant in declared:
        try:
            _check(variant, variants, families)
            variants[variant.name] = variant
        except UsageError as error:
            problems.append(str(error))
    return Discovered(dict(sorted(variants.items())), families, tuple(problems))


def _modules(others: Container[Path | None], problems: list[str]) -> Iterator[ModuleType]:
    """Import the modules in all folders of variants, and yield them. Files in ``others`` are left out,
    because they belong to entries, which run in separate processes. If a module cannot be imported, a message
    is appended to ``problems``."""
    modules: dict[str, Path] = {}
    for folder in dict.fromkeys(Path(entry).resolve() for entry in __path__):
        if not folder.is_dir():
            problems.append(f"BFSBENCH_VARIANTS names {folder}, which is not a folder")
        for info in pkgutil.iter_modules([str(folder)]):
            file = folder / (f"{info.name}/__init__.py" if info.ispkg else f"{info.name}.py")
            if not file.is_file() or file in others:
                continue  # skip compiled extension modules, and modules of entries
            if info.name in modules:
                problems.append(f"{file} is called like {modules[info.name]}: rename it")
                continue
            modules[info.name] = file
            try:
                yield _imported(info.name, file)
            except UsageError as error:
                problems.append(str(error))


def _imported(name: str, file: Path) -> ModuleType:
    """Import the module ``name`` of a variant from ``file``. Returns the module. If the import raises any
    exception, this function raises UsageError with a one-line message instead."""
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except (Exception, SystemExit) as error:  # a user's module may raise any exception
        trace = extract_tb(error.__traceback__)
        lines = [at.lineno for at in trace if Path(at.filename).resolve() == file]
        line = f", line {lines[-1]}" if lines else ""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"cannot load variant module {file}{line}: {reason}") from error


def _file(module: str) -> str:
    return f"{module.rpartition('.')[2]}.py"


def _check(
    variant: type[Variant], others: Mapping[str, type[Variant]], families: Mapping[str, Family]
) -> None:
    """Check the declaration of a variant. Raises UsageError, which names the module and the attribute, if the
    declaration is incomplete or wrong."""
    file = variant.entry.file.name if issubclass(variant, EntryVariant) else _file(variant.__module__)
    if fault := fault_of_names(variant):
        raise UsageError(f"variant class {variant.__name__} ({file}): {fault}")
    where = f"variant {variant.name} ({file})"
    for attribute in NEEDED:
        if not getattr(variant, attribute, None):
            raise UsageError(f"{where} does not declare '{attribute}'")
    if fault := fault_of_values(variant):
        raise UsageError(f"{where}: {fault}")
    if variant.__abstractmethods__:
        raise UsageError(f"{where} does not define {', '.join(sorted(variant.__abstractmethods__))}")
    if variant.family not in families:
        raise UsageError(f"{where}: there is no family '{variant.family}'")
    taken = {name for other in others.values() for name in (other.name, *other.aliases)}
    for name in (variant.name, *variant.aliases):
        if name in taken:
            raise UsageError(f"{where}: another variant has the name '{name}'")


def with_aliases(name: str) -> str:
    """Returns a variant's name followed by its aliases, as in ``frontier_numbers (push)``. If ``name`` is not
    a variant, or if the variant has no aliases, the text is returned unchanged."""
    variant = look().variants.get(name)
    return f"{name} ({', '.join(variant.aliases)})" if variant and variant.aliases else name


def find(name: str) -> type[Variant]:
    """Returns the variant with a given name or alias, in upper or lower case. Raises UsageError if there is
    none. The message suggests similar names. If a variant of the user is broken, the message names its fault
    instead. Raises UsageError also if ``name`` is not a string."""
    if not isinstance(name, str):
        raise UsageError(f"a variant is one name, not {name!r}")
    known: dict[str, type[Variant]] = {}
    for variant in all_variants().values():
        known.update(dict.fromkeys((variant.name, *variant.aliases), variant))
    if name.lower() not in known:
        require_all()  # a variant that cannot be used may have the name
        raise unknown_name("variant", name, known)
    return known[name.lower()]


def find_family(name: str) -> Family:
    """Returns the family with a given name. Raises UsageError if there is none."""
    known = all_families()
    if name not in known:
        names = ", ".join(known)
        raise UsageError(f"unknown family '{name}': there are {names}")
    return known[name]


def family_of(variants: Sequence[type[Variant]]) -> Family:
    """Returns the one family to which all given variants belong. Raises UsageError if they belong to
    different families, or if there are no variants."""
    names = dict.fromkeys(variant.family for variant in variants)
    if len(names) != 1:
        examples = [next(variant.name for variant in variants if variant.family == name) for name in names]
        raise UsageError(f"one run takes variants of one family, not {' and '.join(examples)}")
    return find_family(next(iter(names)))
