"""What a variant of any family is: a declaration, and the program that runs. A variant belongs to a family,
the problem that it solves (:mod:`bfsbench.families`). It is constructed for a graph and values of its knobs,
and kernels for the shape of a launch; ``prepare`` compiles and allocates once, untimed. Everything else is
declared by the base classes of the family.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from bfsbench.errors import LaunchError, UsageError
from bfsbench.paths import CUDA_SRC
from bfsbench.programs.clock import Clock, DeviceClock, HostClock
from bfsbench.programs.knob import Knob, KnobValue

if TYPE_CHECKING:
    from bfsbench.backends.base import Contract, CType, Kernel, Struct
    from bfsbench.graphs.graph import Graph
    from bfsbench.programs.device_graph import DeviceGraph


class Variant(ABC):
    """One algorithm of one family. The class is its declaration, an instance a prepared computation."""

    family: ClassVar[str]
    """The name of a :class:`bfsbench.families.base.Family`."""
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    """What it does, in one line."""
    origin: ClassVar[tuple[str, ...]]
    """Paper and figure, each as ``Springer, Fig. 9``."""
    layout: ClassVar[tuple[str, ...]]
    """The layouts it reads: CSR, CSC, COO, matrix."""
    frontier: ClassVar[str]
    """How the frontier is represented."""
    parallel_unit: ClassVar[str]
    """The item of one thread or group of threads."""
    work: ClassVar[str]
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
    """Macros for kernels whose values the host loop needs as well."""
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

        structs: dict[str, CType] = {struct.c_name(): struct for struct in self.structs()}
        owner = Path(sys.modules[type(self).__module__].__file__ or "").name
        return Contract(owner, {"offset_t": self.num_edges.dtype, **structs}, self.shared_constants())

    def structs(self) -> tuple[type[Struct], ...]:
        """Structs that the kernels declare as well."""
        return ()

    def shared_constants(self) -> dict[str, int]:
        """Constants that the kernels declare as well. Those that only the host declares are in
        ``constants``."""
        return {"WARP": self.device.limits.warp_size}

    def defines(self) -> dict[str, int | str]:
        """Macros to compile with: the compile-time knobs, constants, and macros that depend on the graph."""
        defines = {knob.name: _macro(self.knob[knob.name]) for knob in self.knobs if knob.compile_time}
        return {**defines, **self.constants, "WIDE_OFFSETS": int(self.num_edges.itemsize == 8)}

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
