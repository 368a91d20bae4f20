"""The backends that tests of kernels run on: the CPU's, and those of a GPU where there is one."""

from bfsbench.backends import GPU_BACKENDS, open_device
from bfsbench.support.errors import UsageError


def is_usable(backend: str) -> bool:
    try:
        open_device(backend).close()
    except UsageError:
        return False
    return True


BACKENDS = ["cpu", *filter(is_usable, GPU_BACKENDS)]
