"""Makes a report as one self-contained HTML page, which any browser opens from disk.

The page holds its styles, scripts and data. Its scripts draw a matrix, bars, heat maps, level profiles and
tables from JSON, which :mod:`bfsbench.reports.html.content` describes. A content security policy in the
page's head forbids loading anything.
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
"""The scripts of the page, each after the scripts that it depends on."""


def page(rows: pd.DataFrame, levels: pd.DataFrame | None = None, title: str = "bfsbench report") -> str:
    """Returns the HTML page of a report.

    ``rows`` are result rows from ``read_results``, and ``levels`` are level profiles from ``read_levels``.
    """
    return Template(_part("page.html")).substitute(
        title=html.escape(title),
        style=_part("page.css"),
        script="\n".join(_part(name) for name in SCRIPTS),
        data=embedded(content(rows, levels)),
        made=html.escape(f"bfsbench {__version__}, {now()}"),
    )


def embedded(data: object) -> str:
    """Returns data as JSON that is safe inside an HTML script element.

    Every ``<`` is escaped, so that no text in the data can end the element or open a comment.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _part(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
