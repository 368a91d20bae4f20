"""Makes tables of PMPP's example graph, and tables of counters beside the numbers that papers print.

The tables of the example are its matrix, three formats, levels from each root, threads, blocks and grids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.printed import Printed
from bfsbench.experiments.series import every_series, series_called
from bfsbench.experiments.trace import ITEMS, Step, commits, trace
from bfsbench.graphs.graph import Graph, Ids, Offsets
from bfsbench.reports.table import Cell, Table
from bfsbench.variants import all_variants
from bfsbench.variants.base import KernelVariant

if TYPE_CHECKING:
    from bfsbench.experiments.drawings import Trace


def counters_beside(outcome: Outcome, printed: list[Printed]) -> list[Table]:
    """Returns a table for each table of counts that the paper prints.

    There is one line for each graph and counter, and one column per series. A cell has the form printed |
    measured.
    """
    return [_table(outcome, table) for table in printed]


def _table(outcome: Outcome, printed: Printed) -> Table:
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


BLOCK_SIZE = 2
"""Threads per block of the privatised kernel in the tables. The number is small, so that several blocks copy
their vertices."""


def trace_tables(outcome: Outcome, drawing: Trace) -> Iterator[Table]:
    """Yields all tables of the drawing, for each of its graphs."""
    for name in outcome.graphs_of(drawing):
        graph, title = outcome.loaded[name], outcome.title(name)
        yield _adjacency(graph, title)
        yield from _formats(graph, title)
        yield _levels(graph, title, drawing.sources)
        for source in drawing.sources:
            for variant in ITEMS:
                steps, _ = trace(graph, source, variant)
                yield _threads(f"{variant} on {title} from {source}", steps)
            yield _commits(graph, title, source)
        yield _grids(outcome, name)


def _adjacency(graph: Graph, title: str) -> Table:
    matrix = np.zeros((graph.num_vertices, graph.num_vertices), np.int64)
    np.add.at(matrix, (graph.edge_sources, graph.column_indices), 1)
    lines: list[tuple[Cell, ...]] = [(str(v), *row) for v, row in enumerate(matrix.tolist())]
    columns = ("from \\ to", *map(str, range(graph.num_vertices)))
    return Table("adjacency", f"Adjacency matrix of {title}", columns, lines)


def _formats(graph: Graph, title: str) -> Iterator[Table]:
    forms: dict[str, dict[str, Ids | Offsets]] = {
        "CSR": {"row pointers srcPtrs": graph.row_offsets, "column indices dst": graph.column_indices},
        "CSC": {"column pointers dstPtrs": graph.column_offsets, "row indices src": graph.row_indices},
        "COO": {"row indices src": graph.edge_sources, "column indices dst": graph.column_indices},
    }
    for form, arrays in forms.items():
        lines: list[tuple[Cell, ...]] = [
            (label, " ".join(map(str, array.tolist()))) for label, array in arrays.items()
        ]
        yield Table(form.lower(), f"{form} of {title}", ("array", "values"), lines)


def _levels(graph: Graph, title: str, sources: list[int]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for source in sources:
        _, levels = trace(graph, source, "push_frontier")
        lines.append((f"root {source}", *(str(level) if level >= 0 else "-" for level in levels)))
    columns = ("levels from", *map(str, range(graph.num_vertices)))
    return Table("levels_from_roots", f"Levels of the vertices of {title}", columns, lines)


def _threads(title: str, steps: list[Step]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for step in steps:
        for thread in step.working:
            wrote = ", ".join(map(str, thread.writes)) or "nothing"
            lines.append((f"{step.level} → {step.level + 1}", str(thread.index), thread.item, wrote))
    launched = {step.threads for step in steps}
    notes = [
        f"{len(steps)} launches of {' to '.join(map(str, sorted({min(launched), max(launched)})))} threads; "
        "those that are not listed return at once."
    ]
    return Table(
        "threads",
        f"What threads do: {title}",
        ("levels", "thread", "works_on", "gives_a_level_to"),
        lines,
        tuple(notes),
    )


def _commits(graph: Graph, title: str, source: int) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for level, blocks in enumerate(commits(graph, source, BLOCK_SIZE)):
        for commit in blocks:
            queued = ", ".join(map(str, commit.private)) or "nothing"
            lines.append((f"{level} → {level + 1}", str(commit.block), queued, str(commit.start)))
    heading = f"Privatised frontiers: push_private on {title} from {source}, blocks of {BLOCK_SIZE} threads"
    columns = ("levels", "block", "queues_in_shared_memory", "commits_them_from_place")
    return Table("private", heading, columns, lines)


def _grids(outcome: Outcome, graph: str) -> Table:
    """Returns a table of the grids launched per search.

    Consecutive levels in one layer of one launch count as one grid.
    """
    lines: list[tuple[Cell, ...]] = []
    for series in every_series(outcome.experiment):
        profiled = series.select(outcome.levels[outcome.levels["graph"] == graph])
        for source, search in profiled.groupby("source"):
            kernels = list(search.sort_values("level")["kernel"])
            declared = all_variants()[series.variant]
            layers = declared.layers if issubclass(declared, KernelVariant) else ()
            grids = sum(
                kernel not in layers or place == 0 or kernels[place - 1] != kernel
                for place, kernel in enumerate(kernels)
            )
            lines.append((series.title, int(float(str(source))), len(kernels), grids))
    columns = ("search", "root", "levels_expanded", "grids_launched")
    return Table("grids", f"Grids launched on {outcome.title(graph)}, as profiled", columns, lines)
