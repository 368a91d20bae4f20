"""Text tables of an experiment's outcome, the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

from bfsbench.bench.point import knob_values
from bfsbench.experiments.claims import Finding, findings, verdict_of
from bfsbench.experiments.declaration import (
    Ablation,
    Bars,
    Complexity,
    Curve,
    Datasets,
    Drawing,
    Duplicates,
    Experiment,
    Growth,
    HeatMap,
    KnobSweep,
    Maze,
    Profile,
    SpeedUp,
    Trace,
)
from bfsbench.experiments.level_tables import counts_beside, duplicate_table, level_table
from bfsbench.experiments.maze import routed
from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed, Value, printed_tables
from bfsbench.experiments.series import every_series, series_called
from bfsbench.experiments.static_tables import complexity_table, dataset_tables
from bfsbench.experiments.trace_tables import trace_tables
from bfsbench.report import TABLES
from bfsbench.report.rows import configurations
from bfsbench.report.table import Cell, Table

MS = {"ms": 1.0, "us": 1e3, "": 1.0}
"""How many of each printed unit a millisecond is."""


def tables(outcome: Outcome) -> list[Table]:
    """Everything an experiment says in text: what it is, times, drawings that have a table, claims, failures
    and where the rows come from."""
    experiment = outcome.experiment
    made = [heading(outcome)]
    for drawing in experiment.drawings:
        made += _of_graphs(outcome, drawing)
    for kind in outcome.by_kind():
        printed = [] if kind.emulated else times_beside(kind)
        made += printed or best_times(kind)
        for drawing in experiment.drawings:
            made += [table for table in _of_rows(kind, drawing) if table.rows]
        made += counts_beside(kind, _printed(experiment, "counts"))
    if experiment.claims:
        made.append(claims(outcome))
    if experiment.sweeps:
        made += [table for name in ("failures", "provenance") for table in TABLES[name](outcome.rows)]
    return made


def _of_graphs(outcome: Outcome, drawing: Drawing) -> Iterator[Table]:
    """Tables of drawings that show graphs or declarations rather than times."""
    if isinstance(drawing, Datasets):
        yield from dataset_tables(outcome, _printed(outcome.experiment, "statistics"))
    elif isinstance(drawing, Complexity):
        yield complexity_table(outcome.experiment.family, _printed(outcome.experiment, "text"))
    elif isinstance(drawing, Trace):
        yield from trace_tables(outcome, drawing)
    elif isinstance(drawing, Maze):
        yield maze_table(outcome, drawing)


def _of_rows(outcome: Outcome, drawing: Drawing) -> Iterator[Table]:
    """Tables of drawings that show rows of one kind, beside those of best times."""
    if isinstance(drawing, HeatMap) and not outcome.emulated:
        yield from TABLES["heatmap"](outcome.rows)
    elif isinstance(drawing, KnobSweep):
        yield knob_table(outcome, drawing)
    elif isinstance(drawing, Profile):
        yield level_table(outcome, drawing)
    elif isinstance(drawing, Duplicates):
        yield duplicate_table(outcome, drawing)
    elif isinstance(drawing, Growth):
        yield growth_table(outcome, drawing)


def heading(outcome: Outcome) -> Table:
    """Which experiment it is, and what was searched for each of its graphs."""
    experiment = outcome.experiment
    notes = [f"{experiment.paper}, {experiment.figure}." if experiment.figure else f"{experiment.paper}."]
    notes += [experiment.note] if experiment.note else []
    rows = outcome.rows.drop_duplicates("graph").set_index("graph")
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        if graph := outcome.loaded.get(name):
            vertices, arcs = graph.num_vertices, graph.num_edges
        else:
            vertices, arcs = (int(rows[count][name]) for count in ("num_vertices", "num_edges"))
        lines.append((outcome.title(name), name, vertices, arcs, arcs / vertices))
    columns = ("graph", "searched", "num_vertices", "arcs", "average_degree")
    return Table("experiment", f"{experiment.name}: {experiment.title}", columns, lines, tuple(notes))


def _printed(experiment: Experiment, quantity: str) -> list[Printed]:
    """The paper's tables of one quantity."""
    return [table for table in printed_tables(experiment) if table.quantity == quantity]


def times_beside(outcome: Outcome) -> list[Table]:
    """For each table of times that the paper prints: graph by series, printed | ours."""
    return [_beside(outcome, printed) for printed in _printed(outcome.experiment, "time")]


def _beside(outcome: Outcome, printed: Printed) -> Table:
    facts: list[tuple[Cell, ...]] = []
    lines: list[tuple[Cell, ...]] = []
    headings = printed.headings or tuple(printed.columns)
    for name in outcome.graphs:
        line: list[Cell] = [outcome.title(name)]
        for column, title in zip(printed.columns, headings, strict=True):
            theirs = printed.value(outcome.uses[name].title, column)
            ours, how = ours_for(outcome, name, column, MS[printed.unit])
            facts.append((outcome.title(name), title, theirs, ours, how))
            line.append(_pair(theirs, ours))
        lines.append(tuple(line))
    unit = f" in {printed.unit}" if printed.unit else ""
    notes = [f"Paper | here{unit}; the paper's numbers are of {printed.source}."]
    notes += [printed.note] if printed.note else []
    columns = ("graph", "what", "paper", "here", "configuration")
    drawing = Table("", "", ("graph", *headings), lines)
    title = f"{printed.paper}, {printed.place}, and here"
    return Table("beside", title, columns, facts, tuple(notes), (drawing,))


def ours_for(outcome: Outcome, graph: str, column: str, unit: float = 1.0) -> tuple[float | None, str]:
    """Our number for a printed column, with the configuration that gave it.

    That is the best time of a series in ms x ``unit``, a ratio of two (``cpu_queue / luo``), or the value of
    a knob at the best time (``virtual_warp W_SZ``).
    """
    if " / " in column:
        slow, fast = (ours_for(outcome, graph, part)[0] for part in column.split(" / "))
        return (slow / fast if slow and fast else None), ""
    name, _, knob = column.partition(" ")
    if knob.isidentifier() and knob.isupper():
        how = ours_for(outcome, graph, name)[1]
        value = knob_values(how.partition(", ")[2]).get(knob)
        return (float(value) if value else None), how
    best = outcome.best(series_called(outcome.experiment, column))
    if graph not in best.index:
        return None, ""
    row = best.loc[[graph]].iloc[0]
    return float(row["search_ms"]) * unit, _configuration(row["grid"], row["block"], row["knobs"])


def _configuration(grid: str, block: object, knobs: str) -> str:
    return f"{grid} x {block}, {knobs}" if grid else f"host, {knobs}"


def _pair(theirs: Value | None, ours: float | None) -> str:
    return f"{'' if theirs is None else theirs} | {'' if ours is None else significant(ours)}"


def significant(value: float) -> str:
    """Three significant digits, never as a power of ten."""
    digits = f"{Decimal(f'{value:.3g}'):f}"
    return f"{float(digits):,.0f}" if abs(value) >= 100 else digits


def best_times(outcome: Outcome) -> list[Table]:
    """Best time of every series on every graph, where a drawing asks for times."""
    shows_times = Bars | Curve | SpeedUp | Ablation
    drawings = outcome.experiment.drawings
    if drawings and not any(isinstance(drawing, shows_times) for drawing in drawings):
        return []
    columns = ("graph", "series", "search_ms", "median_ms", "spread", "grid", "block", "knobs", "sources")
    facts: list[tuple[Cell, ...]] = []
    times: dict[tuple[str, str], float] = {}
    for series in every_series(outcome.experiment):
        for name, row in outcome.best(series).iterrows():
            title = outcome.title(str(name))
            figures = (float(row[figure]) for figure in ("search_ms", "median_ms", "spread"))
            block = int(row["block"]) if row["grid"] else None
            facts.append((title, series.title, *figures, row["grid"], block, row["knobs"], row["sources"]))
            times[title, series.title] = float(row["search_ms"])
    title = f"Best search time in ms{outcome.heading}"
    graphs = [outcome.title(name) for name in outcome.graphs]
    return [Table("times", title, columns, facts, (), (_matrix(graphs, times),))]


def _matrix(graphs: list[str], times: dict[tuple[str, str], float]) -> Table:
    """Graphs by series, the longer of the two down."""
    series = list(dict.fromkeys(title for _, title in times))
    if len(graphs) >= len(series):
        lines = [(graph, *(times.get((graph, one)) for one in series)) for graph in graphs]
        return Table("", "", ("graph", *series), lines)
    lines = [(one, *(times.get((graph, one)) for graph in graphs)) for one in series]
    return Table("", "", ("series", *graphs), lines)


def knob_table(outcome: Outcome, drawing: KnobSweep) -> Table:
    """Best time of each series at each value of the knobs that have several, the least marked."""
    lines: list[tuple[Cell, ...]] = []
    for series in outcome.series_of(drawing):
        found = configurations(series.select(outcome.rows))
        settings = found["knobs"].map(knob_values)
        for name in outcome.graphs_of(drawing):
            of_graph = found["graph"] == name
            for knob in dict.fromkeys(knob for values in settings for knob in values):
                values = settings[of_graph].map(lambda setting, knob=knob: setting.get(knob))
                least = found[of_graph].groupby(values)["search_ms"].min()
                for value in sorted(least.index, key=_order) if len(least) > 1 else ():
                    mark = "best" if least[value] == least.min() else ""
                    lines.append((outcome.title(name), series.title, knob, value, float(least[value]), mark))
    title = f"Best search time in ms at each value of a knob{outcome.heading}"
    return Table("knobs", title, ("graph", "series", "knob", "value", "search_ms", "mark"), lines)


def _order(value: str) -> tuple[int, float, str]:
    """Numbers by their size, before words."""
    try:
        return 0, float(value), ""
    except ValueError:
        return 1, 0.0, value


def growth_table(outcome: Outcome, drawing: Growth) -> Table:
    """The two model curves at the sizes of the graphs, and our times."""
    series = outcome.series_of(drawing)
    best = [outcome.best(one)["search_ms"] for one in series]
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs_of(drawing):
        n = int(outcome.rows.loc[outcome.rows["graph"] == name, "num_vertices"].iloc[0])
        times = (float(found[name]) if name in found.index else None for found in best)
        lines.append((outcome.title(name), n, n * n / drawing.acceleration, n * math.log2(n), *times))
    notes = [
        f"Steps of a quadratic algorithm made {drawing.acceleration:g} times faster, and of n log n, which "
        f"overtakes it at n = {crossing(drawing.acceleration):,}; measured times in ms."
    ]
    columns = ("graph", "n", "accelerated_n2_steps", "n_log_n_steps", *(f"{one.title}_ms" for one in series))
    return Table("growth", f"Growth{outcome.heading}", columns, lines, tuple(notes))


def crossing(acceleration: float) -> int:
    """The smallest n > 1 at which n^2 / acceleration exceeds n log2 n."""
    n = 2
    while n <= acceleration * math.log2(n):
        n += max(1, n // 1000)
    return n


def maze_table(outcome: Outcome, drawing: Maze) -> Table:
    """The routes found; :func:`drawings_in_text` draws them."""
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs_of(drawing):
        route = routed(outcome.loaded[name])
        steps = len(route.path) - 1 if route.path else None
        blocked = int((~route.open).sum())
        lines.append((outcome.title(name), *map(int, route.open.shape), blocked, steps))
    columns = ("maze", "rows", "columns", "blocked_cells", "steps_of_the_route")
    return Table("mazes", "Routes from the first cell to the last", columns, lines)


def drawings_in_text(outcome: Outcome) -> dict[str, str]:
    """Drawings made of characters, by titles."""
    return {
        outcome.title(name): routed(outcome.loaded[name]).text
        for drawing in outcome.experiment.drawings
        if isinstance(drawing, Maze)
        for name in outcome.graphs_of(drawing)
    }


def needs_graphs(experiment: Experiment) -> bool:
    """Whether a drawing shows the graphs themselves."""
    return any(isinstance(drawing, Datasets | Trace | Maze) for drawing in experiment.drawings)


def claims(outcome: Outcome) -> Table:
    """Each claim with a verdict as a whole and on each graph."""
    found = findings(outcome)
    facts: list[tuple[Cell, ...]] = [
        (finding.claim.text, finding.graph, finding.verdict, finding.evidence) for finding in found
    ]
    drawings = []
    for claim in outcome.experiment.claims:
        of_claim = [finding for finding in found if finding.claim is claim]
        drawings.append(_claim(claim.text, of_claim))
    columns = ("claim", "graph", "verdict", "evidence")
    return Table("claims", "What the paper claims", columns, facts, (), tuple(drawings))


def _claim(text: str, found: list[Finding]) -> Table:
    lines: list[tuple[Cell, ...]] = [(one.graph, one.verdict, one.evidence) for one in found]
    return Table("", f"{text}: {verdict_of(found)}", ("graph", "verdict", "evidence"), lines)
