"""Measuring options: one declaration gives the command line's option and Python's argument."""

import inspect
import pydoc
import re
from pathlib import Path
from typing import Any

import click
import pytest

import bfsbench
from bfsbench.bench.options import DEFAULTS, OPTIONS
from bfsbench.cli.run import command as run
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
        ({"min_samples": 3}, "{min_samples} and {max_samples} go with {max_noise} or {min_time}"),
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
