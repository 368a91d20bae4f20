"""Parameters of tests. An exhaustive run takes all of them, and a default run a selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

Value = TypeVar("Value")


def some(values: Iterable[Value], *chosen: Value) -> list[ParameterSet]:
    """Returns all values. Values that are not chosen are left to exhaustive runs."""
    return [_parameters([value], by_default=value in chosen) for value in values]


def one_in(number: int, rows: Iterable[Sequence[object]]) -> list[ParameterSet]:
    """Returns all rows of values. A default run takes one in ``number`` of them."""
    return [_parameters(row, by_default=i % number == 0) for i, row in enumerate(rows)]


def covering(*axes: Sequence[object], first: Sequence[object] = ()) -> list[ParameterSet]:
    """Returns all combinations of the values of these lists. A default run takes as few as have each value at
    least once. Of the first list it takes only the values in ``first``, if there are any."""
    usual = [first or axes[0], *axes[1:]]
    diagonal = [[axis[i % len(axis)] for axis in usual] for i in range(max(map(len, usual)))]
    return [_parameters(values, by_default=[*values] in diagonal) for values in product(*axes)]


def _parameters(values: Sequence[object], *, by_default: bool) -> ParameterSet:
    return pytest.param(*values, marks=() if by_default else pytest.mark.exhaustive)
