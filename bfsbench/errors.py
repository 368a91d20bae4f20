"""Errors that reach the user.

Every failure a user can cause or meet is a subclass of :class:`BfsbenchError`; the command line prints its
message as one line and exits with its ``exit_code``. Anything else is a bug and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from bfsbench.wording import printable


class BfsbenchError(Exception):
    """Base of all expected failures; the message is one line addressed to the user.

    What it quotes of a file or of a name may hold anything: characters that cannot be printed are escaped.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class UsageError(BfsbenchError):
    """The request itself cannot be carried out: unknown name, value out of range, unwritable output."""

    exit_code = 2


class InputError(UsageError):
    """A file is missing, unreadable, malformed, or differs from its published checksum or counts."""


class NotEnoughMemoryError(UsageError):
    """A graph or matrix would take more memory than is available."""


class FetchError(BfsbenchError):
    """A download failed after all attempts."""


class ToolchainError(UsageError):
    """Something needed to build native code is missing; the message names the fix."""


class DeviceError(BfsbenchError):
    """A device refused or failed an operation. ``status`` is what a result row records."""

    status = "error"


class DeviceOutOfMemoryError(DeviceError):
    """The device has no room for an array."""

    status = "out of memory"


class LaunchError(DeviceError):
    """The device cannot launch the kernel in this configuration (block, grid, shared memory, residency)."""

    status = "cannot launch"


class KernelError(DeviceError):
    """A kernel failed while it ran; the device context cannot be trusted afterwards."""

    status = "crash"


class WrongResultError(BfsbenchError):
    """A variant's answer differs from the reference."""


class NoPathError(BfsbenchError):
    """No path leads from one vertex to another."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """An error for an unknown name that suggests similar ones; case is ignored in the comparison."""
    spelt = {candidate.lower(): candidate for candidate in known}
    near = [spelt[key] for key in difflib.get_close_matches(name.lower(), sorted(spelt), n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"see 'bfsbench list {kind}s'"
    return UsageError(f"unknown {kind} '{name}': {hint}")
