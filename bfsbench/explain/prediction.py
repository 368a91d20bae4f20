"""A time predicted from counters and the ceilings of a device. It is a prediction, no measurement.

A search takes what the host needs to launch its kernels and to read what comes next, and what they need
themselves, level by level the largest of

- latency: what the longest warp waits for, one step after the other: a load of what it has not had lately
  takes a dependent load from L2, as does an atomic; one of what it has had, an access to shared memory and a
  barrier take one from L1; a level of resident blocks ends with a barrier between them;
- throughput: sectors that warps have not had lately at the rate of random reads in the memory that the kernel
  touches, the others at that of reads in L1, atomics at that of random atomics;
- contention: atomics on the busiest word, one after the other, in one of the L2 cache's parts.

All constants are ceilings (``bfsbench probe``); none is fitted to searches. What the model leaves out is in
docs/emulator.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bfsbench.explain.counters import Counters

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.probe.ceilings import Ceilings

L2_PARTS = 96
"""Of an H200's L2 cache, as its driver says; each does its share of random atomics."""
_IN_L1, _IN_L2 = 16 << 10, 8 << 20
"""Working sets that lie in these caches, in bytes."""
_READS_IN_L1 = 128 << 10
_SECTOR = 32
_LEVEL = ["level", "kernel"]


@dataclass(frozen=True)
class Prediction:
    """A predicted time and what it is made of, in ms."""

    search_ms: float
    launches_ms: float
    """Of the host: launches, and waiting for what they tell."""
    latency_ms: float
    throughput_ms: float
    contention_ms: float
    """Of the kernels, each by itself; what counts is the largest in each level."""

    @property
    def bound(self) -> str:
        """What most of the time goes into."""
        parts = {
            "launches": self.launches_ms,
            "latency": self.latency_ms,
            "throughput": self.throughput_ms,
            "contention": self.contention_ms,
        }
        return max(parts, key=lambda name: parts[name])


def predict(counted: Counters, ceilings: Ceilings) -> Prediction:
    """What a search that was counted would take on the device of the ceilings. Raises InputError where these
    lack a probe."""
    num_launches = counted.launches["launch"].nunique()
    launch_us = ceilings.at("launch")
    launches_us = num_launches * launch_us + counted.waits * (ceilings.at("launch_and_read") - launch_us)
    latency_us = _latency_us(counted.launches, ceilings)
    throughput_us = _throughput_us(counted.lines, ceilings)
    contention_us = _contention_us(counted.lines, ceilings)
    levels = (
        latency_us.to_frame("latency").join(throughput_us.to_frame("throughput"), how="outer").fillna(0.0)
    )
    levels = levels.join(contention_us.to_frame("contention"), how="outer").fillna(0.0)
    return Prediction(
        (launches_us + float(levels.max(axis=1).sum())) / 1e3,
        launches_us / 1e3,
        *(float(levels[name].sum()) / 1e3 for name in ("latency", "throughput", "contention")),
    )


def _latency_us(launches: pd.DataFrame, ceilings: Ceilings) -> pd.Series[float]:
    """By level and kernel."""
    far, near = (ceilings.at("dependent_loads", size) / 1e3 for size in (_IN_L2, _IN_L1))
    steps = launches["near"] + launches["shared_steps"] + launches["barriers"]
    us = far * (launches["far"] + launches["atomics"]) + near * steps
    levels_of_launch = launches.groupby("launch")["level"].transform("nunique")
    resident = (levels_of_launch > 1) & (launches["blocks"] > 1)
    us = us + ceilings.at("barrier") * resident
    return us.groupby([launches[name] for name in _LEVEL]).sum()


def _throughput_us(lines: pd.DataFrame, ceilings: Ceilings) -> pd.Series[float]:
    on_global = lines[lines["memory"] == "global"]
    touched = (
        int(on_global.groupby(_LEVEL)["distinct_sectors"].sum().max()) * _SECTOR if len(on_global) else 0
    )
    atomic = on_global["kind"] == "atomic"
    far = on_global["far_sectors"].where(~atomic, 0) / ceilings.at("random_reads", touched)
    near = (on_global["sectors"] - on_global["far_sectors"]).where(~atomic, 0)
    near = near / ceilings.at("random_bit_tests", _READS_IN_L1)
    atomics = on_global["sectors"].where(atomic, 0) / ceilings.at("random_atomics", touched)
    return ((far + near + atomics) / 1e3).groupby([on_global[name] for name in _LEVEL]).sum()


def _contention_us(lines: pd.DataFrame, ceilings: Ceilings) -> pd.Series[float]:
    rate = ceilings.at("random_atomics") / L2_PARTS
    return lines.groupby(_LEVEL)["hottest"].max() / rate / 1e3
