"""What kernels cost a GPU's memory system, counted without one: by level, kernel and source line.

:mod:`bfsbench.emulator` counts while it runs a search; here that is put together by line and level, written
to files that ``bfsbench compare`` takes, and laid beside the source.
docs/emulator.md says what the counters mean and what they leave out.
"""

from __future__ import annotations

from bfsbench.explain.counters import COUNTERS, Counters, count

__all__ = ["COUNTERS", "Counters", "count"]
