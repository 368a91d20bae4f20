"""Files of entries: what is read, what is refused, and what is missing for one to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfsbench.entries.declaration import read
from bfsbench.entries.find import SHIPPED, declarations_in, entry_variants
from bfsbench.entries.variant import variant_of
from bfsbench.errors import InputError
from tests.entries.toy_entries import HEAD

GOOD = HEAD.format(name="mine") + '[call]\npython = "a:b"\n[clock]\nheld_by = "ours"\n'
LONGEST = 30


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "mine"', 'name = "My"', "`name`"),
        ('licence = "MIT"\n', "", "missing required field `licence`"),
        ('licence = "MIT"', 'licence = "MIT"\ncolour = "red"', "unknown field `colour`"),
        ('licence = "MIT"', 'licence = "MIT"\nwhere = "x"', "unknown field `where`"),
        ('python = "a:b"', "", "one of command, library, python is wanted, not none"),
        ('python = "a:b"', 'python = "a:b"\ncommand = ["c"]', "not command and python"),
        ('python = "a:b"', 'library = "x.so"', "library and function go together"),
        ('python = "a:b"', 'python = "a"', "'module:function', not 'a'"),
        ('python = "a:b"', 'command = ["{grpah}"]', "no place {grpah}"),
        ('python = "a:b"', 'command = ["x"]\ntime = "("', "no pattern with one group: '('"),
        ('python = "a:b"', 'command = ["x", "{source}"]', "holds the clock itself"),
        ('"ours"', '"theirs"', "functions are timed here"),
        ('python = "a:b"', 'python = "a:b"\nunit = "us"', "time and unit are of what a command prints"),
        ('python = "a:b"', 'python = "a:b"\ntime = "T ([0-9]+)"', "time and unit are of what a command"),
        ('"ours"', '"events"', "only Python functions over CuPy arrays"),
        ('"ours"', '"ours"\ncovers = ["all"]', "`clock.covers[0]`"),
        ("[clock]", '[build]\nrepository = "r"\nmakes = ["m"]\n[clock]', "repository and commit go together"),
        ("[clock]", "[clock", "mine.toml"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        read(file)
    said = str(caught.value)
    assert message in said and str(file) in said and "\n" not in said


def test_other_files_and_broken_ones_hide_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BFSBENCH_ENTRIES", str(tmp_path / "none"))
    written(tmp_path, GOOD)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "broken.toml").write_text("[call")
    (tmp_path / "deep" / "other").mkdir(parents=True)
    (tmp_path / "deep" / "deep.toml").write_text(GOOD.replace("mine", "deep"))
    (tmp_path / "deep" / "other.toml").write_text(GOOD.replace("mine", "unseen"))
    problems: list[str] = []
    names = [one.name for one in entry_variants([tmp_path], problems)]
    assert names[-2:] == ["mine", "deep"] and "unseen" not in names
    assert len(problems) == 1 and "broken.toml" in problems[0]


def test_what_is_missing_is_said_with_the_command_that_gets_it(tmp_path: Path) -> None:
    def missing(text: str) -> str:
        entry = read(written(tmp_path, text))
        assert entry is not None
        return variant_of(entry).missing()

    assert missing(GOOD) == ""
    packages = 'python = "a:b"\npackages = ["no-such-thing", "python-graphblas(no_such_module)", "numpy"]'
    said = missing(GOOD.replace('python = "a:b"', packages))
    assert "no-such-thing, python-graphblas are not installed: run '" in said
    assert said.endswith("-m pip install no-such-thing python-graphblas'")
    built = '[build]\nrun = ["true"]\nmakes = ["m"]\n[clock]'
    assert missing(GOOD.replace("[clock]", built)).endswith("run 'bfsbench entry build mine'")
    command = missing(GOOD.replace('python = "a:b"', 'command = ["{here}/gone"]'))
    assert command == f"entry mine: there is no {tmp_path}/gone"


@pytest.mark.parametrize("file", declarations_in(SHIPPED), ids=lambda file: file.stem)
def test_what_is_shipped(file: Path) -> None:
    entry = read(file)
    assert entry is not None and entry.name == file.stem
    assert len(file.read_text().splitlines()) <= LONGEST
