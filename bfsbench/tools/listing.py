"""Makes the tables of ``bfsbench list``: variants with their papers, knobs and counters; datasets; and
generators."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.reports.table import Cell, Table
from bfsbench.support.paths import CUDA_SRC, PACKAGE
from bfsbench.variants import look

if TYPE_CHECKING:
    from bfsbench.variants.base import Variant


def _table(name: str, title: str, records: list[dict[str, Cell]], notes: tuple[str, ...] = ()) -> Table:
    """Returns a table with one row for each record. The columns are the keys of the records."""
    return Table(name, title, tuple(records[0]), [tuple(record.values()) for record in records], notes)


def variants() -> Table:
    """Returns a table with one row per variant. The columns hold what the variant declares, such as its
    family, paper and knobs."""
    records: list[dict[str, Cell]] = [
        {
            "name": variant.name,
            "aliases": ", ".join(variant.aliases),
            "family": variant.family,
            "summary": variant.summary,
            "origin": "; ".join(variant.origin),
            "layout": ", ".join(variant.layout),
            "frontier": variant.frontier,
            "parallel_unit": variant.parallel_unit,
            "work": variant.work,
            "knobs": ", ".join(knob.name for knob in variant.knobs),
        }
        for variant in look().variants.values()
    ]
    table = _table("variants", "Variants", records)
    origins = table.columns_of("name", "family", "aliases", "origin")
    designs = table.columns_of("name", "layout", "frontier", "parallel_unit", "work", "knobs")
    return replace(table, drawings=(origins, designs))


_PAPER_AND_FIGURE = re.compile(r"(.*?\b(?:19|20)\d\d|[^,]*)(?:, (.*))?")
"""Splits the origin of a variant. The paper ends after its year, or at the first comma."""


def papers() -> Table:
    """Returns a table with one row for each figure or section of a paper that a variant implements. Each row
    names the file that implements the variant.
    """
    found: list[tuple[str, str, str, str]] = []
    for variant in look().variants.values():
        for origin in variant.origin:
            paper, figure = _PAPER_AND_FIGURE.fullmatch(origin).groups("")  # type: ignore[union-attr]
            found.append((paper, figure, variant.name, shown_path(source_of(variant))))
    columns = ("paper", "figure", "variant", "file")
    table = Table("papers", "Papers", columns, [*sorted(found, key=_in_order)])
    return replace(table, drawings=tuple(_by("paper", table, columns[1:])))


def _in_order(row: tuple[str, ...]) -> tuple[object, ...]:
    """Returns the sort key of a row. Rows are sorted by paper, and then by the number of the figure. Within a
    paper, figures without a number come last."""
    paper, figure, *others = row
    number = re.search(r"Fig\. (\d+)(?:\.(\d+))?", figure)
    return paper, not number, [int(part or 0) for part in number.groups()] if number else [], figure, *others


def source_of(variant: type[Variant]) -> Path:
    """Returns the file that implements a variant: its first kernel file, the TOML file of an entry, or the
    file of its native program. Without any of these, it is the Python module that declares the variant."""
    from bfsbench.entries.variant import EntryVariant
    from bfsbench.support.toolchain import HERE
    from bfsbench.variants.base import KernelProgram

    if issubclass(variant, KernelProgram):
        return variant.source_files()[0]
    if issubclass(variant, EntryVariant):
        return variant.entry.file
    native = HERE / f"{variant.name}.cpp"
    return native if native.exists() else Path(inspect.getfile(variant))


def shown_path(path: Path) -> str:
    """Returns the path of a file as text. A path inside the project is shown relative to the project's
    folder."""
    for root in (CUDA_SRC.parent, PACKAGE.parent):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return str(path)


def variant_tables(variant: type[Variant]) -> list[Table]:
    """Returns the tables of one variant: its docstring and declaration, its knobs, and its counters."""
    facts = {
        "aliases": ", ".join(variant.aliases),
        "family": variant.family,
        "summary": variant.summary,
        "from": "; ".join(variant.origin),
        "kernels" if not variant.host else "program": str(source_of(variant)),
        "declared in": str(source_of(variant) if variant.program_parts() else inspect.getfile(variant)),
        "layout": ", ".join(variant.layout),
        "frontier": variant.frontier,
        "parallel unit": variant.parallel_unit,
        "synchronisation": variant.synchronisation,
        "work": variant.work,
        "space": variant.space and f"{variant.space} words of 4 bytes",
        "usual block": "" if not variant.launched else f"{variant.usual_block} threads",
    }
    rows: list[tuple[Cell, ...]] = [(name, value) for name, value in facts.items() if value]
    paragraphs = re.split(r"\n\n|\n(?=- )", inspect.cleandoc(variant.__doc__ or ""))  # items of lists, too
    notes = [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph]
    notes = [line for note in notes for line in ("", note)][1:]
    about = Table("variant", variant.name, ("property", "value"), rows, tuple(notes))
    made = [about]
    for table in (knobs(), counters()):
        own = replace(table, rows=[row for row in table.rows if row[0] == variant.name])
        if own.rows:
            made.append(replace(own.columns_of(*own.columns[1:]), name=own.name, title=own.title))
    return made


def knobs() -> Table:
    """Returns a table with one row for each knob (parameter) of each variant."""
    records: list[dict[str, Cell]] = [
        {
            "variant": variant.name,
            "name": knob.name,
            "option": knob.option,
            "default": str(knob.default),
            "legal_values": knob.legal,
            "set_at": "compile time" if knob.compile_time else "run time",
            "meaning": knob.meaning,
        }
        for variant in look().variants.values()
        for knob in variant.knobs
    ]
    table = _table("knobs", "Knobs", records)
    return replace(table, drawings=tuple(_by("variant", table, table.columns[1:])))


def counters() -> Table:
    """Returns a table with one row for each counter that a variant writes into level profiles."""
    columns = ("variant", "name", "meaning")
    rows: list[tuple[Cell, ...]] = [
        (variant.name, *fact) for variant in look().variants.values() for fact in variant.counters.items()
    ]
    notes = (
        "Counted while a level is expanded; 'bfsbench run --profile' writes them, other runs do not count.",
    )
    return Table("counters", "Counters", columns, rows, notes)


def datasets() -> Table:
    """Returns a table with one row per graph in the catalogue: published counts, the papers that use the
    graph, and whether its file is present.

    Raises UsageError if the user's catalogue is malformed.
    """
    from bfsbench.graphs.catalogue import Catalogue
    from bfsbench.graphs.load import presence

    records: list[dict[str, Cell]] = [
        {
            "name": dataset.name,
            "aliases": ", ".join(dataset.aliases),
            "family": dataset.kind,
            "directed": "yes" if dataset.directed else "no",
            "num_vertices": dataset.num_vertices,
            "num_edges": dataset.num_edges,
            "state": presence(dataset).state,
            "papers": "; ".join(dataset.papers),
        }
        for dataset in Catalogue.load()
    ]
    notes = ("Vertices V and edges E as published. State: 'bfsbench fetch' gets what is missing.",)
    table = _table("datasets", "Datasets", records, notes)
    shown = [name for name in table.columns if name != "family"]
    return replace(table, drawings=tuple(_by("family", table, shown)))


def _by(column: str, table: Table, shown: Iterable[str]) -> Iterator[Table]:
    """Splits a table by the values of ``column``. Yields one table for each value, with the columns
    ``shown``."""
    place = table.columns.index(column)
    for value in dict.fromkeys(row[place] for row in table.rows):
        members = replace(table, rows=[row for row in table.rows if row[place] == value])
        yield replace(members.columns_of(*shown), title=str(value))


def generators() -> Table:
    """Returns a table with one row for each parameter of each graph generator. A generator without parameters
    has one row."""
    from bfsbench.graphs.generators import GENERATORS

    columns = ("generator", "description", "source", "parameter", "default", "legal_values", "meaning")
    rows: list[tuple[Cell, ...]] = []
    drawings = []
    for generator in GENERATORS.values():
        facts: list[tuple[Cell, ...]] = [
            (
                item.name,
                "required" if item.default is None else str(item.default),
                item.expectation,
                item.meaning,
            )
            for item in generator.parameters
        ]
        about = (generator.name, generator.description, generator.source)
        rows += [(*about, *fact) for fact in facts or [(None,) * 4]]
        lines = (f"{generator.description}.", f"From: {generator.source}.")
        drawings.append(Table("", generator.name, columns[3:], facts, lines))
    notes = ("A graph is named by its generator and parameters, as in 'kronecker(scale=12,edge_factor=16)'.",)
    return Table("generators", "Generators", columns, rows, notes, tuple(drawings))


LISTS: dict[str, Callable[[], Table]] = {
    "variants": variants,
    "papers": papers,
    "datasets": datasets,
    "knobs": knobs,
    "generators": generators,
    "counters": counters,
}
"""Maps the name of each list of ``bfsbench list`` to the function that makes it."""

BRIEF = {
    "variants": ("name", "family", "aliases", "summary"),
    "datasets": ("name", "num_vertices", "num_edges", "state"),
}
"""The lists that ``bfsbench list`` shows by default, and the columns that it shows of each list."""


def in_brief() -> list[Table]:
    """Returns the tables that ``bfsbench list`` shows by default, with one line per variant or dataset.

    Raises UsageError if the user's catalogue is malformed.
    """
    made = {name: LISTS[name]() for name in BRIEF}
    return [replace(table, drawings=(table.columns_of(*BRIEF[name]),)) for name, table in made.items()]
