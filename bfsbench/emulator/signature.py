"""A kernel's parameters, read from its own declaration, and the arguments that fit them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfsbench.emulator.source_text import split_at_commas
from bfsbench.emulator.structs import CType, Struct
from bfsbench.errors import LaunchError

Argument = Any
"""A kernel's argument: a buffer, a signal or a member of one, None, an int, a NumPy scalar, a Struct, or a
tuple of these for a struct."""


@dataclass(frozen=True)
class Parameter:
    """A parameter as declared by a kernel."""

    type: str
    """The type without qualifiers and ``std::``: ``offset_t *``."""
    name: str

    @property
    def element(self) -> str | None:
        """The type it points to; None if it is not a pointer."""
        return self.type[:-1].strip() if self.type.endswith("*") else None


_QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|__restrict__|__restrict|__grid_constant__)\b|\bstd::")
_PARAMETER = re.compile(r"(?P<type>.*?[\s*&])(?P<name>[A-Za-z_]\w*)?\s*(?P<array>\[[^\]]*\])?$", re.DOTALL)


def parameter(text: str) -> Parameter:
    """The parameter in a declaration; the name may be missing."""
    plain = " ".join(_QUALIFIERS.sub(" ", text).split())
    found = _PARAMETER.match(plain)
    if found is None or not found["type"].strip() or (found["name"] in _C_TYPES and not found["array"]):
        return Parameter(_spaced(plain), "")
    return Parameter(_spaced(found["type"] + ("*" if found["array"] else "")), found["name"] or "")


def _spaced(text: str) -> str:
    return " ".join(text.replace("*", " * ").split()).replace("* *", "**")


_C_TYPES: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(code)
    for names, code in (
        (("bool", "unsigned char", "uint8_t"), "u1"),
        (("char", "signed char", "int8_t"), "i1"),
        (("short", "int16_t"), "i2"),
        (("unsigned short", "uint16_t"), "u2"),
        (("int", "signed", "int32_t"), "i4"),
        (("unsigned", "unsigned int", "uint32_t"), "u4"),
        (("long long", "long", "int64_t", "ptrdiff_t"), "i8"),
        (("unsigned long long", "unsigned long", "uint64_t", "size_t"), "u8"),
        (("float",), "f4"),
        (("double",), "f8"),
    )
    for name in names
}


Scalars = int | tuple[str, ...]
"""The last parameters, which each launch gives: their number, or their names."""


@dataclass(frozen=True)
class Signature:
    """A kernel and its parameters, with the types that the host declares besides C++'s own."""

    file: str
    kernel: str
    parameters: Sequence[Parameter]
    types: Mapping[str, CType]

    def __str__(self) -> str:
        return f"kernel '{self.kernel}' of {self.file}"

    def arrange(
        self, positional: Sequence[Argument], named: Mapping[str, Argument], scalars: Scalars
    ) -> list[Argument]:
        """Arguments for all parameters but the last ``scalars`` ones, in their order, ints in the parameter's
        type. Raises LaunchError, in a line that names the parameter, for arguments that do not fit.
        """
        count = self._checked_scalars(scalars)
        wanted = self.parameters[: len(self.parameters) - count]
        if len(positional) > len(wanted) or (not named and len(positional) < len(wanted)):
            given = len(positional) + count
            raise LaunchError(f"{self} has {len(self.parameters)} parameters, {given} were bound")
        names = [one.name for one in wanted[len(positional) :]]
        for name in names:
            if name not in named:
                raise LaunchError(f"{self} has a parameter '{name}' that the host does not give")
        for name in named:
            if name not in names:
                raise LaunchError(f"{self} has no parameter '{name}', which the host gives")
        arguments = [*positional, *(named[name] for name in names)]
        return [self._checked(one, value) for one, value in zip(wanted, arguments, strict=True)]

    def _checked_scalars(self, scalars: Scalars) -> int:
        count = scalars if isinstance(scalars, int) else len(scalars)
        last = self.parameters[max(0, len(self.parameters) - count) :]
        if len(last) < count:
            raise LaunchError(f"{self} has {len(self.parameters)} parameters, its launches give {count}")
        for one in last:
            if self._dtype(one.type) not in (np.dtype("i4"), np.dtype("u4")):
                raise LaunchError(f"{self}: parameter '{one.name}' is '{one.type}', but launches give an int")
        names = tuple(one.name for one in last)
        if not isinstance(scalars, int) and names != scalars:
            given, declared = ", ".join(scalars), ", ".join(names)
            raise LaunchError(f"{self}: launches give {given}, but the last parameters are {declared}")
        return count

    def _dtype(self, name: str) -> np.dtype[Any] | None:
        known = self.types.get(name, _C_TYPES.get(name))
        return known if isinstance(known, np.dtype) else None

    def _checked(self, to: Parameter, value: Argument) -> Argument:
        if to.element is not None:
            self._check_pointer(to, to.element, value)
            return value
        if isinstance(value, Struct):
            if self.types.get(to.type) is not type(value):
                raise self._error(to, f"a struct {value.c_name()}")
            return value
        kind = self._dtype(to.type)
        if kind is None or isinstance(value, tuple):
            return value
        if isinstance(value, np.generic) and _alike(value.dtype, kind):
            return value
        if isinstance(value, np.generic) or not isinstance(value, int) or kind.kind not in "iu":
            raise self._error(to, f"the {type(value).__name__} {value}")
        if not np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            raise self._error(to, str(value))
        return kind.type(value)

    def _check_pointer(self, to: Parameter, element: str, value: Argument) -> None:
        if value is None:
            return
        if not hasattr(value, "pointer"):
            raise self._error(to, f"the {type(value).__name__} {value}")
        struct, known = getattr(value, "struct", None), self.types.get(element)
        if struct is not None and struct is not known:
            raise self._error(to, f"elements of struct {struct.c_name()}")
        is_struct = known is not None and not isinstance(known, np.dtype)
        if struct is None and is_struct and value.dtype != np.dtype(known):
            raise self._error(to, f"elements of type {value.dtype}")
        kind = self._dtype(element)
        if kind is not None and not _alike(value.dtype, kind):
            raise self._error(to, f"elements of type {value.dtype}")

    def _error(self, to: Parameter, given: str) -> LaunchError:
        return LaunchError(f"{self}: parameter '{to.name}' is '{to.type}', but was given {given}")


def _alike(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether two integer types have the same size; the sign is ignored."""
    whole = given.kind in "iub" and wanted.kind in "iub"
    return given.itemsize == wanted.itemsize and (whole or given.kind == wanted.kind)


def parameters(text: str, macros: Mapping[str, str]) -> tuple[Parameter, ...]:
    """The parameters in the text between a declaration's brackets; object-like macros are expanded."""
    expanded = re.sub(r"[A-Za-z_]\w*", lambda word: macros.get(word.group(), word.group()), text)
    return tuple(parameter(one) for one in split_at_commas(expanded) if one and one != "void")
