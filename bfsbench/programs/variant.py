"""Defines the base classes of variants. A variant consists of a declaration and of the program that runs.

A variant belongs to a family, which is the problem that it solves (:mod:`bfsbench.programs.families`). A
variant is constructed for a graph and for values of its knobs. Variants with kernels also get a grid and a
block. ``prepare`` compiles and allocates once, and is not timed. The family's base classes declare all other
methods. The module also has classes for knobs, for memory traffic, and for the clocks that time programs.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from bfsbench.support.errors import LaunchError, UsageError
from bfsbench.support.paths import CUDA_SRC

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.backends.base import Contract, CType, Device, Kernel, Struct
    from bfsbench.graphs.graph import Graph
    from bfsbench.programs.device_graph import DeviceGraph

    Answer = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Traffic:
    """The bytes that an algorithm has to move through global memory. The roofline model bounds the time of a
    search by them. Ids, levels and offsets have 4 bytes. Traffic that races add, such as duplicates, is not
    counted."""

    per_edge: int = 8
    """Bytes per edge that is read: its entry in the adjacency array, and the test whether its other end is
    new."""
    per_frontier_edge: int = 0
    """Additional bytes per edge that leaves the frontier, for searches that read all edges to find these
    edges."""
    per_vertex: int = 20
    """Bytes per reached vertex: its level, two offsets, and its entry in a queue, which is written and
    read."""
    per_scan: int = 0
    """Bytes per level and vertex of the graph, for searches that read all vertices to find the frontier."""


KnobValue = int | float | str

PRESETS = ("default", "paper", "auto")
"""The ways to choose values for knobs that a user does not give: the declared defaults, the values of the
paper, and rules for the graph."""


@dataclass(frozen=True)
class Knob:
    """A parameter of a variant besides grid and block, named as in its paper."""

    name: str
    default: KnobValue
    meaning: str
    choices: tuple[KnobValue, ...] = ()
    """All legal values. An empty tuple allows every number from ``minimum`` to ``maximum``."""
    minimum: float | None = None
    maximum: float | None = None
    compile_time: bool = False
    """True if the value is compiled into the kernel as a macro of this name, instead of passed to it."""
    changed: tuple[KnobValue, ...] = ()
    """The values that change the authors' algorithm. Verdicts on papers keep rows with these values apart."""

    @property
    def option(self) -> str:
        """Returns the command-line option: ``W_SZ`` gives ``--w-sz``."""
        return "--" + self.name.lower().replace("_", "-")

    @property
    def legal(self) -> str:
        """Returns the legal values as text."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.minimum:g} .. {self.maximum:g}"

    def check(self, value: str | KnobValue) -> KnobValue:
        """Returns the value converted to the knob's type. Raises UsageError if it has another type or is out
        of range."""
        kind = type(self.default)
        try:
            typed = kind(value)
        except (ValueError, TypeError, OverflowError):
            raise UsageError(f"knob {self.name}: '{value}' is not of type {kind.__name__}") from None
        if kind is int and not isinstance(value, str) and typed != value:
            raise UsageError(f"knob {self.name}: {value} is not a whole number")
        below = self.minimum is not None and not isinstance(typed, str) and not typed >= self.minimum
        above = self.maximum is not None and not isinstance(typed, str) and not typed <= self.maximum
        if below or above or (self.choices and typed not in self.choices):
            raise UsageError(f"knob {self.name}: {value} is out of range ({self.legal})")
        return typed


class Clock(Protocol):
    """A protocol for clocks that measure the time in ms between ``start`` and ``stop``."""

    def wait(self) -> None:
        """Wait for earlier work, so that it is not timed."""

    def start(self) -> None: ...

    def stop(self) -> float: ...


class HostClock:
    """Measures time with the host's monotonic clock."""

    def wait(self) -> None:
        """Do nothing, because earlier work of the host has ended."""

    def start(self) -> None:
        self._started = time.perf_counter()

    def stop(self) -> float:
        return (time.perf_counter() - self._started) * 1e3


class DeviceClock:
    """Measures time with a pair of device events around the work issued between them."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._first, self._last = device.event(), device.event()

    def wait(self) -> None:
        self._device.synchronize()

    def start(self) -> None:
        self._first.record()

    def stop(self) -> float:
        self._last.record()
        return self._last.milliseconds_since(self._first)


class Variant(ABC):
    """One algorithm of one family. The class is its declaration. An instance is a computation on one
    graph."""

    family: ClassVar[str]
    """The name of a :class:`bfsbench.programs.families.base.Family`."""
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    """What the variant does, in one line."""
    origin: ClassVar[tuple[str, ...]] = ()
    """Paper and figure, each as ``Springer, Fig. 9``. Tables leave out descriptions that are empty."""
    layout: ClassVar[tuple[str, ...]] = ()
    """The layouts that the variant reads: CSR, CSC, COO, matrix."""
    frontier: ClassVar[str] = ""
    """How the frontier is represented."""
    parallel_unit: ClassVar[str] = ""
    """The item that one thread or group of threads works on."""
    work: ClassVar[str] = ""
    """Work complexity, with V, E and the depth D."""
    space: ClassVar[str] = ""
    """Memory of a search, including the graph, in words of 4 bytes, with 32-bit offsets."""
    synchronisation: ClassVar[str] = "a launch a level"
    """The synchronisation between levels."""
    knobs: ClassVar[tuple[Knob, ...]] = ()
    check_knobs: ClassVar[tuple[Mapping[str, KnobValue], ...]] = ()
    """Sets of knob values. A check on small graphs runs the variant with each set, to cover code that the
    defaults do not run."""
    counters: ClassVar[Mapping[str, str]] = {}
    """The names and meanings of the counters of each level of a profiled search. Kernels count if they are
    compiled with ``COUNTERS`` set to 1. They declare an enum in the namespace ``counted``: these names in
    order, and then ``number``."""
    host: ClassVar[bool] = False
    """True if the variant is a native CPU program, which has no grid and block."""
    launched: ClassVar[bool] = True
    """True if a grid and a block are chosen for the variant. False if it has none or chooses its own."""
    usual_block: ClassVar[int] = 256
    """Default number of threads per block."""
    preprocess_ms: float = 0.0
    """Time in ms to preprocess the graph for this search. It is 0 for most variants. Searches that share the
    result (``DeviceGraph.once``) all have the time of the first ``prepare``."""

    @abstractmethod
    def prepare(self) -> None:
        """Prepare the variant for its graph. This happens once, outside the timed runs."""

    def prepared_ms(self) -> tuple[float, float]:
        """Prepare the variant. Returns the time in ms of preparation, and the time in ms of compilation.

        Preparation is everything between the graph's CSR on disk and readiness for the first search, in a
        process that has started and loaded its libraries. It includes allocation, upload, conversion to other
        formats, probes of the graph and searches that tune. It does not include compilation.
        """
        started = time.perf_counter()
        self.prepare()
        return (time.perf_counter() - started) * 1e3, 0.0

    @abstractmethod
    def another(self) -> Self:
        """Returns a new variant for this graph, these knobs and this launch shape. It is not prepared."""

    @abstractmethod
    def clock(self) -> Clock:
        """Returns the clock that times runs of the variant."""

    @classmethod
    def missing(cls) -> str:
        """Returns one line that says how to make the variant run on this machine. The line is empty if
        nothing is missing."""
        return ""

    @classmethod
    def program_parts(cls) -> Iterator[bytes] | None:
        """Returns an iterator over the bytes that identify a program of other authors. Returns None for
        programs whose sources belong to the variant."""
        return None

    @classmethod
    def memory_note(cls, num_vertices: int, sources: int | None, knobs: Mapping[str, KnobValue]) -> str:
        """Returns the memory that a run takes besides the graph, as a formula with its value. The text is
        empty if the memory is unknown."""
        return ""

    def measured(self) -> dict[str, str]:
        """Returns values of result columns that only the variant knows: the clock that timed the last runs,
        and the memory of these runs."""
        return {"clock": "ours" if self.host else "events"}

    @classmethod
    def knob_values(cls, given: Mapping[str, str | KnobValue]) -> dict[str, KnobValue]:
        """Returns values for all knobs, with defaults for knobs that are not given. Raises UsageError for an
        unknown knob or a bad value."""
        known = {knob.name: knob for knob in cls.knobs}
        for name in given:
            if name not in known:
                raise UsageError(f"variant {cls.name} has no knob {name}")
        return {name: knob.check(given.get(name, knob.default)) for name, knob in known.items()}

    @classmethod
    def preset(cls, name: str, statistics: Mapping[str, float]) -> Mapping[str, KnobValue]:
        """Returns the knob values that one of PRESETS sets for a graph with these statistics.

        Knobs that are left out keep their defaults. :func:`bfsbench.graphs.statistics.describe` gives the
        statistics.
        """
        if name == "auto":
            return cls.auto_knobs(statistics)
        return cls.paper_knobs() if name == "paper" else {}

    @classmethod
    def paper_knobs(cls) -> Mapping[str, KnobValue]:
        """Returns the knob values of the preset ``paper``, which the paper states."""
        return {}

    @classmethod
    def auto_knobs(cls, statistics: Mapping[str, float]) -> Mapping[str, KnobValue]:
        """Returns the knob values of the preset ``auto``, which follow rules for a graph with these
        statistics."""
        return {}

    @classmethod
    def own_block(cls, knobs: Mapping[str, KnobValue]) -> int | None:
        """Returns the threads per block if the knobs of the variant determine grid and block, else None."""
        return None


class HostProgram(Variant):
    """A native program on the CPU of this machine, such as papers compare their kernels with."""

    host = True
    launched = False

    def __init__(self, graph: Graph, knobs: Mapping[str, KnobValue]) -> None:
        self.graph = graph
        self.knob = knobs

    def another(self) -> Self:
        return type(self)(self.graph, self.knob)

    def clock(self) -> Clock:
        return HostClock()

    def settle_clock(self) -> None:
        """Decide whether the program's own clock times it. Raises WrongResultError if this clock is wrong."""


class ForeignProgram(HostProgram):
    """A program of other authors, which gets a copy of the graph. Its family interprets the program's
    answers. An answer is int32[V]. It is negative for a vertex that was not reached."""

    @abstractmethod
    def accepted(self, answer: Answer, source: int) -> Answer:
        """Check an answer of the program. Returns it in the form that the family uses. Raises
        WrongResultError."""

    @abstractmethod
    def links(self, answer: Answer, source: int) -> Answer:
        """Returns the links along paths, such as parents, from an answer that has them."""

    @abstractmethod
    def work_of(self, answer: Answer) -> int:
        """Returns the number of arcs that a run with this answer must read."""

    @abstractmethod
    def require_unwritten(self) -> None:
        """Check that the program has not written to its copy of the graph. Raises WrongResultError if it
        has."""


@dataclass(frozen=True)
class KernelSetup:
    """The graph, launch shape and knobs for which a kernel program is constructed."""

    graph: DeviceGraph
    """The graph's arrays on a device."""
    grid: int | None
    """The largest number of blocks of a launch. None allows as many blocks as the work needs."""
    block: int
    """Threads per block."""
    knobs: Mapping[str, KnobValue]
    """Values of all knobs of the variant, from ``Variant.knob_values``."""


class KernelProgram(Variant):
    """A variant that consists of CUDA kernels and their host loop."""

    child_kernels: ClassVar[bool] = False
    constants: ClassVar[Mapping[str, int]] = {}
    """Constants that the kernels declare too. A kernel file does not compile if it gives one of them another
    value."""
    structs: ClassVar[tuple[type[Struct], ...]] = ()
    """Structs that the kernels declare too. Structs of base classes are added."""
    whole_warps: ClassVar[bool] = False
    """True if the kernels need blocks of whole warps. Other blocks are refused."""
    kernel_files: ClassVar[tuple[str, ...]] = ()
    """Names of the ``.cu`` files with the kernels, without suffix. By default the variant's name."""

    def __init__(self, setup: KernelSetup) -> None:
        """Store the setup. Raises LaunchError for a block that the kernels do not take."""
        self.setup = setup
        self.device = setup.graph.device
        warp = self.device.limits.warp_size
        if self.whole_warps and setup.block % warp:
            raise LaunchError(f"{self.name}: a block has whole warps of {warp} threads, not {setup.block}")
        self.graph = setup.graph
        self.host_graph = setup.graph.host_graph
        self.num_vertices = self.host_graph.num_vertices
        self.num_edges = self.host_graph.row_offsets.dtype.type(self.host_graph.num_edges)
        """Its dtype is the type ``offset_t`` of the kernels."""
        self.grid = setup.grid
        self.block = setup.block
        self.knob = setup.knobs

    def another(self) -> Self:
        return type(self)(self.setup)

    def clock(self) -> Clock:
        return DeviceClock(self.device)

    def prepared_ms(self) -> tuple[float, float]:
        return self.graph.preparation_ms(self.prepare, self.layout)

    def blocks(self, work: int) -> int:
        """Returns how many blocks to launch for ``work`` items, with one thread per item. The number is at
        most ``grid``.

        The launch always has fewer than 2^31 threads, as the kernels' loop counters require (see graph.cuh).
        """
        needed = max(1, -(-work // self.block))
        most = min(self.device.limits.max_grid, (2**31 - 1) // self.block)
        return min(needed, self.grid or most, most)

    def kernel(self, name: str) -> Kernel:
        """Returns a kernel, compiled with the variant's macros. Its source is the file with the kernel's
        name, or else the variant's first file."""
        files = self.source_files()
        source = next((file for file in files if file.stem == name), files[0])
        module = self.device.module(
            source, self.defines(), child_kernels=self.child_kernels, contract=self.contract()
        )
        return module.kernel(name)

    def contract(self) -> Contract:
        """Returns the declarations that host and kernels share. See
        :meth:`bfsbench.backends.base.Device.module`."""
        from bfsbench.backends.base import Contract

        structs: dict[str, CType] = {struct.c_name(): struct for struct in self.shared_structs()}
        owner = Path(sys.modules[type(self).__module__].__file__ or "").name
        return Contract(owner, {"offset_t": self.num_edges.dtype, **structs}, self.shared_constants())

    def shared_structs(self) -> tuple[type[Struct], ...]:
        """Returns the structs that kernels declare too: ``structs`` of the class and its bases. Subclasses
        add structs that depend on the graph or the family."""
        return tuple(one for base in reversed(type(self).__mro__) for one in vars(base).get("structs", ()))

    def shared_constants(self) -> dict[str, int]:
        """Returns the constants that kernels declare too: the warp size and ``constants``. Subclasses add
        constants that depend on the family."""
        return {"WARP": self.device.limits.warp_size, **self.constants}

    def defines(self) -> dict[str, int | str]:
        """Returns the macros to compile with: compile-time knobs, and WIDE_OFFSETS, which is 1 if the graph
        has offsets of 64 bits."""
        defines = {knob.name: _macro(self.knob[knob.name]) for knob in self.knobs if knob.compile_time}
        return {**defines, "WIDE_OFFSETS": int(self.num_edges.itemsize == 8)}

    @classmethod
    def source_files(cls) -> list[Path]:
        """Returns the paths of the variant's ``.cu`` files.

        A file ``NAME.cu`` lies beside the module that declares the variant, or in a folder ``NAME`` beside
        it, or anywhere in ``cuda_src``.
        """
        beside = Path(sys.modules[cls.__module__].__file__ or "").parent
        found = []
        for stem in cls.kernel_files or (cls.name,):
            name = f"{stem}.cu"
            places = (beside / name, beside / stem / name, *CUDA_SRC.rglob(name))
            found.append(next((place for place in places if place.is_file()), beside / name))
        return found


def _macro(value: KnobValue) -> int | str:
    return value if isinstance(value, int) else str(value)
