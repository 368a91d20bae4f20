"""A report as one self-contained HTML page: styles, scripts and data are in it.

The page is opened from disk by any browser. Its matrix, bars, heat maps, level profiles and tables are made
by the scripts beside this module from JSON, which :mod:`bfsbench.reports.html.content` describes; a content
security policy in its head forbids loading anything.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from bfsbench import __version__
from bfsbench.reports.html.content import content
from bfsbench.rows.provenance import now

if TYPE_CHECKING:
    import pandas as pd

SCRIPTS = (
    *("elements.js", "rows.js", "tables.js", "matrix.js", "bars.js", "heatmaps.js"),
    *("charts.js", "profiles.js", "graph.js", "page.js"),
)
"""Scripts in the order of their dependences."""


def page(rows: pd.DataFrame, levels: pd.DataFrame | None = None, title: str = "bfsbench report") -> str:
    """The page of these rows, as ``read_results`` gives them, and level profiles, as ``read_levels`` does."""
    return Template(_part("page.html")).substitute(
        title=html.escape(title),
        style=_part("page.css"),
        script="\n".join(_part(name) for name in SCRIPTS),
        data=embedded(content(rows, levels)),
        made=html.escape(f"bfsbench {__version__}, {now()}"),
    )


def embedded(data: object) -> str:
    """JSON that may stand in a script element: nothing in it ends the element or opens a comment."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _part(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
