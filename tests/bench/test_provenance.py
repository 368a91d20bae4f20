"""The provenance of rows: the calls of git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bfsbench.bench import provenance


def test_asking_for_the_commit_writes_nothing_into_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "bfsbench"
    package.mkdir()
    (package / "code.py").write_text("x = 1\n")
    author = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "c"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    os.utime(package / "code.py", (1, 1))  # which git status would record, under a lock
    index = tmp_path / ".git" / "index"
    before = index.read_bytes()
    monkeypatch.setattr(provenance, "PACKAGE", package)
    monkeypatch.delenv("BFSBENCH_COMMIT", raising=False)
    clean = provenance.commit.__wrapped__()
    assert len(clean) == 12
    assert index.read_bytes() == before
    subprocess.run(["git", "-C", str(tmp_path), "status"], check=True, capture_output=True)
    assert index.read_bytes() != before  # so there was something to write
    (package / "code.py").write_text("x = 2\n")
    assert provenance.commit.__wrapped__() == f"{clean}+dirty"
