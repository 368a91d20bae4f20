"""Defines the base classes of variants. A variant implements an algorithm. It consists of a declaration,
and of the program that runs the algorithm.

A variant belongs to a family, which is the problem that it solves (:mod:`bfsbench.programs.families`). The
constructor takes a graph, and values for the variant's parameters (knobs). Variants with kernels also take a
grid size and a block size. The method ``prepare`` compiles and allocates once, and is not timed. The family's
base classes declare the methods that run a variant and return its result. The module also has classes for
knobs, for memory traffic, and for clocks.
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
    """The bytes that an algorithm must move through global memory. The roofline model computes a lower bound
    on the time from these bytes.

    Ids, levels and offsets count as 4 bytes. Additional traffic from races, such as duplicates, does not
    count.
    """

    per_edge: int = 8
    """Bytes per edge that is read: one entry of the adjacency array, and the test whether the vertex is
    new."""
    per_frontier_edge: int = 0
    """Additional bytes per edge that leaves the frontier. This is for searches that read all edges to find
    the edges of the frontier."""
    per_vertex: int = 20
    """Bytes per reached vertex: its level, two offsets, and a queue entry that is written and read."""
    per_scan: int = 0
    """Bytes per level and per vertex of the graph. This is for searches that read all vertices in each level
    to find the frontier."""


KnobValue = int | float | str

PRESETS = ("default", "paper", "auto")
"""Ways to choose values for the knobs that a user does not set. ``default`` takes the declared defaults,
``paper`` takes the values that the paper states, and ``auto`` follows rules for the graph. A knob without
such a value or rule keeps its default."""


@dataclass(frozen=True)
class Knob:
    """A parameter of a variant, besides the grid size and the block size. It has the name that the variant's
    paper gives it."""

    name: str
    default: KnobValue
    meaning: str
    choices: tuple[KnobValue, ...] = ()
    """All legal values. An empty tuple allows every number from ``minimum`` to ``maximum``."""
    minimum: float | None = None
    maximum: float | None = None
    compile_time: bool = False
    """True if the kernel gets the value as a macro of this name, when it is compiled. False if the value is
    passed at run time."""
    changed: tuple[KnobValue, ...] = ()
    """The values that change the algorithm of the paper's authors. Judgements of a paper's claims leave out
    results with these values."""

    @property
    def option(self) -> str:
        """Returns the command-line option of the knob, such as ``--w-sz`` for ``W_SZ``."""
        return "--" + self.name.lower().replace("_", "-")

    @property
    def legal(self) -> str:
        """Returns a text that lists the legal values of the knob, or gives their range."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.minimum:g} .. {self.maximum:g}"

    def check(self, value: str | KnobValue) -> KnobValue:
        """Check a value for the knob. Returns it, converted to the knob's type. Raises UsageError if the
        value cannot be converted without a loss, or if it is not legal."""
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
    """Protocol of clocks that measure the time in ms between ``start`` and ``stop``."""

    def wait(self) -> None:
        """Wait until earlier work has ended, so that its time is not measured."""

    def start(self) -> None: ...

    def stop(self) -> float: ...


class HostClock:
    """Measures time with the host's monotonic clock."""

    def wait(self) -> None:
        """Do nothing, because a function on the host returns only when its work has ended."""

    def start(self) -> None:
        self._started = time.perf_counter()

    def stop(self) -> float:
        return (time.perf_counter() - self._started) * 1e3


class OwnClock:
    """A clock for variants that measure their own time. It returns the variant's attribute ``took_ms``."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant

    def wait(self) -> None:
        """Do nothing. The variant itself waits for earlier work before it measures a time."""

    def start(self) -> None:
        self._variant.took_ms = 0.0

    def stop(self) -> float:
        return self._variant.took_ms


class DeviceClock:
    """Measures the time of GPU work with one device event before it and one after it."""

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
    """An algorithm of one family. The class declares the algorithm. An instance runs it on one graph."""

    family: ClassVar[str]
    """The name of the variant's :class:`bfsbench.programs.families.base.Family`, such as ``bfs``."""
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    """One line that says what the algorithm does."""
    origin: ClassVar[tuple[str, ...]] = ()
    """The paper and figure that describe the algorithm, such as ``Springer, Fig. 9``. If this or another
    descriptive attribute is empty, tables leave it out."""
    layout: ClassVar[tuple[str, ...]] = ()
    """The graph layouts that the variant reads: CSR, CSC, COO, or matrix."""
    frontier: ClassVar[str] = ""
    """A description of how the algorithm represents the frontier."""
    parallel_unit: ClassVar[str] = ""
    """A description of the work item of one thread or group of threads."""
    work: ClassVar[str] = ""
    """Work complexity of the algorithm in terms of V vertices, E edges and depth D."""
    space: ClassVar[str] = ""
    """Memory of a search, graph included, as a formula in words of 4 bytes, for offsets of 32 bits."""
    synchronisation: ClassVar[str] = "one launch per level"
    """A description of how the algorithm synchronises levels."""
    knobs: ClassVar[tuple[Knob, ...]] = ()
    check_knobs: ClassVar[tuple[Mapping[str, KnobValue], ...]] = ()
    """Sets of knob values. ``bfsbench check`` also runs the variant on small graphs with each set, to cover
    code that the default values do not reach."""
    counters: ClassVar[Mapping[str, str]] = {}
    """Names and meanings of the events that the kernels count in each level of a profiled search. Kernels
    count only if they are compiled with the macro ``COUNTERS`` set to 1. They declare an enum in the
    namespace ``counted``, which has these names in order, followed by ``number``."""
    host: ClassVar[bool] = False
    """True if the variant is a program on the CPU, which has no grid and no block."""
    launched: ClassVar[bool] = True
    """True if the user or bfsbench chooses a grid size and a block size. False if the variant has none, or
    chooses them itself."""
    usual_block: ClassVar[int] = 256
    """Default number of threads per block."""
    took_ms: float = 0.0
    """Time in ms of the current run, as measured by the variant itself. Only variants with an OwnClock set
    it. The clock sets it to 0 when a run begins."""
    preprocess_ms: float = 0.0
    """Time in ms to preprocess the graph for this algorithm. It is 0 for most algorithms. If several searches
    share a preprocessed graph (``DeviceGraph.once``), each reports the time of the first preprocessing."""

    @abstractmethod
    def prepare(self) -> None:
        """Compile, allocate and preprocess for the variant's graph. bfsbench calls this method once, and does
        not time it as part of a run."""

    def prepared_ms(self) -> tuple[float, float]:
        """Prepare the variant. Returns two times in ms: the preparation without compilation, and the
        compilation.

        Preparation begins with the graph's CSR on disk, in a process that has loaded its libraries. It ends
        when the first search can start. It includes allocation, upload, conversion to other formats, and
        trial searches that choose parameters.
        """
        started = time.perf_counter()
        self.prepare()
        return (time.perf_counter() - started) * 1e3, 0.0

    @abstractmethod
    def another(self) -> Self:
        """Returns a new instance of the variant with the same graph, knob values, grid size and block size.
        The new instance is not prepared."""

    @abstractmethod
    def clock(self) -> Clock:
        """Returns the clock that times runs of this variant."""

    @classmethod
    def missing(cls) -> str:
        """Returns a one-line message that says what must be installed before the variant can run. Returns an
        empty string if nothing is missing."""
        return ""

    @classmethod
    def program_parts(cls) -> Iterator[bytes] | None:
        """Returns an iterator over bytes that identify a program of other authors. Returns None for any other
        variant, whose source files identify it."""
        return None

    @classmethod
    def memory_note(cls, num_vertices: int, sources: int | None, knobs: Mapping[str, KnobValue]) -> str:
        """Returns a text with the memory that a run takes besides the graph: a formula and its value. Returns
        an empty string if the memory is unknown."""
        return ""

    def measured(self) -> dict[str, str]:
        """Returns the values of result columns that only the variant knows, by column name. Examples are the
        clock that timed the last runs, and the memory that these runs used."""
        return {"clock": "ours" if self.host else "events"}

    @classmethod
    def knob_values(cls, given: Mapping[str, str | KnobValue]) -> dict[str, KnobValue]:
        """Returns values for all knobs of the variant. Knobs that are not in ``given`` get their defaults.
        Raises UsageError for an unknown knob or a bad value."""
        known = {knob.name: knob for knob in cls.knobs}
        for name in given:
            if name not in known:
                raise UsageError(f"variant {cls.name} has no knob {name}")
        return {name: knob.check(given.get(name, knob.default)) for name, knob in known.items()}

    @classmethod
    def preset(cls, name: str, statistics: Mapping[str, float]) -> Mapping[str, KnobValue]:
        """Returns the knob values of a preset for a graph. ``name`` is one of PRESETS.

        Knobs that are missing in the result keep their defaults. ``statistics`` describes the graph, as
        :func:`bfsbench.graphs.statistics.describe` returns it.
        """
        if name == "auto":
            return cls.auto_knobs(statistics)
        return cls.paper_knobs() if name == "paper" else {}

    @classmethod
    def paper_knobs(cls) -> Mapping[str, KnobValue]:
        """Returns the knob values that the variant's paper states, for the preset ``paper``."""
        return {}

    @classmethod
    def auto_knobs(cls, statistics: Mapping[str, float]) -> Mapping[str, KnobValue]:
        """Returns knob values for a graph with these statistics, for the preset ``auto``."""
        return {}

    @classmethod
    def own_block(cls, knobs: Mapping[str, KnobValue]) -> int | None:
        """Returns the number of threads per block if the knob values determine it. Returns None if the user
        or bfsbench chooses it."""
        return None


class HostProgram(Variant):
    """A variant that bfsbench runs as a program on the host, without kernels of this package. Examples are
    the CPU baselines of papers, and programs of other authors."""

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
        """Decide which clock times the program: its own clock, or the host's clock. Raises WrongResultError
        if the program's clock is wrong."""


class ForeignProgram(HostProgram):
    """A program of other authors (an entry), which gets a copy of the graph. The program writes an answer,
    int32[V]. A negative number means that a vertex was not reached. The variant's family interprets the
    answer."""

    @abstractmethod
    def accepted(self, answer: Answer, source: int) -> Answer:
        """Convert an answer of the program to the values that its family compares with the reference, such as
        levels. Returns these values. Raises WrongResultError if the conversion shows that the answer is
        wrong."""

    @abstractmethod
    def links(self, answer: Answer, source: int) -> Answer:
        """Returns the part of an answer that describes paths, such as the parent of each vertex."""

    @abstractmethod
    def work_of(self, answer: Answer) -> int:
        """Returns the number of arcs that the program must have read to find this answer."""

    @abstractmethod
    def require_unwritten(self) -> None:
        """Raise WrongResultError if the program has written to its copy of the graph."""


@dataclass(frozen=True)
class KernelSetup:
    """The arguments with which a kernel program is constructed: graph, grid size, block size and knob
    values."""

    graph: DeviceGraph
    """The graph's arrays on a device."""
    grid: int | None
    """Maximum number of blocks of a launch. None allows as many blocks as the work needs."""
    block: int
    """Number of threads per block."""
    knobs: Mapping[str, KnobValue]
    """Values of all knobs of the variant, as ``Variant.knob_values`` returns them."""


class KernelProgram(Variant):
    """A variant that consists of CUDA kernels and of the host code that launches them."""

    child_kernels: ClassVar[bool] = False
    constants: ClassVar[Mapping[str, int]] = {}
    """Constants that both the host code and the kernels declare. Compilation fails if a kernel file gives a
    constant another value."""
    structs: ClassVar[tuple[type[Struct], ...]] = ()
    """Structs that both the host code and the kernels declare. Structs of base classes need not be
    repeated."""
    whole_warps: ClassVar[bool] = False
    """True if the number of threads per block must be a multiple of the warp size."""
    kernel_files: ClassVar[tuple[str, ...]] = ()
    """Names of the ``.cu`` files with the kernels, without the suffix. An empty tuple stands for one file
    with the variant's name."""

    def __init__(self, setup: KernelSetup) -> None:
        """Store the arguments. Raises LaunchError if the kernels cannot run with this block size."""
        self.setup = setup
        self.device = setup.graph.device
        warp = self.device.limits.warp_size
        if self.whole_warps and setup.block % warp:
            raise LaunchError(
                f"{self.name}: a block must consist of whole warps of {warp} threads, not {setup.block}"
            )
        self.graph = setup.graph
        self.host_graph = setup.graph.host_graph
        self.num_vertices = self.host_graph.num_vertices
        self.num_edges = self.host_graph.row_offsets.dtype.type(self.host_graph.num_edges)
        """The number of arcs, with the NumPy type that corresponds to ``offset_t`` of the kernels."""
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
        """Returns how many blocks to launch for ``work`` items, with one thread per item. The result is at
        most the grid size, if the user has set one.

        A launch always has fewer than 2^31 threads, as the loop counters of the kernels require (see
        graph.cuh).
        """
        needed = max(1, -(-work // self.block))
        most = min(self.device.limits.max_grid, (2**31 - 1) // self.block)
        return min(needed, self.grid or most, most)

    def kernel(self, name: str) -> Kernel:
        """Returns a kernel of the variant, compiled with the variant's macros. Its source is the kernel file
        with the name of the kernel, or else the first kernel file."""
        files = self.source_files()
        source = next((file for file in files if file.stem == name), files[0])
        module = self.device.module(
            source, self.defines(), child_kernels=self.child_kernels, contract=self.contract()
        )
        return module.kernel(name)

    def contract(self) -> Contract:
        """Returns the structs, types and constants that host and kernels both declare.
        :meth:`bfsbench.backends.base.Device.module` checks that they agree."""
        from bfsbench.backends.base import Contract

        structs: dict[str, CType] = {struct.c_name(): struct for struct in self.shared_structs()}
        owner = Path(sys.modules[type(self).__module__].__file__ or "").name
        return Contract(owner, {"offset_t": self.num_edges.dtype, **structs}, self.shared_constants())

    def shared_structs(self) -> tuple[type[Struct], ...]:
        """Returns the structs that host and kernels both declare: ``structs`` of the class and of its base
        classes. Subclasses add structs that depend on the graph or the family."""
        return tuple(one for base in reversed(type(self).__mro__) for one in vars(base).get("structs", ()))

    def shared_constants(self) -> dict[str, int]:
        """Returns the constants that host and kernels both declare, by name: the warp size and ``constants``.
        Subclasses add constants that depend on the family."""
        return {"WARP": self.device.limits.warp_size, **self.constants}

    def defines(self) -> dict[str, int | str]:
        """Returns the macros for the compilation: the compile-time knobs, and WIDE_OFFSETS. WIDE_OFFSETS is 1
        if the graph's offsets have 64 bits."""
        defines = {knob.name: _macro(self.knob[knob.name]) for knob in self.knobs if knob.compile_time}
        return {**defines, "WIDE_OFFSETS": int(self.num_edges.itemsize == 8)}

    @classmethod
    def source_files(cls) -> list[Path]:
        """Returns the paths of the variant's ``.cu`` files.

        A file ``NAME.cu`` lies beside the module that declares the variant, or in a folder ``NAME`` beside
        it, or anywhere in ``cuda_src``. If the file is in none of these places, the path beside the module is
        returned, although no file exists there.
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
