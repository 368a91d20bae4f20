"""Numbers that a caller gives: Python's own and NumPy's are taken, anything else is refused by name."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

from bfsbench.errors import UsageError


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


def positive_finite(name: str, value: Any) -> float:
    """A number above 0 that is not infinite. Raises UsageError."""
    if not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise UsageError(f"{name} must be a positive number, not {value!r}")
    return float(value)
