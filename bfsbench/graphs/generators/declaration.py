"""Declares generators and their parameters, checks values, and parses specifications. A specification is the
name of a generated graph, such as ``kronecker(scale=12,edge_factor=16,seed=1)``.

The native code in ``generate.cpp`` and ``generate_places.cpp`` draws the edges. This module calls it through
ctypes.
"""

import ctypes
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import MAX_VERTICES, EdgeList, Ids, Orientation, require_bytes
from bfsbench.support.errors import NotEnoughMemoryError, UsageError
from bfsbench.support.toolchain import library

Value = int | float | str
"""The type of a parameter's value."""

Parameters = Mapping[str, Value]

Growth = Literal["fixed", "linear", "side", "logarithm"]
"""How a parameter changes when a graph is shrunk. A ``fixed`` value does not change. A ``linear`` value is
proportional to the number of vertices. A ``side`` value is the length of one side of a grid of vertices. A
``logarithm`` value is the binary logarithm of the number of vertices.
"""


@dataclass(frozen=True)
class Parameter:
    """The declaration of one parameter of a generator. ``minimum`` and ``maximum`` are inclusive. A parameter
    of type ``str`` takes one of ``choices``."""

    name: str
    type: type[int] | type[float] | type[str]
    meaning: str
    default: Value | None = None
    """None if the parameter is required."""
    minimum: int | float = 0
    maximum: int | float = 1
    choices: tuple[str, ...] = ()
    growth: Growth = "fixed"

    def check(self, generator: str, value: object) -> Value:
        """Returns ``value``, converted to this parameter's type. A float without a fraction can become an
        integer. Raises UsageError if the type or the range is wrong."""
        if self.type is str:
            if value in self.choices:
                return str(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            in_range = self.minimum <= value <= self.maximum
            if in_range and self.type is float:
                return float(value) + 0.0  # turns -0.0 into 0.0, for one specification
            if in_range and value == int(value):
                return int(value)
        raise UsageError(f"{generator}: {self.name} must be {self.expectation}, not {value!r}")

    @property
    def expectation(self) -> str:
        """Returns the accepted values in words, such as ``an integer from 1 to 30``."""
        if self.type is str:
            return " or ".join(self.choices)
        kind = "an integer" if self.type is int else "a number"
        return f"{kind} from {self.minimum:,} to {self.maximum:,}"

    def shrunk(self, value: Value, share: float, sides: int) -> Value:
        """Returns the parameter's value for a smaller graph, whose number of vertices is about ``share``
        times the original number. ``sides`` is the number of sides of a grid that are longer than one
        cell."""
        if isinstance(value, str) or self.growth == "fixed":
            return value
        if self.growth == "logarithm":
            smaller = value + math.log2(share)
        else:
            smaller = value * (share if self.growth == "linear" else share ** (1 / sides))
        return min(value, max(self.minimum, round(smaller)))


@dataclass(frozen=True)
class Generator:
    """The declaration of a generator.

    Used as a decorator, ``@partial(Generator, ...)`` turns a function that draws edges into a Generator.
    """

    build: Callable[..., EdgeList]
    """The function that draws the edges. It takes every declared parameter by name, already checked. The
    generator has the function's name."""
    description: str
    source: str
    """The paper's table, or the program or publication that defines this kind of graph."""
    parameters: tuple[Parameter, ...]
    size: Callable[..., tuple[int, float]]
    """Returns the numbers of vertices and of edges drawn, exact or expected, for estimates of memory. It
    takes the parameters of ``build``."""
    orientation: Orientation = "each_once"
    """Orientation of the edge list, unless a parameter makes it directed. See :meth:`draws_arcs`."""
    start: Callable[..., int] | None = None
    """Returns the vertex from which the paper searches. It takes the parameters of ``build``. None if the
    paper names no vertex."""
    kind: str = "example"
    """The kind of graph, in the words of the catalogue: ``lattice``, ``social``."""

    @property
    def name(self) -> str:
        return self.build.__name__

    @property
    def weighted(self) -> bool:
        """Returns whether the edges have weights."""
        return any(parameter.name == "max_weight" for parameter in self.parameters)

    def complete(self, given: Parameters) -> dict[str, Value]:
        """Returns all parameters in order of declaration. Parameters that are not given have their defaults.
        Raises UsageError for an unknown, missing or invalid parameter."""
        for name in given:
            if all(name != parameter.name for parameter in self.parameters):
                known = ", ".join(parameter.name for parameter in self.parameters) or "none"
                raise UsageError(f"{self.name}: unknown parameter '{name}'; it takes {known}")
        values: dict[str, Value] = {}
        for parameter in self.parameters:
            value = given.get(parameter.name, parameter.default)
            if value is None:
                raise UsageError(f"{self.name}: {parameter.name} is missing: {parameter.meaning}")
            values[parameter.name] = parameter.check(self.name, value)
        return values

    def shrunk(self, given: Parameters, share: float) -> dict[str, Value]:
        """Returns the generator's parameters for a smaller graph, whose number of vertices is about ``share``
        times the original number. Raises UsageError for an unknown, missing or invalid parameter."""
        values = self.complete(given)
        sides = sum(p.growth == "side" and values[p.name] != 1 for p in self.parameters)
        return {p.name: p.shrunk(values[p.name], share, max(1, sides)) for p in self.parameters}

    def counts(self, given: Parameters) -> tuple[int, int]:
        """Returns the number of vertices and the number of edges that the generator draws. The numbers may be
        expected values.

        Raises UsageError for an unknown, missing or invalid parameter.
        """
        vertices, edges = self.size(**self.complete(given))
        return vertices, max(0, round(edges))

    def draws_arcs(self, given: Parameters) -> bool:
        """Returns whether these parameters give a directed edge list. Raises UsageError for an unknown,
        missing or invalid parameter."""
        values = self.complete(given)
        chosen = values.get("directed", 0) == 1 or values.get("arcs", "both") != "both"
        return chosen or self.orientation == "directed"


SEED = Parameter("seed", int, "seed of the random numbers", default=1, maximum=2**63 - 1)


def vertices(name: str = "n", minimum: int = 1, maximum: int = MAX_VERTICES) -> Parameter:
    """Returns the declaration of a parameter that counts vertices."""
    return Parameter(name, int, "number of vertices", minimum=minimum, maximum=maximum, growth="linear")


def edges() -> Parameter:
    """Returns the declaration of the parameter ``m``, the number of edges to draw."""
    return Parameter("m", int, "number of edges drawn", maximum=2**40, growth="linear")


def share(name: str, meaning: str, default: float, maximum: float = 1) -> Parameter:
    """Returns the declaration of a parameter that is a probability or a share."""
    return Parameter(name, float, meaning, default=default, maximum=maximum)


def switch(name: str, meaning: str, default: int = 0) -> Parameter:
    """Returns the declaration of a parameter that switches something on (1) or off (0)."""
    return Parameter(name, int, meaning, default=default)


DIRECTED = switch("directed", "1: the edges are arcs, 0: undirected")


def orientation_of(directed: int) -> Orientation:
    """Returns the orientation of a generated edge list. ``directed`` is the value of the parameter
    DIRECTED.
    """
    return "directed" if directed else "each_once"


_SPEC = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\((.*)\)\s*)?", re.ASCII | re.DOTALL)
_ASSIGNMENT = re.compile(r"\s*([A-Za-z]\w*)\s*=\s*([\w.+-]+)\s*", re.ASCII)
_INTEGER = re.compile(
    r"[+-]?\d{1,100}", re.ASCII
)  # longer integers are above every limit and are read as decimals
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EXAMPLE = "write it like kronecker(scale=12,edge_factor=16,seed=1)"


def parse_spec(text: str) -> tuple[str, dict[str, Value]]:
    """Split the specification of a generated graph. Returns the generator's name and its parameters.

    Empty parentheses may be left out. The names and values of parameters are not checked here, but later,
    when the graph is generated. Raises UsageError for a syntax error.
    """
    matched = _SPEC.fullmatch(text)
    if matched is None:
        raise UsageError(f"'{text}' does not name a generated graph: {_EXAMPLE}")
    name, inside = matched[1], matched[2] or ""
    parameters: dict[str, Value] = {}
    for part in inside.split(",") if inside.strip() else ():
        assignment = _ASSIGNMENT.fullmatch(part)
        if assignment is None:
            raise UsageError(f"'{text}': '{part.strip()}' is not of the form parameter=value: {_EXAMPLE}")
        if assignment[1] in parameters:
            raise UsageError(f"'{text}': {assignment[1]} is given twice")
        word = assignment[2]
        if _INTEGER.fullmatch(word):
            parameters[assignment[1]] = int(word)
        else:
            parameters[assignment[1]] = float(word) if _DECIMAL.fullmatch(word) else word
    return name, parameters


def format_spec(generator: Generator, parameters: Parameters) -> str:
    """Returns the canonical specification of a graph. It lists the seed, the parameters without a default,
    and the parameters whose value differs from the default. Raises UsageError for bad parameters."""
    values = generator.complete(parameters)
    written = [
        f"{p.name}={_text(values[p.name])}"
        for p in generator.parameters
        if p.name == "seed" or values[p.name] != p.default
    ]
    return f"{generator.name}({','.join(written)})" if written else generator.name


def _text(value: Value) -> str:
    """Returns a parameter's value as the shortest text that converts back to an equal value."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


OUT_OF_MEMORY = 1


class _Edges(ctypes.Structure):
    _fields_ = (("sources", ctypes.c_void_p), ("targets", ctypes.c_void_p))


_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.POINTER(_Edges))


def threads() -> int:
    """Returns the number of threads that draw edges. The drawn edges do not depend on this number."""
    return os.cpu_count() or 1


def chance(probability: float) -> ctypes.c_uint64:
    """Returns ``probability`` as an integer in units of 2**-63. The native code compares it with random
    integers.
    """
    return ctypes.c_uint64(int(probability * 2**63))


def _call(function: str, *arguments: Any, native: str = "generate") -> int:
    """Call ``generate_<function>`` of a native library. Python integers are passed as int64. Returns the
    function's status. If the function returns nothing, the result is meaningless.
    """
    converted = [ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments]
    return int(getattr(library(native), f"generate_{function}")(*converted))


def draw_edges(function: str, *arguments: Any, seed: int, native: str = "generate") -> tuple[Ids, Ids]:
    """Draw edges with the function ``generate_<function>(*arguments, seed, ...)`` of a native library.
    Returns sources and targets, int32[E]. Raises NotEnoughMemoryError if the edges do not fit into memory."""
    arrays: list[Ids] = []
    wanted = 0

    def allocate(count: int, edges: Any) -> int:
        nonlocal wanted
        wanted = count
        try:
            require_bytes(8 * count, "")
            arrays.extend(np.empty(count, dtype=np.int32) for _ in range(2))
        except (MemoryError, NotEnoughMemoryError):
            return OUT_OF_MEMORY
        edges.contents.sources, edges.contents.targets = (array.ctypes.data for array in arrays)
        return 0

    stream = (ctypes.c_uint64(seed), ctypes.c_int(threads()))
    if _call(function, *arguments, *stream, _ALLOCATE(allocate), native=native) == OUT_OF_MEMORY:
        size = f" for {wanted:,} edges" if wanted else ""
        raise NotEnoughMemoryError(f"not enough memory{size}: ask for a smaller graph")
    return arrays[0], arrays[1]


def draw_weights(edges: int, largest: int, *, seed: int) -> npt.NDArray[np.int32]:
    """Returns random weights, int32[edges], drawn uniformly from 1 .. ``largest``."""
    weights = np.empty(edges, dtype=np.int32)
    pointer = ctypes.c_void_p(weights.ctypes.data)
    _call("weights", edges, largest, ctypes.c_uint64(seed), ctypes.c_int(threads()), pointer)
    return weights


def draw_cells(cells: int, blocked: float, *, seed: int) -> npt.NDArray[np.bool_]:
    """Returns bool[cells], True where a cell is open. Each cell is blocked with probability ``blocked``."""
    mask = np.empty(cells, dtype=np.uint8)
    _call("cells", cells, chance(blocked), ctypes.c_uint64(seed), ctypes.c_void_p(mask.ctypes.data))
    return mask.view(np.bool_)
