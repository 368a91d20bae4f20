"""Reads TOML files as objects. Error messages name the file and the key."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

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
        raise InputError(f"{where}: {str(error).replace('`$.', '`')}") from error
