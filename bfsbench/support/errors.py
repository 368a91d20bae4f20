"""Defines the errors that reach the user.

Every failure that a user can cause or meet is a subclass of :class:`BfsbenchError`. The command line prints
the message of the error as one line and exits with its ``exit_code``. Any other exception is a bug and keeps
its traceback.

This module also formats text for people, and checks that numbers given by callers are whole numbers.
"""

import difflib
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any


def plural(number: int, noun: str) -> str:
    """Returns a number with its noun: ``1 point``, ``12 points``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_text(size: int) -> str:
    """Returns a size in bytes with the largest fitting unit: ``1.5 GiB``, ``12 bytes``."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return plural(size, "byte")


def printable(text: str) -> str:
    """Returns the text with each control character as an escape such as ``\\x1b``, so that no terminal obeys
    it."""
    if text.isprintable():
        return text
    shown = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return "".join(shown)


def no_formula(text: str) -> str:
    """Returns the text as a spreadsheet cell. A text that looks like a formula gets ``'`` before it."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


class BfsbenchError(Exception):
    """The base class of all expected failures. The message is one line addressed to the user.

    Characters that cannot be printed are escaped, because the message may quote a file or a name.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class UsageError(BfsbenchError):
    """The request cannot be carried out. Examples are an unknown name, a value out of range and an output
    that cannot be written."""

    exit_code = 2


class OptionError(UsageError):
    """An option contradicts another option or has a wrong value.

    In ``text``, ``{name}`` stands for the value of this name, or else for the option of this name. The
    message spells options as arguments of Python. ``on_command_line`` is the message with ``--name`` instead.
    """

    def __init__(self, text: str, /, **values: object) -> None:
        super().__init__(spelt(text, str, **values))
        self.on_command_line = printable(spelt(text, as_option, **values))


def as_option(name: str) -> str:
    """Returns the command line's spelling of an argument: ``min_time`` becomes ``--min-time``."""
    return "--" + name.replace("_", "-")


def spelt(text: str, spell: Callable[[str], str], /, **values: object) -> str:
    """Returns the text with each ``{name}`` replaced by its value, or by ``spell(name)`` if it has no
    value."""
    return re.sub(r"\{(\w+)\}", lambda at: str(values[at[1]] if at[1] in values else spell(at[1])), text)


class InputError(UsageError):
    """A file is missing, unreadable, malformed, or differs from its published checksum or counts."""


class NotEnoughMemoryError(UsageError):
    """A graph or matrix would take more memory than is available."""


class FetchError(BfsbenchError):
    """A download failed after all attempts."""


class ToolchainError(UsageError):
    """A program or library needed to build native code is missing. The message says how to install it."""


class DeviceError(BfsbenchError):
    """A device refused or failed an operation. ``status`` is recorded in the result row."""

    status = "error"


class DeviceOutOfMemoryError(DeviceError):
    """The device has no room for an array."""

    status = "out of memory"


class LaunchError(DeviceError):
    """The device cannot launch the kernel with this block, grid, shared memory or number of resident
    blocks."""

    status = "cannot launch"


class KernelError(DeviceError):
    """A kernel failed while it ran. The device's context cannot be trusted afterwards."""

    status = "crash"


class WrongResultError(BfsbenchError):
    """A variant's answer differs from the reference."""


class NoPathError(BfsbenchError):
    """No path leads from one vertex to another."""


def unknown_name(kind: str, name: str, known: Iterable[str], listed_by: str = "") -> UsageError:
    """Returns an error for an unknown name that suggests similar names. Upper and lower case count as equal.
    Without similar names, the error names the command ``listed_by``, by default ``bfsbench list`` with the
    plural of ``kind``."""
    spelt = {candidate.lower(): candidate for candidate in known}
    near = [spelt[key] for key in difflib.get_close_matches(name.lower(), sorted(spelt), n=3, cutoff=0.5)]
    listed_by = listed_by or f"bfsbench list {kind}s"
    hint = f"did you mean {' or '.join(near)}?" if near else f"see '{listed_by}'"
    return UsageError(f"unknown {kind} '{name}': {hint}")


def whole(name: str, value: Any) -> int:
    """Returns an integer of any type as an int. Raises UsageError for anything else, including fractions."""
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{name} must be a whole number, not {value!r}") from None


def positive(name: str, value: Any) -> int:
    """Returns ``value`` as an int. Raises UsageError unless it is an integer of at least 1."""
    number = whole(name, value)
    if number < 1:
        raise UsageError(f"{name} must be at least 1, not {number}")
    return number


def positive_or_none(name: str, value: Any) -> int | None:
    """Returns ``value`` as an int, or None for None. Raises UsageError unless it is None or at least 1."""
    return None if value is None else positive(name, value)
