"""Errors that reach the user.

Every failure a user can cause or meet is a subclass of :class:`BfsbenchError`; the command line prints its
message as one line and exits with its ``exit_code``. Anything else is a bug and keeps its traceback.

The module also formats text for people, and refuses numbers of callers that are no whole numbers.
"""

import difflib
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any


def plural(number: int, noun: str) -> str:
    """``1 point``, ``12 points``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_text(size: int) -> str:
    """Bytes with the largest fitting unit: ``1.5 GiB``, ``12 bytes``."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return plural(size, "byte")


def printable(text: str) -> str:
    """The text with each control character as an escape such as ``\\x1b``, so that no terminal obeys it."""
    if text.isprintable():
        return text
    shown = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return "".join(shown)


def no_formula(text: str) -> str:
    """The text as a cell that spreadsheets do not take for a formula: with ``'`` before it if it looks like
    one."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


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


class OptionError(UsageError):
    """An option contradicts another one or has a wrong value.

    In ``text``, ``{name}`` stands for one of the ``values``, or else for the option of this name. The message
    has the names of Python's arguments; ``on_command_line`` is the message with ``--name`` instead.
    """

    def __init__(self, text: str, /, **values: object) -> None:
        super().__init__(spelt(text, str, **values))
        self.on_command_line = printable(spelt(text, as_option, **values))


def as_option(name: str) -> str:
    """The command line's spelling of an argument: ``min_time`` is ``--min-time``."""
    return "--" + name.replace("_", "-")


def spelt(text: str, spell: Callable[[str], str], /, **values: object) -> str:
    """The text with its values, and with each other ``{name}`` as ``spell`` writes it."""
    return re.sub(r"\{(\w+)\}", lambda at: str(values[at[1]] if at[1] in values else spell(at[1])), text)


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


def whole(name: str, value: Any) -> int:
    """An integer of any type as an int. Raises UsageError for anything else, fractions included."""
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{name} must be a whole number, not {value!r}") from None


def positive(name: str, value: Any) -> int:
    """An integer of at least 1. Raises UsageError."""
    number = whole(name, value)
    if number < 1:
        raise UsageError(f"{name} must be at least 1, not {number}")
    return number


def positive_or_none(name: str, value: Any) -> int | None:
    """An integer of at least 1, or None where none is given. Raises UsageError."""
    return None if value is None else positive(name, value)
