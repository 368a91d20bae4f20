"""Memory in use on the GPUs, by NVIDIA's library."""

from __future__ import annotations


def device_memory_used() -> int | None:
    """Bytes in use on all GPUs of this machine together; None where unknown."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return sum(int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles)
    except pynvml.NVMLError:
        return None
