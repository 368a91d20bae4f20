"""All pictures of an experiment, as files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bfsbench.experiments.outcome import Outcome
from bfsbench.reports.plots import Picture, save


def pictures(outcome: Outcome) -> Iterator[Picture]:
    """The pictures of all drawings; those for which there are no rows are left out.

    Raises UsageError when matplotlib is missing.
    """
    for drawing in outcome.experiment.drawings:
        yield from drawing.pictures(outcome, drawing.title or outcome.experiment.title)


def write_pictures(outcome: Outcome, folder: Path) -> list[Path]:
    """All pictures in all formats, called NAME-PICTURE.png and so on. Raises UsageError."""
    made: dict[str, Picture] = {}
    for picture in pictures(outcome):
        name = f"{outcome.experiment.name}-{picture.name}"
        while name in made:
            name += "-again"
        made[name] = replace(picture, name=name)
    return [path for style in ("png", "svg") for path in save(made.values(), folder, style)]
