"""Reproduces the papers' tables and figures. Each one is a declarative file in this folder.

:mod:`declaration` defines the files' format, :mod:`choice` picks the graphs, and :mod:`sweeps` makes points
of them. :mod:`outcome` groups the measured rows by the experiment's graphs and series. :mod:`tables`,
:mod:`claims` and :mod:`drawings` are made from it. The folder ``papers`` holds the numbers that the papers
print.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.support.errors import InputError, UsageError, unknown_name

if TYPE_CHECKING:
    from bfsbench.experiments.declaration import Experiment

_HERE = Path(__file__).parent


def bundled() -> list[str]:
    """Returns the names of the bundled experiments, in alphabetical order."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def find(text: str) -> Experiment:
    """Returns the experiment with this name, or the experiment in a file if ``text`` ends in ``.toml``.

    All names in the experiment are looked up, so that mistakes are found before anything is measured. Raises
    UsageError, with similar names, for an unknown experiment. Raises InputError, with the file's name, for
    mistakes in the file.
    """
    from bfsbench.experiments.declaration import read_experiment

    if text.endswith(".toml"):
        return _checked(read_experiment(Path(text).expanduser()))
    if text not in bundled():
        raise unknown_name("experiment", text, bundled())
    return _checked(read_experiment(_HERE / f"{text}.toml"))


def _checked(experiment: Experiment) -> Experiment:
    """Returns the experiment unchanged. Raises InputError if it contains unknown names."""
    from bfsbench.experiments.printed import printed_tables
    from bfsbench.experiments.series import every_series, rivals, series_called

    try:
        every_series(experiment)
        for claim in experiment.claims:
            rivals(experiment, series_called(experiment, claim.series), claim)
        for drawing in experiment.drawings:
            for name in (*drawing.series, *drawing.compared):
                series_called(experiment, name)
        printed_tables(experiment)
    except InputError:
        raise
    except UsageError as error:
        raise InputError(f"{experiment.file}: {error}") from None
    return experiment
