"""Makes the gallery page: every search with its idea, figure, kernel and best results.

The facts come from the declarations of the variants and from result rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.reports.rows import COLD, EMULATED, fastest, kinds
from bfsbench.rows.results import read_results
from bfsbench.tools.listing import shown_path, source_of
from bfsbench.variants import all_variants

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.programs import Variant

MOST_GRAPHS = 3
"""The largest number of graphs shown for each search: the graphs on which its ratio is largest."""

Ratios = Mapping[str, Mapping[str, float]]
"""The best time of the other published kernels / the variant's best time, by variant and graph."""

OURS = "this project"
"""The origin of searches that are not published elsewhere. No search is compared with them."""

_HEAD = """# Gallery of searches

Each search with its idea, its source, its kernel and the graphs that suit it best. This page is made from the
declarations of the variants and from the rows in {rows} (one H200). The ratio is the best time
of the other published kernels divided by this search's best time: above 1
it is faster than all of them on that graph.
`bfsbench show NAME` prints more, such as knobs and counters.

| search | idea | faster than all other published kernels on |
|---|---|---|
{lines}
"""


def page(folder: Path) -> str:
    """Returns the page, made from the variants of this package and the result files in a folder."""
    files = [folder / "every.csv", folder / "apsp.csv"]
    names = " and ".join(f"`results/{folder.name}/{file.name}`" for file in files)
    return render(list(all_variants().values()), ratios(read_results(files)), names)


def ratios(rows: pd.DataFrame) -> Ratios:
    """Compares the best times of the variants on each graph. Returns the ratios.

    ``rows`` are from ``bfsbench.rows.results.read_results``.
    """
    variants = all_variants()
    published = {name for name, one in variants.items() if not one.host and OURS not in one.origin}
    found: dict[str, dict[str, float]] = {}
    for kind in kinds(rows):
        if kind.suffix.endswith((EMULATED, COLD)):
            continue
        best = fastest(kind.configurations, ("graph", "variant"))
        for graph, times in best.groupby("graph"):
            ms = dict(zip(times["variant"], times["search_ms"], strict=True))
            for variant, time in ms.items():
                rivals = [other for name, other in ms.items() if name in published and name != variant]
                if rivals:
                    found.setdefault(variant, {})[str(graph)] = min(rivals) / time
    return found


def render(variants: list[type[Variant]], compared: Ratios, rows: str) -> str:
    """Returns the page in Markdown: a table of all searches, then a section for each.

    ``rows`` names the result files.
    """
    lines = []
    for variant in variants:
        wins = [_short(graph) for graph, ratio in compared.get(variant.name, {}).items() if ratio > 1]
        lines.append(
            f"| [`{variant.name}`](#{variant.name}) | {variant.summary} | {', '.join(wins) or '-'} |"
        )
    sections = "\n".join(line for variant in variants for line in _section(variant, compared))
    return _HEAD.format(rows=rows, lines="\n".join(lines)) + "\n" + sections + "\n"


def _section(variant: type[Variant], compared: Ratios) -> Iterator[str]:
    names = ", ".join(f"`{alias}`" for alias in variant.aliases)
    yield f"## {variant.name} {{ #{variant.name} }}\n"
    yield f"{variant.summary[0].upper()}{variant.summary[1:]}.{f' Also called {names}.' if names else ''}\n"
    yield "| | |\n|---|---|"
    facts = {
        "source": "; ".join(variant.origin),
        "program" if variant.host else "kernel": f"`{shown_path(source_of(variant))}`",
        "layout": ", ".join(variant.layout),
        "frontier": variant.frontier,
        "parallel unit": variant.parallel_unit,
        "work": variant.work,
    }
    yield "".join(f"| {name} | {fact} |\n" for name, fact in facts.items() if fact)
    for paragraph in inspect.cleandoc(variant.__doc__ or "").split("\n\n"):
        yield paragraph.replace("``", "`") + "\n"
    yield from _results(compared.get(variant.name, {}))


def _results(by_graph: Mapping[str, float]) -> Iterator[str]:
    if not by_graph:
        yield "Not among the rows.\n"
        return
    yield "| graph | best time of the other published kernels / its best time |\n|---|---|"
    for graph, ratio in sorted(by_graph.items(), key=lambda item: -item[1])[:MOST_GRAPHS]:
        yield f"| {_short(graph)} | {ratio:.2f} |"
    yield ""


def _short(graph: str) -> str:
    """Returns a graph's name without options and direction."""
    depth = 0
    for place, letter in enumerate(graph):
        depth += (letter == "(") - (letter == ")")
        if letter == ":" and not depth:
            return graph[:place]
    return graph
