"""The backends that tests of kernels run on: the CPU's, and CUDA where there is a device."""

from __future__ import annotations

from bfsbench.backends import open_device
from bfsbench.errors import UsageError


def cuda_is_present() -> bool:
    try:
        open_device("cuda").close()
    except UsageError:
        return False
    return True


BACKENDS = ["cpu", *(["cuda"] if cuda_is_present() else [])]
