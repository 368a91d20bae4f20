"""Measured ceilings of the device, which searches are compared with.

A probe is one operation, timed in some settings by kernels of ``cuda_src/probe.cu``. To add one, declare it
in a module of this folder and name that module's ``PROBES`` here.
"""

from __future__ import annotations

from bfsbench.probe import arithmetic, latency, memory
from bfsbench.probe.base import Figure, Probe, ProbeError, run_probe

__all__ = ["PROBES", "Figure", "Probe", "ProbeError", "run_probe"]

PROBES: dict[str, Probe] = {
    probe.name: probe for probe in (*memory.PROBES, *arithmetic.PROBES, *latency.PROBES)
}
"""All probes by name, in the order they are run."""
