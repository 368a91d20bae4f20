"""The syntax of sweep axes."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.bench import axes
from bfsbench.support.errors import UsageError


def test_lists_and_ranges_mix_and_lose_repeats() -> None:
    assert axes.blocks("32,64:256:x2,64:128:+32,100") == [32, 64, 128, 256, 96, 100]
    assert axes.blocks("auto,64") == [None, 64]
    assert axes.grids("auto,4:6:1") == [None, 4, 5, 6]


def test_values_from_python_stay_as_they_are() -> None:
    assert axes.blocks([64, np.int64(256), "auto", "32:128:x2"]) == [64, 256, None, 32, 128]
    assert axes.expand([0.5, 8, "8", "x,y"]) == [0.5, 8, "8", "x", "y"]
    assert axes.expand(np.arange(2)) == [0, 1]
    for wrong in (0.5, [64, None], []):
        with pytest.raises(UsageError, match=r"is not a whole number|at least one value"):
            axes.blocks(wrong)


def test_a_range_stops_at_its_last_value() -> None:
    assert axes.expand("32:1000:x2") == ["32", "64", "128", "256", "512"]
    assert axes.expand("0:0.15:0.05") == ["0", "0.05", "0.1", "0.15"]


def test_commas_inside_parentheses_do_not_split() -> None:
    assert axes.split_list("a, kronecker(scale=4,seed=1):directed ,b") == [
        "a",
        "kronecker(scale=4,seed=1):directed",
        "b",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1:2", "is not a range"),
        ("a:b:x2", "is not a range"),
        ("1:8:x1", "does not reach"),
        ("0:8:x2", "does not reach"),
        ("8:1:+1", "does not reach"),
        ("1:8:+0", "does not reach"),
        ("1:1000000000:+1", "more than"),
        ("2:9e999999:x9e999999", "too large"),
        ("1e999999:9e999999:+9e999999", "too large"),
        ("1:2:x1e-999999", "too small"),
        ("", "at least one"),
    ],
)
def test_malformed_axes_say_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        axes.expand(text)


@pytest.mark.parametrize("text", ["0", "-4", "x", "1.5", "none"])
def test_blocks_are_positive_whole_numbers(text: str) -> None:
    with pytest.raises(UsageError, match=r"^block: "):
        axes.blocks(text)


@given(st.integers(1, 500), st.integers(0, 500), st.integers(1, 50))
def test_additive_ranges_are_pythons(first: int, length: int, step: int) -> None:
    last = first + length
    assert axes.expand(f"{first}:{last}:+{step}") == [str(v) for v in range(first, last + 1, step)]
