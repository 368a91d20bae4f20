"""Captures kernel launches as a CUDA graph, which the host launches as a whole.

Launching a CUDA graph takes the host less time than launching its kernels one by one. PyCUDA does not wrap
CUDA graphs. So this module calls NVIDIA's driver through ctypes, for both GPU backends.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable

from bfsbench.support.errors import DeviceError, KernelError
from bfsbench.support.toolchain import DRIVER_LIBRARY

_RELAXED = 2
"""The constant CU_STREAM_CAPTURE_MODE_RELAXED of cuda.h. In this mode, Python may free buffers during a
capture."""


class CudaGraph:
    """A CUDA graph of kernel launches. Calling the object launches the graph asynchronously. ``destroy``
    frees the graph. The method is called when the object is deleted, if not before.
    """

    def __init__(self, launch_all: Callable[[], None], stream: int) -> None:
        """Capture the launches that ``launch_all`` issues on a stream. The kernels do not run.

        ``stream`` is the address of the stream. Raises DeviceError if the driver cannot capture the launches.
        Errors of ``launch_all`` are passed on.
        """
        self._driver = ctypes.CDLL(DRIVER_LIBRARY)
        if not hasattr(self._driver, "cuGraphInstantiateWithFlags"):
            raise DeviceError("CUDA graphs need a driver for CUDA 11.4 or newer")
        self._keep_alive = launch_all  # the captured arguments contain addresses in its buffers
        self._stream, self._executable = ctypes.c_void_p(stream), ctypes.c_void_p()
        graph = ctypes.c_void_p()
        self._call("cuStreamBeginCapture_v2", self._stream, _RELAXED)
        try:
            launch_all()
        except BaseException:
            self._driver.cuStreamEndCapture(self._stream, ctypes.byref(graph))
            raise
        self._call("cuStreamEndCapture", self._stream, ctypes.byref(graph))
        flags = ctypes.c_ulonglong(0)
        self._call("cuGraphInstantiateWithFlags", ctypes.byref(self._executable), graph, flags)
        self.destroy = weakref.finalize(self, self._driver.cuGraphExecDestroy, self._executable)
        self.destroy.atexit = False  # the graph ends with its context
        self._call("cuGraphDestroy", graph)

    def __call__(self) -> None:
        self._call("cuGraphLaunch", self._executable, self._stream)

    def _call(self, function: str, *arguments: object) -> None:
        if status := getattr(self._driver, function)(*arguments):
            raise KernelError(f"{function} failed with CUDA error {status}")
