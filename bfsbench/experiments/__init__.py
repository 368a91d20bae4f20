"""The papers' tables and figures, each a declarative file in this folder, and the code that reproduces them.

:mod:`declaration` is the files' format, :mod:`choice` picks the graphs, :mod:`sweeps` makes points of them;
:mod:`outcome` groups the rows by the experiment's graphs and series, from which :mod:`tables`, :mod:`claims`
and the :mod:`drawings` are made. Printed numbers are in ``papers``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.support.errors import InputError, UsageError, unknown_name

if TYPE_CHECKING:
    from bfsbench.experiments.declaration import Experiment

_HERE = Path(__file__).parent


def bundled() -> list[str]:
    """Names of the bundled experiments, in alphabetical order."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def find(text: str) -> Experiment:
    """The experiment of that name, or in a file that ends in ``.toml``. All names in it are looked up, so
    that mistakes are found before anything is measured. Raises UsageError, with similar names, for an unknown
    one, InputError naming the file.
    """
    from bfsbench.experiments.declaration import read_experiment

    if text.endswith(".toml"):
        return _checked(read_experiment(Path(text).expanduser()))
    if text not in bundled():
        raise unknown_name("experiment", text, bundled())
    return _checked(read_experiment(_HERE / f"{text}.toml"))


def _checked(experiment: Experiment) -> Experiment:
    """The same experiment. Raises InputError for unknown names in it."""
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
