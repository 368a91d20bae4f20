"""Makes all pictures of an experiment, and writes them to files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bfsbench.experiments.outcome import Outcome
from bfsbench.reports.plots import Picture, save


def pictures(outcome: Outcome) -> Iterator[Picture]:
    """Yields the pictures of all drawings. A drawing without rows has none. Raises UsageError if matplotlib
    is missing."""
    for drawing in outcome.experiment.drawings:
        yield from drawing.pictures(outcome, drawing.title or outcome.experiment.title)


def write_pictures(outcome: Outcome, folder: Path) -> list[Path]:
    """Writes all pictures of an experiment as PNG and SVG files called NAME-PICTURE. Returns their paths.

    Raises UsageError if a file cannot be written, or matplotlib is missing.
    """
    made: dict[str, Picture] = {}
    for picture in pictures(outcome):
        name = f"{outcome.experiment.name}-{picture.name}"
        while name in made:
            name += "-again"
        made[name] = replace(picture, name=name)
    return [path for style in ("png", "svg") for path in save(made.values(), folder, style)]
