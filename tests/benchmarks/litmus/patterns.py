"""The litmus tests' patterns, the shapes in which they run, and their results.

The kernels are in ``litmus.cu``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from ctypes import c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bfsbench.backends.base import Contract, Device, Module, Struct
from bfsbench.support.errors import KernelError

AS_USED = "as used"
ORDERS = (AS_USED, "no release", "no acquire", "no atomics")
"""The rule that is left out, numbered as in the kernels."""
_LINE = 32
_WORDS_PER_THREAD = 20
"""Words of the largest pattern, the queue."""
_LAUNCH_ROUNDS = 4096
_EMULATED_BLOCKS = 16
_FORBIDDEN = ("stale", "early", "wrong")


class Outcomes(Struct):
    """Counts of outcomes. All but ``looks`` and ``outdated`` are faults."""

    _fields_: ClassVar = [
        (name, c_ulonglong) for name in ("looks", "stale", "early", "wrong", "outdated", "gave_up")
    ]


class Arena(Struct):
    """The memory of a launch."""

    _fields_: ClassVar = [
        *((name, c_void_p) for name in ("words", "traffic", "seen")),
        ("words_per_group", c_uint),
        ("traffic_mask", c_uint),
    ]


_CONTRACT = Contract(
    "litmus",
    {struct.c_name(): struct for struct in (Outcomes, Arena)},
    {order.upper().replace(" ", "_"): number for number, order in enumerate(ORDERS)},
)


@dataclass(frozen=True)
class Pattern:
    """A way to hand data from one thread to another, and the rules that controls leave out."""

    name: str
    kernel: str
    controls: tuple[str, ...]
    clusters: bool = False


PATTERNS = (
    Pattern("messages, grid's barrier", "grid_messages", ("no release", "no acquire")),
    Pattern("counters in turn, grid's barrier", "grid_counters", ("no release", "no acquire")),
    Pattern("places in a queue, grid's barrier", "grid_queue", ("no release", "no acquire")),
    Pattern("looks and claims, grid's barrier", "grid_claims", ("no release", "no acquire", "no atomics")),
    Pattern("messages, cluster's barrier", "cluster_messages", ("no release",), clusters=True),
    Pattern("counters in turn, cluster's barrier", "cluster_counters", ("no release",), clusters=True),
    Pattern("one block alone, cluster's barrier", "cluster_alone", ("no release",), clusters=True),
)


@dataclass(frozen=True)
class Shape:
    """The numbers of threads, blocks and groups of a trial."""

    block: int
    """Threads of a block."""
    group_blocks: int
    groups: int
    many_groups: bool
    """Whether the goal counts rounds of groups. If not, it counts values looked at."""

    @property
    def label(self) -> str:
        return f"{self.groups} x {self.group_blocks} x {self.block}"


@dataclass(frozen=True)
class Result:
    """The outcomes of one trial."""

    trial: Trial
    rounds: int
    """Rounds of all groups together."""
    seen: dict[str, int]
    """The members of :class:`Outcomes`."""
    seconds: float

    @property
    def forbidden(self) -> int:
        """Returns the number of outcomes that the memory model forbids if no rule is left out."""
        return sum(self.seen[name] for name in _FORBIDDEN)


@dataclass(frozen=True)
class Trial:
    """A pattern in a shape, with all rules or without one."""

    device: Device
    module: Module
    pattern: Pattern
    shape: Shape
    order: str

    def run(self, goal: int, seconds: float) -> Result:
        """Run rounds until their number, or the number of values looked at, reaches the goal or the time
        ends. Raises KernelError if a block waited for blocks that did not come."""
        shape, device = self.shape, self.device
        emulated = device.backend == "cpu"
        words = 4 * _LINE + _WORDS_PER_THREAD * shape.group_blocks * shape.block
        memory = device.empty(words * shape.groups, "uint32")
        traffic = device.empty(1 << (10 if emulated else 22), "uint32")
        seen = device.signal(Outcomes)
        for each in (memory, traffic, seen):
            each.fill(0)
        arena = Arena(
            words=memory, traffic=traffic, seen=seen, words_per_group=words, traffic_mask=traffic.size - 1
        )
        launch = self.module.kernel(self.pattern.kernel).bind(
            arena, shape.group_blocks, ORDERS.index(self.order), block=shape.block, scalars=2
        )
        done, begin = 0, time.perf_counter()
        while True:
            rounds = min(_LAUNCH_ROUNDS, -(-goal // shape.groups))
            launch(shape.groups * shape.group_blocks, rounds, done + 1)
            done += rounds
            counts = seen.read_struct()
            counted = done * shape.groups if shape.many_groups else counts.looks
            if counts.gave_up:
                raise KernelError(f"{self.pattern.name}: blocks of a group did not all meet")
            if counted >= goal or time.perf_counter() - begin > seconds:
                break
        found = {name: int(getattr(counts, name)) for name, _ in Outcomes._fields_ if name != "gave_up"}
        return Result(self, done * shape.groups, found, time.perf_counter() - begin)


def trials(device: Device) -> Iterator[Trial]:
    """Yields each pattern and its controls, in small groups and in groups as large as a search has them.

    The emulator has no barrier of a cluster that does not release, so it gets no such controls.
    """
    emulated = device.backend == "cpu"
    small, large = (32, 64) if emulated else (64, 1024)
    largest = min(4 if emulated else 16, device.limits.blocks_per_cluster)
    for cluster, block in ((2, small), (largest, large)):
        module = device.module(
            Path(__file__).with_name("litmus.cu"),
            {"CLUSTER_SIZE": cluster, "BLOCK": block, "WIDE_OFFSETS": 0},
            contract=_CONTRACT,
        )
        for pattern in PATTERNS:
            if pattern.clusters and cluster == 1:
                continue  # the device has none
            blocks = module.kernel(pattern.kernel).resident_blocks(block)
            if emulated:
                blocks = _EMULATED_BLOCKS
            group_blocks = cluster if pattern.clusters or block == small else blocks
            shape = Shape(block, group_blocks, blocks // group_blocks, block == small)
            for order in (AS_USED, *(() if emulated and pattern.clusters else pattern.controls)):
                yield Trial(device, module, pattern, shape, order)
