"""Test the declarations of measuring options, and the syntax of sweep axes."""

import inspect
import pydoc
import re
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from hypothesis import given, strategies as st

import bfsbench
from bfsbench.bench import axes
from bfsbench.bench.options import DEFAULTS, OPTIONS
from bfsbench.cli.sweeps import run_command as run
from bfsbench.support.errors import UsageError
from tests.commands import bfsbench as called


def test_commands_and_python_have_every_option_with_one_default_and_one_meaning() -> None:
    arguments = inspect.signature(bfsbench.sweep).parameters
    context = click.Context(run)
    by_name = {parameter.name: parameter for parameter in run.params}
    shown = " ".join(called("run", "--help", cwd=Path()).stdout.split())
    explained = " ".join(pydoc.plain(pydoc.render_doc(bfsbench.sweep)).split())
    for name, option in OPTIONS.items():
        assert arguments[name].default == by_name[name].get_default(context) == DEFAULTS[name]
        plain = option.help.replace("{", "").replace("}", "")
        assert f"{name} {plain}" in explained
        assert re.sub(r"\{(\w+)\}", lambda at: "--" + at[1].replace("_", "-"), option.help) in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            {"min_samples": 3},
            "{min_samples} and {max_samples} go with {max_noise}, {min_time} or {until_decided}",
        ),
        ({"min_time": 60.0}, "{min_time} 60: samples for so many seconds do not fit into {timeout} 60"),
        ({"resume": True}, "{resume} needs the {out} it is to continue"),
        ({"retry_failed": True}, "{retry_failed} goes with {resume}"),
        ({"tls": "folder"}, "{tls} goes with {cluster}"),
        ({"insecure": True}, "{insecure} goes with {cluster}"),
        (
            {"order": "interleaved", "cluster": "local"},
            "{order} goes without {cluster}: samples of a point are of one device",
        ),
        ({"order": "x"}, "{order}: 'x' is none of sequential, interleaved and shuffled[:SEED]"),
        ({"grid": "x"}, "{grid}: 'x' is not a whole number"),
    ],
)
def test_contradictions_name_options_as_the_caller_spells_them(
    words: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as raised:
        bfsbench.sweep("path(n=4)", "cpu_queue", **words)
    assert str(raised.value) == says.replace("{", "").replace("}", "")
    line = ["run", "--dataset", "path(n=4)", "--variant", "cpu_queue"]
    for name, value in words.items():
        line += [f"--{name}".replace("_", "-"), *([] if value is True else [str(value)])]
    said = called(*line, cwd=tmp_path, check=2).stderr
    assert said == "bfsbench: " + re.sub(r"\{(\w+)\}", r"--\1", says).replace("_", "-") + "\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"cold": "no"}, "cold must be True or False, not 'no'"),
        ({"backend": "gpu"}, "backend must be one of auto, cuda, cuda-core, cpu, not 'gpu'"),
        ({"repeats": 10**10}, "repeats must be at most 1000000000, not 10000000000"),
        ({"schedule_seed": -1}, "schedule_seed must be at least 0, not -1"),
        ({"repeats": None}, "repeats must be a whole number, not None"),
    ],
)
def test_python_checks_values_as_the_command_line_does(words: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(says)}$"):
        bfsbench.sweep("path(n=4)", "cpu_queue", **words)


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
