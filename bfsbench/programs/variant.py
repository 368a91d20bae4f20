"""What a variant of any family is: a declaration, and the program that runs.

A variant belongs to a family, the problem that it solves (:mod:`bfsbench.programs.families`). It is
constructed for a graph and values of its knobs, and kernels for the shape of a launch; ``prepare`` compiles
and allocates once, untimed. The base classes of the family declare everything else. The module also has what
a declaration is made of, memory traffic and knobs, and the clocks that time programs.
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
    """Bytes that an algorithm has to move through global memory, for the roofline. Ids, levels and offsets
    have 4 bytes; extra traffic by races, such as duplicates, is left out."""

    per_edge: int = 8
    """Per edge read: its entry in the adjacency array, and the test whether its other end is new."""
    per_frontier_edge: int = 0
    """Per edge out of the frontier in addition, for searches that read all edges to find these."""
    per_vertex: int = 20
    """Per vertex reached: its level, two offsets, and its entry in a queue, written and read."""
    per_scan: int = 0
    """Per vertex and level, reached or not: reads to find the frontier."""


KnobValue = int | float | str

PRESETS = ("default", "paper", "auto")
"""Sources of knob values that are not given: the defaults, the paper, the paper's rules."""


@dataclass(frozen=True)
class Knob:
    """A parameter of a variant besides grid and block, with its name in the paper."""

    name: str
    default: KnobValue
    meaning: str
    choices: tuple[KnobValue, ...] = ()
    """The legal values; empty when ``minimum`` and ``maximum`` bound them."""
    minimum: float | None = None
    maximum: float | None = None
    compile_time: bool = False
    """Compiled into the kernel as a macro of the same name, rather than passed to it."""
    changed: tuple[KnobValue, ...] = ()
    """The values by which we change the authors' algorithm. Verdicts on papers tell them apart."""

    @property
    def option(self) -> str:
        """The command line's spelling: ``W_SZ`` is ``--w-sz``."""
        return "--" + self.name.lower().replace("_", "-")

    @property
    def legal(self) -> str:
        """The legal values as text."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        return f"{self.minimum:g} .. {self.maximum:g}"

    def check(self, value: str | KnobValue) -> KnobValue:
        """The value in the knob's type. Raises UsageError for a value of another type or out of range."""
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
    """Times what happens between ``start`` and ``stop`` in ms."""

    def wait(self) -> None:
        """Wait for earlier work, so that it is not timed."""

    def start(self) -> None: ...

    def stop(self) -> float: ...


class HostClock:
    """The host's monotonic clock."""

    def wait(self) -> None:
        """Does nothing: work of the host is synchronous."""

    def start(self) -> None:
        self._started = time.perf_counter()

    def stop(self) -> float:
        return (time.perf_counter() - self._started) * 1e3


class DeviceClock:
    """A pair of device events around the work issued between them."""

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
    """One algorithm of one family. The class is its declaration, an instance a prepared computation."""

    family: ClassVar[str]
    """The name of a :class:`bfsbench.programs.families.base.Family`."""
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    """What it does, in one line."""
    origin: ClassVar[tuple[str, ...]] = ()
    """Paper and figure, each as ``Springer, Fig. 9``. Tables leave out descriptions that are empty."""
    layout: ClassVar[tuple[str, ...]] = ()
    """The layouts it reads: CSR, CSC, COO, matrix."""
    frontier: ClassVar[str] = ""
    """How the frontier is represented."""
    parallel_unit: ClassVar[str] = ""
    """The item of one thread or group of threads."""
    work: ClassVar[str] = ""
    """Work complexity, with V, E and the depth D."""
    space: ClassVar[str] = ""
    """Memory of a search, the graph included, in words of 4 bytes; with 32-bit offsets."""
    synchronisation: ClassVar[str] = "a launch a level"
    """The synchronisation between levels."""
    knobs: ClassVar[tuple[Knob, ...]] = ()
    check_knobs: ClassVar[tuple[Mapping[str, KnobValue], ...]] = ()
    """Values of knobs that lead through what it does not do by default, on small graphs: a check takes these
    in turn."""
    counters: ClassVar[Mapping[str, str]] = {}
    """Counters of every level of a profiled search, with their meanings. Kernels count if compiled with
    ``COUNTERS`` set to 1. They have an enum of the same names in a namespace ``counted``, and ``number``
    last."""
    host: ClassVar[bool] = False
    """True for native CPU programs, which have no grid and block."""
    launched: ClassVar[bool] = True
    """Whether a grid and a block are chosen for it; False for programs that have none or choose their own."""
    usual_block: ClassVar[int] = 256
    """Default number of threads per block."""
    preprocess_ms: float = 0.0
    """Time in ms to preprocess the graph for this search; 0 for most variants. Where searches share the
    result (``DeviceGraph.once``), each has the time of the first ``prepare``."""

    @abstractmethod
    def prepare(self) -> None:
        """Prepare once for a graph, outside the timed runs."""

    def prepared_ms(self) -> tuple[float, float]:
        """Prepare. Returns the time in ms of preparation and that of compilation.

        Preparation is everything between the graph's CSR on disk and readiness for the first search, in a
        process that has started and loaded its libraries: allocation, upload, own formats, probes of the
        graph and searches that tune. Compilation is not part of it.
        """
        started = time.perf_counter()
        self.prepare()
        return (time.perf_counter() - started) * 1e3, 0.0

    @abstractmethod
    def another(self) -> Self:
        """A new variant for the same graph and setting, not prepared."""

    @abstractmethod
    def clock(self) -> Clock:
        """The clock that times its runs."""

    @classmethod
    def missing(cls) -> str:
        """What must be done before it can run on this machine, in one line; empty if nothing."""
        return ""

    @classmethod
    def program_parts(cls) -> Iterator[bytes] | None:
        """The program of variants that are not compiled here; None for those with sources here."""
        return None

    @classmethod
    def memory_note(cls, num_vertices: int, sources: int | None, knobs: Mapping[str, KnobValue]) -> str:
        """Returns what a run takes beside the graph, as a formula with its value; empty if none is known."""
        return ""

    def measured(self) -> dict[str, str]:
        """Columns about the last runs that only the variant can fill: who held the clock, and memory."""
        return {"clock": "ours" if self.host else "events"}

    @classmethod
    def knob_values(cls, given: Mapping[str, str | KnobValue]) -> dict[str, KnobValue]:
        """Values for all knobs, defaults included. Raises UsageError for a knob it does not have."""
        known = {knob.name: knob for knob in cls.knobs}
        for name in given:
            if name not in known:
                raise UsageError(f"variant {cls.name} has no knob {name}")
        return {name: knob.check(given.get(name, knob.default)) for name, knob in known.items()}

    @classmethod
    def preset(cls, name: str, statistics: Mapping[str, float]) -> Mapping[str, KnobValue]:
        """Values that one of PRESETS sets for a graph of these statistics
        (:func:`bfsbench.graphs.statistics.describe`); knobs left out keep their defaults."""
        if name == "auto":
            return cls.auto_knobs(statistics)
        return cls.paper_knobs() if name == "paper" else {}

    @classmethod
    def paper_knobs(cls) -> Mapping[str, KnobValue]:
        """Values of the preset ``paper``: those that the paper states."""
        return {}

    @classmethod
    def auto_knobs(cls, statistics: Mapping[str, float]) -> Mapping[str, KnobValue]:
        """Values of the preset ``auto``: by rule for a graph of these statistics."""
        return {}

    @classmethod
    def own_block(cls, knobs: Mapping[str, KnobValue]) -> int | None:
        """Threads a block, of variants that choose grid and block by their knobs; None for the others."""
        return None


class HostProgram(Variant):
    """A native program on this machine's CPU, the papers' CPU columns."""

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
        """Decide by which clock the program is timed. Raises WrongResultError if its own clock is wrong."""


class ForeignProgram(HostProgram):
    """A program of others, which gets a copy of the graph. Its family says what its answers mean.

    An answer is int32[V]; negative where a vertex was not reached.
    """

    @abstractmethod
    def accepted(self, answer: Answer, source: int) -> Answer:
        """The answer as the family has it, after checks of its own. Raises WrongResultError."""

    @abstractmethod
    def links(self, answer: Answer, source: int) -> Answer:
        """The links along paths, of an answer that has them."""

    @abstractmethod
    def work_of(self, answer: Answer) -> int:
        """How many arcs a run with this answer has to look at."""

    @abstractmethod
    def require_unwritten(self) -> None:
        """Raises WrongResultError if the program has written into its copy of the graph."""


@dataclass(frozen=True)
class KernelSetup:
    """The setting that a kernel program is constructed for."""

    graph: DeviceGraph
    """The graph's arrays on a device."""
    grid: int | None
    """The most blocks a launch may have; None for as many as the work needs."""
    block: int
    """Threads a block."""
    knobs: Mapping[str, KnobValue]
    """Values of all of its knobs, from ``Variant.knob_values``."""


class KernelProgram(Variant):
    """CUDA kernels and their host loop."""

    child_kernels: ClassVar[bool] = False
    constants: ClassVar[Mapping[str, int]] = {}
    """Constants that the kernels declare as well. A file that has another value does not compile."""
    structs: ClassVar[tuple[type[Struct], ...]] = ()
    """Structs that the kernels declare as well, besides those of base classes."""
    whole_warps: ClassVar[bool] = False
    """True for kernels that need blocks of whole warps; other blocks are refused."""
    kernel_files: ClassVar[tuple[str, ...]] = ()
    """Names of the ``.cu`` files that hold the kernels, without their ending; by default the variant's."""

    def __init__(self, setup: KernelSetup) -> None:
        """Raises LaunchError for a block that the kernels do not take."""
        self.setup = setup
        self.device = setup.graph.device
        warp = self.device.limits.warp_size
        if self.whole_warps and setup.block % warp:
            raise LaunchError(f"{self.name}: a block has whole warps of {warp} threads, not {setup.block}")
        self.graph = setup.graph
        self.host_graph = setup.graph.host_graph
        self.num_vertices = self.host_graph.num_vertices
        self.num_edges = self.host_graph.row_offsets.dtype.type(self.host_graph.num_edges)
        """The dtype of the kernels' ``offset_t``."""
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
        """Blocks to launch for ``work`` items: one thread each, capped by the grid asked for.

        Always below 2^31 threads, as the kernels' loop counters require (see graph.cuh).
        """
        needed = max(1, -(-work // self.block))
        most = min(self.device.limits.max_grid, (2**31 - 1) // self.block)
        return min(needed, self.grid or most, most)

    def kernel(self, name: str) -> Kernel:
        """A kernel, compiled with the variant's macros, from the file of the kernel's name or the first
        file."""
        files = self.source_files()
        source = next((file for file in files if file.stem == name), files[0])
        module = self.device.module(
            source, self.defines(), child_kernels=self.child_kernels, contract=self.contract()
        )
        return module.kernel(name)

    def contract(self) -> Contract:
        """Declarations shared by host and kernels; see :meth:`bfsbench.backends.base.Device.module`."""
        from bfsbench.backends.base import Contract

        structs: dict[str, CType] = {struct.c_name(): struct for struct in self.shared_structs()}
        owner = Path(sys.modules[type(self).__module__].__file__ or "").name
        return Contract(owner, {"offset_t": self.num_edges.dtype, **structs}, self.shared_constants())

    def shared_structs(self) -> tuple[type[Struct], ...]:
        """``structs`` of the class and its bases, and those that depend on the graph or the family."""
        return tuple(one for base in reversed(type(self).__mro__) for one in vars(base).get("structs", ()))

    def shared_constants(self) -> dict[str, int]:
        """``constants``, and those that depend on the device or the family."""
        return {"WARP": self.device.limits.warp_size, **self.constants}

    def defines(self) -> dict[str, int | str]:
        """Macros to compile with: the compile-time knobs, and macros that depend on the graph."""
        defines = {knob.name: _macro(self.knob[knob.name]) for knob in self.knobs if knob.compile_time}
        return {**defines, "WIDE_OFFSETS": int(self.num_edges.itemsize == 8)}

    @classmethod
    def source_files(cls) -> list[Path]:
        """The ``.cu`` files: each beside the module that declares the variant or in a folder of the file's
        name there, or anywhere in ``cuda_src``."""
        beside = Path(sys.modules[cls.__module__].__file__ or "").parent
        found = []
        for stem in cls.kernel_files or (cls.name,):
            name = f"{stem}.cu"
            places = (beside / name, beside / stem / name, *CUDA_SRC.rglob(name))
            found.append(next((place for place in places if place.is_file()), beside / name))
        return found


def _macro(value: KnobValue) -> int | str:
    return value if isinstance(value, int) else str(value)
