"""The rows of a point's profile: the cost of each step of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bfsbench.bench.columns import PROFILE_COLUMNS

COLUMNS = PROFILE_COLUMNS


def profile_rows(steps: Sequence[Mapping[str, str]], row: Mapping[str, str]) -> list[dict[str, str]]:
    """A row for each step that a family's ``Problem.profile`` returns; ``row`` is the result row."""
    shared = {name: row.get(name, "") for name in COLUMNS}
    return [{**shared, **step} for step in steps]
