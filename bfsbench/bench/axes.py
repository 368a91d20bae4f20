"""The small language of sweep axes: ``auto,64,128``, ``32:1024:x2``, ``64:512:+64``."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from bfsbench.errors import UsageError

MAX_VALUES = 10_000
_MOST_DIGITS = 308
"""Of a number in a range, as of the largest of 64 bits; far longer ones overflow or fill the memory."""


def split_list(text: str) -> list[str]:
    """Split at commas that are not inside parentheses: ``a,kronecker(scale=4,seed=1)`` has two items."""
    items, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
    items.append(text[start:])
    return [item.strip() for item in items if item.strip()]


def expand(text: str) -> list[str]:
    """The values of a list whose items may be ranges, without repeats, in the order given.

    ``first:last:xF`` multiplies, ``first:last:+S`` or ``first:last:S`` adds, until past ``last``.
    Raises UsageError for a malformed range.
    """
    values: dict[str, None] = {}
    for item in split_list(text):
        for value in _range(item) if ":" in item else [item]:
            values.setdefault(value)
    if not values:
        raise UsageError("an axis needs at least one value")
    return list(values)


def _range(item: str) -> list[str]:
    parts = item.split(":")
    mistake = UsageError(f"'{item}' is not a range: write FIRST:LAST:xFACTOR or FIRST:LAST:+STEP")
    if len(parts) != 3:
        raise mistake
    first, last = _number(parts[0], mistake), _number(parts[1], mistake)
    multiply = parts[2].startswith("x")
    step = _number(parts[2].lstrip("x") if multiply else parts[2].removeprefix("+"), mistake)
    if any(abs(number.adjusted()) > _MOST_DIGITS for number in (first, last, step)):
        raise UsageError(f"range '{item}' has a number that is too large or too small")
    if first > last or (multiply and (step <= 1 or first <= 0)) or (not multiply and step <= 0):
        raise UsageError(f"range '{item}' does not reach its last value from its first")
    values = []
    value = first
    while value <= last:
        values.append(f"{value.normalize():f}")
        if len(values) > MAX_VALUES:
            raise UsageError(f"range '{item}' has more than {MAX_VALUES} values")
        value = value * step if multiply else value + step
    return values


def _number(text: str, mistake: UsageError) -> Decimal:
    """Decimal, so that 0.05 added three times is 0.15."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise mistake from None
    if not value.is_finite():
        raise mistake
    return value


def grids(text: str) -> list[int | None]:
    """Values of ``--grid``: positive block counts, or None for ``auto``."""
    return [None if value == "auto" else _positive("grid", value) for value in expand(text)]


def blocks(text: str) -> list[int | None]:
    """Values of ``--block``: positive thread counts, or None for ``auto``."""
    return [None if value == "auto" else _positive("block", value) for value in expand(text)]


def _positive(name: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise UsageError(f"--{name}: '{text}' is not a whole number") from None
    if value < 1:
        raise UsageError(f"--{name}: {value} is not positive")
    return value
