"""Structs that a host and its kernels both declare, and assertions that the declarations agree.

``assertions`` makes C++ of Python's declarations that a kernel file is compiled with: if the file declares
anything else, it does not compile.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from bfsbench.errors import LaunchError


class Struct(ctypes.Structure):
    """A struct that kernels declare, too: ``SearchState`` here is ``search_state`` there.

    ``_fields_`` are its members in their order, pointers of type ``c_void_p``. An instance is a kernel's
    argument; it is made of all members by name, of which a pointer may be a buffer.
    """

    def __init__(self, **members: Any) -> None:
        names = [name for name, *_ in self._fields_]
        if wrong := sorted(set(names) ^ set(members)):
            raise LaunchError(f"struct {self.c_name()}: member '{wrong[0]}' is not given, or there is none")
        super().__init__(**{name: _address(value) for name, value in members.items()})
        self._kept = members

    @classmethod
    def c_name(cls) -> str:
        """What kernels call it."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def words(cls, member: str, index: int = 0) -> slice:
        """The 32-bit words of a member or, if it is an array, of one of its elements."""
        field = getattr(cls, member)
        kind: Any = next(kind for name, kind, *_ in cls._fields_ if name == member)
        size = ctypes.sizeof(kind._type_) if issubclass(kind, ctypes.Array) else field.size
        start = (field.offset + index * size) // 4
        return slice(start, start + size // 4)


CType = type[Struct] | np.dtype[Any]
"""A type that both sides declare: a struct, or an integer of some size."""


def struct_of(dtype: Any) -> type[Struct] | None:
    """The struct type of an array's elements, if there is one."""
    return dtype if isinstance(dtype, type) and issubclass(dtype, Struct) else None


def _address(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_address, value))
    pointer = getattr(value, "pointer", value)
    return pointer.value if isinstance(pointer, ctypes.c_void_p) else pointer


def assertions(owner: str, types: Mapping[str, CType], macros: Mapping[str, int | str]) -> str:
    """C++ that compiles only if types, by their names in kernels, and macros agree with ``owner``'s."""
    lines = [f'#line 1 "{owner}"']
    for name, kind in types.items():
        if isinstance(kind, np.dtype):
            lines.append(_size(name, kind.itemsize, f"{owner}: {name}"))
        else:
            lines += _struct_assertions(owner, name, kind)
    for name, value in macros.items():
        if isinstance(value, int):
            lines.append(_assertion(f"({name}) == {value}", f"{owner}: {name} is {value}"))
    return "\n".join(lines) + "\n"


def _assertion(condition: str, message: str) -> str:
    return f'static_assert({condition}, "{message}; kernels have it otherwise");'


def _size(what: str, count: int, name: str) -> str:
    return _assertion(f"sizeof({what}) == {count}", f"{name} has {count} bytes")


def _struct_assertions(owner: str, name: str, struct: type[Struct]) -> Iterator[str]:
    members = [member for member, *_ in struct._fields_]
    for member in members:
        yield _size(f"{name}::{member}", getattr(struct, member).size, f"{owner}: {name}::{member}")
    yield "#ifdef __CUDACC_RTC__"  # NVRTC has no __builtin_offsetof before 13.5: order and sizes must do
    yield f"constexpr {name} example_of_{name}{{}};"
    for earlier, later in pairwise(members):
        places = (f"(const void *)&example_of_{name}.{member}" for member in (earlier, later))
        yield _assertion(" < ".join(places), f"{owner}: {name}::{later} is behind {earlier}")
    yield "#else"
    for member in members:
        place, where = getattr(struct, member).offset, f"{owner}: {name}::{member}"
        yield _assertion(f"__builtin_offsetof({name}, {member}) == {place}", f"{where} is at byte {place}")
    yield "#endif"
    yield _size(name, ctypes.sizeof(struct), f"{owner}: struct {name}")
    bindings = ", ".join(f"member_{i}" for i in range(len(members)))  # an error names both numbers of members
    function = f"static inline __device__ void contract_of_{name}({name} &all)"
    yield f"{function} {{ [[maybe_unused]] auto &[{bindings}] = all; }}"
