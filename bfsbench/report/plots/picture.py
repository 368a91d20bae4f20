"""A figure with its name and title, in the style all pictures share."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
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
MARGIN = 1.18
"""Length of an axis of bars / longest bar: room for its number."""
_OUTLYING = 4.0
"""Times the next shorter bar from which one is cut off."""
_FEW = 3
"""Bars of which none is cut off."""
_LINEAR_UP_TO = 20
"""Largest / smallest value up to which an axis of times starts at 0."""
_DECADES_WITH_STEPS = 300
"""Largest / smallest value below which a logarithmic axis has labels between powers of 10."""

_LETTERS_AN_INCH = 9.5
"""Of a title."""

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
    heading = wrapped(" ".join(title.split()), int(size[0] * columns * _LETTERS_AN_INCH))
    figure.suptitle(heading, fontsize=11, fontweight="bold")
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


def end_of(values: Iterable[float]) -> float:
    """The largest value of an axis that leaves bars of all but outlying ones something to be seen of."""
    known = sorted(values)
    while len(known) > _FEW and known[-1] > _OUTLYING * known[-2]:
        known.pop()
    return known[-1]


def note(axes: Axes, text: str, x: float, y: float, side: Literal["left", "right"] = "left") -> None:
    """A small text whose ``side`` is beside the point; on white where it may lie upon a bar."""
    offset = (3 if side == "left" else -3, 0)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1} if side == "right" else None
    axes.annotate(
        text, (x, y), offset, textcoords="offset points", va="center", ha=side, fontsize=8, bbox=box
    )


def time_axis(axes: Axes) -> None:
    """The vertical axis from 0, or logarithmic where short times would vanish."""
    low, high = sorted(axes.yaxis.get_data_interval())
    if low > 0 and high / low > _LINEAR_UP_TO:
        plain_log(axes, "y")
    else:
        axes.set_ylim(0, high * 1.1)


def level_axis(axes: Axes) -> None:
    """The horizontal axis of levels: whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("level")


def log_or_zero(axes: Axes) -> None:
    """A logarithmic vertical axis of counts that has a place for 0."""
    from matplotlib.ticker import FuncFormatter

    axes.set_yscale("symlog", linthresh=1)
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.set_ylim(bottom=-0.1)


def plain_log(axes: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic axis labelled with plain numbers, at 1, 2 and 5 where there is room for them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_data_interval())
    steps = (1.0, 2.0, 5.0) if low > 0 and high / low < _DECADES_WITH_STEPS else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(NullFormatter())


def _plain(value: float, _: object) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
