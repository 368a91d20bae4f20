"""A figure with its name and title, in the style all pictures share."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
DOTS_PER_INCH = 150

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#B8A900")
"""Okabe and Ito's palette, which people who confuse red and green tell apart (Color Universal Design, 2008);
its yellow is darkened to be seen as a line on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HOST_COLOUR = "#777777"
"""Of programs on the CPU, beside those on a GPU."""
FAILED_HATCH = "////"
_DECADES_WITH_STEPS = 300
"""Largest / smallest value below which a logarithmic axis has labels between powers of 10."""

STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "bfsbench",
}
"""matplotlib's settings while pictures are drawn and encoded."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Picture:
    """One figure; ``name`` is that of its file without an ending."""

    name: str
    title: str
    figure: Figure

    def encoded(self, style: str) -> bytes:
        """The figure as one of FORMATS; the same figure gives the same bytes."""
        from matplotlib import style as styles

        data = io.BytesIO()
        metadata = {"Date": None, "Title": self.title} if style == "svg" else {"Title": self.title}
        with styles.context(STYLE):
            self.figure.savefig(data, format=style, dpi=DOTS_PER_INCH, metadata=metadata)
        return data.getvalue()


def panels(
    title: str, count: int, *, across: int, size: tuple[float, float], **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A titled figure of ``count`` panels, each of ``size`` in inches, at most ``across`` in a row."""
    from matplotlib.figure import Figure

    columns = min(count, across)
    lines = math.ceil(count / columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * lines + 0.5), layout="constrained")
    figure.suptitle(title, fontsize=11, fontweight="bold")
    axes = list(figure.subplots(lines, columns, squeeze=False, **shared).flat)
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[:count]


def file_name(*parts: str) -> str:
    """Words joined to a name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(part for part in parts if part)).strip("_")


def pages(items: Sequence[Item], most: int) -> Iterator[tuple[str, Sequence[Item]]]:
    """The items in portions of about the same size, each with what tells its picture's name from others."""
    count = math.ceil(len(items) / most)
    size = math.ceil(len(items) / count) if count else 1
    for page in range(count):
        yield (str(page + 1) if count > 1 else ""), items[page * size : (page + 1) * size]


def wrapped(text: str, width: int = 34) -> str:
    """A name in lines short enough to stand over a panel, broken behind ``:`` and ``,`` if need be."""
    lines = [""]
    for part in re.findall(r"[^:,\s]+[:,\s]*", text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def number(value: float) -> str:
    """Three significant digits without an exponent, thousands apart."""
    if value >= 100:
        return f"{value:,.0f}"
    digits = 2 - math.floor(math.log10(value)) if value else 0
    return f"{value:.{min(digits, 6)}f}"


def plain_log(axes: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic axis labelled with plain numbers, at 1, 2 and 5 where there is room for them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_data_interval())
    steps = (1.0, 2.0, 5.0) if low > 0 and high / low < _DECADES_WITH_STEPS else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
