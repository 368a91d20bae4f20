"""Verdicts on papers are fair: searches have equal tuning, stand-ins resemble their originals, and this
project's changes of a search have verdicts of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bfsbench.experiments import find
from bfsbench.experiments.claims import ClaimCheck, findings
from bfsbench.experiments.declaration import read_experiment
from bfsbench.experiments.outcome import read_outcome, unlike
from bfsbench.experiments.series import every_series
from bfsbench.experiments.sweeps import LEAST_PER_KNOB, Choice, settings_due, works_of
from bfsbench.experiments.tables import tables
from bfsbench.reports.table import render
from tests.report.result_rows import host_row, row, write

TEXT = """
title = "t"
paper = "p"
all_rows = true

[[graphs]]
name = "path(n=4)"
label = "line"

[[sweeps]]
variants = ["merrill", "virtual_warp"]
block = "128,256"
tune_per_knob = 20

[[sweeps]]
variants = ["cpu_queue"]

[[claims]]
text = "virtual warps are faster"
series = "virtual_warp"
versus = ["merrill"]
"""
LINE = "path(n=4):symmetrised"
MERRILL = "ORGANISATION=hybrid ATOMIC_CLAIM={} RESIDENT_BLOCKS={}"
WIDTHS = (1, 2, 4, 8, 16, 32)


def warps(ms: float, **changes: Any) -> list[dict[str, Any]]:
    """Returns rows of virtual_warp with every width and block. The first setting is the fastest."""
    made = [(block, width) for block in (128, 256) for width in WIDTHS]
    fixed = {"graph": LINE, "variant": "virtual_warp", **changes}
    return [
        row(ms + place, **fixed, block=block, knobs=f"W_SZ={width}")
        for place, (block, width) in enumerate(made)
    ]


def merrill(ms: float, settings: int, claim: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Returns rows of merrill with ``settings`` settings, which all take ``ms``."""
    fixed = {"graph": LINE, "variant": "merrill", **changes}
    return [row(ms, **fixed, knobs=MERRILL.format(claim, blocks)) for blocks in range(1, settings + 1)]


def judge(folder: Path, text: str, *rows: dict[str, Any], known: Path | None = None) -> list[ClaimCheck]:
    """Returns the findings of an experiment on these rows."""
    (folder / "mine.toml").write_text(text)
    experiment = read_experiment(folder / "mine.toml")
    return findings(read_outcome(experiment, [write(folder / "rows.csv", rows)], {}, known))


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """A folder for rows of earlier sweeps."""
    folder = tmp_path / "known"
    folder.mkdir()
    return folder


def test_a_verdict_against_a_search_takes_twenty_settings_per_knob(tmp_path: Path) -> None:
    (found,) = judge(tmp_path, TEXT, *warps(1), *merrill(9, 119))
    assert found.verdict == "undecided"
    assert "tuned with too few settings: merrill (119 of 120)" in found.evidence
    (found,) = judge(tmp_path, TEXT, *warps(1), *merrill(9, 120))
    assert found.verdict == "reproduced"
    (found,) = judge(tmp_path, TEXT, *warps(9)[:3], *merrill(1, 1))
    assert found.verdict == "undecided", "the search of the claim has too few"
    (found,) = judge(tmp_path, TEXT, *warps(9), *merrill(1, 1))
    assert found.verdict == "not reproduced", "the slower one has all settings there are"


def test_the_best_of_all_rows_of_the_graph_and_source_counts(tmp_path: Path, known: Path) -> None:
    rows = [*warps(2), *merrill(9, 120)]
    write(known / "of-another-graph.csv", merrill(0.1, 1, graph_checksum="d" * 64))
    write(known / "of-another-source.csv", merrill(0.1, 1, source=1))
    write(known / "of-another-device.csv", merrill(0.1, 1, gpu="NVIDIA A100"))
    write(known / "cold.csv", merrill(0.1, 1, method="cold"))
    (known / "goals.csv").write_text("graph,ms\nwave,1\n")
    (found,) = judge(tmp_path, TEXT, *rows, known=known)
    assert found.verdict == "reproduced"
    write(known / "queues.csv", merrill(1, 3, graph="path(n=4):self_loops=drop:symmetrised"))
    known = known.rename(tmp_path / "more")
    (found,) = judge(tmp_path, TEXT, *rows, known=known)
    assert found.verdict == "not reproduced"
    assert "merrill 1 ms" in found.evidence
    alone = TEXT.replace("all_rows = true", "")
    assert judge(tmp_path, alone, *rows, known=known)[0].verdict == "reproduced"


def test_the_page_names_the_files_whose_rows_compete(tmp_path: Path, known: Path) -> None:
    (tmp_path / "mine.toml").write_text(TEXT)
    write(known / "queues.csv", merrill(1, 3))
    experiment, own = read_experiment(tmp_path / "mine.toml"), write(tmp_path / "a.csv", warps(2))
    text = render(tables(read_outcome(experiment, [own], {}, known)), "markdown")
    assert "a time is the best in all rows of the graph and source (a.csv, queues.csv)" in text


def test_our_change_of_merrill_has_a_verdict_of_its_own(tmp_path: Path) -> None:
    another = '[[claims]]\ntext = "even then"\nseries = "virtual_warp"\nversus = ["others"]\nchanged = true\n'
    changed = f"{TEXT}\n{another}"
    rows = [*warps(2), *merrill(9, 120), *merrill(1, 120, claim=1)]
    as_written, as_changed = judge(tmp_path, changed, *rows)
    assert (as_written.verdict, as_changed.verdict) == ("reproduced", "not reproduced")
    assert "merrill 9 ms" in as_written.evidence
    assert "merrill ATOMIC_CLAIM=1 1 ms" in as_changed.evidence


def test_both_forms_of_merrill_are_tuned_with_as_many_points() -> None:
    experiment = find("bfs4k-table2")
    forms = [series for series in every_series(experiment) if series.variant == "merrill"]
    assert [form.title for form in forms] == ["merrill", "merrill ATOMIC_CLAIM=1"]
    assert [form.changed for form in forms] == [False, True]
    assert {settings_due(experiment, form) for form in forms} == {6 * LEAST_PER_KNOB}
    assert [claim.changed for claim in experiment.claims] == [False, True]


def test_the_table_of_bfs4k_tunes_every_search_with_twenty_points_per_knob() -> None:
    from bfsbench.bench.tune import Tuning
    from bfsbench.graphs.load import resolve

    experiment = find("bfs4k-table2")
    use = experiment.graph("random.2Mv.128Me")
    (work,) = works_of(experiment, [Choice(use, resolve(use.name))])
    tuned = [one for one in work.works if isinstance(one, Tuning)]
    points = [(one.axes.variants[0].name, one.points) for one in tuned]
    assert points == [
        *(("frontier", 20), ("edge_frontier_numbers", 20), ("virtual_warp", 20), ("luo", 120)),
        *(("merrill", 120), ("merrill", 120), ("bfs4k", 260)),
    ]


@pytest.mark.parametrize(
    ("name", "vertices", "reason"),
    [
        ("luxembourg_osm:stands_for=europe_osm", 114_599, "the stand-in has 114,599 vertices"),
        ("wave:stands_for=audikw_1", 900_000, "the class of the stand-in is mesh"),
        ("roads(rows=2697,columns=2697,seed=1):stands_for=europe_osm", 50_900_481, ""),
        ("USA-road-d.FLA:stands_for=roadNet-CA", 1_070_376, ""),
        ("wave", 1, ""),
    ],
)
def test_a_stand_in_has_the_class_and_the_size_of_the_original(name: str, vertices: int, reason: str) -> None:
    found = unlike(f"{name}:symmetrised", vertices)
    assert found.startswith(reason) and bool(found) == bool(reason)


def test_rows_of_a_stand_in_that_is_unlike_do_not_count(tmp_path: Path) -> None:
    text = TEXT.replace('name = "path(n=4)"\nlabel = "line"', 'name = "europe_osm"')
    text = text.replace("tune_per_knob = 20", "")
    roads = {"graph": "luxembourg_osm:stands_for=europe_osm:symmetrised", "num_vertices": 114_599}
    (found,) = judge(tmp_path, text, *warps(1, **roads), *merrill(9, 1, **roads))
    assert found.verdict == "undecided"
    assert found.evidence.startswith("does not count, as the stand-in has 114,599")
    roads["num_vertices"] = 50_900_481
    (found,) = judge(tmp_path, text, *warps(1, **roads), *merrill(9, 1, **roads))
    assert found.verdict == "reproduced"


def test_a_verdict_that_rests_on_a_slow_program_of_the_cpu_says_so(tmp_path: Path, known: Path) -> None:
    text = TEXT.replace('versus = ["merrill"]', 'versus = ["cpu_queue"]')
    slow = host_row(30, graph=LINE)
    (found,) = judge(tmp_path, text, *warps(1), slow)
    assert found.verdict == "reproduced"
    assert "rests on cpu_queue, perhaps a slow CPU program: no other" in found.evidence
    write(known / "cpu.csv", [host_row(3, graph=LINE, variant="cpu_parallel")])
    (found,) = judge(tmp_path, text, *warps(1), slow, known=known)
    assert (
        "a slow CPU program (best times in all files: cpu_queue 30 ms, cpu_parallel 3 ms)" in found.evidence
    )
