"""Lists the backends for tests of kernels: the CPU, and the GPU backends that this machine can use."""

from bfsbench.backends import GPU_BACKENDS, open_device
from bfsbench.support.errors import UsageError


def is_usable(backend: str) -> bool:
    try:
        open_device(backend).close()
    except UsageError:
        return False
    return True


BACKENDS = ["cpu", *filter(is_usable, GPU_BACKENDS)]
