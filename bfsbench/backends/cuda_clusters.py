"""How many thread-block clusters a GPU holds at once: a query of the driver, which PyCUDA does not wrap."""

from __future__ import annotations

import ctypes

from bfsbench.backends.cuda_driver import FunctionAttribute
from bfsbench.toolchain import DRIVER_LIBRARY


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig of cuda.h."""

    _fields_ = (
        *((f"grid_dim_{axis}", ctypes.c_uint) for axis in "xyz"),
        *((f"block_dim_{axis}", ctypes.c_uint) for axis in "xyz"),
        ("shared_memory_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("num_attributes", ctypes.c_uint),
    )


def resident_clusters(cubin: bytes, kernel: str, cluster: int, block: int, shared: int) -> int | None:
    """Clusters of ``cluster`` blocks, compiled into a kernel of a cubin, that the device of the current
    context holds at once; None where the driver cannot answer."""
    driver, of = ctypes.CDLL(DRIVER_LIBRARY), FunctionAttribute
    if not hasattr(driver, "cuOccupancyMaxActiveClusters"):
        return None
    module, function, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    if driver.cuModuleLoadData(ctypes.byref(module), cubin):
        return None
    try:
        config = LaunchConfig(cluster, 1, 1, block, 1, 1, shared)
        failed = (
            driver.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode())
            or driver.cuFuncSetAttribute(function, of.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            or driver.cuFuncSetAttribute(function, of.NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
            or driver.cuOccupancyMaxActiveClusters(ctypes.byref(count), function, ctypes.byref(config))
        )
        return None if failed else count.value
    finally:
        driver.cuModuleUnload(module)
