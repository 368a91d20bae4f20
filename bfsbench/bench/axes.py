"""Parse lists and ranges of values, such as ``auto,64,128``, ``32:1024:x2`` or ``64:512:+64``. A sweep
measures every value of a list.
"""

import operator
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from bfsbench.programs.variant import KnobValue
from bfsbench.support.errors import OptionError, UsageError

Values = str | KnobValue | Sequence[str | KnobValue]
"""The values that a sweep measures for one parameter: one value, a sequence, or text as on the command line.
``32:1024:x2`` is a range."""

MAX_VALUES = 10_000
_MOST_DIGITS = 308
"""The largest decimal exponent, positive or negative, of a number in a range. 64-bit floats have the same
limit. Numbers with far larger exponents would overflow or fill the memory."""


def split_list(text: str) -> list[str]:
    """Split text at commas outside parentheses: ``a,kronecker(scale=4,seed=1)`` has two items."""
    items, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
    items.append(text[start:])
    return [item.strip() for item in items if item.strip()]


def expand(given: Values) -> list[KnobValue]:
    """Return the values that ``given`` stands for, without duplicates and in the order given.

    ``given`` is one value, or an iterable of values. A text may hold several values separated by commas, and
    ranges. The range ``first:last:xF`` multiplies by F until a value is above ``last``. The ranges
    ``first:last:+S`` and ``first:last:S`` add S repeatedly. Raises UsageError if there is no value, and for a
    range that is malformed or has more than MAX_VALUES values.
    """
    listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    values: dict[KnobValue, None] = {}
    for one in listed:
        for item in split_list(one) if isinstance(one, str) else [one]:
            values |= dict.fromkeys(_range(item) if isinstance(item, str) and ":" in item else [item])
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
    """Return the number in ``text``. Raises the error ``mistake`` if the text is not a finite number.

    The number is a Decimal, because 0.05 added three times must give exactly 0.15.
    """
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise mistake from None
    if not value.is_finite():
        raise mistake
    return value


def grids(given: Values) -> list[int | None]:
    """Return the values of ``--grid``: positive block counts, or None for ``auto``.

    Raises UsageError for other values.
    """
    return _launches("grid", given)


def blocks(given: Values) -> list[int | None]:
    """Return the values of ``--block``: positive thread counts, or None for ``auto``.

    Raises UsageError for other values.
    """
    return _launches("block", given)


def _launches(name: str, given: Values) -> list[int | None]:
    return list(dict.fromkeys(None if one == "auto" else _positive(name, one) for one in expand(given)))


def _positive(name: str, given: Any) -> int:
    try:
        value = int(given) if isinstance(given, str) else operator.index(given)
    except (TypeError, ValueError):
        raise OptionError(f"{{{name}}}: '{{text}}' is not a whole number", text=given) from None
    if value < 1:
        raise OptionError(f"{{{name}}}: {value} is not positive")
    return value
