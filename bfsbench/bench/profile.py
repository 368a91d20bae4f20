"""The rows of the profile of a point, which say what each step of one run cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bfsbench.bench.columns import PROFILE_COLUMNS

COLUMNS = PROFILE_COLUMNS


def profile_rows(steps: Sequence[Mapping[str, str]], row: Mapping[str, str]) -> list[dict[str, str]]:
    """A row for each of the steps that a family's ``Problem.profile`` tells; ``row`` is the result row."""
    shared = {name: row.get(name, "") for name in COLUMNS}
    return [{**shared, **step} for step in steps]
