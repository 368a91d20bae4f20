"""Find the fastest grid, block and macros of a kernel in a ``.cu`` file. The caller gives the kernel's
arguments and a reference function. A class that declares the kernel is not needed.
"""

from __future__ import annotations

import faulthandler
import os
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bfsbench.backends import open_device
from bfsbench.bench import axes
from bfsbench.bench.axes import Values
from bfsbench.bench.child import in_child
from bfsbench.bench.tune import Axis, Space, Took, exhaustive, restarted
from bfsbench.kernels.signature import declared_parameters
from bfsbench.kernels.source import texts
from bfsbench.programs.variant import DeviceClock
from bfsbench.support.errors import (
    BfsbenchError,
    KernelError,
    UsageError,
    WrongResultError,
    positive,
    positive_or_none,
    public,
)
from bfsbench.support.paths import KERNEL_HEADERS

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.backends.base import Device, Launch

Value = npt.NDArray[Any] | int | float | np.generic
"""An argument of a kernel: an array for a pointer, or a number."""
Reference = Callable[..., Mapping[str, npt.ArrayLike]]
"""A function that takes the kernel's arguments by name. It returns a dictionary that maps the names of
outputs to their expected arrays."""
_FLOATS = {"float": np.float32, "double": np.float64}

EMULATED_S = 120
"""The largest number of seconds for one configuration in the emulator. A kernel that has damaged the memory
of its process may never end."""


@public
def tune(
    source: os.PathLike[str] | str,
    arguments: Mapping[str, Value],
    reference: Reference,
    work: int,
    *,
    kernel: str | None = None,
    grid: Values = "auto",
    block: Values = "32:1024:x2",
    points: int | None = None,
    repeats: int = 5,
    backend: str = "auto",
    seed: int = 0,
    tolerance: float = 1e-5,
    **macros: Values,
) -> pd.DataFrame:
    """Find the fastest grid, block and macros of a kernel of your own, and check the result of every run. ::

        saxpy = {"n": n, "a": 2.0, "x": x, "y": y}
        rows = bfsbench.tune("saxpy.cu", saxpy, lambda n, a, x, y: {"y": a * x + y}, work=n, UNROLL=[1, 2])

    The kernel is declared ``extern "C"``. ``arguments`` is a dictionary that maps the kernel's parameter
    names to their values. A pointer's value is a NumPy array, and other values are numbers. ``reference``
    takes these arguments by name. It returns a dictionary that maps the names of outputs to their expected
    arrays. ``work`` is the number of items that the threads share. With grid ``"auto"``, each item gets a
    thread. ``macros`` are values to try for macros of the source file.

    Without ``points`` every configuration is measured. With ``points``, at most this many configurations are
    measured: one parameter at a time is varied, starting from the first values of all parameters. This is
    repeated from random configurations. Floating-point outputs may differ by ``tolerance``, both relative and
    absolute. On the CPU, each configuration runs in a separate process, so that a kernel that writes outside
    its arrays ends only that process. A kernel that never ends must be interrupted. ``tune`` does not search
    for races: on the CPU, a kernel with a race may be ``ok``.

    Returns one row per configuration in the order measured. The columns are ``grid``, ``block``, the macros,
    ``status`` (ok, wrong or failed), ``reason``, ``fastest_ms`` and ``median_ms``. On the CPU the two columns
    of times are called ``emulated_fastest_ms`` and ``emulated_median_ms`` instead, because emulated times say
    nothing about a GPU.

    Raises UsageError for a file without the kernel, for macros that the file does not use, and for arguments
    that do not match the kernel's parameters. Also raises UsageError for ``block="auto"`` alone, and for a
    reference that returns no dictionary of arrays.
    """
    import pandas as pd

    blocks = [value for value in axes.blocks(block) if value is not None]
    if not blocks:
        raise UsageError("block must be a number of threads: no rule chooses it for this kernel")
    work, repeats = positive("work", work), positive("repeats", repeats)
    points, source = positive_or_none("points", points), Path(source)
    _require_used(source, macros)
    trial = _Trial(source, _kernel_of(source, kernel), arguments, work, repeats, tolerance)
    expected = trial.expected(reference)
    choices: dict[str, Sequence[Any]] = {"grid": axes.grids(grid), "block": blocks}
    choices |= {name: axes.expand(values) for name, values in macros.items()}
    varied = tuple(Axis.of(name, values, next(iter(values))) for name, values in choices.items())
    space = Space("", source.stem, backend, varied)
    took: Took = {}
    strategy = exhaustive(space, took) if points is None else islice(restarted(space, took, seed), points)
    rows: list[dict[str, Any]] = []
    with closing(open_device(backend)) as device:
        emulated = "emulated_" if device.backend == "cpu" else ""
        for configuration in strategy:
            values = space.values(configuration)
            row, times = {**values, "grid": values["grid"] or "auto", "status": "ok", "reason": ""}, []
            try:
                times = (trial.run_apart if emulated else partial(trial.run, device))(values, expected)
            except BfsbenchError as error:
                row |= {"status": "wrong" if isinstance(error, WrongResultError) else "failed"}
                row |= {"reason": str(error)}
            row[f"{emulated}fastest_ms"] = min(times, default=None)
            row[f"{emulated}median_ms"] = statistics.median(times) if times else None
            rows.append(row)
            took[configuration] = min(times, default=None)
    return pd.DataFrame(rows)


def _kernel_of(source: Path, kernel: str | None) -> str:
    """Return the name of the kernel to tune. Raises UsageError if the file has no kernel with the name
    ``kernel``. If ``kernel`` is None, raises UsageError unless the file has exactly one kernel.
    """
    known = declared_parameters(source)
    if kernel is None and len(known) == 1:
        return next(iter(known))
    if kernel not in known:
        wanted = f"no kernel '{kernel}'" if kernel else f"{len(known)} kernels"
        raise UsageError(f"{source} has {wanted}: choose from {', '.join(sorted(known)) or 'none'}")
    return kernel


_CONDITIONS = {"ifndef", "ifdef", "if", "elif", "undef"}
"""Directives that a file may use to define a macro only if no value is given."""


def _require_used(source: Path, macros: Iterable[str]) -> None:
    """Raise UsageError for a macro whose name is neither in the source file nor in its headers, and for a
    macro that one of these files always defines."""
    masks = [text.mask for text in texts(source, KERNEL_HEADERS)]
    words = {word for mask in masks for word in re.findall(r"\w+", mask)}
    for name in macros:
        if name not in words:
            raise UsageError(f"{source.name} does not use {name}: a macro must occur in the file")
        directives = {word for mask in masks for word in re.findall(rf"#\s*(\w+)\b[^\n]*\b{name}\b", mask)}
        if re.search(rf"#\s*define\s+{name}\b", "\n".join(masks)) and not directives & _CONDITIONS:
            raise UsageError(
                f"{source.name} defines {name} itself: put the definition between #ifndef {name} and #endif"
            )


@dataclass(frozen=True)
class _Trial:
    """The facts about a kernel that do not depend on the configuration, such as its arguments and expected
    outputs.
    """

    source: Path
    kernel: str
    arguments: Mapping[str, Value]
    work: int
    repeats: int
    tolerance: float

    def expected(self, reference: Reference) -> dict[str, npt.NDArray[Any]]:
        """Return the expected arrays of the outputs.

        Raises UsageError if the names of the arguments differ from the names of the kernel's parameters. Also
        raises UsageError if the reference does not return a dictionary, if the dictionary is empty, or if an
        output has no argument with the same name and shape.
        """
        declared = [one.name for one in declared_parameters(self.source)[self.kernel]]
        if unknown := sorted({*self.arguments} ^ {*declared}):
            raise UsageError(f"kernel {self.kernel} takes {', '.join(declared)}: check {', '.join(unknown)}")
        outputs = reference(**self.arguments)
        if not isinstance(outputs, Mapping):
            raise UsageError(
                f"the reference must return a dictionary of arrays, not {type(outputs).__name__}"
            )
        expected = {name: np.asarray(array) for name, array in outputs.items()}
        if not expected:
            raise UsageError("the reference names no output, so nothing can be checked")
        for name, array in expected.items():
            given = self.arguments.get(name)
            if not isinstance(given, np.ndarray) or given.shape != array.shape:
                raise UsageError(
                    f"the reference has an output '{name}' that is not an array of its argument's shape"
                )
        return expected

    def run_apart(self, values: Mapping[str, Any], expected: Mapping[str, npt.NDArray[Any]]) -> list[float]:
        """Call ``run`` on an emulated GPU in a child process, because a kernel may damage the memory of its
        process. Raises KernelError if the child process crashes, or if it has not ended after EMULATED_S
        seconds.
        """

        def work(_step: Callable[[], None]) -> list[float]:
            faulthandler.disable()  # the error of a crash says how the process ended
            with closing(open_device("cpu")) as device:
                return self.run(device, values, expected)

        try:
            return in_child(work, limit_s=EMULATED_S)
        except TimeoutError:
            raise KernelError(f"the kernel has not ended within {EMULATED_S} s in the emulator") from None

    def run(
        self, device: Device, values: Mapping[str, Any], expected: Mapping[str, npt.NDArray[Any]]
    ) -> list[float]:
        """Run one configuration once untimed and then ``repeats`` times. Returns the times in ms.

        Raises WrongResultError if an output is wrong, ToolchainError if the kernel cannot be compiled, and
        DeviceError if the kernel or the device fails.
        """
        macros = {name: value for name, value in values.items() if name not in ("grid", "block")}
        block = int(values["block"])
        arrays = {name: value for name, value in self.arguments.items() if isinstance(value, np.ndarray)}
        buffers: dict[str, Any] = {name: device.upload(array.ravel()) for name, array in arrays.items()}
        kernel = device.module(self.source, macros).kernel(self.kernel)
        launch: Launch = kernel.bind(block=block, **self._numbers(), **buffers)
        blocks, clock, times = values["grid"] or -(-self.work // block), DeviceClock(device), []
        for _ in range(1 + self.repeats):
            for name, array in arrays.items():
                buffers[name].upload(array.ravel())
            clock.wait()
            clock.start()
            launch(blocks)
            times.append(clock.stop())
            for name, array in expected.items():
                self._compare(name, buffers[name].download(), array.ravel())
        return times[1:]

    def _numbers(self) -> dict[str, Any]:
        """Return the kernel's arguments that are numbers rather than arrays. Python's floats are converted to
        the parameter's type.
        """
        types = {one.name: one.type for one in declared_parameters(self.source)[self.kernel]}
        return {
            name: _FLOATS.get(types[name], float)(value) if isinstance(value, float) else value
            for name, value in self.arguments.items()
            if not isinstance(value, np.ndarray)
        }

    def _compare(self, name: str, found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
        exact = found.dtype.kind in "iub"
        equal = found == expected if exact else np.isclose(found, expected, self.tolerance, self.tolerance)
        if not equal.all():
            place = int(np.argmin(equal))
            raise WrongResultError(f"{name}[{place}] is {found[place]}, not {expected[place]}")
