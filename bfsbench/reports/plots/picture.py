"""Provides the class ``Picture``, the style that all pictures share, and functions that write pictures to
files.

If there are many pictures, several processes encode their files.
"""

from __future__ import annotations

import io
import math
import re
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from bfsbench.reports.changes import CHANGED, changed_knobs, note_on_changes
from bfsbench.reports.measured import wrapped
from bfsbench.support.errors import UsageError
from bfsbench.support.storage import output

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from bfsbench.reports.measured import TimedRows

FORMATS = ("png", "svg", "pdf")
DOTS_PER_INCH = 150

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#B8A900")
"""Okabe and Ito's palette, which readers with red-green colour blindness can tell apart (Color Universal
Design, 2008). Its yellow is darkened so that a line is visible on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "p", ">", "h", "8", "d")
HOST_COLOUR = "#777777"
"""Colour of CPU programs in pictures that also show GPU programs."""
FAILED_HATCH = "////"
MARGIN = 1.18
"""Length of the axis divided by the length of the longest bar. The rest has room for the bar's number."""
_OUTLYING = 4.0
"""A bar is cut off if it is more than this many times as long as the next shorter bar."""
LINEAR_UP_TO = 20
"""Up to this ratio of the largest to the smallest value, an axis is linear and starts at 0. At larger ratios
the axis is logarithmic, because short bars would vanish."""
NUMBER_SHARE = 0.2
"""Share of a logarithmic axis that is left free for a number right of the longest bar."""
_STEPS = ((10, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)), (300, (1.0, 2.0, 5.0)))
"""Labels of a logarithmic axis. Each pair has a ratio of the largest to the smallest value, and the multiples
of powers of 10 that are labelled up to that ratio."""
_LETTERS_A_LABEL = 4
"""Width of one label of a horizontal axis, counted in letters of a title."""

_LETTERS_AN_INCH = 9.5
"""Number of letters of a title that fit into one inch."""
_LABEL_INCHES = 0.083
"""Width in inches of one letter in a label beside an axis."""
_HANDLE_INCHES = 0.7
"""Width in inches of the symbols and gaps in a legend."""
_TITLE_INCHES = 0.17
"""Height in inches of one line of text above a panel."""
_LINE_INCHES = 0.2
"""Height in inches of one line of labels beside an axis."""
_PANEL_INCHES = 3.6
"""Usual width in inches of a panel with one line per search."""
PAGE_INCHES = 8.5
"""The largest height in inches of a picture that fits a screen, or the text block of a page."""
_COMPRESSED = 1.15
"""Largest height of a compressed picture before its compression, relative to PAGE_INCHES."""
_LEGEND_LINES = 3
"""Number of lines of a legend for which a page has room."""
_LEAST_LETTERS = 12
"""Smallest number of letters on one line above or below a panel."""
_ACROSS = 3
"""The largest number of panels side by side."""
ROWS = 3
"""Maximum number of rows of panels in a picture with square panels."""
_FULL_INCHES = 4.6
"""If WIDTH is less than this number of inches, letters and panels shrink in proportion to WIDTH."""
_SMALLEST = 0.6
"""The smallest factor by which letters and panels of a narrow picture are scaled."""
_NARROWED = 0.75
"""Smallest width of a panel, relative to its usual width, if several panels share a given width."""

_MARK_POINTS, _TICK_POINTS = 8.0, 4.5
"""Width in points of the room for marks beside a panel, and of the room for the ticks of its axis."""

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
    "pdf.fonttype": 42,  # embed TrueType fonts, as publishers require
    "text.parse_math": False,  # a $ in a name does not begin a formula
}
"""matplotlib's settings while pictures are drawn and encoded."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Picture:
    """A matplotlib figure with its title. ``name`` is the name of the picture's file without the suffix."""

    name: str
    title: str
    figure: Figure
    caption: str = ""
    """The title, the devices, the options of the graphs and the names of the graphs, in one line."""
    devices: tuple[str, ...] = ()  # the devices of the shown times; if empty, the devices of all rows
    graphs: tuple[str, ...] = ()  # short names of the graphs of the panels, for the caption

    def encoded(self, style: str) -> bytes:
        """Returns the figure as the bytes of a file in one of FORMATS. Equal figures give equal bytes."""
        from matplotlib import style as styles
        from matplotlib.backend_bases import get_registered_canvas_class

        data = io.BytesIO()
        dpi, shown_on = self.figure.dpi, self.figure.canvas
        self.figure.set_dpi(DOTS_PER_INCH)
        canvas = get_registered_canvas_class(style)(self.figure)
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(style, {})
        with styles.context(STYLE):  # print directly, because Figure.savefig would draw everything twice
            getattr(canvas, f"print_{style}")(data, metadata={**undated, "Title": self.caption or self.title})
        self.figure.set_dpi(dpi)
        self.figure.set_canvas(shown_on)
        return data.getvalue()


WIDTH: ContextVar[float | None] = ContextVar("width", default=None)
"""Width of pictures in inches. None means that the panels determine the width."""


def scaled(size: float) -> float:
    """Returns ``size``, a length or a font size, scaled to the picture width WIDTH. In a narrow picture, the
    result is smaller than ``size``."""
    return size * min(1.0, max(_SMALLEST, (WIDTH.get() or math.inf) / _FULL_INCHES))


def style_of_width() -> dict[str, Any]:
    """Returns matplotlib's settings for pictures of the width WIDTH."""
    return STYLE | {name: scaled(STYLE[name]) for name in ("font.size", "axes.titlesize")}


def side_by_side(width: float) -> int:
    """Returns how many panels fit side by side into a picture. ``width`` is the usual width of a panel in
    inches."""
    wanted = WIDTH.get()
    return _ACROSS if wanted is None else max(1, min(_ACROSS, int(wanted / (_NARROWED * scaled(width)))))


def letters_in(inches: float) -> int:
    """Returns how many letters of a title fit into this number of inches."""
    return int(inches * _LETTERS_AN_INCH / scaled(1))


def columns_of(axes: Axes) -> int:
    """Returns the number of columns of panels in the figure that contains this panel."""
    place = axes.get_subplotspec()
    assert place is not None
    return int(place.get_gridspec().ncols)


def letters_over(axes: Axes) -> int:
    """Returns how many letters fit on one line above or below a panel."""
    figure = cast("Figure", axes.figure)
    first = figure.axes[0].get_yticklabels()
    beside = scaled(_LABEL_INCHES) * max((len(label.get_text()) for label in first), default=0)
    return max(_LEAST_LETTERS, letters_in((figure.get_figwidth() - beside) / columns_of(axes)))


def add_lines(figure: Figure, lines: Sequence[str]) -> None:
    """Adds lines of text to a figure's title, and wraps them to the figure's width. The figure grows by their
    height."""
    if lines:
        text = "\n".join(wrapped(line, letters_in(figure.get_figwidth())) for line in lines)
        title = f"{figure.get_suptitle()}\n{text}"
        figure.suptitle(title, fontsize=scaled(11), fontweight="bold")
        figure.set_figheight(figure.get_figheight() + scaled(_TITLE_INCHES) * (text.count("\n") + 1))


def remove_title(figure: Figure) -> None:
    """Removes a figure's title. The figure shrinks by the title's height."""
    lines = figure.get_suptitle().count("\n") + 1
    figure.suptitle("")
    figure.set_figheight(figure.get_figheight() - scaled(_TITLE_INCHES) * lines)


def fit_page(figure: Figure) -> None:
    """Compresses a figure that is slightly taller than a page."""
    if PAGE_INCHES < figure.get_figheight() <= PAGE_INCHES * _COMPRESSED:
        figure.set_figheight(PAGE_INCHES)


def mark_emulated(figure: Figure) -> None:
    """Writes that a figure's times are emulated, in a line below its title and in large letters across the
    figure. So no copy of the figure looks like a measurement. The panels become transparent, because the
    large letters lie behind them."""
    add_lines(figure, ["time in the emulator, not of a GPU"])
    for axes in figure.axes:
        axes.patch.set_visible(False)
    size = min(24.0, 5 * figure.get_figwidth())
    place: dict[str, Any] = {"ha": "center", "va": "center", "rotation": 20, "zorder": -1}
    figure.text(0.5, 0.5, "emulated: no measurement", fontsize=size, color="#cc0000", alpha=0.35, **place)


def panels(
    title: str,
    count: int,
    *,
    size: tuple[float, float],
    across: int = _ACROSS,
    about: Sequence[str] = (),
    labels: Sequence[str] = (),
    **shared: Any,
) -> tuple[Figure, list[Axes]]:
    """Returns a figure with a title, and the list of its ``count`` panels.

    ``size`` is the width and height of each panel in inches. There are at most ``across`` columns of panels.
    The lines of ``about`` are printed under the title. The figure is widened to make room for ``labels``,
    which the caller writes to the left of the first column of panels.
    """
    from matplotlib.figure import Figure

    lines = math.ceil(count / min(across, side_by_side(size[0])))
    columns = math.ceil(count / lines)
    width = WIDTH.get() or size[0] * columns + _LABEL_INCHES * max(map(len, labels), default=0)
    letters = letters_in(width)
    heading = [wrapped(title, letters)]
    if about:
        together = ", ".join(about)
        fitting = [together] if len(together) <= letters else about
        heading += [wrapped(text, letters) for text in fitting]
    above = "\n".join(heading)
    height = scaled(size[1] * lines + 0.5 + _TITLE_INCHES * above.count("\n"))
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(above, fontsize=scaled(11), fontweight="bold")
    axes = list(figure.subplots(lines, columns, squeeze=False, **shared).flat)
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[:count]


def lined_pictures(
    name: str,
    title: str,
    measured: TimedRows,
    rows: pd.DataFrame,
    labels: Sequence[str],
    draw: Callable[[Axes, pd.DataFrame, Sequence[str], pd.DataFrame], None],
    *,
    graphs: Sequence[str] = (),
    label: str = "",
    meaning: str = "",
    below: float = 0.0,
    part: str = "",
) -> Iterator[tuple[Picture, pd.DataFrame]]:
    """Yields pictures and, with each picture, the rows that it shows. A picture has one panel per graph, and
    fits on a screen. A panel has one line per label, from top to bottom.

    ``rows`` have the columns ``title`` (of the graph) and ``label`` (of the line). ``labels`` are in the
    order of the lines. Labels without rows are left out. ``graphs`` are the titles of the graphs to show. By
    default, all graphs in ``rows`` are shown, in the order of ``measured.graphs``.

    ``draw`` draws one panel. Its arguments are the panel, the rows of the panel's graph, the labels of the
    lines, and the rows of all panels of the picture. It needs all rows because the panels share an axis.
    ``label`` is printed below each panel, and ``meaning`` once below all panels. ``below`` is extra room
    under each panel, in inches. ``part`` is appended to titles and file names, such as the variant that the
    pictures show.
    """
    heading = title + measured.heading + (f": {part}" if part else "")
    graphs = graphs or measured.among(rows)
    panel = (_PANEL_INCHES, _LINE_INCHES * len(labels) + 1.0 + below)
    texts = [heading, meaning, note_on_changes(rows), ", ".join(measured.devices), measured.shared_options]
    for page, titles in pages(graphs, _panels_on_a_page(measured, graphs, panel, texts)):
        chosen = rows[rows["title"].isin(titles)]
        present = set(chosen["label"])
        shown = [label for label in labels if label in present]
        size = (panel[0], panel[1] - _LINE_INCHES * (len(labels) - len(shown)))
        figure, axes = panels(heading, len(titles), size=size, labels=shown, sharey=True)
        axes[0].set_yticks(range(len(shown)), shown)  # all panels share this axis
        axes[0].set_ylim(len(shown) - 0.5, -0.5)
        letters, columns = letters_over(axes[0]), columns_of(axes[0])
        changed = chosen[changed_knobs(chosen) != ""]
        for axis, graph in zip(axes, titles, strict=True):
            axis.set_title(measured.above(graph, letters))
            draw(axis, chosen[chosen["title"] == graph], shown, chosen)
            if len(changed):
                _mark(axis, {shown.index(label) for label in changed["label"][changed["title"] == graph]})
            if label:
                scale = " (logarithmic axis)" if axis.get_xscale() == "log" else ""
                axis.set_xlabel(wrapped(label + scale, letters))
        meant = "\n".join(
            wrapped(text, letters_in(figure.get_figwidth()))
            for text in (meaning, note_on_changes(chosen))
            if text
        )
        if meant:
            figure.supxlabel(meant, fontsize=scaled(9))
        above = max(measured.above(graph, letters).count("\n") for graph in titles)
        lines = above * math.ceil(len(titles) / columns) + meant.count("\n") + 1
        figure.set_figheight(figure.get_figheight() + scaled(_TITLE_INCHES) * lines)
        named = file_name(f"{name}{measured.suffix}", part, page)
        short = tuple(measured.short.get(graph, graph) for graph in titles)
        yield Picture(named, heading, figure, graphs=short), chosen


def _panels_on_a_page(
    measured: TimedRows, graphs: Sequence[str], size: tuple[float, float], texts: Iterable[str]
) -> int:
    """Returns how many panels of ``size``, one per graph, fit into a picture of height PAGE_INCHES. The
    ``texts`` above and below all panels take a part of this height."""
    across = side_by_side(size[0])
    width = WIDTH.get() or size[0] * across
    above = max(measured.above(graph, letters_in(width / across / 2)).count("\n") for graph in graphs)
    lines = sum(wrapped(text, letters_in(width)).count("\n") + 1 for text in texts if text)
    return across * rows_that_fit(size[1] + _TITLE_INCHES * above, lines + 1, _LEGEND_LINES)


def rows_that_fit(panel: float, lines: int, legend: int) -> int:
    """Returns how many rows of panels fit into a picture of the height PAGE_INCHES, but at least 1.

    ``panel`` is the usual height of a panel in inches. ``lines`` counts the lines of text above or below all
    panels, and ``legend`` counts the lines of the legend.
    """
    room = PAGE_INCHES - scaled(0.5 + _TITLE_INCHES * lines + _LINE_INCHES * legend)
    return max(1, int(room / scaled(panel)))


def _mark(axes: Axes, places: Iterable[int]) -> None:
    """Marks lines of a panel, given by their numbers, as searches that this project changed. The marks are to
    the left of the panel. A search may be marked for one graph only, because its fastest configuration
    depends on the graph."""
    axes.tick_params(axis="y", pad=scaled(_MARK_POINTS))
    for place in places:
        at: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
        axes.annotate(CHANGED, (0, place), (-_TICK_POINTS, 0), ha="right", va="center", **at)


_LOOKS: ContextVar[dict[str, int]] = ContextVar("looks")
"""Maps the label of each line on the page to a number. Lines are numbered in the order in which they were
first drawn."""


@contextmanager
def one_page() -> Iterator[None]:
    """Returns a context manager. In all pictures that are drawn in its ``with`` block, lines with equal
    labels have equal colours and markers."""
    token = _LOOKS.set(_LOOKS.get({}))
    try:
        yield
    finally:
        _LOOKS.reset(token)


def look(label: str) -> tuple[str, str]:
    """Returns the colour and the marker of the lines with the label ``label``. They are equal in all pictures
    that are drawn within one ``one_page`` block.

    If there are more labels than colours, lighter shades of the colours are used. So 24 labels have different
    colours. Outside of ``one_page``, all lines get the first colour.
    """
    labels = _LOOKS.get({})
    place = labels.setdefault(label, len(labels))
    rounds, colour = divmod(place, len(COLOURS))
    shade = COLOURS[colour]
    if rounds:
        parts = (255 - int(shade[at : at + 2], 16) for at in (1, 3, 5))
        shade = "#" + "".join(f"{round(255 - part * 0.6 ** (rounds % 3)):02X}" for part in parts)
    return shade, MARKERS[(place + rounds) % len(MARKERS)]


def file_name(*parts: str) -> str:
    """Joins words to a file name that every file system accepts. Returns the name without a suffix."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(part for part in parts if part)).strip("_")


def pages(items: Sequence[Item], most: int) -> Iterator[tuple[str, Sequence[Item]]]:
    """Splits items into parts, each of which becomes a picture. The parts have about equal size, and at most
    ``most`` items each.

    Yields a suffix for the file name of each part's picture, and the items of the part. The suffix is empty
    if there is only one part.
    """
    count = math.ceil(len(items) / most)
    size = math.ceil(len(items) / count) if count else 1
    for page in range(count):
        yield (str(page + 1) if count > 1 else ""), items[page * size : (page + 1) * size]


def number(value: float) -> str:
    """Returns a number as text with three significant digits, without an exponent, and with commas between
    thousands."""
    if value >= 99.95:
        return f"{value:,.0f}"
    digits = 2 - math.floor(math.log10(float(f"{value:.3g}"))) if value else 0
    return f"{value:.{min(digits, 6)}f}"


def legend_of_all(figure: Figure) -> None:
    """Adds a legend under the panels that lists every label of the figure once."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    legend_of(figure, [*found.values()], [*found])


def legend_of(figure: Figure, handles: Sequence[Artist], labels: Sequence[str] = ()) -> None:
    """Adds a legend with these entries under the panels. By default an entry has the label of its handle.

    The legend has as many columns as fit. The figure grows by the legend's height.
    """
    labels = labels or [str(handle.get_label()) for handle in handles]
    across, symbol, letter = figure.get_figwidth(), scaled(_HANDLE_INCHES), scaled(_LABEL_INCHES)
    names = [wrapped(label, int((across - symbol) / letter)) for label in labels]
    longest = max(len(line) for name in names for line in name.splitlines())
    columns = max(1, min(len(names), int(across / (letter * longest + symbol))))
    lines = sum(name.count("\n") + 1 for name in names) / columns
    figure.set_figheight(figure.get_figheight() + scaled(_LINE_INCHES) * math.ceil(lines))
    meaning = figure.get_supxlabel()  # would lie under the legend, and so becomes the legend's title
    figure.supxlabel("")
    figure.legend(handles, names, loc="outside lower center", ncols=columns, title=meaning or None)


def end_of(values: Iterable[float]) -> float:
    """Returns the largest value that an axis for bars of these lengths should show. This is the length of the
    longest bar that is not an outlier.

    A bar is an outlier if it is far longer than the next shorter bar. Fewer than half of the bars can be
    outliers.
    """
    known = sorted(values)
    few = len(known) / 2
    while len(known) - 1 > few and known[-1] > _OUTLYING * known[-2]:
        known.pop()
    return known[-1]


def note(
    axes: Axes,
    text: str,
    x: float,
    y: float,
    side: Literal["left", "right"] = "left",
    offset: int = 3,
    weight: Literal["normal", "bold"] = "normal",
) -> None:
    """Writes a note in small letters, on a white background, next to the point (``x``, ``y``). ``side`` is
    the side of the note that faces the point. ``offset`` is the distance from the point in typographic
    points."""
    away = (offset if side == "left" else -offset, 0)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    drawn = axes.annotate(text, (x, y), away, textcoords="offset points", va="center", ha=side, bbox=box)
    drawn.set(fontsize=scaled(8), fontweight=weight)


def time_axis(axes: Axes, low: float, high: float) -> None:
    """Scales the vertical axis for times from ``low`` to ``high``.

    The axis starts at 0. It is logarithmic instead if the short times would otherwise be invisible.
    """
    if low > 0 and high / low > LINEAR_UP_TO:
        plain_log(axes, "y", (low, high))
        axes.set_ylim(low / 1.3, high * 1.3)
    else:
        axes.set_ylim(0, high * 1.1)


def bar_axis(axes: Axes, low: float, high: float) -> None:
    """Scales the horizontal axis for bars that end between ``low`` and ``high``, with room for their numbers.

    The axis starts at 0. It is logarithmic instead if the short bars would otherwise be invisible.
    """
    if low > 0 and high / low > LINEAR_UP_TO:
        plain_log(axes, "x", (low, high))
        axes.set_xlim(low / 1.6, high * (high / low) ** NUMBER_SHARE)
    else:
        axes.set_xlim(0, high * MARGIN)


def level_axis(axes: Axes) -> None:
    """Labels the horizontal axis as levels, with whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("level")


def plain_log(axes: Axes, which: Literal["x", "y"], limits: Sequence[float] = ()) -> None:
    """Makes an axis logarithmic, and labels it with plain numbers.

    Values between powers of 10 are labelled if there is room. ``limits`` are the smallest and the largest
    value over all panels that share the axis. By default they are the smallest and the largest value in this
    panel.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(limits or axis.get_data_interval())
    fitting = (
        steps
        for most, steps in _STEPS
        if low > 0 and high / low < most and (which == "y" or _fit(axes, len(steps) * math.log10(high / low)))
    )
    axis.set_major_locator(LogLocator(subs=next(fitting, (1.0,))))
    plain(axis)
    axis.set_minor_locator(NullLocator())


def _fit(axes: Axes, labels: float) -> bool:
    """Returns whether this number of labels fits below a panel."""
    return labels * _LETTERS_A_LABEL <= letters_over(axes)


def plain(axis: Axis) -> None:
    """Labels an axis with plain numbers, such as 2,000 instead of 2e3."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(_plain))


def _plain(value: float, _: object) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


_ALONE = 8
"""Up to this number of pictures, one process encodes them all. Starting further processes would take
longer."""


def save(pictures: Iterable[Picture], folder: Path, style: str) -> list[Path]:
    """Writes pictures to ``folder`` in one of FORMATS, and names the files after the pictures. Returns their
    paths.

    The folder is made if it does not exist. A file is written whole or not at all. Raises UsageError if a
    file cannot be written.
    """
    return list(saved(pictures, folder, style))


def saved(pictures: Iterable[Picture], folder: Path, style: str, processes: int = 1) -> Iterator[Path]:
    """Writes pictures to ``folder`` one after the other, and yields the path of each file.

    ``style`` is one of FORMATS. If there are more than ``_ALONE`` pictures, up to ``processes`` processes
    encode them. Raises UsageError if a file cannot be written.
    """
    for name, data in _encoded(iter(pictures), style, processes):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write {folder}: {error.strerror or error}") from error
        path = folder / f"{name}.{style}"
        with output(path) as file:
            file.buffer.write(data)
        yield path


def _encoded(pictures: Iterator[Picture], style: str, processes: int) -> Iterator[tuple[str, bytes]]:
    """Yields the name of each picture, and the bytes of its file in the format ``style``.

    At most two pictures per process are kept in memory.
    """
    first = list(islice(pictures, _ALONE + 1))
    pictures = chain(first, pictures)
    if processes < 2 or len(first) <= _ALONE:
        for picture in pictures:
            yield picture.name, picture.encoded(style)
        return
    waiting: deque[tuple[str, Future[bytes]]] = deque()
    with ProcessPoolExecutor(processes, get_context("spawn"), _leave_interrupts_to_parent) as pool:
        for picture in pictures:
            waiting.append((picture.name, pool.submit(picture.encoded, style)))
            if len(waiting) == 2 * processes:
                name, data = waiting.popleft()
                yield name, data.result()
        for name, data in waiting:
            yield name, data.result()


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
