"""Best times by the values of knobs."""

from __future__ import annotations

from collections.abc import Iterator

from bfsbench.bench.point import knob_values
from bfsbench.experiments.drawings.base import Plot
from bfsbench.experiments.outcome import Outcome
from bfsbench.report.rows import configurations
from bfsbench.report.table import Cell, Table


class KnobSweep(Plot, frozen=True, kw_only=True, tag="knobs"):
    """Best time of each series against each value of the knobs that it sweeps."""

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        yield _knob_table(outcome, self)


def _knob_table(outcome: Outcome, drawing: KnobSweep) -> Table:
    """Best time of each series at each value of the knobs that have several; the minimum is marked."""
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
