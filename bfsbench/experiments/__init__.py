"""Reproduces the papers' tables and figures. A TOML file in this folder declares each table or figure.

:mod:`declaration` and :mod:`drawings` define the format of these files. :mod:`sweeps` chooses the graphs and
the runs to measure. :mod:`outcome` groups the measured rows by graph and by series (the rows behind one bar,
line or column). :mod:`claims` and :mod:`tables` make verdicts, tables and pictures from these groups. The
folder ``papers`` holds the numbers that the papers print, which :mod:`printed` reads.
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

    The function looks up all names in the experiment, so that mistakes are found before anything is measured.
    Raises UsageError, whose message suggests similar names, for an unknown experiment. Raises InputError for
    mistakes in the file.
    """
    from bfsbench.experiments.declaration import read_experiment
    from bfsbench.experiments.printed import printed_tables
    from bfsbench.experiments.series import every_series, rivals, series_called

    path = Path(text).expanduser()
    if not text.endswith(".toml"):
        if text not in bundled():
            raise unknown_name("experiment", text, bundled(), "bfsbench reproduce --list")
        path = _HERE / f"{text}.toml"
    experiment = read_experiment(path)
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
