"""Adds files to wheels and sdists: the commit, for the column ``commit`` of result rows, and the kernels."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RECORD = "bfsbench/data/commit.txt"


class CommitHook(BuildHookInterface):
    """Records the commit of a checkout, ``+dirty`` when its code has uncommitted changes.

    A wheel made of an sdist keeps the record of the sdist. Wheels also get the kernels, but not their pages.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # asks git each time
            return
        if self.target_name == "wheel":
            for path in Path(self.root, "cuda_src").rglob("*.*"):
                if path.suffix != ".md":
                    build_data["force_include"][str(path)] = f"bfsbench/{path.relative_to(self.root)}"
        record = Path(self.root, RECORD)
        if (commit := self._commit()) and not record.exists():
            self._made = Path(self.directory, "commit.txt")
            self._made.parent.mkdir(parents=True, exist_ok=True)
            self._made.write_text(f"{commit}\n")
            build_data["force_include"][str(self._made)] = RECORD

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if made := getattr(self, "_made", None):
            made.unlink()

    def _commit(self) -> str:
        if said := os.environ.get("BFSBENCH_COMMIT"):
            return said
        top, head = self._git("rev-parse", "--show-toplevel"), self._git("rev-parse", "--short=12", "HEAD")
        if not head or Path(top) != Path(self.root).resolve():
            return ""
        changed = self._git("status", "--porcelain", "--untracked-files=no", "--", "bfsbench", "cuda_src")
        return head + ("+dirty" if changed else "")

    def _git(self, *arguments: str) -> str:
        """What git says; nothing where there is no git or no checkout."""
        try:
            done = subprocess.run(
                ["git", "-C", self.root, *arguments], capture_output=True, text=True, timeout=10
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""
