"""Makes an experiment's tables and pictures from its result rows, with the paper's numbers beside the
measured numbers."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from bfsbench.experiments.claims import NO_ROWS, WORST_FIRST, findings_by_claim, verdict_of
from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed, printed_tables
from bfsbench.experiments.series import series_called
from bfsbench.reports import TABLES
from bfsbench.reports.plots import Picture, one_page, save
from bfsbench.reports.rows import Results
from bfsbench.reports.table import Cell, Table
from bfsbench.rows.point import knob_values

MS = {"ms": 1.0, "us": 1e3, "": 1.0}
"""Maps the name of a unit of time that a paper prints to the factor that converts ms into it."""


def tables(outcome: Outcome) -> list[Table]:
    """Returns all tables of an experiment, in this order: the graphs, the tables that need no rows, the
    tables of times and counters, the claims, failures, provenance, and the verdicts."""
    experiment = outcome.experiment
    made = [heading(outcome)]
    for drawing in experiment.drawings:
        made += drawing.tables_of_graphs(outcome)
    for kind in outcome.by_kind():
        times = [] if kind.emulated else printed_tables(experiment, "time")
        made += [times_beside(kind, printed) for printed in times] or best_times(kind)
        for drawing in experiment.drawings:
            made += [table for table in drawing.tables_of_rows(kind) if table.rows]
        made += [counters_beside(kind, printed) for printed in printed_tables(experiment, "counts")]
    if experiment.claims:
        made.append(claims(outcome))
    if experiment.sweeps:
        results = Results.of(outcome.rows)
        made += [table for name in ("failures", "provenance") for table in TABLES[name](results)]
    if experiment.claims:
        made.append(verdicts(outcome))
    return made


def texts(outcome: Outcome) -> dict[str, str]:
    """Returns the experiment's pictures that are made of characters, as a dictionary from title to
    picture."""
    return {
        title: text
        for drawing in outcome.experiment.drawings
        for title, text in drawing.texts(outcome).items()
    }


def heading(outcome: Outcome) -> Table:
    """Returns a table of the graphs that the experiment names. Each line names the graph that was actually
    searched, which may be shrunk or a stand-in."""
    experiment = outcome.experiment
    notes = [f"{experiment.paper}, {experiment.figure}." if experiment.figure else f"{experiment.paper}."]
    notes += [experiment.note] if experiment.note else []
    if experiment.all_rows:
        files = ", ".join(dict.fromkeys(Path(file).name for file in outcome.rows["file"]))
        notes.append(f"Tuned alike: a time is the best in all rows of the graph and source ({files}).")
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


def times_beside(outcome: Outcome, printed: Printed) -> Table:
    """Returns a table that compares the times printed in a paper with measured times.

    The rows are graphs and the columns are series. A cell has the form: printed | measured.
    """
    facts: list[tuple[Cell, ...]] = []
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        line: list[Cell] = [outcome.title(name)]
        for column, title in zip(printed.columns, printed.labels, strict=True):
            theirs = printed.value(outcome.uses[name].title, column)
            ours, how = ours_for(outcome, name, column, MS[printed.unit])
            facts.append((outcome.title(name), title, theirs, ours, how))
            line.append(f"{'' if theirs is None else theirs} | {'' if ours is None else significant(ours)}")
        lines.append(tuple(line))
    unit = f" in {printed.unit}" if printed.unit else ""
    columns = ("graph", "what", "paper", "here", "configuration")
    return printed.beside("beside", columns, facts, Table("", "", ("graph", *printed.labels), lines), unit)


def counters_beside(outcome: Outcome, printed: Printed) -> Table:
    """Returns a table that compares the counts printed in a paper with our counts.

    There is one line for each graph and counter, and one column per series. A cell has the form: printed |
    counted.
    """
    series = [series_called(outcome.experiment, column) for column in printed.columns]
    facts: list[tuple[Cell, ...]] = []
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs:
        sums = [outcome.counter_sums(one, name) for one in series]
        for counter in printed.rows:
            line: list[Cell] = [outcome.title(name), counter]
            for column, heading, found in zip(printed.columns, printed.labels, sums, strict=True):
                theirs, ours = printed.value(counter, column), None if found is None else found[counter]
                facts.append((outcome.title(name), counter, heading, theirs, ours))
                line.append(f"{theirs:,} | {'' if ours is None else f'{ours:,}'}")
            lines.append(tuple(line))
    drawing = Table("", "", ("graph", "counter", *printed.labels), lines)
    columns = ("graph", "counter", "what", "paper", "here")
    made = printed.beside("counts", columns, facts, drawing, outcome.heading)
    return replace(made, title=made.title + outcome.heading)


def ours_for(outcome: Outcome, graph: str, column: str, unit: float = 1.0) -> tuple[float | None, str]:
    """Returns our number for one graph and one column of a paper's table, and the configuration that gave the
    number.

    The name of the column determines which number is returned:

    - The name of a series stands for the best time of the series in ms, multiplied by ``unit``.
    - ``cpu_queue / luo`` stands for the ratio of the times of two series.
    - ``virtual_warp W_SZ`` stands for the value of a knob at the best time.

    The number is None if nothing was measured.
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
    launch = f"{row['grid']} x {row['block']}" if row["grid"] else "host"
    return float(row["search_ms"]) * unit, f"{launch}, {row['knobs']}"


def significant(value: float) -> str:
    """Returns a number as text with three significant digits and without an exponent."""
    digits = f"{Decimal(f'{value:.3g}'):f}"
    return f"{float(digits):,.0f}" if abs(value) >= 100 else digits


def best_times(outcome: Outcome) -> list[Table]:
    """Returns a list with one table: the best time of every series on every graph.

    The list is empty if the experiment has drawings and none of them shows times.
    """
    drawings = outcome.experiment.drawings
    if drawings and not any(drawing.shows_times for drawing in drawings):
        return []
    columns = ("graph", "series", "search_ms", "median_ms", "spread", "grid", "block", "knobs", "sources")
    facts: list[tuple[Cell, ...]] = []
    times: dict[tuple[str, str], float] = {}
    for one in outcome.series:
        for name, row in outcome.best(one).iterrows():
            title = outcome.title(str(name))
            figures = (float(row[figure]) for figure in ("search_ms", "median_ms", "spread"))
            block = int(row["block"]) if row["grid"] else None
            facts.append((title, one.title, *figures, row["grid"], block, row["knobs"], row["sources"]))
            times[title, one.title] = float(row["search_ms"])
    series = list(dict.fromkeys(title for _, title in times))
    graphs = [outcome.title(name) for name in outcome.graphs]
    if len(graphs) >= len(series):
        lines = [(graph, *(times.get((graph, title)) for title in series)) for graph in graphs]
        matrix = Table("", "", ("graph", *series), lines, named=True)
    else:
        lines = [(title, *(times.get((graph, title)) for graph in graphs)) for title in series]
        matrix = Table("", "", ("series", *graphs), lines, named=True)
    return [Table("times", f"Best search time in ms{outcome.heading}", columns, facts, (), (matrix,))]


def claims(outcome: Outcome) -> Table:
    """Returns a table of all claims of the experiment. It has one overall verdict for each claim, and one
    verdict for each claim and graph."""
    facts: list[tuple[Cell, ...]] = []
    drawings = []
    columns = ("graph", "verdict", "evidence")
    for claim, found in findings_by_claim(outcome):
        lines: list[tuple[Cell, ...]] = [(one.graph, one.verdict, one.evidence) for one in found]
        facts += [(claim.text, *line) for line in lines]
        drawings.append(Table("", f"{claim.text}: {verdict_of(found)}", columns, lines))
    return Table("claims", "What the paper claims", ("claim", *columns), facts, (), tuple(drawings))


def verdicts(outcome: Outcome) -> Table:
    """Returns a table with one line per claim of the experiment: the claim's verdict, and the number of
    graphs with each verdict."""
    best_first = [*reversed(WORST_FIRST)]
    lines: list[tuple[Cell, ...]] = []
    for claim, found in findings_by_claim(outcome):
        measured = [one.verdict for one in found if one.evidence != NO_ROWS]
        counts = (measured.count(verdict) for verdict in best_first)
        lines.append((claim.text, verdict_of(found), *counts, len(found) - len(measured)))
    columns = ("claim", "verdict", *(f"{verdict}, graphs" for verdict in (*best_first, NO_ROWS)))
    notes = ("Times of emulated kernels decide nothing.",) if (outcome.rows["backend"] == "cpu").any() else ()
    return Table("verdicts", "Verdicts", columns, lines, notes)


def pictures(outcome: Outcome) -> Iterator[Picture]:
    """Yields the pictures of all drawings of the experiment. A drawing without rows has no pictures. Raises
    UsageError if matplotlib is missing."""
    for drawing in outcome.experiment.drawings:
        yield from drawing.pictures(outcome, drawing.title or outcome.experiment.title)


def write_pictures(outcome: Outcome, folder: Path) -> list[Path]:
    """Writes all pictures of an experiment as PNG and SVG files. The file names begin with the experiment's
    name. Returns the paths of the files. Raises UsageError if a file cannot be written, or if matplotlib is
    missing.
    """
    made: dict[str, Picture] = {}
    with one_page():
        for picture in pictures(outcome):
            name = f"{outcome.experiment.name}-{picture.name}"
            while name in made:
                name += "-again"
            made[name] = replace(picture, name=name)
    return [path for style in ("png", "svg") for path in save(made.values(), folder, style)]
