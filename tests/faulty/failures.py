"""Variants that each fail in one way, and a variant that takes a long time."""

import os
import signal
import time

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument, Kernel
from bfsbench.variants.base import LevelKernelVariant
from bfsbench.variants.frontier_numbers import FrontierNumbers


class Healthy(FrontierNumbers):
    """Runs the kernel of frontier_numbers under the name of a subclass. Without a name, the class is no
    variant."""

    aliases = ()
    kernel_files = (FrontierNumbers.name,)

    def kernel(self, name: str) -> Kernel:
        return super().kernel(FrontierNumbers.name)


class Dawdles(Healthy):
    name = "dawdles"
    summary = "takes as many seconds more as DAWDLE_S says"

    def traverse(self, source: int) -> None:
        time.sleep(float(os.environ.get("DAWDLE_S", "0")))
        super().traverse(source)


class Dies(Healthy):
    name = "dies"
    summary = "takes its process with it"

    def traverse(self, source: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Orphans(Healthy):
    name = "orphans"
    summary = "kills its parent process"

    def traverse(self, source: int) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)


class Raises(Healthy):
    name = "raises"
    summary = "has a bug in its host loop"

    def traverse(self, source: int) -> None:
        raise ZeroDivisionError("a bug")


class Starves(Healthy):
    name = "starves"
    summary = "asks for more memory than there is"

    def prepare(self) -> None:
        self.device.empty(2**46, "int32")


class Lies(Healthy):
    name = "lies"
    summary = "returns a wrong level"

    def levels(self) -> npt.NDArray[np.int32]:
        levels = super().levels()
        levels[-1] += 1
        return levels


class OneThread(FrontierNumbers):
    """Runs the kernel with its own name in one thread. Without a name, the class is no variant."""

    aliases = ()

    def work_items(self) -> int:
        return 1


class Misspelt(OneThread):
    name = "misspelt"
    summary = "does not compile"


class Traps(OneThread):
    name = "traps"
    summary = "stops inside its kernel"


class Hangs(LevelKernelVariant):
    name = "hangs"
    summary = "never ends"
    origin = ("the tests",)
    layout = ("CSR",)
    frontier = "none"
    parallel_unit = "a thread"
    work = "unbounded"

    def arguments(self) -> dict[str, Argument]:
        return {"levels": self.level_array}

    def work_items(self) -> int:
        return 1
