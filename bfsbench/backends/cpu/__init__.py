"""The device interface on this machine's CPU: the same ``.cu`` files, compiled as C++ and run by fibers.

It is there to develop and test kernels without a GPU; no time taken on it says anything about one.
"""

from bfsbench.backends.cpu.device import CpuDevice

__all__ = ["CpuDevice"]
