"""A kernel's parameters, read from its own declaration, and the arguments that fit them.

A contract lists what else a host and a kernel file both declare: structs, types of integers, constants. The
file is compiled with assertions made of the contract. If it declares anything else, it does not compile.
"""

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bfsbench.kernels.source import KernelDefinition, kernels_of, split_at_commas, texts
from bfsbench.support.errors import LaunchError


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


_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
"""One without parameters."""


@dataclass(frozen=True)
class Contract:
    """Declarations that the host shares with a kernel file, besides the arguments of kernels."""

    owner: str
    """The owner's name, for messages."""
    types: Mapping[str, CType] = field(default_factory=dict)
    """Structs by their names in the file. Those that the file does not mention are ignored."""
    constants: Mapping[str, int] = field(default_factory=dict)
    """Likewise."""

    def key(self) -> tuple[object, ...]:
        """Equal for equal contracts."""
        return (self.owner, *self.types.items(), *self.constants.items())

    def assertions(self, source: Path, include: Sequence[Path], macros: Mapping[str, int | str]) -> str:
        """C++ to compile after the file: it fails where the file's types or macros differ."""
        words = {word for text in texts(source, include) for word in re.findall(r"\w+", text.mask)}
        types = {name: known for name, known in self.types.items() if name in words}
        constants = {name: value for name, value in self.constants.items() if {*name.split("::")} <= words}
        return assertions(self.owner, types, {**constants, **macros})

    def signatures(self, source: Path, include: Sequence[Path]) -> dict[str, Signature]:
        """The file's kernels by their names."""
        declared = declared_parameters(source, include).items()
        return {name: Signature(source.name, name, parameters, self.types) for name, parameters in declared}


def declared_parameters(source: Path, include: Sequence[Path] = ()) -> dict[str, tuple[Parameter, ...]]:
    """The parameters of all kernels that a ``.cu`` file or a header of it declares, by the kernel's name."""
    kernels: list[KernelDefinition] = []
    macros: dict[str, str] = {}
    for text in texts(source, include):
        kernels += kernels_of(text)
        defined = {name: value.replace("\\\n", " ") for name, value in _MACRO.findall(text.code)}
        macros = {**defined, **macros}  # macros defined before an #include apply in the header
    return {kernel.name: parameters(kernel.parameters, macros) for kernel in reversed(kernels)}
