"""Provides exercises: small broken or slow kernels, which students repair on any machine. Each kernel is
taken from a figure of a paper.

An exercise consists of a table in ``exercises.toml`` and a kernel in the folder ``kernels``. A student
changes a copy of the kernel, and ``bfsbench check`` grades the copy.
"""

import shutil
from pathlib import Path
from typing import Literal

from bfsbench.support.errors import UsageError, unknown_name
from bfsbench.support.toml_files import TomlTable, converted, read_toml

HERE = Path(__file__).parent

GRAPHS = ("uniform(n=600,m=2400,directed=1)", "kronecker(scale=7,edge_factor=8)")
"""The graphs on which kernels are checked unless their exercise names others."""


class Exercise(TomlTable, frozen=True):
    """One exercise: a kernel, and the text that asks the student what to repair."""

    name: str
    """The name of the kernel, and of its file without ``.cu``."""
    origin: str
    """The paper and the figure that the kernel comes from."""
    host: str
    """The variant whose host loop launches the kernel."""
    question: str
    hint: str
    graphs: tuple[str, ...] = GRAPHS
    declared: bool = False
    """True if right solutions have benign races, which a comment may then declare."""
    cost: Literal["", "sectors", "longest", "atomics", "reads"] = ""
    """The kind of cost that is too high in a slow kernel; see :mod:`bfsbench.tools.lab.grading`. Empty for
    other kernels."""
    most: int = 0
    """The largest cost that passes, on the last graph."""

    @property
    def file(self) -> str:
        """The name of the kernel's file."""
        return f"{self.name}.cu"


class _File(TomlTable, frozen=True):
    exercise: list[Exercise]


def exercises() -> dict[str, Exercise]:
    """Returns the exercises by name, in the order of ``exercises.toml``."""
    path = HERE / "exercises.toml"
    return {one.name: one for one in converted(path, read_toml(path), _File).exercise}


def find(name: str) -> Exercise:
    """Returns the exercise with this name. Raises UsageError, whose message suggests similar names, if there
    is none."""
    known = exercises()
    if name not in known:
        raise unknown_name("exercise", name, known, "bfsbench lab")
    return known[name]


def hand_in(path: Path) -> tuple[Exercise, Path] | None:
    """Returns the exercise that a student's file or folder solves, and the path of the student's kernel.
    Returns None if ``path`` is anything else, such as a folder of variants.
    """
    if path.is_file():
        exercise = exercises().get(path.stem)
        return (exercise, path) if exercise and path.name == exercise.file else None
    if not path.is_dir() or any(path.glob("*.py")):
        return None
    known = exercises().values()
    return next(((one, path / one.file) for one in known if (path / one.file).is_file()), None)


def hand_out(exercise: Exercise, folder: Path) -> Path:
    """Copies the kernel of an exercise into a new folder. Returns the path of the copy.

    Raises UsageError if the folder exists or cannot be written.
    """
    try:
        folder.mkdir(parents=True)
        shutil.copyfile(HERE / "kernels" / exercise.file, folder / exercise.file)
    except FileExistsError:
        raise UsageError(f"{folder} exists: choose another folder with --to") from None
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from None
    return folder / exercise.file
