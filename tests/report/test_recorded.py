"""Times of our GPU beside those of machines that have none."""

import csv
from collections.abc import Iterator
from pathlib import Path

from result_rows import drawings, emulated_row, frame, host_row, only, records, row

from bfsbench.reports import Table, summary, tables
from bfsbench.reports.best import FILE

MEASURED = Path(__file__).parents[2] / "results" / "h200" / "small.csv"


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def recorded_row(variant: str = "pull") -> dict[str, str]:
    return next(one for one in rows_of(FILE) if one["variant"] == variant)


def like(known: dict[str, str], **changes: object) -> dict[str, object]:
    """A row of the same graph and source, from elsewhere."""
    facts = {name: known[name] for name in ("graph", "graph_checksum", "source", "variant")}
    return emulated_row(5.0, **{**facts, **changes})


def shown(table: Table) -> list[object]:
    return [line.get("h200_ms") for line in records(table)]


def test_what_travels_was_measured_and_is_the_best_of_each_search() -> None:
    measured = [*rows_of(MEASURED)]
    best: dict[tuple[str, str], float] = {}
    for one in measured:
        key = one["graph"], one["variant"]
        best[key] = min(best.get(key, 1e9), float(one["search_ms"] or 1e9))
    travelling = [*rows_of(FILE)]
    sources = {(one["graph"], one["variant"], one["block"], one["taken_at"]): one for one in measured}
    for one in travelling:
        source = sources[one["graph"], one["variant"], one["block"], one["taken_at"]]
        assert {name: value for name, value in one.items() if value}.items() <= source.items()
    assert {one["backend"] for one in travelling} == {"cuda"}
    graphs = {one["graph"] for one in travelling}
    assert {"soc-Epinions1:directed", "lattice(rows=60,columns=60,seed=1):symmetrised"} < graphs
    for one in travelling:
        assert float(one["search_ms"]) == best[one["graph"], one["variant"]]
    assert FILE.stat().st_size < 100_000


def test_emulated_searches_have_it_beside_them_marked_as_not_measured_here(tmp_path: Path) -> None:
    known = recorded_row()
    table = only(summary(frame(tmp_path, [like(known), like(known, variant="mine", code="")])))
    assert shown(table) == [float(known["search_ms"]), None]
    assert [line["variant"] for line in records(drawings(table)[0])] == ["pull", "mine"]
    (note,) = [line for line in table.legend if line.startswith("NVIDIA H200 ms: not measured here")]
    assert known["commit"][:12] in note and known["taken_at"][:10] in note


def test_programs_of_the_cpu_have_none(tmp_path: Path) -> None:
    known = recorded_row()
    of_host = host_row(2.0, graph_checksum=known["graph_checksum"])
    table = only(tables(frame(tmp_path, [of_host]), ["best"]))
    assert shown(table) == [None]
    assert not any("H200" in line for line in table.legend)


def test_other_sources_other_graphs_and_the_same_gpu_have_none(tmp_path: Path) -> None:
    known = recorded_row()
    for number, one in enumerate(
        (like(known, source=3), like(known, graph_checksum="c" * 64), {**like(known), **_here(known)})
    ):
        (table,) = tables(frame(tmp_path / str(number), [one]), ["best"])
        assert shown(table) == [None]
        assert "h200_ms" not in table.columns


def _here(known: dict[str, str]) -> dict[str, object]:
    return {**row(1.0), **{name: known[name] for name in ("graph", "graph_checksum", "source", "gpu")}}


def test_another_gpu_has_it_beside_its_own(tmp_path: Path) -> None:
    known = recorded_row()
    one = {**_here(known), "gpu": "NVIDIA A100"}
    (table,) = tables(frame(tmp_path, [one]), ["best"])
    assert shown(table) == [float(known["search_ms"])]
