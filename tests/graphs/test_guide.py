"""Writes the files in docs/graphs.md, and runs its commands and its Python as printed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.graphs.catalogue import FORMATS_BY_SUFFIX
from bfsbench.graphs.formats import FORMATS
from tests.commands import invoke

GUIDE = Path(__file__).parents[2] / "docs" / "graphs.md"
BLOCK = re.compile(r"(?:^`([\w.]+)`[^\n]*:\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)


def run_shell(line: str) -> str:
    """Run a command. A bfsbench command runs in this process, because that is faster."""
    words = shlex.split(line)
    if words[0] != "bfsbench":
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout
    done = invoke(*words[1:])
    assert done.exit_code == 0, f"{line}: {done.output}"
    return done.stdout


@pytest.mark.exhaustive
def test_everything_in_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = {}
    for name, language, content in BLOCK.findall(GUIDE.read_text()):
        if name:
            (tmp_path / name).write_text(content)
        elif language == "sh":
            printed |= {line: run_shell(line) for line in content.splitlines()}
        else:
            assert language == "python"
            subprocess.run([sys.executable, "-c", content], check=True, capture_output=True)
    paths = {line: text.split() for line, text in printed.items() if line.startswith("bfsbench path")}
    assert len(paths) >= 18
    for line, found in paths.items():
        ends = re.search(r"--source (\w+) --target (\w+)", line)
        assert ends and (found[0], found[-1], len(found)) == (ends[1], ends[2], 3), line
    assert "roads.csv:directed: about" in printed[next(line for line in printed if "--dry-run" in line)]


def test_every_format_is_in_the_guide() -> None:
    text = GUIDE.read_text()
    assert set(FORMATS_BY_SUFFIX.values()) == set(FORMATS)
    assert {suffix for suffix in FORMATS_BY_SUFFIX if f"{suffix}`" not in text} <= {".metis"}
