"""Defines the errors that reach the user.

Every failure that a user can cause or encounter is a subclass of :class:`BfsbenchError`. The command line
prints the error's message as one line, and exits with the error's ``exit_code``. Any other exception is a bug
in bfsbench, and keeps its traceback.

This module also formats numbers and text for people, and checks numbers that callers give.
"""

import difflib
import numbers
import operator
import os
import re
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def plural(number: int, noun: str) -> str:
    """Returns a number with its noun: ``1 point``, ``12 points``, ``2 launches``."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{ending}"


def size_text(size: int) -> str:
    """Returns a size in bytes with the largest fitting unit: ``1.5 GiB``, ``12 bytes``."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return plural(size, "byte")


def printable(text: str) -> str:
    """Returns the text with each control character replaced by an escape, such as the four characters
    ``\\x1b`` for ESC. A terminal then cannot interpret the character as a command."""
    if text.isprintable():
        return text
    shown = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return "".join(shown)


def no_formula(text: str) -> str:
    """Returns the text for a spreadsheet cell. A text that a spreadsheet would evaluate as a formula gets
    ``'`` in front."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


class BfsbenchError(Exception):
    """The base class of all expected failures. The message is one line addressed to the user.

    Characters that cannot be printed are escaped, because the message may quote a file or a name.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class UsageError(BfsbenchError):
    """Raised if a request cannot be carried out. Examples are an unknown name, a value out of range, and an
    output file that cannot be written."""

    exit_code = 2


class OptionError(UsageError):
    """Raised if an option contradicts another option or has a wrong value.

    The error has two messages: the normal message spells options as Python arguments, and ``on_command_line``
    spells them ``--name``. In ``text``, a field such as ``{grid}`` becomes the spelling of the option
    ``grid``. If the constructor gets a keyword argument with the field's name, the field becomes the value of
    this argument.
    """

    def __init__(self, text: str, /, **values: object) -> None:
        super().__init__(spelt(text, str, **values))
        self.on_command_line = printable(spelt(text, as_option, **values))


def as_option(name: str) -> str:
    """Returns the spelling of a Python argument on the command line: ``min_time`` becomes ``--min-time``."""
    return "--" + name.replace("_", "-")


def spelt(text: str, spell: Callable[[str], str], /, **values: object) -> str:
    """Returns the text with each ``{name}`` replaced by ``values[name]``, or by ``spell(name)`` if ``values``
    does not have this name.
    """
    return re.sub(r"\{(\w+)\}", lambda at: str(values[at[1]] if at[1] in values else spell(at[1])), text)


class UnsupportedDeviceError(UsageError):
    """Raised if a GPU is too old for the kernels."""


class InputError(UsageError):
    """Raised if a file is missing, unreadable or malformed, or if it differs from its published checksum or
    counts."""


class NotEnoughMemoryError(UsageError):
    """Raised if a graph or matrix would take more memory than is available."""


class FetchError(BfsbenchError):
    """Raised if a graph's file cannot be fetched: all attempts failed, the disk is full, or the user stopped
    the download."""


class ToolchainError(UsageError):
    """Raised if native code cannot be built, for example because a compiler or library is missing. The
    message says how to install what is missing."""


class DeviceError(BfsbenchError):
    """Raised if an operation on the device fails, or if the device refuses it. ``status`` is the value of the
    column ``status`` in the result row."""

    status = "error"


class DeviceOutOfMemoryError(DeviceError):
    """Raised if the device has no room for an array."""

    status = "out of memory"


class LaunchError(DeviceError):
    """Raised if a search cannot be started. For example, the device does not allow the block size or the
    amount of shared memory, or an entry is not installed."""

    status = "cannot launch"


class KernelError(DeviceError):
    """Raised if a kernel fails while it runs. Also raised if a call of NVIDIA's driver fails for a reason
    other than a refused launch or a lack of memory. The device's context may be unusable afterwards.
    """

    status = "crash"


class WrongResultError(BfsbenchError):
    """Raised if the result of a variant is wrong. Also raised if a program breaks a rule, for example if it
    reports an impossible time, writes to its graph, or leaves processes behind."""


class NoPathError(BfsbenchError):
    """Raised if no path leads from one vertex to another."""


def unknown_name(kind: str, name: str, known: Iterable[str], listed_by: str = "") -> UsageError:
    """Returns an error for an unknown name, whose message suggests similar names. Upper and lower case are
    not distinguished.

    If no name is similar, the message names the command ``listed_by``, which lists all names. By default,
    this command is ``bfsbench list`` with the plural of ``kind``.
    """
    spelt = {candidate.lower(): candidate for candidate in known}
    near = [spelt[key] for key in difflib.get_close_matches(name.lower(), sorted(spelt), n=2)]
    listed_by = listed_by or f"bfsbench list {kind}s"
    hint = f"did you mean {' or '.join(near)}?" if near else f"see '{listed_by}'"
    return UsageError(f"unknown {kind} '{name}': {hint}")


def public(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return a public function that raises UsageError, not TypeError, if an argument is missing or unknown,
    or if there are too many arguments."""
    known = signature(function)
    named = [one.name for one in known.parameters.values() if one.kind != one.VAR_KEYWORD]
    takes_others = any(one.kind == Parameter.VAR_KEYWORD for one in known.parameters.values())

    @wraps(function)
    def call(*arguments: _Arguments.args, **words: _Arguments.kwargs) -> _Result:
        try:
            known.bind(*arguments, **words)
        except TypeError as error:
            for name in () if takes_others else words:
                if name not in named:
                    raise unknown_name(
                        "argument", name, named, f"help(bfsbench.{function.__name__})"
                    ) from None
            raise UsageError(f"{function.__name__}: {error}") from None
        return function(*arguments, **words)

    return call


def listed(names: str | os.PathLike[str] | Iterable[Any]) -> list[Any]:
    """Returns names as a new list. If ``names`` is a string or a path, the list contains only this name.
    Raises UsageError if ``names`` is neither a name nor an iterable of names."""
    if isinstance(names, str | os.PathLike):
        return [names]
    if not isinstance(names, Iterable):
        raise UsageError(f"a name or a list of names is wanted, not {names!r}")
    return [*names]


def whole(name: str, value: Any) -> int:
    """Returns ``value``, an integer of any type, as an int. Raises UsageError if ``value`` is not an
    integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{name} must be a whole number, not {value!r}") from None


def positive(name: str, value: Any) -> int:
    """Returns ``value`` as an int. Raises UsageError if it is not an integer, or if it is less than 1."""
    number = whole(name, value)
    if number < 1:
        raise UsageError(f"{name} must be at least 1, not {number}")
    return number


def positive_or_none(name: str, value: Any) -> int | None:
    """Returns ``value`` as an int, or None if ``value`` is None. Raises UsageError if it is neither None nor
    an integer of at least 1."""
    return None if value is None else positive(name, value)


def limit_or_none(name: str, value: Any) -> float | None:
    """Returns ``value``. Raises UsageError if it is neither None nor a number above 0."""
    if value is not None and not (isinstance(value, numbers.Real) and float(value) > 0):
        raise UsageError(f"{name} must be a number above 0, not {value!r}")
    return None if value is None else float(value)
