"""Reads TOML files as objects. Error messages name the file and the key."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from bfsbench.support.errors import InputError

Factor = Annotated[float, msgspec.Meta(gt=0)]
Kind = TypeVar("Kind")


class TomlTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base class of tables in TOML files. Reading a key that the class does not declare is an error."""


def read_toml(path: Path, parse_float: Callable[[str], float | str] = float) -> dict[str, Any]:
    """Returns the content of a TOML file. ``parse_float`` converts numbers with a decimal point or an
    exponent. Raises InputError if the file cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=parse_float)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: its arrays or tables are nested too deeply") from error


def converted(where: Path | str, table: Any, kind: type[Kind]) -> Kind:
    """Convert a TOML table to an object of the class ``kind``. Returns the object. Raises InputError, which
    names the key and ``where``, if the table does not fit the class."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        place = re.fullmatch(r"Invalid enum value .* - at `\$\.(.+)`", str(error))
        known = f": choose from {', '.join(map(str, _choices(kind, place[1])))}" if place else ""
        raise InputError(f"{where}: {str(error).replace('`$.', '`')}{known}") from error


def _choices(kind: Any, place: str) -> tuple[object, ...]:
    """Returns the values that a key may have. ``place`` is the path of the key, such as ``clock.covers[0]``.
    The path begins at a field of the class ``kind``."""
    for key in re.sub(r"\[[^]]*\]", "", place).split("."):
        kind = get_type_hints(kind)[key]
        while get_origin(kind) is not Literal and get_args(kind):  # a tuple, or a value or None
            kind = [one for one in get_args(kind) if one not in (type(None), ...)][-1]
    return get_args(kind)
