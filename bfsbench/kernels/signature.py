"""Reads the parameters of a kernel from its declaration, and checks that arguments fit them.

A contract lists the structs, integer types and constants that a kernel file and the host code both declare.
C++ assertions made from the contract are appended to the file when it is compiled. Compilation fails if a
declaration in the file differs from the contract.
"""

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bfsbench.kernels.source import KernelDefinition, kernels_of, split_at, texts
from bfsbench.support.errors import LaunchError


class Struct(ctypes.Structure):
    """The base class of structs that both the host code and the kernels declare. ``SearchState`` in Python
    corresponds to ``search_state`` in C++.

    ``_fields_`` lists the members in order, with pointers as ``c_void_p``. An instance can be passed as a
    kernel argument. The constructor takes all members by name. A device buffer may be given for a pointer.
    Raises LaunchError if a member is missing or unknown.
    """

    def __init__(self, **members: Any) -> None:
        names = [name for name, *_ in self._fields_]
        if wrong := sorted(set(names) ^ set(members)):
            raise LaunchError(f"struct {self.c_name()}: member '{wrong[0]}' is not given, or there is none")
        super().__init__(**{name: _address(value) for name, value in members.items()})
        self._kept = members

    @classmethod
    def c_name(cls) -> str:
        """Returns the name that the struct has in C++."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def words(cls, member: str, index: int = 0) -> slice:
        """Returns the position of a member within the struct, as a slice of 32-bit words. If the member is an
        array, the slice covers only its element ``index``."""
        field = getattr(cls, member)
        kind: Any = next(kind for name, kind, *_ in cls._fields_ if name == member)
        size = ctypes.sizeof(kind._type_) if issubclass(kind, ctypes.Array) else field.size
        start = (field.offset + index * size) // 4
        return slice(start, start + size // 4)


CType = type[Struct] | np.dtype[Any]
"""A type that both the host code and the kernels declare: a struct, or an integer type."""


def struct_of(dtype: Any) -> type[Struct] | None:
    """Returns the struct type of an array's elements. Returns None if the elements are not structs."""
    return dtype if isinstance(dtype, type) and issubclass(dtype, Struct) else None


def _address(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_address, value))
    pointer = getattr(value, "pointer", value)
    return pointer.value if isinstance(pointer, ctypes.c_void_p) else pointer


def _assertion(condition: str, message: str) -> str:
    return f'static_assert({condition}, "{message}; kernels have it otherwise");'


def _size(what: str, count: int, name: str) -> str:
    return _assertion(f"sizeof({what}) == {count}", f"{name} has {count} bytes")


def _struct_assertions(owner: str, name: str, struct: type[Struct]) -> Iterator[str]:
    members = [member for member, *_ in struct._fields_]
    for member in members:
        yield _size(f"{name}::{member}", getattr(struct, member).size, f"{owner}: {name}::{member}")
    # NVRTC before 13.5 has no __builtin_offsetof, so only order and sizes are checked
    yield "#ifdef __CUDACC_RTC__"
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
    # If the struct in C++ has another number of members, the compiler's error about this binding shows both
    # numbers.
    bindings = ", ".join(f"member_{i}" for i in range(len(members)))
    function = f"static inline __device__ void contract_of_{name}({name} &all)"
    yield f"{function} {{ [[maybe_unused]] auto &[{bindings}] = all; }}"


Argument = Any
"""A kernel argument: a buffer, a signal, a member of a signal, None, an int, a NumPy scalar, or a Struct. A
tuple of such arguments stands for a struct."""


@dataclass(frozen=True)
class Parameter:
    """A parameter in the declaration of a kernel."""

    type: str
    """The C++ type without qualifiers and without ``std::``, such as ``offset_t *``."""
    name: str

    @property
    def element(self) -> str | None:
        """Returns the type to which the parameter points, or None if it is not a pointer."""
        return self.type[:-1].strip() if self.type.endswith("*") else None


_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|struct|class|typename|__restrict__|__restrict|__grid_constant__)\b|\bstd::"
)
_PARAMETER = re.compile(
    r"(?P<type>.*?[\s*&])(?P<name>[A-Za-z_]\w*)?\s*(?P<array>(?:\[[^\]]*\]\s*)+)?$", re.DOTALL
)


def parameter(text: str) -> Parameter:
    """Parse the declaration of one parameter. Returns the parameter. Its name is empty if the declaration has
    none."""
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
"""The last parameters of a kernel, whose values each launch gives. They are described by their number, or by
their names."""


@dataclass(frozen=True)
class Signature:
    """The name and the parameters of a kernel, and the structs and integer types that kernel and host code
    share."""

    file: str
    kernel: str
    parameters: Sequence[Parameter]
    types: Mapping[str, CType]

    def __str__(self) -> str:
        return f"kernel '{self.kernel}' of {self.file}"

    def arrange(
        self, positional: Sequence[Argument], named: Mapping[str, Argument], scalars: Scalars
    ) -> tuple[tuple[Argument, ...], int]:
        """Put the arguments of a kernel into the order of its parameters. The last ``scalars`` parameters are
        left out. Returns the arguments, and the number of parameters left out.

        If the type of a parameter is an integer type that the signature knows, a Python int becomes a NumPy
        scalar of this type. Raises LaunchError if an argument is missing, unknown or does not fit its
        parameter. Also raises LaunchError if one of the last ``scalars`` parameters is not an int or has
        another name.
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
        return tuple(self._checked(one, value) for one, value in zip(wanted, arguments, strict=True)), count

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
    """Returns whether an array of type ``given`` may be used for a kernel parameter of type ``wanted``. The
    types must have equal sizes and the same NumPy kind. As an exception, signed integers, unsigned integers
    and booleans may replace each other."""
    whole = given.kind in "iub" and wanted.kind in "iub"
    return given.itemsize == wanted.itemsize and (whole or given.kind == wanted.kind)


_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
"""Matches the definition of a macro that has no parameters."""


@dataclass(frozen=True)
class Contract:
    """The declarations that the host code shares with a kernel file, except the parameters of kernels."""

    owner: str
    """The name of the host code that declares the contract. It stands in error messages."""
    types: Mapping[str, CType] = field(default_factory=dict)
    """Structs and integer types, by the names that they have in the kernel file. Types that neither the file
    nor its local headers mention are ignored."""
    constants: Mapping[str, int] = field(default_factory=dict)
    """Values of constants, by the names that they have in the kernel file. Constants that neither the file
    nor its local headers mention are ignored."""

    def key(self) -> tuple[object, ...]:
        """Returns a hashable key of the contract. Two contracts have equal keys if they have the same owner,
        and equal declarations in equal order."""
        return (self.owner, *self.types.items(), *self.constants.items())

    def assertions(self, source: Path, include: Sequence[Path], macros: Mapping[str, int | str]) -> str:
        """Returns C++ code to compile after the kernel file. Compilation fails if a type or constant of the
        file differs from the contract, or if a macro differs from its integer in ``macros``."""
        words = {word for text in texts(source, include) for word in re.findall(r"\w+", text.mask)}
        constants = {name: value for name, value in self.constants.items() if {*name.split("::")} <= words}
        lines = [f'#line 1 "{self.owner}"']
        for name, kind in self.types.items():
            if name not in words:
                continue
            if isinstance(kind, np.dtype):
                lines.append(_size(name, kind.itemsize, f"{self.owner}: {name}"))
            else:
                lines += _struct_assertions(self.owner, name, kind)
        for name, value in {**constants, **macros}.items():
            if isinstance(value, int):
                lines.append(_assertion(f"({name}) == {value}", f"{self.owner}: {name} is {value}"))
        return "\n".join(lines) + "\n"

    def signatures(self, source: Path, include: Sequence[Path]) -> dict[str, Signature]:
        """Returns the signatures of all kernels that the file ``source`` or its local headers declare. The
        keys are the names of the kernels."""
        declared = declared_parameters(source, include).items()
        return {name: Signature(source.name, name, parameters, self.types) for name, parameters in declared}


def declared_parameters(source: Path, include: Sequence[Path] = ()) -> dict[str, list[Parameter]]:
    """Returns the parameters of all kernels that a ``.cu`` file or its local headers declare. The keys are
    the names of the kernels. Macros without parameters are expanded."""
    kernels: list[KernelDefinition] = []
    macros: dict[str, str] = {}
    for text in texts(source, include):
        kernels += kernels_of(text)
        defined = {name: value.replace("\\\n", " ") for name, value in _MACRO.findall(text.code)}
        macros = {**defined, **macros}  # macros defined before an #include also apply in the header

    def parameters(text: str) -> list[Parameter]:
        expanded = re.sub(r"[A-Za-z_]\w*", lambda word: macros.get(word.group(), word.group()), text)
        return [parameter(one) for one in split_at(",", expanded) if one and one != "void"]

    return {kernel.name: parameters(kernel.parameters) for kernel in reversed(kernels)}
