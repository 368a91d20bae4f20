"""Entries are built from the declared commit with the declared changes. The build is kept and recorded."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from bfsbench.entries import build
from bfsbench.entries.declaration import Entry
from bfsbench.support.errors import BfsbenchError, ToolchainError, UsageError
from tests.entries.toy_entries import entry_in, write_entry

MAIN = '#include <stdio.h>\n#include "number.h"\nint main(void) { printf("%d\\n", NUMBER); return 0; }\n'


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository with its first commit, whose program prints 1. The program of a later commit prints 2."""
    folder = tmp_path_factory.mktemp("theirs")

    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    (folder / "main.c").write_text(MAIN)
    (folder / "number.h").write_text("#define NUMBER 1\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    first = git("rev-parse", "HEAD").strip()
    (folder / "number.h").write_text("#define NUMBER 2\n")
    git("commit", "--quiet", "-a", "-m", "second")
    return folder, first


def entry_of(
    folder: Path, repository: Path | str, commit: str, more: str = "", name: str = "theirs"
) -> Entry:
    """Returns an entry that is built from a repository. ``more`` is added to its table ``build``."""
    file = write_entry(folder, name, 'command = ["{built}/main"]', "theirs")
    run = "" if "run =" in more else 'run = ["{cc} -o main main.c"]\n'
    table = f'[build]\nrepository = "{repository}"\ncommit = "{commit}"\nmakes = ["main"]\n{run}{more}'
    file.write_text(file.read_text() + table)
    return entry_in(file)


def built(entry: Entry, source: Path | None = None) -> str:
    """Build an entry, and run its program. Returns the output of the program."""
    build.build(entry, source, tell=lambda line: None)
    return printed(entry)


def printed(entry: Entry) -> str:
    return subprocess.run([build.made_files(entry)[0]], check=True, capture_output=True, text=True).stdout


def test_the_declared_commit_is_built_and_noted(tmp_path: Path, repository: tuple[Path, str]) -> None:
    folder, commit = repository
    entry = entry_of(tmp_path, folder, commit)
    assert "is not built" in build.missing(entry)
    said: list[str] = []
    record = json.loads(build.build(entry, tell=said.append).read_text())
    assert printed(entry) == "1\n" and build.missing(entry) == ""
    assert record["commit"] == commit and record["repository"] == str(folder)
    assert record["commands"] == said[1:] and "-o main main.c" in said[1]
    assert list(record["compilers"]) == ["cc"] and record["compilers"]["cc"]


def test_a_clone_on_this_machine_takes_the_place_of_the_address(
    tmp_path: Path, repository: tuple[Path, str]
) -> None:
    folder, commit = repository
    entry = entry_of(tmp_path, "https://nowhere.invalid/x.git", commit, name="cloned")
    assert built(entry, folder) == "1\n"
    assert "NUMBER 2" in (folder / "number.h").read_text()


def test_changes_and_files_of_ones_own(tmp_path: Path, repository: tuple[Path, str]) -> None:
    folder, commit = repository
    (tmp_path / "driver.h").write_text("#define NUMBER 8\n")
    change = '[[build.changes]]\nfile = "main.c"\nold = "number.h"\nnew = "driver.h"\n'
    entry = entry_of(tmp_path, folder, commit, f'add = ["driver.h"]\n{change}', name="changed")
    assert built(entry) == "8\n"
    (tmp_path / "driver.h").write_text("#define NUMBER 9\n")
    assert "has changed since it was built" in build.missing(entry)


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ('run = ["{cc} -o main gone.c"]', ToolchainError, r"cannot build failing_\d+: .*gone.c"),
        ('run = ["true"]', ToolchainError, "the commands did not make main"),
        ('add = ["gone.h"]', UsageError, "cannot add .*gone.h to the source: No such file"),
        ('[[build.changes]]\nfile = "main.c"\nold = "no"\nnew = ""', UsageError, "main.c has no 'no'"),
        ('[[build.changes]]\nfile = "gone.c"\nold = "x"\nnew = ""', UsageError, "cannot read gone.c"),
    ],
)
def test_a_failed_build_leaves_what_was_there(
    tmp_path: Path, repository: tuple[Path, str], more: str, error: type[BfsbenchError], message: str
) -> None:
    folder, commit = repository
    name = f"failing_{os.getpid()}"  # Another worker of pytest may build the same entry at the same time.
    before = entry_of(tmp_path, folder, commit, name=name)
    built(before)
    entry = entry_of(tmp_path, folder, commit, more, name=name)
    with pytest.raises(error, match=message):
        built(entry)
    assert "has changed since it was built" in build.missing(entry) and build.missing(before) == ""
    assert printed(before) == "1\n"


def test_what_cannot_be_had(tmp_path: Path, repository: tuple[Path, str]) -> None:
    folder, _ = repository
    absent = entry_of(tmp_path, folder, "0" * 40, name="absent")
    with pytest.raises(UsageError, match=f"{folder} has no commit 0000"):
        built(absent)
    with pytest.raises(UsageError, match=r"cannot clone .*gone: fatal: "):
        built(entry_of(tmp_path, tmp_path / "gone", "0" * 40))
    with pytest.raises(UsageError, match="there is no folder"):
        built(absent, tmp_path / "gone")
