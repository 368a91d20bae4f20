"""Finds and marks the rows of searches that this project changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.reports.rows import where
from bfsbench.support.errors import UsageError
from bfsbench.variants import look

if TYPE_CHECKING:
    import pandas as pd

CHANGED = "†"
"""Marks a search whose shown time uses a knob value by which this project changed the authors' search."""


def as_published(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows whose searches are unchanged, as their authors published them. In the other rows, a
    knob value turns on a change by this project. Raises UsageError if no rows are left."""
    rows = where(changed_knobs(rows) == "", rows)
    if rows.empty:
        raise UsageError("no rows of searches as published: this project changed the search of each row")
    return rows


def changed_knobs(rows: pd.DataFrame) -> pd.Series[str]:
    """Returns, for each row, the knob values that turn on changes by this project to the authors' search, as
    text such as ``ATOMIC_CLAIM=1`` (see ``Knob.changed``). The text is empty if the row's search is
    unchanged, or if there is no column ``knobs``."""
    import pandas as pd

    changes = {
        name: {f"{knob.name}={value}" for knob in variant.knobs for value in knob.changed}
        for name, variant in look().variants.items()
    }
    knobs_given = rows["knobs"].fillna("") if "knobs" in rows else [""] * len(rows)
    settings = pd.Series([*zip(rows["variant"], knobs_given, strict=True)], rows.index, dtype=object)
    texts = {
        (variant, knobs): " ".join(word for word in knobs.split() if word in changes.get(variant, ()))
        for variant, knobs in set(settings)
    }
    return settings.map(texts).astype(object)


def note_on_changes(rows: pd.DataFrame) -> str:
    """Returns a note on the rows from searches that this project changed. The note names these searches, and
    the knob values that turn the changes on. Returns "" if there are no such rows."""
    changes = changed_knobs(rows)
    found = zip(rows["variant"], changes, strict=True)
    named = sorted({f"{variant} with {knobs}" for variant, knobs in found if knobs})
    if not named:
        return ""
    setting = "This setting is a change" if len(named) == 1 else "These settings are changes"
    return f"{CHANGED} marks results of {', '.join(named)}. {setting} by this project to the authors' search."
