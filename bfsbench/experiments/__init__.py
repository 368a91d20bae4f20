"""The papers' tables and figures, each a declarative file in this folder, and what is needed to redo them.

:mod:`declaration` is the files' format, :mod:`choice` picks the graphs, :mod:`sweeps` makes points of them;
:mod:`outcome` is what came of it: rows seen as the experiment's graphs and series, from which :mod:`tables`,
:mod:`claims` and the plots are made. Printed numbers are in ``papers``.
"""

from __future__ import annotations

from pathlib import Path

from bfsbench.errors import UsageError, unknown_name
from bfsbench.experiments.declaration import Experiment, read_experiment

_HERE = Path(__file__).parent


def bundled() -> list[str]:
    """Names of the experiments that travel with the package, in alphabetical order."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def find(text: str) -> Experiment:
    """The experiment of that name or in a file, told by ``.toml``. Raises UsageError, InputError."""
    return read_experiment(location(text))


def location(text: str) -> Path:
    """The file of an experiment. Raises UsageError with near misses for a name that is none."""
    if text.endswith(".toml"):
        return Path(text).expanduser()
    if text not in bundled():
        raise unknown_name("experiment", text, bundled())
    return _HERE / f"{text}.toml"


def printed_file(experiment: str, name: str) -> Path:
    """Where a table of printed numbers is: beside the user's experiment, or in the package."""
    beside = location(experiment).parent / f"{name}.toml"
    path = _HERE / "papers" / f"{name}.toml"
    if not path.exists() and experiment.endswith(".toml"):
        path = beside
    if not path.exists():
        raise UsageError(f"experiment {experiment}: there is no file {name}.toml of printed numbers")
    return path
