"""What there is to run, as tables: variants, their knobs and counters, datasets, generators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bfsbench.report.table import Cell, Table
from bfsbench.variants import all_variants

if TYPE_CHECKING:
    from bfsbench.graphs.generators import Parameter


def variants() -> Table:
    """Every variant with all of its declaration that says what it is."""
    columns = (
        *("name", "aliases", "family", "summary", "origin"),
        *("layout", "frontier", "parallel_unit", "work", "knobs"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            variant.name,
            ", ".join(variant.aliases),
            variant.family,
            variant.summary,
            "; ".join(variant.origin),
            ", ".join(variant.layout),
            variant.frontier,
            variant.parallel_unit,
            variant.work,
            ", ".join(knob.name for knob in variant.knobs),
        )
        for variant in all_variants().values()
    ]
    table = Table("variants", "Variants", columns, rows)
    origins = table.columns_of("name", "family", "aliases", "origin")
    designs = table.columns_of("name", "layout", "frontier", "parallel_unit", "work", "knobs")
    return replace(table, drawings=(origins, designs))


def variants_in_brief() -> Table:
    """Every search in one line."""
    table = variants()
    return replace(table, drawings=(table.columns_of("name", "family", "aliases", "summary"),))


def knobs() -> Table:
    """Every parameter of every search beside grid and block."""
    columns = ("variant", "name", "option", "default", "legal_values", "set_at", "meaning")
    rows: list[tuple[Cell, ...]] = []
    drawings = []
    for variant in all_variants().values():
        facts: list[tuple[Cell, ...]] = [
            (
                knob.name,
                knob.option,
                str(knob.default),
                knob.legal,
                "compile time" if knob.compile_time else "run time",
                knob.meaning,
            )
            for knob in variant.knobs
        ]
        rows += [(variant.name, *fact) for fact in facts]
        if facts:
            drawings.append(Table("", variant.name, columns[1:], facts))
    return Table("knobs", "Knobs", columns, rows, drawings=tuple(drawings))


def counters() -> Table:
    """Everything that searches count in level profiles."""
    columns = ("variant", "name", "meaning")
    rows: list[tuple[Cell, ...]] = [
        (variant.name, *fact) for variant in all_variants().values() for fact in variant.counters.items()
    ]
    notes = (
        "Counted while a level is expanded; 'bfsbench run --profile' writes them, other runs do not count.",
    )
    return Table("counters", "Counters", columns, rows, notes)


def datasets() -> Table:
    """Every graph of the catalogue: published counts, where it appears, whether it is here.

    Raises UsageError when the user's catalogue is malformed.
    """
    from bfsbench.graphs.catalogue import Catalogue
    from bfsbench.graphs.inventory import presence

    columns = ("name", "aliases", "family", "directed", "num_vertices", "num_edges", "state", "papers")
    rows: list[tuple[Cell, ...]] = [
        (
            dataset.name,
            ", ".join(dataset.aliases),
            dataset.family,
            "yes" if dataset.directed else "no",
            dataset.num_vertices,
            dataset.num_edges,
            presence(dataset).state,
            "; ".join(dataset.papers),
        )
        for dataset in Catalogue.load()
    ]
    notes = ("Vertices V and edges E as published. State: 'bfsbench fetch' gets what is missing.",)
    table = Table("datasets", "Datasets", columns, rows, notes)
    return replace(table, drawings=tuple(_families(table)))


def _families(table: Table) -> Iterator[Table]:
    for family in dict.fromkeys(row[2] for row in table.rows):
        members = replace(table, rows=[row for row in table.rows if row[2] == family])
        shown = members.columns_of("name", "aliases", *table.columns[3:])
        yield replace(shown, title=str(family))


def datasets_in_brief() -> Table:
    """Every graph of the catalogue in one line. Raises UsageError as ``datasets`` does."""
    table = datasets()
    return replace(table, drawings=(table.columns_of("name", "num_vertices", "num_edges", "state"),))


def generators() -> Table:
    """Every parameter of every family of generated graphs; a family without any has one row."""
    from bfsbench.graphs.generators import GENERATORS

    columns = ("generator", "description", "source", "parameter", "default", "legal_values", "meaning")
    rows: list[tuple[Cell, ...]] = []
    drawings = []
    for generator in GENERATORS.values():
        facts: list[tuple[Cell, ...]] = [
            (item.name, _default(item), item.expectation, item.meaning) for item in generator.parameters
        ]
        about = (generator.name, generator.description, generator.source)
        rows += [(*about, *fact) for fact in facts or [(None,) * 4]]
        lines = (f"{generator.description}.", f"From: {generator.source}.")
        drawings.append(Table("", generator.name, columns[3:], facts, lines))
    notes = ("A graph is named by its generator and parameters, as in 'kronecker(scale=12,edge_factor=16)'.",)
    return Table("generators", "Generators", columns, rows, notes, tuple(drawings))


def _default(parameter: Parameter) -> str:
    return "required" if parameter.default is None else str(parameter.default)


LISTS: dict[str, Callable[[], Table]] = {
    "variants": variants,
    "datasets": datasets,
    "knobs": knobs,
    "generators": generators,
    "counters": counters,
}
"""All lists by name."""

BRIEF: tuple[Callable[[], Table], ...] = (variants_in_brief, datasets_in_brief)
"""What is shown when none is named."""
