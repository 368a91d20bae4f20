"""Defines modules, kernels and launches of the emulated GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bfsbench.kernels.signature import Argument, Scalars, Signature, Struct
from bfsbench.support.errors import LaunchError, ToolchainError

if TYPE_CHECKING:
    from bfsbench.emulator.device import Emulator

_REFUSED = 1
"""Result of the C++ function ``emu_launch`` if a launch exceeds the device's limits."""

_INT_MAX = 2**31 - 1
_SCALARS = frozenset(map(np.dtype, ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")))
"""The types of NumPy scalars that a kernel accepts as arguments."""


@dataclass
class Module:
    """A loaded library of compiled kernels."""

    device: Emulator
    name: str
    handle: int
    signatures: Mapping[str, Signature]

    def kernel(self, name: str) -> Kernel:
        """Returns the kernel with a given name. Raises ToolchainError if no kernel in the module is declared
        ``extern "C"`` with this name."""
        pointer = self.device.runtime.emu_kernel(self.handle, name.encode())
        if not pointer:
            raise ToolchainError(f"{self.name} has no kernel 'extern \"C\" __global__ void {name}(...)'")
        return Kernel(self.device, name, pointer, self.signatures[name])


@dataclass
class Kernel:
    """A CUDA kernel, that is, one ``__global__`` function of a module."""

    device: Emulator
    name: str
    pointer: int
    signature: Signature

    def parameter_sizes(self) -> list[int]:
        """Returns the size in bytes of each parameter of the kernel."""
        runtime = self.device.runtime
        count = runtime.emu_parameter_count(self.pointer)
        return [runtime.emu_parameter_size(self.pointer, i) for i in range(count)]

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """Returns how many blocks with this block size and dynamic shared memory the emulated GPU runs at
        once. Raises LaunchError if it cannot run even one."""
        self._require_launchable(block, shared)
        return int(self.device.runtime.emu_resident_blocks(self.device.machine, self.pointer, block, shared))

    def bind(
        self, *positional: Argument, block: int, shared: int = 0, scalars: Scalars = 0, **named: Argument
    ) -> Launch:
        """Bind the kernel to a block size, to dynamic shared memory in bytes, and to its arguments. Returns a
        launch.

        ``scalars`` is the number or the names of the last parameters, whose values each launch gives.
        Arguments are given by position or by name. Raises LaunchError if they do not fit the kernel's
        parameters.
        """
        self._require_launchable(block, shared)
        arguments, num_scalars = self.signature.arrange(positional, named, scalars)
        values = [self._c_value(i, argument) for i, argument in enumerate(arguments)]
        values += [ctypes.c_int() for _ in range(num_scalars)]
        expected, given = self.parameter_sizes(), [ctypes.sizeof(value) for value in values]
        if len(given) != len(expected):
            raise LaunchError(f"kernel '{self.name}' has {len(expected)} parameters, {len(given)} were bound")
        for i, (wanted, got) in enumerate(zip(expected, given, strict=True)):
            if wanted != got:
                raise LaunchError(f"kernel '{self.name}': parameter {i + 1} takes {wanted} bytes, not {got}")
        return Launch(self, arguments, values, block, shared, num_scalars)

    def _require_launchable(self, block: int, shared: int) -> None:
        if not 1 <= block <= _INT_MAX or not 0 <= shared <= _INT_MAX:
            raise LaunchError(
                f"kernel '{self.name}': {block} threads a block and {shared} bytes of shared memory"
            )
        runtime = self.device.runtime
        if runtime.emu_check(self.device.machine, self.pointer, block, shared):
            raise LaunchError(runtime.emu_message().decode())

    def _c_value(self, position: int, argument: Argument) -> Any:
        if isinstance(pointer := getattr(argument, "pointer", None), ctypes.c_void_p):
            return pointer
        if argument is None:
            return ctypes.c_void_p()
        if isinstance(argument, np.generic) and argument.dtype in _SCALARS:
            return np.ctypeslib.as_ctypes(np.array(argument))
        if isinstance(argument, Struct):
            return argument
        if isinstance(argument, int) and -_INT_MAX - 1 <= argument <= _INT_MAX:
            return ctypes.c_int(argument)
        if isinstance(argument, tuple):
            members = [self._c_value(position, member) for member in argument]
            fields = [(f"member_{i}", type(member)) for i, member in enumerate(members)]
            return type("Struct", (ctypes.Structure,), {"_fields_": fields})(*members)
        given = f"the {type(argument).__name__} {argument}"
        raise LaunchError(
            f"kernel '{self.name}': parameter {position + 1} was given {given}; "
            "bind a buffer, a signal, None for a null pointer, a 32-bit int, a NumPy scalar or a tuple"
        )


class Launch:
    """A kernel with bound arguments. Calling it runs the kernel until it ends."""

    def __init__(
        self,
        kernel: Kernel,
        arguments: tuple[Argument, ...],
        values: list[Any],
        block: int,
        shared: int,
        scalars: int,
    ) -> None:
        self._kernel = kernel
        self._keep_alive = (arguments, values)
        self._scalars = values[len(values) - scalars :]
        self._pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self._shape = (block, shared, ctypes.addressof(self._pointers))
        self._launch = kernel.device.runtime.emu_launch

    def __call__(self, blocks: int, *scalars: int) -> None:
        """Run ``blocks`` blocks with the given values of the last parameters. Raises LaunchError if the
        device cannot launch such a grid.

        If the kernel fails, the next operation that waits for the device reports the failure.
        """
        device = self._kernel.device
        device.refuse_if_closed()
        if device.failure:
            return
        if len(scalars) != len(self._scalars) or not 1 <= blocks <= _INT_MAX:
            raise LaunchError(
                f"kernel '{self._kernel.name}': launched with {blocks} blocks and {len(scalars)} scalars, "
                f"bound for {len(self._scalars)}"
            )
        for value, scalar in zip(self._scalars, scalars, strict=True):
            if not -_INT_MAX - 1 <= scalar <= _INT_MAX:
                raise LaunchError(f"kernel '{self._kernel.name}': scalar {scalar} does not fit an int")
            value.value = scalar
        if device.launches == device.most_launches:
            made = f"{device.launches} launches"
            device.failure = f"kernel '{self._kernel.name}': the host's loop has no end: {made}"
            return
        device.launches += 1
        status = self._launch(device.machine, self._kernel.pointer, blocks, *self._shape)
        if status:
            message = device.runtime.emu_message().decode()
            if status == _REFUSED:
                raise LaunchError(message)
            device.failure = message
