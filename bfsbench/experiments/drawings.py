"""Defines the kinds of drawings. A drawing is a request in an experiment's file for certain tables and
pictures.

A new kind of drawing is a subclass of :class:`Chart` with a ``tag``, and a member of ``Drawing``.
"""

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed, number, printed_tables
from bfsbench.experiments.trace import routed, trace_tables
from bfsbench.graphs.marks import UNMARKED, split_marks
from bfsbench.programs.families.bfs.profile import parse_counters
from bfsbench.reports import TABLES
from bfsbench.reports.measured import value_order
from bfsbench.reports.plots import NothingToDrawError, Picture, draw, matplotlib_style
from bfsbench.reports.plots.picture import (
    COLOURS,
    file_name,
    look,
    mark_emulated,
    one_page,
    panels,
    plain_log,
)
from bfsbench.reports.rows import STATISTIC, Results, configurations
from bfsbench.reports.table import Cell, Table
from bfsbench.rows.point import knob_values
from bfsbench.support.toml_files import Factor, TomlTable
from bfsbench.variants import all_variants
from bfsbench.variants.base import Variant


class Chart(TomlTable, frozen=True, kw_only=True, tag_field="kind", tag=""):
    """A request in an experiment's file for certain tables and pictures. The methods of this class make the
    tables and pictures from the measured rows.

    In the file, the key ``kind`` selects a subclass by its ``tag``.
    """

    needs_graphs: ClassVar[bool] = False
    """True if the drawing shows graphs themselves and not only measured rows. The graphs are then loaded even
    if nothing is measured."""
    shows_times: ClassVar[bool] = False
    """True if the table of best times is printed with the drawing."""

    title: str = ""
    """The drawing's title, by default the title of the experiment."""
    graphs: list[str] = msgspec.field(default_factory=list)
    """Labels of the experiment's graphs to show, by default all."""
    series: list[str] = msgspec.field(default_factory=list)
    """Names of the series to show, by default all. A name is a sweep's label or a variant, optionally with
    knob values: ``virtual_warp W_SZ=4``."""

    @property
    def compared(self) -> list[str]:
        """Names of further series, such as a baseline, with which the drawing compares the series in
        ``series``."""
        return []

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        """Yields the drawing's tables that need no measured rows: tables of graphs or of the variants'
        declarations."""
        yield from ()

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        """Yields the drawing's tables of result rows, except the table of best times. The rows of ``outcome``
        are either all measured on real devices or all emulated."""
        yield from ()

    def texts(self, outcome: Outcome) -> dict[str, str]:
        """Returns the drawing's pictures that are made of characters, as a dictionary with the titles as
        keys.
        """
        return {}

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        """Yields the drawing's pictures, or nothing if the outcome has no rows for them. Raises UsageError if
        matplotlib is missing."""
        yield from ()


class Plot(Chart, frozen=True, kw_only=True, tag=""):
    """A drawing that :mod:`bfsbench.reports.plots` draws. ``kind`` selects one of the kinds of pictures in
    that module."""

    def options(self) -> dict[str, Any]:
        """Returns the keys that only this kind of drawing has, with their values. The keys become keyword
        arguments of the function that draws the picture."""
        keys = msgspec.structs.asdict(self)
        return {name: value for name, value in keys.items() if name not in ("title", "graphs", "series")}

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        rows, levels = outcome.drawn(self)
        if rows.empty:
            return
        try:
            yield from draw(str(self.__struct_config__.tag), rows, levels, title=title, **self.options())
        except NothingToDrawError:
            return


class Bars(Plot, frozen=True, kw_only=True, tag="bars"):
    """Draws bars of the best time of every series, grouped by graph."""

    shows_times: ClassVar[bool] = True


class Curve(Plot, frozen=True, kw_only=True, tag="curve"):
    """Draws curves of the best time of every series over the graphs. The horizontal axis shows the number of
    vertices, or the number ``x`` that the experiment's file gives for each graph."""

    shows_times: ClassVar[bool] = True

    x: Literal["num_vertices", "given"] = "num_vertices"
    x_label: str = "vertices"
    log_x: bool = False
    log_y: bool = False


class SpeedUp(Plot, frozen=True, kw_only=True, tag="speedup"):
    """Draws the speed-up of each series over CPU programs, grouped by graph."""

    shows_times: ClassVar[bool] = True

    baseline: str = "cpu_queue"

    @property
    def compared(self) -> list[str]:
        return [self.baseline]

    def options(self) -> dict[str, Any]:
        return {"baselines": (self.baseline,)}


class Ablation(Plot, frozen=True, kw_only=True, tag="ablation"):
    """Draws bars that show how the speed-up over the CPU program ``baseline`` grows as features are added to
    a search. The bars are in the order of ``series``."""

    shows_times: ClassVar[bool] = True

    baseline: str = "cpu_queue"
    references: list[str] = msgspec.field(default_factory=list)
    """Names of series that are drawn as lines across the bars."""

    @property
    def compared(self) -> list[str]:
        return [self.baseline, *self.references]


class Spread(Plot, frozen=True, kw_only=True, tag="spread"):
    """Draws the fastest, median and slowest repeat of every series."""


class HeatMap(Plot, frozen=True, kw_only=True, tag="heatmap"):
    """Draws heat maps of the time over grid and block, with one map per graph and series."""

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        if not outcome.emulated:
            yield from TABLES["heatmap"](Results.of(outcome.rows))


class Profile(Plot, frozen=True, kw_only=True, tag="profile"):
    """Draws the frontier size and the time of each level. A marker shows which kernel, or which part of a
    large kernel, ran the level."""

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        """Yields a table with one line per kernel, for each graph and series. A large kernel has one line per
        part instead. A line shows how many levels the kernel or part ran, and how long these levels took."""
        lines: list[tuple[Cell, ...]] = []
        for name in outcome.graphs_of(self):
            for series in outcome.series_of(self):
                for kernel, group in outcome.levels_of(series, name).groupby("kernel", sort=False):
                    largest, total = group["frontier_size"].max(), group["time_us"].sum()
                    facts = (outcome.title(name), series.title, str(kernel), len(group))
                    lines.append((*facts, int(largest), float(total)))
        columns = ("graph", "series", "kernel", "levels", "largest_frontier", "time_us")
        yield Table("levels", f"Levels by kernel{outcome.heading}", columns, lines)


class KnobSweep(Plot, frozen=True, kw_only=True, tag="knobs"):
    """Draws the best time of each series over the values of knobs (parameters of a search). Only knobs with
    several values are shown."""

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        """Yields a table of the best time for each value of a knob. A line has a graph, a series, a knob and
        one of the knob's values. Knobs with a single value are left out. For each graph, series and knob, the
        least time is marked."""
        lines: list[tuple[Cell, ...]] = []
        for series in outcome.series_of(self):
            found = configurations(series.select(outcome.rows))
            settings = found["knobs"].map(knob_values)
            for name in outcome.graphs_of(self):
                of_graph = found["graph"] == name
                for knob in dict.fromkeys(knob for values in settings for knob in values):
                    values = settings[of_graph].map(lambda setting, knob=knob: setting.get(knob))
                    least = found[of_graph].groupby(values)["search_ms"].min()
                    for value in sorted(least.index, key=value_order) if len(least) > 1 else ():
                        facts = (outcome.title(name), series.title, knob, value, float(least[value]))
                        lines.append((*facts, "best" if least[value] == least.min() else ""))
        title = f"Best search time in ms at each value of a knob{outcome.heading}"
        yield Table("knobs", title, ("graph", "series", "knob", "value", "search_ms", "mark"), lines)


_STATISTICS = (
    *("vertices", "arcs", "degree_mean", "degree_std", "degree_median", "degree_max"),
    *("diameter_at_least", "components", "largest_component", "isolated"),
)


class Datasets(Chart, frozen=True, kw_only=True, tag="datasets"):
    """Shows the statistics of the graphs beside the statistics that the paper prints."""

    needs_graphs: ClassVar[bool] = True

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        for printed in printed_tables(outcome.experiment, "statistics"):
            yield _statistics_beside(outcome, printed)
        lines: list[tuple[Cell, ...]] = []
        for name in outcome.graphs:
            figures = (outcome.loaded[name].statistics[column] for column in _STATISTICS)
            lines.append((outcome.title(name), name, *figures))
        notes = ("The diameter is a lower bound: the largest distance that double sweeps met.",)
        yield Table("statistics", "Statistics", ("graph", "searched", *_STATISTICS), lines, notes)


def _statistics_beside(outcome: Outcome, printed: Printed) -> Table:
    """Returns a table of the graphs' statistics: the paper's printed numbers beside our numbers.

    Our numbers are rounded to as many digits as the printed numbers have. The last column names the
    statistics that differ.
    """
    facts: list[tuple[Cell, ...]] = []
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        title, differing = outcome.title(name), []
        line: list[Cell] = [title]
        for column, heading in zip(printed.columns, printed.labels, strict=True):
            theirs = printed.value(outcome.uses[name].title, column)
            ours = outcome.loaded[name].statistics[column] / printed.scale.get(column, 1)
            is_number = number(theirs) is not None
            text = f"{ours:.{len(str(theirs).partition('.')[2]) if is_number else 3}f}"
            facts.append((title, heading, theirs, ours))
            line.append(f"{'' if theirs is None else theirs} | {text}")
            if is_number and text != str(theirs):
                differing.append(heading)
        another = split_marks(name.rpartition(":")[0])[1] != UNMARKED
        lines.append((*line, "another graph" if another else ", ".join(differing) or "nothing"))
    drawing = Table("", "", ("graph", *printed.labels, "differs"), lines)
    columns = ("graph", "what", "paper", "here")
    return printed.beside("statistics_beside", columns, facts, drawing, ", rounded as printed")


class Duplicates(Plot, frozen=True, kw_only=True, tag="duplicates"):
    """Draws two numbers for each level: the number of entries in the frontier, including duplicates, and the
    number of distinct vertices."""

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        """Yields a table with one line per level of a graph. It shows the number of distinct vertices in the
        frontier and, for each series, the number of entries in the frontier, including duplicates.

        The vertices that the kernels queue at one level are the frontier of the next level.
        """
        series = outcome.series_of(self)
        lines: list[tuple[Cell, ...]] = []
        for name in outcome.graphs_of(self):
            entries: dict[tuple[int, str], int] = {}
            distinct: dict[int, int] = {}
            for one in series:
                entries[0, one.title] = 1
                for _, row in outcome.levels_of(one, name).iterrows():
                    level, counts = int(row["level"]), parse_counters(str(row["counts"]))
                    distinct[level] = int(row["frontier_size"])
                    entries[level + 1, one.title] = counts.get("entries", 0)
            for level in sorted(distinct):
                sizes = (entries.get((level, one.title)) for one in series)
                lines.append((outcome.title(name), level, distinct[level], *sizes))
        columns = ("graph", "level", "sequential", *(one.title for one in series))
        yield Table("duplicates", f"Frontier sizes with duplicates{outcome.heading}", columns, lines)


_DECLARED = ("work", "space", "parallel_unit", "synchronisation", "frontier", "layout")


class Complexity(Chart, frozen=True, kw_only=True, tag="complexity"):
    """Shows a table of properties that the variants declare, such as work and space."""

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        """Yields a table of the declarations of all variants that solve the experiment's problem, such as
        breadth-first search.

        A cell shows the declaration and, in brackets, the statement of the paper.
        """
        printed = printed_tables(outcome.experiment, "text")
        lines: list[tuple[Cell, ...]] = []
        for variant in all_variants().values():
            if variant.family == outcome.experiment.family:
                lines.append((variant.name, *(_declared(variant, column, printed) for column in _DECLARED)))
        notes = [f"Here; [in brackets] as in {table.source}." for table in printed]
        notes.append("Space in words of 4 bytes, the graph included; D is the depth of the search.")
        yield Table("complexity", "Declared complexity", ("variant", *_DECLARED), lines, tuple(notes))


def _declared(variant: type[Variant], column: str, printed: list[Printed]) -> str:
    declared = getattr(variant, column)
    ours = ", ".join(declared) if isinstance(declared, tuple) else str(declared)
    found = (table.value(variant.name, column) for table in printed if column in table.columns)
    theirs = "".join(f"[{text}]" for text in found if text is not None)
    return " ".join(filter(None, (ours, theirs)))


class Growth(Chart, frozen=True, kw_only=True, tag="growth"):
    """Draws the curves n^2 / ``acceleration`` and n log n beside the measured times of ``series``. Where the
    curves cross, an algorithm with n log n steps becomes faster than an accelerated algorithm with n^2
    steps."""

    acceleration: Factor = 1000.0

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        """Yields a table with one line per graph. For the number of vertices n of the graph, it shows n^2 /
        ``acceleration``, n log n and the measured times."""
        series = outcome.series_of(self)
        best = [outcome.best(one)["search_ms"] for one in series]
        lines: list[tuple[Cell, ...]] = []
        for name in outcome.graphs_of(self):
            n = outcome.vertices(name)
            times = (float(found[name]) if name in found.index else None for found in best)
            lines.append((outcome.title(name), n, n * n / self.acceleration, n * math.log2(n), *times))
        notes = (
            f"Steps of a quadratic algorithm made {self.acceleration:g} times faster, and of n log n, which "
            f"overtakes it at n = {crossing(self.acceleration):,}; measured times in ms.",
        )
        titles = (f"{one.title}_ms" for one in series)
        columns = ("graph", "n", "accelerated_n2_steps", "n_log_n_steps", *titles)
        yield Table("growth", f"Growth{outcome.heading}", columns, lines, notes)

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        with matplotlib_style(), one_page():
            made = [self._picture(kind, title + kind.heading) for kind in outcome.by_kind()]
        yield from made

    def _picture(self, outcome: Outcome, heading: str) -> Picture:
        """Returns a picture of the curves n^2 / ``acceleration`` and n log n, and of the point where they
        cross. A second panel shows the measured times over the number of vertices."""
        figure, (model, measured) = panels(heading, 2, across=2, size=(4.8, 3.6))
        n = np.logspace(1, 7, 200)
        meeting = crossing(self.acceleration)
        model.plot(n, n * n / self.acceleration, color=COLOURS[0], label=f"n² / {self.acceleration:g}")
        model.plot(n, n * np.log2(n), color=COLOURS[4], linestyle="--", label="n log₂ n")
        model.axvline(meeting, color="#777777", linewidth=0.8, label=f"equal at n = {meeting:,}")
        model.set(xlabel="n", ylabel="steps")
        for series in outcome.series_of(self):
            best = outcome.best(series)["search_ms"]
            shown = [name for name in outcome.graphs_of(self) if name in best.index]
            if shown:
                at, ms = zip(*sorted((outcome.vertices(name), best[name]) for name in shown), strict=True)
                colour, marker = look(series.title)
                measured.plot(at, ms, color=colour, marker=marker, ms=5, label=series.title)
        measured.set(xlabel="vertices", ylabel=f"time of a search (ms):\n{STATISTIC}")
        for axis in (model, measured):
            plain_log(axis, "x")
            plain_log(axis, "y")
            axis.legend(fontsize=8)
        if outcome.emulated:
            mark_emulated(figure)
        return Picture(file_name("growth", "emulated" if outcome.emulated else ""), heading, figure)


def crossing(acceleration: float) -> int:
    """Returns the smallest n > 1 at which n^2 / acceleration exceeds n log2 n, to within 0.1 %."""
    n = 2
    while n <= acceleration * math.log2(n):
        n += max(1, n // 1000)
    return n


class Trace(Chart, frozen=True, kw_only=True, tag="trace"):
    """Shows small graphs in detail: their matrices and levels, and the work of each thread of some
    kernels."""

    needs_graphs: ClassVar[bool] = True

    sources: list[int]

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        yield from trace_tables(outcome, self)


class Maze(Chart, frozen=True, kw_only=True, tag="maze"):
    """Draws a maze from the generator ``maze``, with a route from its first to its last cell."""

    needs_graphs: ClassVar[bool] = True

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        """Yields a table of the mazes and the lengths of their routes."""
        lines: list[tuple[Cell, ...]] = []
        for name in outcome.graphs_of(self):
            route = routed(outcome.loaded[name])
            steps = len(route.path) - 1 if route.path else None
            blocked = int((~route.open).sum())
            lines.append((outcome.title(name), *map(int, route.open.shape), blocked, steps))
        columns = ("maze", "rows", "columns", "blocked_cells", "steps_of_the_route")
        yield Table("mazes", "Routes from the first cell to the last", columns, lines)

    def texts(self, outcome: Outcome) -> dict[str, str]:
        return {outcome.title(name): routed(outcome.loaded[name]).text for name in outcome.graphs_of(self)}

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        with matplotlib_style():
            made = [_maze(outcome, name, title) for name in outcome.graphs_of(self)]
        yield from made


def _maze(outcome: Outcome, graph: str, title: str) -> Picture:
    """Returns a picture of a maze: blocked cells are black, reached cells are coloured by level, and a line
    shows the route."""
    route = routed(outcome.loaded[graph])
    about = (outcome.title(graph), f"{len(route.path) - 1} steps" if route.path else "no route")
    figure, (axis,) = panels(title, 1, across=1, size=(6.4, 5.7), about=about)
    levels = np.ma.masked_where(route.levels < 0, route.levels)
    image = axis.imshow(levels, cmap="cividis", interpolation="nearest")
    axis.imshow(np.ma.masked_where(route.open, route.open), cmap="gray", vmin=0, vmax=1)
    if route.path:
        down, across = zip(*route.path, strict=True)
        axis.plot(across, down, color=COLOURS[4], linewidth=2, label="route")
    last = (route.open.shape[1] - 1, route.open.shape[0] - 1)
    axis.plot(*zip((0, 0), last, strict=True), "o", color="white", markeredgecolor="black", label="terminals")
    axis.grid(visible=False)
    axis.set(xlabel="column (black cells are blocked, white ones out of reach)", ylabel="row")
    figure.colorbar(image, label="level (cells from the first terminal)", shrink=0.8)
    figure.legend(loc="outside lower center", ncols=2)
    return Picture(file_name("maze", graph), f"{title}: {', '.join(about)}", figure)


Plots = Bars | Curve | SpeedUp | Ablation | Spread | HeatMap | Profile | KnobSweep | Duplicates
Drawing = Plots | Datasets | Complexity | Growth | Trace | Maze
"""The kinds of drawings that an entry ``[[drawings]]`` of an experiment's file can choose by its key
``kind``."""
